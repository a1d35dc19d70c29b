"""Puts the citations of a draft that somebody else wrote in order; leaves it alone if they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...language import detect_language
from ..citing import UNKNOWN
from ..labels import labels
from ..markers import Marker, fence_after
from ..stream import CitationStream, Cited
from .addresses import page_key
from .citations import Reading, read_citations
from .entries import Entry, make_entry, numbered_entry
from .lists import Kind, SourceList, heading_level, list_named, read_draft, text_lines
from .resolving import Pages, labels_of

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


_BOLD = 7
_MOST_ROUNDS = 5


class Counts(NamedTuple):
    """What was done to a draft."""

    merged: int
    """Entries of lists that name a page which was listed before."""
    renumbered: int
    """Entries whose number is another now."""
    removed: int
    """Numbers in the text that named no source."""
    expanded: int
    """Ranges that were written out."""
    linked: int
    """Links and addresses in the text for which there is a marker now."""
    doubled: int
    """Citations of a page that is cited in the same place already."""
    uncited: int
    """Entries that nothing cites, now below the list."""
    before: int
    """Citations in the draft that lead to a source; a page counts once in one place."""
    after: int
    """The same of the text."""


class Fixed(NamedTuple):
    """A draft whose citations are in order."""

    text: str
    """The text with markers `[n]`, numbered in order of first use; then its sources, then further reading."""
    sources: tuple[str, ...]
    """The entries of the list, without their numbers; the first has the number 1."""
    further: tuple[str, ...]
    """The entries that nothing cites."""
    counts: Counts


def fix_citations(draft: str) -> Fixed:
    """Number the citations of a Markdown draft in order of first use, one number a page, with one list at the end.

    The draft's own lists of sources say what its numbers mean. Addresses and web links in the text are citations too;
    the words of links stay. A number that means nothing is removed, the sentence around it stays. An entry that nothing
    cites, or that does not say where its source can be read, goes below the list without a number; if no entry says so,
    all count as sources. Code stays as it is. Fixing a fixed draft changes nothing.
    """
    first = fixed = _fix(draft)
    for _ in range(_MOST_ROUNDS if first.text != draft else 0):
        # What is taken out can bring together what then reads like a citation or a list.
        again = _fix(fixed.text)
        if again.text == fixed.text:
            break
        fixed = again._replace(counts=again.counts._replace(before=first.counts.before))
    counts = first.counts._replace(after=fixed.counts.after, uncited=fixed.counts.uncited)
    return fixed._replace(counts=counts)


def _fix(draft: str) -> Fixed:
    if ordered := in_order(draft):
        counts = _nothing(ordered.citations)._replace(uncited=len(ordered.further))
        return Fixed(draft, ordered.sources, ordered.further, counts)
    read = read_draft(draft, lambda entry: bool(entry.address))
    pages = Pages(read.lists)
    reading = read_citations(read.body, labels_of(read.lists), pages)
    if not any(isinstance(part, Marker) for part in reading.parts) and _is_unnumbered(read.lists):
        # What is listed is cited in other ways, as by author and year.
        return Fixed(draft, (), (), _nothing(0))
    stream = CitationStream({number: str(number) for number in pages.entries})
    pieces = stream.take(reading.parts) + stream.finish()
    order = {int(key): number for number, key in enumerate(stream.cited, 1)}
    body = "".join(f"[{piece.number}]" if isinstance(piece, Cited) else piece.text for piece in pieces)
    sources, further = tuple(pages.entries[page] for page in order), pages.uncited(order)
    return Fixed(
        text=_document(body, read.lists, sources, further),
        sources=sources,
        further=further,
        counts=_counts(reading, pages, order, sum(isinstance(piece, Cited) for piece in pieces)),
    )


def _nothing(citations: int) -> Counts:
    return Counts(0, 0, 0, 0, 0, 0, 0, before=citations, after=citations)


def _is_unnumbered(lists: Sequence[SourceList]) -> bool:
    entries = [entry for found in lists for entry in found.entries if not entry.label]
    return bool(entries) and not any(entry.number for entry in entries) and all(f.kind == "sources" for f in lists)


def _counts(reading: Reading, pages: Pages, order: Mapping[int, int], after: int) -> Counts:
    places = [part.numbers for part in reading.parts if isinstance(part, Marker)]
    known = [[page for page in pages_there if page != UNKNOWN] for pages_there in places]
    before = sum(len(set(numbers)) for numbers in known)
    return Counts(
        merged=pages.merged,
        renumbered=sum(order.get(page, number) != number for page, number in pages.numbers.items()),
        removed=reading.removed,
        expanded=reading.ranges,
        linked=reading.links,
        doubled=sum(map(len, known)) - before,
        uncited=len(pages.uncited(order)),
        before=before,
        after=after,
    )


def _document(body: str, lists: Sequence[SourceList], sources: Sequence[str], further: Sequence[str]) -> str:
    if not sources and not further:
        return body
    words = labels(detect_language(body))
    body, left = _without_empty_headings(body.rstrip())
    heading = _heading(lists, "sources") or left.get("sources", "")
    parts = [_closed(body)] if body else []
    if sources:
        entries = [f"- [{number}] {text}" for number, text in enumerate(sources, 1)]
        parts += [heading or f"## {words.sources}", "\n".join(entries)]
    if further:
        level = heading_level(heading.rpartition("\n")[2])
        below = _heading(lists, "further") or left.get("further", "")
        parts += [below or f"{'#' * (level if 0 < level < _BOLD else 2)} {words.further}"]
        parts += ["\n".join(f"- {text}" for text in further)]
    return "\n\n".join(parts) + "\n"


def _without_empty_headings(body: str) -> tuple[str, dict[Kind, str]]:
    """A text without the headings of lists at its end, below which nothing is left; and these headings."""
    headings: dict[Kind, str] = {}
    lines = [] if end_of_fences(body) else body.split("\n")
    while lines and (not lines[-1].strip() or list_named(lines[-1])):
        last = lines.pop()
        if kind := list_named(last):
            headings[kind] = last
    return ("\n".join(lines), headings) if headings else (body, headings)


def _heading(lists: Sequence[SourceList], kind: Kind) -> str:
    """The heading of the draft's longest list of a kind, of the last of several."""
    named = [found for found in lists if found.heading and found.kind == kind]
    return max(reversed(named), key=lambda found: len(found.entries)).heading if named else ""


def _closed(body: str) -> str:
    """The text with a code fence closed that would take in what follows."""
    fence = end_of_fences(body)
    return f"{body}\n{fence}" if fence else body
