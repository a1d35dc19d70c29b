"""Parses the numbers, measures and dates of a sentence, in all their possible readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..text.words import UNSPACED, month_names, root, tokens, word_tables

_PIECE = re.compile(
    r"(?P<date>\b\d{4}-\d\d?-\d\d?\b|\b\d\d?[./]\d\d?[./]\d{4}\b)"
    r"|(?P<number>\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    rf"|(?P<wide>[{UNSPACED}]+)"
    rf"|(?P<word>[^\W\d_{UNSPACED}](?:[^\W_{UNSPACED}]+(?:['’]t\b)?)?)"
    r"|(?P<sign>[%‰$€£¥°~≈<>≥≤±+-])"
)


class Piece(NamedTuple):
    """A number, a word or a sign."""

    kind: str
    """`date`, `number`, `wide` (writing without spaces), `word` or `sign`."""
    raw: str
    """As written."""
    start: int
    """Place of its first character."""
    word: str
    """In lower case and without accents."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.raw)


NOTHING = Piece("", "", -9, "")
"""Stands for a piece that is not there."""


def pieces_of(text: str) -> list[Piece]:
    """Return the pieces of a text in order."""
    found = _PIECE.finditer(text)
    return [Piece(match.lastgroup or "", raw, match.start(), plain(raw)) for match in found if (raw := match.group())]


@lru_cache(maxsize=1 << 16)
def plain(raw: str) -> str:
    """Return a word in lower case and without accents."""
    raw = raw.replace("’", "'")
    return raw.lower() if raw.isascii() else "".join(tokens(raw)) or raw.lower()


@lru_cache(maxsize=1 << 16)
def key_of(word: str) -> str:
    """Return what a word is compared by: the word without its commonest endings."""
    return root(word)


_WORDS = word_tables(__package__)

VAGUE = frozenset(_WORDS["vague"].split())
"""Words before a number that make it a rough one."""


def _by_word(lines: str) -> dict[str, str]:
    """Return the first word of its line for each word."""
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()}


SMALL = {word: int(number) for word, number in _by_word(_WORDS["small"]).items()}
"""Small numbers in words; some words have another meaning too and count only in lower case."""
POWERS = {word: int(power) for word, power in _by_word(_WORDS["powers"]).items()}
"""Words after a number that multiply it, each with its power of ten."""

MONTHS = month_names(("en", "de", "fr", "es"), ("en", "de"))
"""Names of months; short ones of other languages are words of these, as the Spanish "ago"."""

_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
ORDINALS = {word: number for number, word in enumerate(_ORDINALS.split(), 3)}
"""Ordinal numbers in words; "second" is also a measure of time, and "first" often no number."""
ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
"""Endings that make an ordinal number."""


UNITS = _by_word(_WORDS["measures"])
"""Common units as they are written, and people, each with the word that stands for it."""
MONEY = _by_word(_WORDS["money"])
"""Currencies as they are written, each with the word that stands for it; crowns are those of all countries."""
_PLAIN = UNITS | _by_word(_WORDS["more_units"]) | MONEY | {"fahrenheit": "fahrenheit"}
_DIMENSIONS = _by_word(_WORDS["dimensions"])
_LENGTHS = {"metre", "kilometre", "centimetre", "millimetre", "decimetre", "mile", "foot", "inch", "yard"}


def _with_dimensions() -> dict[str, str]:
    """Return areas and volumes in one word: km2, Quadratmeter, Kubikmeter."""
    lengths = {word: unit for word, unit in _PLAIN.items() if unit in _LENGTHS}
    areas = {form: f"square {unit}" for word, unit in lengths.items() for form in (f"{word}2", f"quadrat{word}")}
    volumes = {form: f"cubic {unit}" for word, unit in lengths.items() for form in (f"{word}3", f"kubik{word}")}
    return areas | volumes


MEASURES = _PLAIN | _with_dimensions()
"""Units as they are written, each with its standard name."""
UNIT_SIGNS = {"%": "percent", "‰": "per mille", "$": "dollar", "€": "euro", "£": "pound", "°": "degree"}
"""Signs of units; ¥ is that of two."""


def unit_of(piece: Piece, following: Piece) -> str:
    """Return the unit of a number before these two pieces; empty if it is unknown."""
    if unit := UNIT_SIGNS.get(piece.raw) or MEASURES.get(piece.word):
        dimension = _DIMENSIONS.get(following.word)
        return f"{dimension} {unit}" if dimension else unit
    if (dimension := _DIMENSIONS.get(piece.word)) and following.word in MEASURES:
        return f"{dimension} {MEASURES[following.word]}"
    # A currency may follow the name of its country: 300 Swedish kronor.
    return MONEY.get(following.word, "") if piece.raw[:1].isupper() else ""


_YEAR = re.compile(r"1\d{3}|20\d{2}|2100")
_GROUPED = re.compile(r"\d{1,3}(?:\D\d{3})+(?:[.,]\d+)?")
_DAY = re.compile(r"[12]?\d|3[01]")
_BETWEEN_DATE_PARTS = frozenset({"of", "de", "del", "the"})
_CENTURY = frozenset({"century", "centuries", "jahrhundert", "jahrhunderts", "siecle", "siglo"})
_ENERGY = {"kilowatt": "kwh", "megawatt": "mwh", "gigawatt": "gwh"}
"""Units that are others before "hours": kilowatt-hours."""
_AND_A_HALF = ("and", "a", "half")
_DECADE = frozenset({"s", "er"})
_DIGITS = frozenset({"date", "number"})
_SPOKEN = MONTHS.keys() | ORDINALS.keys() | SMALL.keys()
LONGEST = 30
"""Characters of a number; a longer one is none."""


class When(NamedTuple):
    """A day, month, year, decade or century."""

    first: int
    """Its year, or the first one; 0 if unknown."""
    last: int
    month: int = 0
    """0 if unknown."""
    day: int = 0
    """0 if unknown."""


class Amount(NamedTuple):
    """A number or a date."""

    first: int
    """Place of its first piece in the sentence."""
    last: int
    """Place of its last piece."""
    times: tuple[When, ...] = ()
    """Its readings as a date."""
    values: tuple[float, ...] = ()
    """Its readings as a number."""
    step: float = 0.0
    """Its precision: 10⁵ for 1.2 million, 1 for 38."""
    unit: str = ""
    """Its unit if that is known, or `ordinal`."""
    is_rough: bool = False
    """Whether a word or sign before it makes it a rough number."""


class _Reader:
    """Parses the amounts of a sentence from left to right."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces

    def read(self) -> Iterator[Amount]:
        done = -1
        for place, piece in enumerate(self._pieces):
            if place <= done or not (piece.kind in _DIGITS or piece.word in _SPOKEN):
                continue
            if amount := self._amount_at(place):
                yield amount
                done = amount.last

    def _at(self, place: int) -> Piece:
        return self._pieces[place] if 0 <= place < len(self._pieces) else NOTHING

    def _amount_at(self, place: int) -> Amount | None:
        piece = self._pieces[place]
        if piece.kind == "date":
            return Amount(place, place, times=tuple(_numeric_dates(piece.raw)))
        if piece.kind == "number" and len(piece.raw) <= LONGEST:
            return self._date_from_day(place) or self._year(place) or self._number(place)
        if piece.word in MONTHS:
            return self._date_from_month(place)
        if piece.word in ORDINALS and piece.raw.islower():
            return Amount(place, place, values=(float(ORDINALS[piece.word]),), step=1.0, unit="ordinal")
        return self._spoken(place) if piece.word in SMALL and (piece.raw.islower() or place == 0) else None

    def _date_from_day(self, place: int) -> Amount | None:
        piece, following = self._pieces[place], place + 1
        if not _DAY.fullmatch(piece.raw):
            return None
        if self._at(following).word in ORDINAL_ENDINGS and self._touch(place):
            following += 1
        if self._at(following).word in _BETWEEN_DATE_PARTS:
            following += 1
        month = self._at(following)
        if month.word not in MONTHS or month.start - self._at(following - 1).end > 2:
            return None
        year, last = self._year_behind(following)
        return Amount(place, last, times=(When(year, year, MONTHS[month.word], int(piece.raw)),))

    def _date_from_month(self, place: int) -> Amount | None:
        month, day = MONTHS[self._pieces[place].word], self._at(place + 1)
        year, last = self._year_behind(place)
        if year:
            return Amount(place, last, times=(When(year, year, month),))
        if day.kind != "number" or not _DAY.fullmatch(day.raw) or day.start - self._pieces[place].end > 2:
            return None
        last = place + 1
        if self._at(last + 1).word in ORDINAL_ENDINGS and self._touch(last):
            last += 1
        year, last = self._year_behind(last)
        return Amount(place, last, times=(When(year, year, month, int(day.raw)),))

    def _year_behind(self, place: int) -> tuple[int, int]:
        """Return the year after a month or day and its place; 0 and the place before it if there is none."""
        following = place + 1
        if self._at(following).word in _BETWEEN_DATE_PARTS:
            following += 1
        piece = self._at(following)
        if piece.kind == "number" and _YEAR.fullmatch(piece.raw) and piece.start - self._at(following - 1).end <= 2:
            return int(piece.raw), following
        return 0, place

    def _year(self, place: int) -> Amount | None:
        raw, following = self._pieces[place].raw, self._at(place + 1)
        if following.word == "年" or (following.kind == "wide" and following.word.startswith("年")):
            return Amount(place, place, times=(When(int(raw), int(raw)),)) if _YEAR.fullmatch(raw) else None
        if _YEAR.fullmatch(raw):
            if following.word in _DECADE and self._touch(place):
                return Amount(place, place + 1, times=(When(int(raw), int(raw) + 9),))
            if self._unit_behind(place) and following.word not in _DECADE:
                return None
            return Amount(place, place, times=(When(int(raw), int(raw)),), values=(float(raw),), step=1.0)
        last = place + 1 + (following.word in ORDINAL_ENDINGS and self._touch(place))
        if raw.isdecimal() and int(raw) <= 21 and self._at(last).word in _CENTURY:
            return Amount(place, last, times=(When(int(raw) * 100 - 99, int(raw) * 100),))
        return None

    def _number(self, place: int) -> Amount:
        values, step = _readings(self._pieces[place].raw)
        if self._at(place + 1).word in ORDINAL_ENDINGS and self._touch(place):
            return Amount(place, place + 1, values=values, step=1.0, unit="ordinal")
        return self._measured(place, place, values, step)

    def _spoken(self, place: int) -> Amount:
        value, last = SMALL[self._pieces[place].word], place
        behind = place + 2 if self._at(place + 1).raw == "-" else place + 1
        if value >= 20 and SMALL.get(self._at(behind).word, 99) < 10:
            value, last = value + SMALL[self._at(behind).word], behind
        return self._measured(place, last, (float(value),), 1.0)

    def _measured(self, first: int, last: int, values: tuple[float, ...], step: float) -> Amount:
        before = self._at(first - 1)
        unit = UNIT_SIGNS.get(before.raw, "") if before.end == self._pieces[first].start else ""
        while (power := self._power_behind(last)) and last - first < 4 and not self._is_metre(last, unit):
            values = tuple(value * 10**power for value in values)
            step, last = step * 10**power, last + 1
        if tuple(self._at(last + place).word for place in (1, 2, 3)) == _AND_A_HALF:
            values, step, last = tuple(value + 0.5 for value in values), 0.1, last + 3
        behind = self._at(last + 1)
        unit = unit or self._unit_behind(last)
        rough = before.word in VAGUE or before.raw in {"~", "≈", "<", ">", "≥", "≤", "±"} or behind.raw == "+"
        return Amount(first, last, values=values, step=step, unit=unit, is_rough=rough)

    def _unit_behind(self, place: int) -> str:
        unit = unit_of(self._at(place + 1), self._at(place + 2))
        if unit in _ENERGY and "hour" in (MEASURES.get(self._at(place + step).word) for step in (2, 3)):
            return _ENERGY[unit]
        return unit

    def _is_metre(self, place: int, unit: str) -> bool:
        """Whether an "m" after a number means metres, not millions."""
        return self._at(place + 1).word == "m" and not unit and self._at(place + 2).word not in MEASURES

    def _power_behind(self, place: int) -> int:
        piece = self._at(place + 1)
        if piece.kind == "wide":
            return POWERS.get(piece.word[:1], 0) if self._touch(place) else 0
        if len(piece.word) <= 2 and not self._touch(place) and piece.raw not in {"m", "bn", "mn"}:
            return 0
        return POWERS.get(piece.word, 0)

    def _touch(self, place: int) -> bool:
        return self._at(place).end == self._at(place + 1).start


def amounts_of(pieces: Sequence[Piece]) -> list[Amount]:
    """Return the numbers and dates of a sentence, in order."""
    return list(_Reader(pieces).read())


def _numeric_dates(raw: str) -> Iterator[When]:
    parts = [int(part) for part in re.split(r"\D", raw)]
    if len(raw.split("-")[0]) == 4:
        yield When(parts[0], parts[0], parts[1], parts[2])
        return
    day, month, year = parts
    if month <= 12:
        yield When(year, year, month, day)
    if day <= 12 and "/" in raw:
        yield When(year, year, day, month)


def _readings(raw: str) -> tuple[tuple[float, ...], float]:
    """Return the values that a number can have, and its precision."""
    separators = re.findall(r"\D", raw)
    if not separators:
        zeros = len(raw) - len(raw.rstrip("0"))
        return (float(raw),), 10.0**zeros if zeros > 1 else 1.0
    grouped = float(re.sub(r"\D", "", raw))
    whole, last, decimals = raw.rpartition(separators[-1])
    broken = float(f"{re.sub(chr(92) + 'D', '', whole)}.{decimals}")
    if not _GROUPED.fullmatch(raw) or len(set(separators)) > 1:
        return (broken,), 10.0 ** -len(decimals)
    if len(separators) > 1 or last not in ",." or last == ",":
        return (grouped, broken) if last == "," and len(separators) == 1 and grouped < 1 else (grouped,), 1.0
    return (broken, grouped), 1.0
