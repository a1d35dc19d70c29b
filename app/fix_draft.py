"""The command `fix-citations`: puts the citations of a draft that somebody else wrote in order."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

from ..core.evidence.citations.drafts.fix import fix_citations
from ..core.run.errors import UserMistake
from .endings import reports_errors
from .terminal import Output, check_output, deliver, say
from .words import DONE, FAILED, counted

MAX_BYTES = 5_000_000
"""Size of a draft; a thousand pages are less."""


class DraftUnreadable(UserMistake):
    """The draft is missing, no text, or too large."""


@reports_errors
def fix_file(path: Path | None, output: Output) -> int:
    """Read a draft, from standard input if no file is named, and write it with its citations in order."""
    draft = _read_draft(path)
    check_output(output.path)
    fixed = fix_citations(draft)
    counts = fixed.counts._asdict()
    before, after = counts.pop("before"), counts.pop("after")
    done = ", ".join(f"{name} {count}" for name, count in counts.items())
    say(f"{counted(before, 'citation')} with a source before, {after} after; {done}")
    return DONE if deliver(fixed.text.removesuffix("\n"), output.path) else FAILED


def _read_draft(path: Path | None) -> str:
    name = "standard input" if path is None else repr(str(path))
    try:
        with nullcontext(sys.stdin.buffer) if path is None else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DraftUnreadable(f"{name} cannot be read ({error.strerror}).") from None
    if len(data) > MAX_BYTES:
        raise DraftUnreadable(f"{name} is larger than {MAX_BYTES:,} bytes, the most that a draft may have.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DraftUnreadable(f"{name} is no text in UTF-8 (byte {error.start}); save it as UTF-8.") from None
    if "\0" in text:
        raise DraftUnreadable(f"{name} is no text: it holds a zero byte (at {text.index(chr(0))}).")
    return text.replace("\r\n", "\n")
