"""Which entry of which list a number in a draft means."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping

from .addresses import is_page
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
