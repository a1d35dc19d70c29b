"""Whether the citations of a draft are in order already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..protected import fence_after
from ..stream import CitationStream, Cited
from .addresses import page_key
from .citing import read_citations
from .entries import Entry, make_entry, numbered_entry
from .headings import list_named
from .lists import SourceList, text_lines
from .pages import Pages

_ENTRY = re.compile(r"- \[([1-9]\d*)\] (\S.*)")
_HEADING_LINES = 6


class Ordered(NamedTuple):
    """What a draft in order consists of."""

    sources: tuple[str, ...]
    further: tuple[str, ...]
    citations: int


def in_order(draft: str) -> Ordered | None:
    """What a draft consists of if its citations are in order, as `fix_citations` leaves them; else nothing.

    It ends with one list `- [n] …` below its heading, perhaps with further reading below that; its markers are `[n]`,
    from 1 in order of first use, one number a page; and there are no links and addresses in its text.
    """
    *rest, last = draft.removesuffix("\n").split("\n\n")
    further: list[str] = []
    if len(rest) > 1 and list_named(rest[-1]) == "further":
        further = last.split("\n")
        *rest, last, _ = rest
    entries = _entries(last.split("\n"))
    body = "\n\n".join(rest)
    if not entries or not all(line.startswith("- ") and not numbered_entry(line) for line in further):
        return None
    count = _citations(body, entries) if _has_heading(body) and end_of_fences(body) == "" else 0
    sources, texts = tuple(entry.text for entry in entries), tuple(line.removeprefix("- ") for line in further)
    return Ordered(sources, texts, count) if count else None


def end_of_fences(text: str) -> str:
    """The code fence that is open at the end of a text."""
    fence = ""
    for line in text.split("\n"):
        fence = fence_after(fence, line)
    return fence


def _entries(lines: Sequence[str]) -> list[Entry]:
    """The entries of a list in order: numbers from 1, each with a page of its own."""
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        found = _ENTRY.fullmatch(line)
        entry = make_entry(number, found[2]) if found and int(found[1]) == number else None
        if not found or not entry or entry.text != found[2]:
            return []
        entries.append(entry)
    keys = {page_key(entry.address) if entry.address else entry.text for entry in entries}
    return entries if len(keys) == len(entries) else []


def _has_heading(body: str) -> bool:
    last = [line for line in body.split("\n") if line.strip()][-_HEADING_LINES:]
    return any(list_named(line) == "sources" for line in last)


def _citations(body: str, entries: Sequence[Entry]) -> int:
    """The number of citations in a text that cites all entries in their order, and in no other form; else 0."""
    pages = Pages([SourceList(len(body), "sources", "", tuple(entries))])
    reading = read_citations(text_lines(body), {}, pages)
    stream = CitationStream({number: str(number) for number in range(1, len(entries) + 1)})
    pieces = stream.take(reading.parts) + stream.finish()
    cited = [piece.number for piece in pieces if isinstance(piece, Cited)]
    text = "".join(f"[{piece.number}]" if isinstance(piece, Cited) else piece.text for piece in pieces)
    is_whole = (
        text == body and not reading.links and [int(key) for key in stream.cited] == [*range(1, len(entries) + 1)]
    )
    return len(cited) if is_whole else 0
