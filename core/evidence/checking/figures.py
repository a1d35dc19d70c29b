"""Compares the figures of a claim with those of its sources: given, computable, in another unit, or absent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from ..text.words import STOP_WORDS, tokens, word_tables
from .amounts import (
    MEASURES,
    NOTHING,
    UNIT_SIGNS,
    Amount,
    Piece,
    amounts_of,
    counts_as,
    key_of,
    pieces_of,
    says,
    unit_of,
)
from .source_text import Evidence

NEAREST = 2
"""Windows of each source from whose figures one may be computed."""
FACTORS = (1e3, 1e6, 1e9, 100.0, 60.0, 24.0, 12.0, 7.0)
"""By which units of one quantity differ: thousands and millions, hundredths, minutes, hours, months, days of a week."""
SUMMED = (3, 4)
"""The most figures that are added up, besides two."""
MOST = 16
"""Figures near by of which these may be."""
_WORDS = word_tables(__package__)
RISING, FALLING = (frozenset(tokens(_WORDS[name])) for name in ("rising", "falling"))
_ENDS = {"from": frozenset({"from", "von", "de"}), "to": frozenset({"to", "auf", "a"})}
"""Words before the figures between which something has changed, without their accents."""
_HAS_DIGIT = re.compile(r"\d")
PERIODS = frozenset({"hour", "day", "week", "month", "year", "decade", "century"})
_BY = frozenset({"per", "a", "an", "each", "every", "pro", "je", "par"})
COUNTED = 32
"""Whole numbers below this without a unit are ignored: they count what is listed, or belong to a name."""
NEAR, BESIDE = 40, 20
"""Figures near by, and in the same sentence, from which one may be computed."""


class Figures:
    """The figures of a claim and of its sources."""

    def __init__(self, claim: str, about: str, within: str, sources: Sequence[Evidence], *, is_cell: bool) -> None:
        """Read the figures.

        Args:
            claim: Its own words.
            about: The claim with the words it needs to be understood.
            within: The sentence that it is a part of.
            sources: The texts that it cites.
            is_cell: Whether it is a cell of a table; the figure of a cell is never computed, but for its unit.
        """
        self._claim = claim
        self._is_cell = is_cell
        self._sources = sources
        self._own = {raw: one for raw, one in _figures(claim) if one.unit != "ordinal"}
        self._beside = [one for _, one in _figures(within) if one.values][:BESIDE]
        titles = [one for source in sources for _, one in _figures(source.title)]
        self._given = [one.amount for source in sources for one in source.amounts if one.amount] + titles
        near = (words for source in sources for words in _near(about, source))
        self._near = [one for words in near for _, one in _figures(words) if one.values][:NEAR]
        dated = {time.first for one in titles for time in one.times} - {0}
        self._years = {year + step for year in dated for step in (-1, 0, 1)}
        """Years of which a source may speak as this, last and next year."""

    def in_other_unit(self) -> list[str]:
        """Return the figures that the sources give in another unit, or per something else: per month, not per year."""
        found = [raw for raw, amount in self._own.items() if self._has_other_unit(amount)]
        mine = [one for one in _rates(self._claim) if one[1]]
        theirs = [one for source in self._sources for one in _rates(source.text)] if mine else []
        for amount, (base, *_), raw in mine:
            bases = [words for one, words, _ in theirs if one.unit == amount.unit and counts_as(one, amount)]
            is_known = base in PERIODS or any(base in source.places for source in self._sources)
            if bases and is_known and all(words and base not in words for words in bases):
                found.append(raw)
        return found

    def wrong_direction(self) -> str:
        """Return the verb that the claim's own figures contradict, as in "rose from 7.9 to 7.2"; empty if none."""
        pieces = pieces_of(self._claim)
        turns = [piece.raw for piece in pieces if piece.word in RISING | FALLING]
        amounts = [one for one in amounts_of(pieces) if one.values and not one.times and one.unit != "ordinal"]
        ends = [[one for one in amounts if _before(one, pieces) in words] for words in _ENDS.values()]
        if len(turns) != 1 or any(len(found) != 1 for found in ends):
            return ""
        [first], [last] = ends
        is_up, is_said_up = _value(last) > _value(first), turns[0].lower() in RISING
        is_change = first.unit in ("", last.unit) and _value(first) != _value(last)
        return turns[0] if is_change and is_up != is_said_up else ""

    def missing(self) -> list[str]:
        """Return the figures that no source gives and that cannot be computed from figures near by.

        Computed are sums, differences, products, ratios, shares and changes of two figures, sums of up to four, and
        other units. Numbers in words are ignored: they count what is listed.
        """
        return [raw for raw, amount in self._own.items() if self._is_missing(raw, amount)]

    def reckoned(self) -> dict[str, str]:
        """Return the figures that can only be computed, each with one way to do so, as 25: 100 × 12 / 48."""
        new = {raw: one for raw, one in self._own.items() if _HAS_DIGIT.search(raw) and not self._is_given(one)}
        return {raw: how for raw, one in new.items() if one.values and (how := self._how(one))}

    def _has_other_unit(self, amount: Amount) -> bool:
        exact = amount._replace(is_rough=False)
        if amount.times or not amount.unit:
            return False
        near, given = ([one for one in amounts if counts_as(one, exact)] for amounts in (self._near, self._given))
        return _differ(near or given, exact) and not _found(exact, _converted(self._near, exact.unit))

    def _is_given(self, amount: Amount) -> bool:
        return any(counts_as(one, amount) if amount.values else says(one, amount) for one in self._given)

    def _is_missing(self, raw: str, amount: Amount) -> bool:
        if self._is_given(amount):
            return False
        if amount.times:
            return self._is_of_another_year(amount)
        is_count = not (amount.unit or self._is_cell) and _value(amount).is_integer() and _value(amount) < COUNTED
        return bool(_HAS_DIGIT.search(raw)) and not is_count and not self._how(amount)

    def _how(self, amount: Amount) -> str:
        """Return one way to compute a figure from others; empty if there is none."""
        others = [one for one in self._beside if one.values != amount.values]
        computed = () if self._is_cell else _computed(others)
        if how := _found(amount, computed) or _found(amount, _converted(self._near, "")):
            return how
        return "" if self._is_cell else _found(amount, _computed([*others, *self._near]))

    def _is_of_another_year(self, amount: Amount) -> bool:
        """Whether no source names the year of a date, or one names its month, but in other years only."""
        years = {time.first for time in amount.times} - {0}
        if not any(years & source.years for source in self._sources):
            return bool(years) and not years & self._years
        months = {time.month for time in amount.times} - {0}
        return any(other.month in months and other.first for one in self._given for other in one.times)


def _figures(text: str) -> Iterator[tuple[str, Amount]]:
    """Return the numbers and dates of a text that have a meaning, each as written and as read."""
    pieces = pieces_of(text)
    for amount in amounts_of(pieces):
        if amount.values or amount.times:
            yield text[pieces[amount.first].start : pieces[amount.last].end], amount


def _before(amount: Amount, pieces: Sequence[Piece]) -> str:
    """Return the word before a number, and the sign of its currency."""
    place = amount.first - 1
    place -= place > 0 and pieces[place].raw in UNIT_SIGNS
    return pieces[place].word if place >= 0 else ""


def _near(claim: str, source: Evidence) -> Iterator[str]:
    """Return the places of a source that share most words with a statement."""
    for number in source.windows.best(claim, NEAREST):
        window = source.windows.windows[number]
        yield source.text[window.start : window.end]


def _value(amount: Amount) -> float:
    """Return the value of a number; of two readings, the one that takes the separators for groups of digits."""
    return amount.values[-1]


def _differ(amounts: Sequence[Amount], other: Amount) -> bool:
    return bool(amounts) and all(one.unit and one.unit != other.unit for one in amounts)


def _converted(amounts: Iterable[Amount], unit: str) -> Iterator[tuple[float, str]]:
    """Return the figures in other units; where a unit is given, those whose unit is known and differs from it."""
    for one in amounts:
        if one.values and (not unit or one.unit not in ("", "percent", unit)):
            for factor in FACTORS:
                yield _value(one) * factor, f"{_value(one):g} × {factor:g}"
                yield _value(one) / factor, f"{_value(one):g} / {factor:g}"


def _computed(amounts: Iterable[Amount]) -> Iterator[tuple[float, str]]:
    values = sorted({_value(one) for one in amounts if one.values})
    yield from ((100 - one, f"100 - {one:g}") for one in values)
    for one, other in permutations(values, 2):
        yield one + other, f"{one:g} + {other:g}"
        yield one - other, f"{one:g} - {other:g}"
        yield one * other, f"{one:g} × {other:g}"
        if other:
            yield 100 * abs(one - other) / other, f"100 × |{one:g} - {other:g}| / {other:g}"
            yield 100 * one / other, f"100 × {one:g} / {other:g}"
            yield one / other, f"{one:g} / {other:g}"
    for count in SUMMED:
        yield from ((sum(some), " + ".join(f"{one:g}" for one in some)) for some in combinations(values[:MOST], count))


def _found(amount: Amount, computed: Iterable[tuple[float, str]]) -> str:
    """Return the first computation that gives the amount; empty if none does."""
    return next((how for value, how in computed if _is(amount, value)), "")


def _is(amount: Amount, value: float) -> bool:
    """Whether an amount is this value, or the value rounded as the amount is."""
    return abs(_value(amount) - value) <= amount.step / 2 + 1e-9 * abs(value)


def _rates(text: str) -> Iterator[tuple[Amount, tuple[str, ...], str]]:
    """Return the numbers of a text as written, with the words for what each is paid or counted per, if it says so."""
    pieces = [*pieces_of(text), *[NOTHING] * 4]
    for amount in amounts_of(pieces):
        if amount.values and not amount.times:
            raw = text[pieces[amount.first].start : pieces[amount.last].end]
            yield amount, _bases(pieces[amount.last + 1 : amount.last + 5]), raw


def _bases(behind: Sequence[Piece]) -> tuple[str, ...]:
    """Return the word behind "per", and the next one, as in "per active user"."""
    by, *bases = behind[1:] if unit_of(behind[0], behind[1]) else behind[:3]
    is_base = by.word in _BY and bases[0].kind == "word" and bases[0].word not in STOP_WORDS
    return tuple(MEASURES.get(one.word) or key_of(one.word) for one in bases[:2]) if is_base else ()
