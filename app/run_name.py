"""A run by the name that the user gives it, looked up in the database."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from ..core.run.errors import DeepResearchError
from .settings import data_folder

WAIT_SECONDS = 0.5
"""Seconds to wait for another process: this is asked when the user wants to leave."""
SHOWN = 6
"""Characters that are shown of an id that the program has made."""
BEGINNING = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{5,}")
"""The first characters of a run's id, as far as they are taken for it."""
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunName(NamedTuple):
    """A run as the user names it on the command line."""

    thread: str
    data_dir: Path | None
    """The data folder, where it was given as an option."""

    @property
    def shown(self) -> str:
        """The name as messages show it: of an id the first characters, by which it is known too."""
        return self.thread[:SHOWN] if ID.fullmatch(self.thread) else self.thread

    def command(self, verb: str) -> str:
        """Return the command line that does this with the run."""
        words = ["deep-research", verb, self.shown]
        return shlex.join([*words, "--data-dir", str(self.data_dir)] if self.data_dir else words)

    def is_stored(self) -> bool:
        """Whether there is something of the run that can be resumed."""
        # A command that is about no run needs nothing of what runs need.
        from .embed import thread_id

        return bool(_stored_ids(thread_id(self.thread), self.data_dir))


def whole_name(thread: str, data_dir: Path | None) -> str:
    """Return the id of the one run whose id begins so; where it is not one, or this is a name, the text as it is."""
    if not BEGINNING.fullmatch(thread) or RunName(thread, data_dir).is_stored():
        return thread
    found = _stored_ids(f"{thread.lower()}%", data_dir)
    return found[0] if len(found) == 1 else thread


def _stored_ids(pattern: str, data_dir: Path | None) -> list[str]:
    from ..core.run.store.database import look_up, place_of_runs

    query = "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id LIKE ?"
    try:
        # A connection of its own: that of the run at work may be busy or gone.
        return [
            str(row[0]) for row in look_up(place_of_runs(data_folder(data_dir)), query, pattern, seconds=WAIT_SECONDS)
        ]
    except DeepResearchError:
        return []
