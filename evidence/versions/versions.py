"""Tells which of some documents are versions of one document, and which of these is in force.

A draft never takes the place of what was decided, whatever its date, nor does what is to hold from a later day.

Names that are alike but for a date, a number or a status make no versions by themselves: the report of the next year
takes nothing back. It takes a status, numbers of versions, a text that says what it replaces, or texts that are largely
the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import permutations
from typing import NamedTuple, TypeVar

from ..likeness import likeness
from ..reprints import REPRINT, overlap, runs_of
from ..words import stems, tokens
from .dates import agree
from .names import Status, folder_of, marks_in, read_path, read_title
from .standing import Standing, beginning_in, says_it_is_draft
from .statements import Statement, statements_in, status_in
from .vocabulary import DRAFT, RULE_ENDINGS, RULES, SERIES

AKIN = 0.2
"""Likeness of their words from which on two texts may be of the same thing."""
COMPARED = 20_000
"""Characters of a text whose words are compared."""
FEWEST_WORDS = 2
"""Words of a title from which on it names a document wherever this lies."""
Ordered = TypeVar("Ordered", str, tuple[int, ...])
_FIGURE = re.compile(r"\d[\d.,]*")


class Edition(NamedTuple):
    """A document, as far as it matters here."""

    key: str
    title: str
    path: str
    """Its path, or its address, the first folder of which is where the user keeps the documents."""
    date: str
    """Its date as it states it (the beginning of an ISO date); may be empty."""
    text: str


def superseded(editions: Iterable[Edition], today: str = "") -> dict[str, str]:
    """The key of the version in force by the key of each version that is not; what is in force is left out.

    The order of the documents makes no difference. `today` is an ISO date; without it, all dates count as past.
    """
    read = [_Read(edition, today) for edition in sorted(set(editions))]
    newer: dict[str, set[str]] = {}
    for old, new in permutations(read, 2):
        if _takes_place_of(old, new):
            newer.setdefault(old.key, set()).add(new.key)
    order = {one.key: (one.date, one.number, one.key) for one in read}
    # Documents that replace each other lead to none that is in force.
    last = {key: [one for one in _reached(key, newer) if one not in newer] for key in sorted(newer)}
    return {key: max(found, key=lambda one: order[one]) for key, found in last.items() if found}


def standings(editions: Iterable[Edition], newer: Mapping[str, str], today: str) -> dict[str, Standing]:
    """What a reader must know of those that are not in force yet, by key; `newer` as `superseded` tells it.

    A name alone makes a draft, or what is to come, only of a version: a report may well be of next year.
    """
    versions = newer.keys() | set(newer.values())
    read = {edition: _Read(edition, today) for edition in editions}
    found = {edition.key: _standing(edition, own, edition.key in versions) for edition, own in read.items()}
    return {key: standing for key, standing in found.items() if standing != Standing()}


def _standing(edition: Edition, read: _Read, is_version: bool) -> Standing:
    is_draft = read.is_draft and (is_version or says_it_is_draft(edition.title, edition.path, edition.text))
    return Standing(is_draft, read.in_force_from if is_version or beginning_in(edition.text) else "")


def _reached(start: str, newer: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    open_keys = [start]
    while open_keys:
        further = newer.get(open_keys.pop(), set()) - found
        found |= further
        open_keys += further
    return found


class _Read:
    """A document as it is compared; what is told of it is worked out when first asked for."""

    def __init__(self, edition: Edition, today: str) -> None:
        self.key, self.text, self._today = edition.key, edition.text, today
        self.title, self.path = read_title(edition.title), read_path(edition.path)
        self.date = self.title.date or self.path.date or edition.date[:10]
        self.number = self.title.number or self.path.number
        self.dates = {date for date in (self.title.date, self.path.date, edition.date[:10]) if date}
        self.title_words = set(tokens(edition.title))
        self.folder = folder_of(edition.path)

    @cached_property
    def status(self) -> Status:
        return self.title.status or self.path.status or status_in(self.text)

    @property
    def is_draft(self) -> bool:
        return self.status == "draft"

    @cached_property
    def in_force_from(self) -> str:
        """The day or the year from which on it holds, if that is still to come."""
        day = beginning_in(self.text) or self.date
        return day if self._today and day > self._today[: len(day)] else ""

    @cached_property
    def statements(self) -> list[Statement]:
        return statements_in(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(stems(self.text[:COMPARED]))

    @cached_property
    def runs(self) -> frozenset[int]:
        return runs_of(self.text)

    @cached_property
    def figureless(self) -> frozenset[int]:
        """Its runs with all figures alike."""
        return runs_of(_FIGURE.sub("0", self.text))

    @property
    def is_of_series(self) -> bool:
        return not SERIES.isdisjoint((*self.title.base, *self.path.base))

    @property
    def holds_until_replaced(self) -> bool:
        words = (*self.title.base, *self.path.base)
        return not RULES.isdisjoint(words) or any(word.endswith(RULE_ENDINGS) for word in words)


def _takes_place_of(old: _Read, new: _Read) -> bool:
    if new.is_draft and not old.is_draft:
        return False
    if old.is_draft:
        return _replaces(old, new)
    if old.in_force_from:
        # What is to replace another version gives way to it until then.
        return _replaces(new, old)
    return not new.in_force_from and _replaces(old, new)


def _replaces(old: _Read, new: _Read) -> bool:
    """Whether the second one replaces the first, once it is in force."""
    have_one_name = _have_one_name(old, new)
    if not (have_one_name or old.statements or new.statements):
        return False
    if any(statement.is_replaced and _is_meant(statement, old, new) for statement in old.statements):
        return True
    age = _age(old, new)
    if age < 0 and not (old.is_draft and not new.is_draft):
        return False
    if any(not statement.is_replaced and _is_meant(statement, new, old) for statement in new.statements):
        return True
    if not have_one_name or likeness(old.words, new.words) < AKIN:
        return False
    if old.status != new.status:
        return new.status == "" and _may_follow(old, new)
    return age > 0 and (bool(old.number and new.number) or _is_new_text_of(old, new))


def _is_meant(statement: Statement, own: _Read, other: _Read) -> bool:
    """Whether the other document is the one of which the own one says that it replaces it, or is replaced by it."""
    marks, words = marks_in(statement.which), set(tokens(statement.which))
    is_dated = bool(marks.dates or marks.numbers)
    if is_dated and other.number not in marks.numbers and not agree(marks.dates, other.dates):
        return False
    if len(other.title_words) >= FEWEST_WORDS and other.title_words <= words:
        return True
    if not _have_one_name(own, other):
        return False
    if is_dated:
        return bool(marks.numbers) or statement.is_of_document
    if not DRAFT.isdisjoint(words):
        return other.status == "draft"
    if statement.is_replaced:
        return statement.is_of_newer and _age(own, other) > 0
    return statement.is_of_earlier and statement.is_of_document and _age(other, own) > 0


def _have_one_name(one: _Read, other: _Read) -> bool:
    if one.path.base and one.path.base == other.path.base:
        return True
    if not one.title.base or one.title.base != other.title.base:
        return False
    is_marked = one.title.is_marked or other.title.is_marked or one.is_draft or other.is_draft
    return is_marked and (len(one.title.base) >= FEWEST_WORDS or one.folder == other.folder)


def _age(old: _Read, new: _Read) -> int:
    """1 if the second is newer, -1 if it is older, 0 if that cannot be told."""
    length = min(len(old.date), len(new.date))
    signs = {_order(old.date[:length], new.date[:length])}
    if old.number and new.number:
        signs.add(_order(old.number, new.number))
    signs -= {0}
    return signs.pop() if len(signs) == 1 else 0


def _order(one: Ordered, other: Ordered) -> int:
    return (other > one) - (other < one)


def _may_follow(old: _Read, new: _Read) -> bool:
    """Whether a draft or a shelved document and one in force may be versions: of a series, only those of one year."""
    return not old.is_of_series or not old.date or not new.date or old.date[:4] == new.date[:4]


def _is_new_text_of(old: _Read, new: _Read) -> bool:
    if old.is_of_series:
        return False
    if overlap(old.runs, new.runs) >= REPRINT:
        return True
    return old.holds_until_replaced and overlap(old.figureless, new.figureless) >= REPRINT
