"""The sources that a report by another program names: in its lists of sources, and as they are
cited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

from ._short_forms import names_with_page, short_forms
from ._source_lists import PUBLICATION_YEAR, ListedSource, SourceList, Target

_START = re.compile(r"https?://(?:www\.)?", re.I)
_NAME = re.compile(r"[^\W\d_][\w'’.&-]*")
_AUTHOR_AND_YEAR = re.compile(r"([^\W\d_]+)\w*?((?:1[5-9]|20)\d\d[a-z]?)\w*")
_KEY = re.compile(r"[^\W\d_][\w+:.-]*\d[\w+:.-]*")
_HEAD_WORDS = 12
"""Number of words at the start of an entry among which its authors are."""
_MOST_ALIKE = 100
"""Maximum number of sources among which an author is looked for."""
_TITLE_WORDS = 8
"""Maximum number of words of a title by which a marker may name a source; at least two."""


class NotUnderstood(NamedTuple):
    """What looks like a citation in a report, but names no source that is known."""

    words: str
    """As the report writes it."""
    reason: str
    number: int
    """The number of the citation in its place; 0 if the text keeps the words."""


class KnownSources:
    """The sources of a report with their numbers, which are the report's own where it has some."""

    def __init__(self, lists: Sequence[SourceList], reserved: Iterable[int]) -> None:
        """`reserved`: numbers in the text, which are not given to sources without a number."""
        self.targets = dict[int, Target]()
        """The sources by number."""
        self.labels = dict[str, int]()
        """Numbers of the listed sources by their labels, in lower case."""
        self.listed = set[int]()
        """Numbers of the listed sources."""
        self.numbered = set[int]()
        """Numbers of those that have one in the report."""
        self.given = set[int]()
        """Numbers that the report itself gives to sources."""
        self.has_lists = bool(lists)
        self._numbers = dict[str, int]()
        """Numbers by address or file name."""
        self._works = list[tuple[int, str]]()
        """Number and text of each listed source."""
        self._by_word = dict[str, list[int]]()
        """Positions in `_works` by the words at the beginnings of the texts."""
        self._by_title = dict[str, set[int]]()
        """Numbers by the first words of the texts."""
        self._label_forms = set[bool]()
        """Whether labels are single letters; empty if all are numbers or words."""
        self._not_understood = dict[str, NotUnderstood]()
        self._free = count(1)
        entries = [entry for found in lists for entry in found.entries]
        numbered = [entry for entry in entries if is_number(entry.label)]
        self._reserved = {*reserved, *(int(entry.label) for entry in numbered)}
        others = [entry for entry in entries if not is_number(entry.label)]
        previous: int | None = None
        for entry in [*numbered, *others]:
            previous = self._add_entry(entry, previous)

    @property
    def not_understood(self) -> list[NotUnderstood]:
        """What looks like a citation but is not understood, each once, in order."""
        return [*self._not_understood.values()]

    @property
    def has_works(self) -> bool:
        """Whether several entries have a year and no number, so that authors and years cite
        them."""
        dated = [number for number, words in self._works if PUBLICATION_YEAR.search(words)]
        return len(dated) > 1 and not self.numbered

    def add(self, target: Target, wanted: int = 0) -> int:
        """Return the number of a source; `wanted` is the one that the report gives it."""
        plain = _plain(target.address)
        if plain in self._numbers:
            number = self._numbers[plain]
            if not self.targets[number].title:
                self.targets[number] = self.targets[number]._replace(title=target.title)
            return number
        return self._add_new(target, wanted if wanted not in self.targets else 0)

    def misunderstood(self, words: str, reason: str, wanted: int = 0) -> int:
        """Note that a marker is not understood; return the number that stands for it."""
        words = " ".join(words.split())
        known = self._not_understood.get(words)
        if known and known.number:
            return known.number
        number = self._add_new(Target(words, ""), wanted if wanted not in self.targets else 0)
        self._not_understood[words] = NotUnderstood(words, reason, number)
        return number

    def name_only(self, words: str, reason: str) -> None:
        """Note that something may be a citation that is not understood, and stays in the text."""
        words = " ".join(words.split())
        self._not_understood.setdefault(words, NotUnderstood(words, reason, 0))

    def add_work(self, number: int, words: str) -> None:
        """Have authors, year and title in these words stand for a source."""
        year = PUBLICATION_YEAR.search(words)
        beginning = words[: year.start()] if year and year.start() else words
        self._works.append((number, words))
        names = (name.casefold().strip(".'’") for name in _NAME.findall(beginning)[:_HEAD_WORDS])
        for name in dict.fromkeys(names):
            positions = self._by_word.setdefault(name, [])
            if len(positions) < _MOST_ALIKE:
                positions.append(len(self._works) - 1)
        title = _title_words(words)[:_TITLE_WORDS]
        for size in range(2, len(title) + 1):
            self._by_title.setdefault(" ".join(title[:size]), set()).add(number)

    def may_be_label(self, label: str) -> bool:
        """Whether a label has the form of one that is known: a letter, or a key."""
        return is_key(label) and (len(label) == 1) in self._label_forms

    def by_title(self, words: str) -> int | None:
        """Return the only listed source whose text begins with these words, at least two."""
        numbers = self._by_title.get(" ".join(_title_words(words)), set())
        return next(iter(numbers)) if len(numbers) == 1 else None

    def by_key(self, key: str) -> int | None:
        """Return the source with this key; one such as `ash2020` may also mean the only one by this
        author of this year."""
        number = self.labels.get(key.casefold())
        found = _AUTHOR_AND_YEAR.fullmatch(key)
        if number is not None or not found:
            return number
        fitting = self.by_authors((found[1].casefold(),), found[2].casefold())
        return fitting[0] if len(fitting) == 1 else None

    def by_authors(self, names: Sequence[str], year: str) -> list[int]:
        """Return the numbers of the sources by these authors of this year (any if empty)."""
        positions = [self._by_word.get(name, ()) for name in names]
        if not all(positions):
            return []
        fitting = dict[int, bool]()
        for position in set(positions[0]).intersection(*positions[1:]):
            number, words = self._works[position]
            if not year or _has_year(words, year):
                begins = words.casefold().lstrip(' *_“„"').startswith(names[0])
                fitting[number] = begins or fitting.get(number, False)
        # Elsewhere, the name may be part of a title.
        at_start = [number for number, begins in fitting.items() if begins]
        return sorted(at_start or fitting)

    def _add_entry(self, entry: ListedSource, previous: int | None) -> int:
        """Add an entry of a source list, after the one with the number `previous`; return its
        number."""
        target = entry.target
        if not target.address:
            meant = self._meant(entry.words, previous)
            target = self.targets[meant] if meant else target
        if is_number(entry.label):
            number = int(entry.label)
            if number not in self.targets:
                self._add_new(target, number)
            self.numbered.add(number)
        else:
            number = self.add(target)
        self.listed.add(number)
        if entry.label:
            self.labels.setdefault(entry.label, number)
            if is_key(entry.label):
                self._label_forms.add(len(entry.label) == 1)
        self.add_work(number, entry.words)
        return number

    def _meant(self, words: str, previous: int | None) -> int | None:
        """Return the source that an entry without an address means by a short form; None if it is
        no short form or none is known."""
        forms = short_forms(words)
        names = names_with_page(words)
        if forms:
            names = forms[0].names
            if forms[0].note:
                return self.labels.get(forms[0].note)
            if not names:
                return previous
        fitting = self.by_authors(names, "") if names else []
        if len(fitting) == 1:
            return fitting[0]
        return previous if forms and not forms[0].is_work else None

    def _add_new(self, target: Target, wanted: int) -> int:
        if wanted:
            self.given.add(wanted)
        number = wanted
        while not number or (not wanted and (number in self._reserved or number in self.targets)):
            number = next(self._free)
        self.targets[number] = target
        if target.address:
            self._numbers.setdefault(_plain(target.address), number)
        return number


def is_number(label: str) -> bool:
    """Whether a label is the number of a source."""
    return label.isdecimal() and 0 < int(label) < 1000


def is_key(label: str) -> bool:
    """Whether a label is a letter or a key such as `Ash20`, not words of a text."""
    is_letter = len(label) == 1 and label.isalpha()
    return is_letter or _KEY.fullmatch(label) is not None


def _has_year(words: str, year: str) -> bool:
    """Whether a text has a year; one without a letter is found with any."""
    for found in PUBLICATION_YEAR.findall(words):
        known = re.sub(r"\s", "", found).casefold()
        if known == year or (year[-1:].isdigit() and known[:-1] == year):
            return True
    return False


def _title_words(words: str) -> list[str]:
    return re.findall(r"\w+", words.casefold())


def _plain(address: str) -> str:
    """Return a normal form of an address, in which spellings of the same one are equal."""
    plain = _START.sub("", address.partition("#")[0]).rstrip("/").casefold()
    return plain.removeprefix("./")
