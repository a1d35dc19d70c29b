"""Figures of a statement that its sources give otherwise, or do not give at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from ..text.vocabulary import STOP_WORDS
from .amounts import Amount, amounts_of, counts_as, says
from .measures import unit_of
from .reading import Evidence
from .spelling import NOTHING, Piece, key_of, pieces_of
from .terms import Term, terms_of

NEAREST = 2
"""Windows of each source whose figures a statement may be reckoned from."""
FACTORS = (1e3, 1e6, 100.0, 60.0, 24.0, 12.0, 7.0)
"""By which units of one quantity differ: thousands and millions, hundredths, minutes, hours, months, days of a week."""
SUMMED = (3, 4)
"""So many figures may be summed up, besides two."""
MOST = 16
"""Figures near by of which these may be."""
_BY = frozenset({"per", "a", "an", "each", "every", "pro", "je", "par"})
_SPAN_OF_YEARS = re.compile(r"\d{4}[–/-]\d\d(?!\d)")


class Figures:
    """The figures of a statement beside those of its sources."""

    def __init__(self, statement: str, within: str, sources: Sequence[Evidence], *, is_cell: bool) -> None:
        """`within`: the sentence that it is a part of.

        `is_cell`: whether it is the cell of a table, which is given and never reckoned but for its unit.
        """
        self._statement = _SPAN_OF_YEARS.sub("", statement)
        self._is_cell = is_cell
        self._read = sources
        self._own = [term for term in terms_of(self._statement) if term.amount and term.amount.unit != "ordinal"]
        self._beside = [one for one in amounts_of(pieces_of(within)) if one.values]
        self._given = [_amount(term) for one in self._read for term in one.amounts]
        self._given += [amount for one in sources for amount in amounts_of(pieces_of(one.title))]
        self._near = [amount for one in sources for amount in _near(statement, one)]

    def otherwise(self) -> list[str]:
        """Return those that the sources give in another unit, or by something else: per bike, not per order."""
        found = [term.raw for term in self._own if self._has_other_unit(_amount(term))]
        mine = [one for one in _based(self._statement) if one[1]]
        theirs = [one for source in self._read for one in _based(source.text)] if mine else []
        for amount, base, raw in mine:
            bases = {other for one, other, _ in theirs if one.unit == amount.unit and counts_as(one, amount)}
            is_known = any(base in source.places for source in self._read)
            if bases and "" not in bases and base not in bases and is_known:
                found.append(raw)
        return found

    def foreign(self) -> list[str]:
        """Return those that no source gives and that do not follow from what stands near by in them.

        A sum, a difference, a product, a ratio, a share or a change of two figures follows, and so does another unit.
        Numbers written as words are left alone: they count what is listed.
        """
        return [term.raw for term in self._own if self._is_foreign(term)]

    def reckoned(self) -> dict[str, str]:
        """Return those that no source gives and that follow, each with one way to reckon it, as 25: 100 × 12 / 48."""
        new = (term for term in self._own if not self._is_given(_amount(term)) and any(map(str.isdigit, term.raw)))
        return {term.raw: how for term in new if _amount(term).values and (how := self._how(term))}

    def _has_other_unit(self, amount: Amount) -> bool:
        exact = amount._replace(is_rough=False)
        if amount.times or not amount.unit:
            return False
        near, given = ([one for one in amounts if counts_as(one, exact)] for amounts in (self._near, self._given))
        return _differ(near or given, exact) and not _found(exact, _converted(self._near, exact.unit))

    def _is_given(self, amount: Amount) -> bool:
        return any(counts_as(one, amount) if amount.values else says(one, amount) for one in self._given)

    def _is_foreign(self, term: Term) -> bool:
        amount = _amount(term)
        if self._is_given(amount):
            return False
        if amount.times:
            return self._is_of_another_year(term)
        return any(map(str.isdigit, term.raw)) and not self._how(term)

    def _how(self, term: Term) -> str:
        """How a figure follows from others; empty if it does not."""
        amount = _amount(term)
        others = [one for one in self._beside if one.values != amount.values]
        if not self._is_cell and (how := _found(amount, _reckoned(others))):
            return how
        how = _found(amount, _converted(self._near, ""))
        return how if how or self._is_cell else _found(amount, _reckoned([*others, *self._near]))

    def _is_of_another_year(self, term: Term) -> bool:
        """Whether no source names the year of a date, or one names its month and none the month without a year."""
        times = _amount(term).times
        years = {time.first for time in times} - {0}
        if not any(years & source.years for source in self._read):
            return bool(years)
        months = {time.month for time in times} - {0}
        is_dated = any(other.month in months and other.first for one in self._given for other in one.times)
        words = {key_of(piece.word) for piece in pieces_of(term.raw) if piece.kind == "word"}
        return bool(months and years) and (is_dated or not any(words & one.places.keys() for one in self._read))


def _amount(term: Term) -> Amount:
    assert term.amount
    return term.amount


def _near(statement: str, source: Evidence) -> Iterator[Amount]:
    windows = source.windows
    best = windows.best(statement, NEAREST) or range(len(windows.windows))
    for number in best:
        window = windows.windows[number]
        yield from amounts_of(pieces_of(source.text[window.start : window.end]))


def _value(amount: Amount) -> float:
    """What a number is; of two readings the one with groups of digits."""
    return amount.values[-1]


def _differ(amounts: Sequence[Amount], other: Amount) -> bool:
    return bool(amounts) and all(one.unit and one.unit != other.unit for one in amounts)


def _converted(amounts: Iterable[Amount], unit: str) -> Iterator[tuple[float, str]]:
    """Figures in other units; where a unit is given, those of which the own one is known and is another."""
    for one in amounts:
        if one.values and (not unit or one.unit not in ("", "percent", unit)):
            for factor in FACTORS:
                yield _value(one) * factor, f"{_value(one):g} × {factor:g}"
                yield _value(one) / factor, f"{_value(one):g} / {factor:g}"


def _reckoned(amounts: Iterable[Amount]) -> Iterator[tuple[float, str]]:
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


def _found(amount: Amount, reckoned: Iterable[tuple[float, str]]) -> str:
    """How an amount is reckoned, by the first that comes to it; empty if none does."""
    room, mine = amount.step / 2, _value(amount)
    return next((how for value, how in reckoned if abs(mine - value) <= room + 1e-9 * abs(value)), "")


def _based(text: str) -> Iterator[tuple[Amount, str, str]]:
    """The numbers of a text, by what each is counted or paid (empty if that is not said), and as it is written."""
    pieces = [*pieces_of(text), NOTHING, NOTHING, NOTHING]
    for amount in amounts_of(pieces):
        if not amount.times:
            raw = text[pieces[amount.first].start : pieces[amount.last].end]
            yield amount, _base(pieces[amount.last + 1 : amount.last + 4]), raw


def _base(behind: Sequence[Piece]) -> str:
    first, second, third = behind
    by, base = (second, third) if unit_of(first, second) else (first, second)
    return key_of(base.word) if by.word in _BY and base.kind == "word" and base.word not in STOP_WORDS else ""
