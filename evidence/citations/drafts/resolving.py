"""Which entry of which list a number in a draft means, and which pages the draft names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from ..citing import UNKNOWN
from .addresses import address_in, host_of, is_page, page_key
from .entries import Entry
from .lists import SourceList


class Numbering:
    """The numbers that a draft's lists give, each in the part of the draft that its list stands for.

    A number means the entry of the next list that has it, or else of the last one before it. Of two entries with one
    number in a list, the first is meant. Lists without any number are counted through.
    """

    def __init__(self, lists: Iterable[SourceList]) -> None:
        self._entries: dict[int, list[tuple[int, Entry]]] = defaultdict(list)
        lists = list(lists)
        has_numbers = any(entry.number is not None for found in lists for entry in found.entries)
        for found in lists:
            for count, entry in enumerate(found.entries, 1):
                number = entry.number
                if not has_numbers and found.kind == "sources" and not entry.label:
                    number = count
                if number is not None:
                    self._entries[number].append((found.place, entry))

    def entry(self, number: int, place: int) -> Entry | None:
        """The entry that a number means in a line of the draft; none if no list has it."""
        known = self._entries.get(number)
        if not known:
            return None
        following = bisect_left(known, place, key=lambda pair: pair[0])
        return known[min(following, len(known) - 1)][1]


def labels_of(lists: Iterable[SourceList]) -> Mapping[str, str]:
    """The addresses of links that are defined elsewhere, by their names in lower case; footnotes begin with `^`."""
    return {
        entry.label.casefold(): entry.address
        for found in lists
        for entry in found.entries
        if entry.label and is_page(entry.address)
    }


_NO_TITLE = re.compile(
    r"[\W\d_]*|\W*(?:sources?|links?|here|quelle|hier|来源|链接|出典|fuente|fonte|bron)\W*|.*://.*",
    re.IGNORECASE | re.DOTALL,
)
_MARKER = re.compile(r"(?<!\\)[\[【［](\^?\d[^\[\]【】［］]*)[\]】］]")
_NUMBER_FIRST = re.compile(r"^((?:\*\*)?\d{1,3})([.):])")
_WIDE_NUMBER_FIRST = re.compile(r"^((?:\*\*)?\d{1,3})([、．：])")
_ENCLOSED_FIRST = re.compile(r"^((?:\*\*)?)([(（]\d)")


class Pages:
    """Counts the pages of a draft from 1 in the order in which they are met: those of lists, then those of links."""

    keeps_unknown = True

    def __init__(self, lists: Sequence[SourceList]) -> None:
        self.entries: dict[int, str] = {}
        """How each page is listed."""
        self.numbers: dict[int, int] = {}
        """The number that the draft gives to a page, where it does; the first of several."""
        self.merged = 0
        self._pages: dict[str, int] = {}
        self._numbering = Numbering(lists)
        self._without_address: dict[str, None] = {}
        self._has_addresses = any(entry.address for found in lists for entry in found.entries)
        for found in lists:
            for entry in found.entries:
                self._list(entry)

    def _list(self, entry: Entry) -> None:
        key = self._key(entry)
        if not key:
            self._without_address[_without_marker(entry.text)] = None
            return
        self.merged += key in self._pages
        page = self._page(key, entry.text)
        if entry.number is not None:
            self.numbers.setdefault(page, entry.number)

    def _key(self, entry: Entry) -> str:
        """What tells the page of an entry from others; empty if it is no source, since others say where they are."""
        if entry.address:
            return page_key(entry.address)
        return "" if self._has_addresses else entry.text

    def _page(self, key: str, text: str) -> int:
        page = self._pages.setdefault(key, len(self._pages) + 1)
        self.entries.setdefault(page, text)
        return page

    def named(self, number: int, place: int) -> int:
        """The page that a number names in this line of the draft."""
        entry = self._numbering.entry(number, place)
        key = self._key(entry) if entry else ""
        return self._pages[key] if key else UNKNOWN

    def linked(self, address: str, words: str) -> int:
        """The page at a web address, or in a file that a number is linked to."""
        if not (is_page(address) or (not words and address_in(address))):
            return UNKNOWN
        title = host_of(address) if _NO_TITLE.fullmatch(words) else " ".join(words.split())
        return self._page(page_key(address), f"{_without_marker(title)} — <{address}>")

    def uncited(self, cited: Container[int]) -> tuple[str, ...]:
        """The entries of pages that are not among the cited, and those without an address; none looks like a number."""
        pages = {_without_marker(text): None for page, text in self.entries.items() if page not in cited}
        return tuple(pages | self._without_address)


def _without_marker(text: str) -> str:
    """The text of an entry in such a form that nothing in it reads like a number of a source."""
    text = _ENCLOSED_FIRST.sub(r"\1\\\2", _NUMBER_FIRST.sub(r"\1\\\2", _MARKER.sub(r"\\[\1\\]", text)))
    return _WIDE_NUMBER_FIRST.sub(r"\1 \2", text)
