"""The numbers and dates of a sentence, as far as they can be compared with those of another."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from .cues import (
    DATING,
    LABELLED,
    MULTIPLIERS,
    NUMBER_WORDS,
    RELATIONS,
    ROUGH_DATES,
    SIGNS,
    SINCE,
    UNITS,
    VAGUE,
)
from .pieces import DATES, NOTHING, Piece, pieces_of
from .vocabulary import STOP_WORDS
from .words import stem

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_SPANS = {"-", "–", "—", "to", "bis"}
_JOINERS = {*_SPANS, "/", "and", "until", "till", "or", "und", "oder", "et", "y"}
_ROUGH_SIGNS = set("~≈<>≥≤±")


class Date(NamedTuple):
    """A day, a month or a year."""

    year: int
    month: int
    """0 if it is not said."""
    day: int
    """0 if it is not said."""
    relation: str
    """Whether it is when something was, or the begin or the end of what lasted: `in`, `since`, `until`."""

    def excludes(self, other: Date) -> bool:
        """Whether both cannot be the same day; a year does not exclude a day in it."""
        pairs = zip(self[:3], other[:3], strict=True)
        return any(mine != theirs for mine, theirs in pairs if mine and theirs)


class Quantity(NamedTuple):
    """How much or how many, or from how much to how much."""

    low: Decimal
    high: Decimal
    step: Decimal
    """How exactly it is said: 10⁵ for 1.2 million, 1 for 38, 100 for 4,300."""
    unit: str
    """Stem of the word behind it; empty if none is."""
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
    """Reads the pieces of a sentence from left to right."""

    def __init__(self, sentence: str) -> None:
        self._pieces = pieces_of(sentence)
        self._place = 0
        self._dates: list[Date] = []
        self._quantities: list[Quantity] = []
        self._labels: set[str] = set()
        self._rest: list[str] = []
        self._is_clear = True

    def read(self) -> Figures:
        """Read all."""
        while (piece := self._at(0)) != NOTHING:
            self._place += 1
            if piece.kind in DATES:
                self._take_date(piece)
            elif piece.kind == "number" or piece.word in NUMBER_WORDS:
                self._take_number(piece)
            elif piece.kind == "word":
                self._rest.append(piece.raw)
        labels, rest = frozenset(self._labels), " ".join(self._rest)
        return Figures(tuple(self._dates), tuple(self._quantities), labels, rest, self._is_clear)

    def _at(self, offset: int) -> Piece:
        """A piece, by its distance from the next one."""
        place = self._place + offset
        return self._pieces[place] if 0 <= place < len(self._pieces) else NOTHING

    def _take_date(self, piece: Piece) -> None:
        before = self._at(-2).word
        day, groups = piece.groups["day"] or piece.groups["late"], piece.groups
        if piece.kind == "date" and not groups["year"]:
            (self._labels.add if day else self._rest.append)(piece.raw.lower())
        elif piece.kind == "bare" and before not in DATING and self._at(0).is_telling:
            self._labels.add(piece.raw)
        else:
            relation = SINCE.get(before, "in")
            month = _MONTHS.index(groups["month"][:3].lower()) + 1 if groups["month"] else 0
            date = Date(int(groups["year"] or piece.raw[:4]), month, int(day or 0), relation)
            if piece.kind == "iso":
                date = date._replace(month=int(piece.raw[5:7]), day=int(piece.raw[8:]))
            self._dates.append(date)
            is_span = self._at(0).word in _JOINERS and self._at(1).kind in {*DATES, "number"}
            self._is_clear &= not is_span and before not in ROUGH_DATES

    def _take_number(self, piece: Piece) -> None:
        before = self._at(-2)
        if piece.kind == "word" and not self._at(0).is_telling:
            return
        if _is_named(before):
            self._labels.add(f"{before.word} {piece.word}")
            return
        value, is_rough = _value(piece), before.word in VAGUE or before.raw in _ROUGH_SIGNS
        last = self._end_of_span(before.word)
        high = _value(last) if last else value
        if value is None or high is None or is_rough or (last and high[0] <= value[0]):
            self._is_clear = False
            return
        power = Decimal(10) ** self._multiplier()
        unit = self._unit(before)
        relation = before.word if before.word in RELATIONS else ""
        self._quantities.append(Quantity(value[0] * power, high[0] * power, value[1] * power, unit, relation))

    def _end_of_span(self, before: str) -> Piece | None:
        joiner, last = self._at(0).word, self._at(1)
        if last.kind != "number":
            return None
        if joiner in _SPANS or (joiner == "and" and before == "between"):
            self._place += 2
            return last
        self._is_clear &= joiner not in {"/", "or", "oder"}
        return None

    def _multiplier(self) -> int:
        power = MULTIPLIERS.get(self._at(0).word, 0)
        self._place += bool(power)
        return power

    def _unit(self, before: Piece) -> str:
        if before.raw in SIGNS:
            self._rest.append(SIGNS[before.raw])
            return SIGNS[before.raw]
        self._is_clear &= self._at(0).raw != "+"
        self._place += self._at(0).raw == "-" and self._at(1).is_telling
        piece = self._at(0)
        if not piece.is_telling and piece.raw not in SIGNS:
            return ""
        self._place += 1
        word = SIGNS.get(piece.raw) or UNITS.get(piece.word, piece.word)
        self._rest.append(word)
        return word if word in UNITS else stem(word)


def figures_in(sentence: str) -> Figures:
    """The numbers and dates of a sentence, and its other words."""
    return _Reader(sentence).read()


def _is_named(before: Piece) -> bool:
    if before.kind != "word":
        return False
    is_name = before.raw[0].isupper() and before.word not in STOP_WORDS | VAGUE | RELATIONS
    return is_name or before.word in LABELLED


def _value(piece: Piece) -> tuple[Decimal, Decimal] | None:
    """The number and how exactly it is said; none if it may be read in two ways."""
    if piece.word in NUMBER_WORDS:
        return Decimal(NUMBER_WORDS[piece.word]), Decimal(1)
    digits = re.sub(r"[ '’]", "", piece.raw)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", digits):
        digits = digits.replace(".", "")
    elif not re.fullmatch(r"\d+(?:[.,]\d+)?", digits) or re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
        return None
    whole, _, decimals = digits.replace(",", ".").partition(".")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    step = Decimal(10) ** (-len(decimals) if decimals else zeros if zeros > 1 else 0)
    return Decimal(digits.replace(",", ".")), step
