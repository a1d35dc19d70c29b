"""A draft that somebody else wrote, with its citations put in order."""

from __future__ import annotations

import sys
from pathlib import Path

from ..evidence.citations.drafts.fix import Counts, fix_citations
from ..run.errors import UserMistake
from .endings import reported
from .terminal import Output, RunName, check_output, deliver, say
from .words import DONE, FAILED, counted

MAX_BYTES = 5_000_000
"""Size of a draft; a thousand pages are less."""


class DraftUnreadable(UserMistake):
    """The draft is missing, no text, or too large."""


def fix_file(path: Path | None, output: Output) -> int:
    """Read a draft, from standard input if no file is named, and write it with its citations in order."""

    def work() -> int:
        draft = _text(path)
        check_output(output.path)
        fixed = fix_citations(draft)
        say(_line(fixed.counts))
        return DONE if deliver(fixed.text.removesuffix("\n"), output.path) else FAILED

    return reported(RunName("", None), work)


def _text(path: Path | None) -> str:
    name = "standard input" if path is None else repr(str(path))
    data = _bytes(path, name)
    if len(data) > MAX_BYTES:
        raise DraftUnreadable(f"{name} is larger than {MAX_BYTES:,} bytes, the most that a draft may have.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DraftUnreadable(f"{name} is no text in UTF-8 (byte {error.start}); save it as UTF-8.") from None
    if "\0" in text:
        raise DraftUnreadable(f"{name} is no text: it holds a zero byte (at {text.index(chr(0))}).")
    return text.replace("\r\n", "\n")


def _bytes(path: Path | None, name: str) -> bytes:
    # One byte more than allowed tells that there is too much without reading it all.
    if path is None:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    if path.is_dir():
        raise DraftUnreadable(f"{name} is a folder; name a file.")
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise DraftUnreadable(f"There is no file {name}.") from None
    except OSError as error:
        raise DraftUnreadable(f"{name} cannot be read ({error.strerror}).") from None


def _line(counts: Counts) -> str:
    done = {
        "merged": counts.merged,
        "renumbered": counts.renumbered,
        "removed": counts.removed,
        "expanded": counts.expanded,
        "linked": counts.linked,
        "doubled": counts.doubled,
        "uncited": counts.uncited,
    }
    words = ", ".join(f"{name} {count}" for name, count in done.items())
    return f"{counted(counts.before, 'citation')} with a source before, {counts.after} after; {words}"
