"""Puts the citations of a draft in order: of our own writer, whose sources are known, or of anybody."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from ....records.sources import Source
from ...language import detect_language
from ..citing import UNKNOWN, CitationStream, Cited
from ..labels import labels
from ..markers import Marker, fence_after
from .entries import Entry, address_in, host_of, is_page, page_key
from .lists import Kind, Numbering, SourceList, heading_level, read_draft
from .reading import Reading, read_citations

_LAST_RULE = re.compile(r"\n\s*(?:-{3,}|\*{3,}|_{3,})$")


class Cleaned(NamedTuple):
    """A draft whose only citations are markers of known sources, and of nothing."""

    text: str
    """The text with markers `[n]` of known numbers, and `[0]` where a citation named no source."""
    removed: int
    """Numbers that named no source."""


def clean_draft(text: str, sources: Mapping[int, Source]) -> Cleaned:
    """Bring the citations of a whole draft into the form `[n]` of the numbers under which its sources are known.

    Known addresses become markers, unknown ones go, the words of links stay. A list of sources in the draft is taken
    out. If it gives another number to a known source than we do, the draft's numbers are its own: those of sources that
    are known are changed into ours, the others name nothing. Code stays as it is.
    """
    known = _Known(sources)
    read = read_draft(text, lambda entry: known.number(entry) != UNKNOWN or bool(entry.address))
    known.take_numbering(read.lists)
    reading = read_citations(read.body, read.labels(), known)
    cleaned = "".join(part if isinstance(part, str) else _bare(part) for part in reading.parts)
    return Cleaned(_without_rule(cleaned), reading.removed)


def _without_rule(text: str) -> str:
    """Return the text without the rule that separated a list from it."""
    return _LAST_RULE.sub("", text.rstrip()).rstrip()


def _bare(marker: Marker) -> str:
    """Return the marker's known numbers one by one, or the mark of no source."""
    known = [number for number in dict.fromkeys(marker.numbers) if number != UNKNOWN]
    return "".join(f"[{number}]" for number in known or [UNKNOWN])


class _Known:
    keeps_unknown = False

    def __init__(self, sources: Mapping[int, Source]) -> None:
        self._sources = sources
        self._pages: dict[str, list[int]] = defaultdict(list)
        self._titles: dict[str, list[int]] = defaultdict(list)
        for number, source in sources.items():
            for address in (source.key, source.location, source.address):
                self._pages[page_key(address)].append(number)
            self._titles[_words(source.title)].append(number)
        self.take_numbering(())

    def take_numbering(self, lists: Sequence[SourceList]) -> None:
        """Learn what the draft's own lists say about its numbers."""
        self._numbering = Numbering(lists)
        entries = [entry for found in lists for entry in found.entries if entry.number is not None]
        self._is_own = any(self._counts_otherwise(entry) for entry in entries)

    def _counts_otherwise(self, entry: Entry) -> bool:
        # Titles may stand in any order; an address, or a number that we never gave, tells of another numbering.
        ours = self.number(entry)
        is_foreign = bool(entry.address) or entry.number not in self._sources
        return is_foreign and ours not in (entry.number, UNKNOWN)

    def number(self, entry: Entry) -> int:
        """Return our number of a source that the draft lists: found by its address, or without one by its title."""
        if entry.address:
            numbers = self._pages.get(page_key(entry.address), [UNKNOWN])
        else:
            numbers = self._titles.get(_words(entry.text), [UNKNOWN])
        return entry.number if entry.number in numbers else numbers[0]

    def source_of(self, number: int, place: int) -> int:
        """Return our number of the source that a number of the draft means."""
        entry = self._numbering.entry(number, place)
        if number in self._sources and not self._is_own:
            return number
        return self.number(entry) if entry else UNKNOWN

    def source_at(self, address: str, words: str) -> int:  # noqa: ARG002 - the words of a link do not say which it is
        """Return our number of the source at an address."""
        return self._pages.get(page_key(address), [UNKNOWN])[0]


def _words(title: str) -> str:
    return " ".join(re.findall(r"\w+", title)).casefold()


_MOST_ROUNDS = 5


class Counts(NamedTuple):
    """What was done to a draft."""

    merged: int
    """Entries of lists that name a page which was listed before."""
    removed: int
    """Numbers in the text that named no source."""
    linked: int
    """Links and addresses in the text that became markers."""
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
    for _ in range(_MOST_ROUNDS):
        # What is taken out can bring together what then reads like a citation or a list.
        again = _fix(fixed.text)
        if again.text == fixed.text:
            break
        fixed = again
    counts = first.counts._replace(after=fixed.counts.after, uncited=fixed.counts.uncited)
    return fixed._replace(counts=counts)


def _fix(draft: str) -> Fixed:
    read = read_draft(draft, lambda entry: bool(entry.address))
    pages = _Pages(read.lists)
    reading = read_citations(read.body, read.labels(), pages)
    if not any(isinstance(part, Marker) for part in reading.parts) and _is_unnumbered(read.lists):
        # What is listed is cited in other ways, as by author and year.
        return Fixed(draft, (), (), Counts(0, 0, 0, 0, 0, 0))
    stream = CitationStream({number: str(number) for number in pages.entries})
    pieces = stream.take(reading.parts) + stream.finish()
    order = [int(key) for key in stream.cited]
    body = "".join(f"[{piece.number}]" if isinstance(piece, Cited) else piece.text for piece in pieces)
    sources, further = tuple(pages.entries[page] for page in order), pages.uncited(order)
    counts = Counts(
        merged=pages.merged,
        removed=reading.removed,
        linked=reading.links,
        uncited=len(further),
        before=_citations(reading),
        after=sum(isinstance(piece, Cited) for piece in pieces),
    )
    return Fixed(_document(body, read.lists, sources, further), sources, further, counts)


def _is_unnumbered(lists: Sequence[SourceList]) -> bool:
    entries = [entry for found in lists for entry in found.entries if not entry.label]
    return bool(entries) and not any(entry.number for entry in entries) and all(f.kind == "sources" for f in lists)


def _citations(reading: Reading) -> int:
    return sum(len({*part.numbers} - {UNKNOWN}) for part in reading.parts if isinstance(part, Marker))


def _document(body: str, lists: Sequence[SourceList], sources: Sequence[str], further: Sequence[str]) -> str:
    if not sources and not further:
        return body
    words = labels(detect_language(body))
    parts = [_closed(body.rstrip())] if body.strip() else []
    heading = _heading(lists, "sources")
    if sources:
        parts += [heading or f"## {words.sources}"]
        parts += ["\n".join(f"- [{number}] {text}" for number, text in enumerate(sources, 1))]
    if further:
        level = heading_level(heading.rpartition("\n")[2])
        parts += [_heading(lists, "further") or f"{'#' * (level if 1 <= level <= 6 else 2)} {words.further}"]
        parts += ["\n".join(f"- {text}" for text in further)]
    return "\n\n".join(parts) + "\n"


def _heading(lists: Sequence[SourceList], kind: Kind) -> str:
    """Return the heading of the draft's longest list of a kind; of equally long ones, that of the last."""
    named = [found for found in lists if found.heading and found.kind == kind]
    return max(reversed(named), key=lambda found: len(found.entries)).heading if named else ""


def _closed(body: str) -> str:
    """Return the text with an open code fence closed, as it would swallow what follows."""
    fence = ""
    for line in body.split("\n"):
        fence = fence_after(fence, line)
    return f"{body}\n{fence}" if fence else body


_NO_TITLE = re.compile(r"[\W\d_]*|.*://.*", re.DOTALL)
_MARKER = re.compile(r"(?<!\\)[\[【［](\^?\d[^\[\]【】［］]*)[\]】］]")
_NUMBER_FIRST = re.compile(r"^((?:\*\*)?\d{0,3})(?=[.):、．：]|[(（]\d)")


class _Pages:
    """Counts the pages of a draft from 1 in the order in which they are met: those of lists, then those of links."""

    keeps_unknown = True

    def __init__(self, lists: Sequence[SourceList]) -> None:
        self.entries: dict[int, str] = {}
        """How each page is listed."""
        self.merged = 0
        self._pages: dict[str, int] = {}
        self._numbering = Numbering(lists)
        self._without_address: dict[str, None] = {}
        entries = [entry for found in lists for entry in found.entries]
        self._has_addresses = any(entry.address for entry in entries)
        for entry in entries:
            if key := self._key(entry):
                self.merged += key in self._pages
                self._page(key, entry.text)
            else:
                self._without_address[_without_marker(entry.text)] = None

    def _key(self, entry: Entry) -> str:
        """Return what identifies the page of an entry; empty if it is not a source, because other entries say where
        they are.
        """
        if entry.address:
            return page_key(entry.address)
        return "" if self._has_addresses else entry.text

    def _page(self, key: str, text: str) -> int:
        page = self._pages.setdefault(key, len(self._pages) + 1)
        self.entries.setdefault(page, text)
        return page

    def source_of(self, number: int, place: int) -> int:
        """Return the page that a number names in this line of the draft."""
        entry = self._numbering.entry(number, place)
        return self._pages.get(self._key(entry), UNKNOWN) if entry else UNKNOWN

    def source_at(self, address: str, words: str) -> int:
        """Return the page at a web address, or in a file that a number is linked to."""
        if not (is_page(address) or (not words and address_in(address))):
            return UNKNOWN
        title = host_of(address) if _NO_TITLE.fullmatch(words) else " ".join(words.split())
        return self._page(page_key(address), f"{_without_marker(title)} — <{address}>")

    def uncited(self, cited: Container[int]) -> tuple[str, ...]:
        """Return the entries of pages that are not among the cited, and those without an address."""
        pages = {_without_marker(text): None for page, text in self.entries.items() if page not in cited}
        return tuple(pages | self._without_address)


def _without_marker(text: str) -> str:
    """Return the text of an entry with anything escaped that reads like the number of a source."""
    return _NUMBER_FIRST.sub(r"\1\\", _MARKER.sub(r"\\[\1\\]", text))
