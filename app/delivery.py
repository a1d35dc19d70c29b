"""Where a report goes, and what becomes of it if it cannot go there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..run.errors import UserMistake
from .terminal import complain, put_out, say
from .words import Format


class OutputUnwritable(UserMistake):
    """The report could not be written where it is wanted."""


class Output(NamedTuple):
    """Where the report goes."""

    path: Path | None
    """The file; none: standard output."""
    format: Format | None
    """What is asked for; none: what the name of the file says."""


def check_output(path: Path | None) -> None:
    """Raise `OutputUnwritable` if it can be told before the run that the report could not be written."""
    if path is None:
        return
    if path.is_dir():
        raise OutputUnwritable(f"--out {str(path)!r}: this is a folder; name a file.")
    if not path.exists() and not path.parent.is_dir():
        raise OutputUnwritable(f"--out {str(path)!r}: there is no folder {str(path.parent)!r}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputUnwritable(f"--out {str(path)!r}: there is no permission to write it.")
    if path.is_file() or not path.exists():
        _try_to_open(path)


def _try_to_open(path: Path) -> None:
    """Open the file for writing and leave things as they were: a folder can refuse what its permissions allow."""
    is_new = not path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise OutputUnwritable(f"--out {str(path)!r}: it cannot be written here ({error.strerror}).") from None
    if is_new:
        path.unlink()


def deliver(report: str | bytes, path: Path | None) -> bool:
    """Write the report, or print it where it cannot be written; returns whether it went where it was wanted.

    Bytes are never printed.
    """
    if path is None:
        put_out(str(report))
        return True
    try:
        path.write_bytes(report if isinstance(report, bytes) else f"{report}\n".encode())
    except OSError as error:
        is_printed = isinstance(report, str)
        complain(f"--out {str(path)!r}: {error.strerror}.{' The report is printed instead.' if is_printed else ''}")
        if is_printed:
            put_out(str(report))
        return False
    say(f"Report written to {path}")
    return True
