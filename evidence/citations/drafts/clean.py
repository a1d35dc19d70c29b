"""Cleans a draft whose sources are known: what our own writer wrote."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....records.sources import Source
from ..citing import UNKNOWN
from ..markers import Marker
from .entries import Entry, page_key
from .lists import Numbering, SourceList, read_draft
from .reading import read_citations

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
    """The text without the line that set a list apart."""
    return _LAST_RULE.sub("", text.rstrip()).rstrip()


def _bare(marker: Marker) -> str:
    """The marker's known numbers one by one, or that it names nothing."""
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
        """Our number of a source that the draft lists: by its address, without one by its title."""
        if entry.address:
            numbers = self._pages.get(page_key(entry.address), [UNKNOWN])
        else:
            numbers = self._titles.get(_words(entry.text), [UNKNOWN])
        return entry.number if entry.number in numbers else numbers[0]

    def source_of(self, number: int, place: int) -> int:
        """Our number of the source that a number of the draft means."""
        entry = self._numbering.entry(number, place)
        if number in self._sources and not self._is_own:
            return number
        return self.number(entry) if entry else UNKNOWN

    def source_at(self, address: str, words: str) -> int:  # noqa: ARG002 - the words of a link do not say which it is
        """Our number of the source at an address."""
        return self._pages.get(page_key(address), [UNKNOWN])[0]


def _words(title: str) -> str:
    return " ".join(re.findall(r"\w+", title)).casefold()
