"""The numbers and dates of a sentence, as far as they can be compared with those of another."""

from __future__ import annotations

from typing import NamedTuple

from ..text.cues import DATING, LABELLED, RELATIONS, ROUGH_DATES, SINCE, UNITS, VAGUE
from ..text.vocabulary import STOP_WORDS
from ..text.words import stem
from .amounts import Amount, When, amounts_of
from .measures import UNIT_SIGNS
from .spelling import NOTHING, Piece, pieces_of

_SPANS = {"-", "–", "—", "to", "bis"}
_JOINERS = {*_SPANS, "/", "and", "until", "till", "or", "und", "oder", "et", "y"}


class Date(NamedTuple):
    """A day, a month or a year."""

    time: When
    relation: str
    """Whether it is when something was, or the begin or the end of what lasted: `in`, `since`, `until`."""

    def excludes(self, other: Date) -> bool:
        """Whether both cannot be the same day; a year does not exclude a day in it."""
        mine, theirs = self.time, other.time
        if mine.last < theirs.first or theirs.last < mine.first:
            return True
        return any(one != two for one, two in zip(mine[2:], theirs[2:], strict=True) if one and two)


class Quantity(NamedTuple):
    """How much or how many, or from how much to how much."""

    low: float
    high: float
    step: float
    """How exactly it is said: 10⁵ for 1.2 million, 1 for 38, 100 for 4,300."""
    unit: str
    """What is counted: a unit, or the stem of the word behind the number; empty if none is."""
    relation: str
    """The word before it, where it says what the number does: by, to, per …"""

    def excludes(self, other: Quantity) -> bool:
        """Whether both cannot be the same number; one may be the other rounded."""
        return max(self.low - other.high, other.low - self.high) > max(self.step, other.step) / 2


class Figures(NamedTuple):
    """What a sentence says in numbers."""

    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    labels: frozenset[str]
    """Numbers that name something: the 1998 cup, Route 66, 3 May."""
    rest: str
    """The other words."""
    is_clear: bool
    """Whether all of its numbers could be read, and none is a rough one or belongs to a span of years."""


class _Reader:
    """Reads the amounts of a sentence from left to right."""

    def __init__(self, sentence: str) -> None:
        plain = " ".join(sentence.split())
        self._plain = plain
        self._pieces = pieces_of(plain)
        self._amounts = {amount.first: amount for amount in amounts_of(self._pieces)}
        self._dates: list[Date] = []
        self._quantities: list[Quantity] = []
        self._labels: set[str] = set()
        self._rest: list[str] = []
        self._is_clear = True

    def read(self) -> Figures:
        """Read all."""
        place = 0
        while place < len(self._pieces):
            amount = self._amounts.get(place)
            if amount is None:
                self._rest += [self._pieces[place].raw] * (self._pieces[place].kind in ("word", "wide"))
                place += 1
            else:
                place = (self._date if amount.times else self._number)(amount)
        labels, rest = frozenset(self._labels), " ".join(self._rest)
        return Figures(tuple(self._dates), tuple(self._quantities), labels, rest, self._is_clear)

    def _at(self, place: int) -> Piece:
        return self._pieces[place] if 0 <= place < len(self._pieces) else NOTHING

    def _date(self, amount: Amount) -> int:
        """Take a date; returns the place behind it."""
        before, behind, time = self._at(amount.first - 1).word, amount.last + 1, amount.times[0]
        if not time.first:
            self._labels.add(self._raw(amount).lower())
        elif amount.values and before not in DATING and _is_telling(self._at(behind)):
            self._labels.add(self._raw(amount))
        else:
            self._dates.append(Date(time, SINCE.get(before, "in")))
            joiner, following = self._at(behind).word or self._at(behind).raw, self._amounts.get(behind + 1)
            is_span = joiner in _JOINERS and following is not None
            self._is_clear &= not is_span and before not in ROUGH_DATES and len(amount.times) == 1
        return behind

    def _number(self, amount: Amount) -> int:
        """Take a number, with another one if both are a span; returns the place behind it."""
        before = self._at(amount.first - 1)
        sign = UNIT_SIGNS.get(before.raw, "")
        before = self._at(amount.first - 2) if sign else before
        if _is_named(before):
            self._labels.add(f"{before.word} {self._raw(amount).lower()}")
            return amount.last + 1
        last = self._end_of_span(amount, before.word)
        behind = self._at(last.last + 1)
        unit, place = (sign, last.last + 1) if sign else self._unit(last)
        is_plain = len(amount.values) == len(last.values) == 1 and behind.raw != "+"
        if (
            amount.is_rough
            or before.word in VAGUE
            or not is_plain
            or (last is not amount and last.values <= amount.values)
        ):
            self._is_clear = False
        else:
            relation = before.word if before.word in RELATIONS else ""
            self._quantities.append(Quantity(amount.values[0], last.values[0], amount.step, unit, relation))
        return place

    def _end_of_span(self, amount: Amount, before: str) -> Amount:
        """The other end of a span that a number begins; the number itself if it begins none."""
        joiner, last = self._at(amount.last + 1), self._amounts.get(amount.last + 2)
        words = joiner.word or joiner.raw
        if last is None or last.times or not last.values:
            return amount
        if words in _SPANS or (words == "and" and before == "between"):
            return last
        self._is_clear &= words not in {"/", "or", "oder"}
        return amount

    def _unit(self, amount: Amount) -> tuple[str, int]:
        """What is counted, and the place behind it."""
        place = amount.last + 1
        place += self._at(place).raw == "-" and _is_telling(self._at(place + 1))
        piece = self._at(place)
        if not (_is_telling(piece) or piece.raw in UNIT_SIGNS):
            return amount.unit, place
        word = UNIT_SIGNS.get(piece.raw) or UNITS.get(piece.word, piece.word)
        self._rest.append(word)
        return (amount.unit or (word if word in UNITS else stem(word))), place + 1

    def _raw(self, amount: Amount) -> str:
        return self._plain[self._pieces[amount.first].start : self._pieces[amount.last].end]


def figures_in(sentence: str) -> Figures:
    """The numbers and dates of a sentence, and its other words."""
    return _Reader(sentence).read()


def _is_telling(piece: Piece) -> bool:
    return piece.kind == "word" and piece.word not in STOP_WORDS


def _is_named(before: Piece) -> bool:
    if before.kind != "word":
        return False
    is_name = before.raw[0].isupper() and before.word not in STOP_WORDS | VAGUE | RELATIONS
    return is_name or before.word in LABELLED
