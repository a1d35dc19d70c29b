"""Which runs a data folder holds, looked up apart from the run at work, whose own connection may be busy or gone."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from ..run.errors import DeepResearchError
from ..run.store.database import FILE_NAME
from .embed import thread_id
from .options import data_folder
from .terminal import RunName

WAIT_SECONDS = 0.5
"""Seconds to wait for another process: this is asked when the user wants to leave."""
BEGINNING = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{5,}")
"""The first characters of a run's id, as far as they are taken for it."""


def has_begun(name: RunName) -> bool:
    """Whether there is something of the run that can be gone on with."""
    return bool(_ids(thread_id(name.thread), name.data_dir))


def whole_name(thread: str, data_dir: Path | None) -> str:
    """The id of the one run whose id begins so; where it is not one, or this is a name, the words as they are."""
    if not BEGINNING.fullmatch(thread) or _ids(thread_id(thread), data_dir):
        return thread
    found = _ids(f"{thread.lower()}*", data_dir)
    return found[0] if len(found) == 1 else thread


def _ids(pattern: str, data_dir: Path | None) -> list[str]:
    query = "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id GLOB ?"
    try:
        file = (data_folder(data_dir) / FILE_NAME).absolute()
        # This neither makes the file nor leaves anything beside it.
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS)) as connection:
            return [str(row[0]) for row in connection.execute(query, (pattern,))]
    except (sqlite3.Error, DeepResearchError):
        return []
