"""Figures of a statement that its sources give otherwise, or do not give at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from ..text.tables import word_tables
from ..text.vocabulary import STOP_WORDS
from ..text.words import tokens
from .amounts import Amount, amounts_of, counts_as, says
from .measures import MEASURES, UNIT_SIGNS, unit_of
from .reading import Evidence
from .spelling import NOTHING, Piece, key_of, pieces_of
from .terms import Term, terms_of

NEAREST = 2
"""Windows of each source whose figures a statement may be reckoned from."""
FACTORS = (1e3, 1e6, 1e9, 100.0, 60.0, 24.0, 12.0, 7.0)
"""By which units of one quantity differ: thousands and millions, hundredths, minutes, hours, months, days of a week."""
SUMMED = (3, 4)
"""So many figures may be summed up, besides two."""
MOST = 16
"""Figures near by of which these may be."""
_WORDS = word_tables(__package__)
RISING, FALLING = (frozenset(tokens(_WORDS[name])) for name in ("rising", "falling"))
_ENDS = {"from": frozenset({"from", "von", "de"}), "to": frozenset({"to", "auf", "à", "a"})}
"""Words before the figures between which something has changed."""
PERIODS = frozenset({"hour", "day", "week", "month", "year", "decade", "century"})
_BY = frozenset({"per", "a", "an", "each", "every", "pro", "je", "par"})
_SPAN_OF_YEARS = re.compile(r"(\d\d)(\d\d)[–/-](\d\d)(?![\d/-])")
_NAMED = re.compile(r"(?:[A-Z][\w.]*[ -]|\w-)$")
"""What makes a number a part of a name: Phase 3, COVID-19."""
_PARTS = re.compile(
    r"hal(?:f|ve|b)|third|quarter|fifth|drittel|viertel|doubl|twice|tripl|moitié|tiers\b|quart\b", re.IGNORECASE
)
_RELATIVE = re.compile(
    r"(?:last|next|this|previous|following|vorig\w*|letzt\w*|vergangen\w*|dieses|nächst\w*)\s+(?:year|jahr)"
    r"|year (?:before|earlier)|vorjahr|an dernier|année (?:dernière|prochaine)",
    re.IGNORECASE,
)
"""Years that a text names by its own date."""
_OF_PARTS = (50.0, 25.0, 75.0, 100 / 3, 200 / 3, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 300.0)
"""Per cent that are said so, or by twice and three times."""
COUNTED = 13
"""Whole numbers without a unit below this count what is listed, and are left alone."""
ROUGH = 0.15
"""How far a rough number may be from what it stands for, as a share of that."""
NEAR, BESIDE = 40, 20
"""Figures near by, and in the same sentence, from which one may be reckoned."""


class Figures:
    """The figures of a statement beside those of its sources."""

    def __init__(self, statement: str, about: str, within: str, sources: Sequence[Evidence], *, is_cell: bool) -> None:
        """`about`: the statement with what it needs to be understood; `within`: the sentence that it is a part of.

        `is_cell`: whether it is the cell of a table, which is given and never reckoned but for its unit.
        """
        self._statement = _SPAN_OF_YEARS.sub(_first_year, statement)
        self._is_cell = is_cell
        self._read = sources
        self._own = [term for term in terms_of(self._statement) if _is_told(term) and _amount(term).unit != "ordinal"]
        self._beside = [one for one in amounts_of(pieces_of(within)) if one.values][:BESIDE]
        self._given = [_amount(term) for one in self._read for term in one.amounts if _is_told(term)]
        self._given += [amount for one in sources for amount in amounts_of(pieces_of(one.title))]
        near = [words for one in sources for words in _near(about, one)]
        self._near = [amount for words in near for amount in amounts_of(pieces_of(words)) if amount.values][:NEAR]
        self._has_parts = any(map(_PARTS.search, near))
        dated = {time.first for one in sources for amount in amounts_of(pieces_of(one.title)) for time in amount.times}
        around = (-1, 0, 1) if any(map(_RELATIVE.search, near)) else (0,)
        self._years = {year + step for year in dated - {0} for step in around}
        """Years of which a source may speak as this, last and next year."""

    def otherwise(self) -> list[str]:
        """Return those that the sources give in another unit, or by something else: a month, not a year."""
        found = [term.raw for term in self._own if self._has_other_unit(_amount(term))]
        mine = [one for one in _rates(self._statement) if one[1]]
        theirs = [one for source in self._read for one in _rates(source.text)] if mine else []
        for amount, (base, *_), raw in mine:
            bases = [words for one, words, _ in theirs if one.unit == amount.unit and counts_as(one, amount)]
            is_known = base in PERIODS or any(base in source.places for source in self._read)
            if bases and is_known and all(words and base not in words for words in bases):
                found.append(raw)
        return found

    def against_itself(self) -> str:
        """Return the word that says the other way than its figures go (rose from 7.9 to 7.2); empty if none does."""
        pieces = pieces_of(self._statement)
        turns = [piece.raw for piece in pieces if piece.word in RISING | FALLING]
        ends = {way: [one for one in amounts_of(pieces) if _before(one, pieces) in _ENDS[way]] for way in _ENDS}
        if len(turns) != 1 or any(len(found) != 1 or not found[0].values for found in ends.values()):
            return ""
        first, last = ends["from"][0], ends["to"][0]
        is_up, is_said_up = _value(last) > _value(first), turns[0].lower() in RISING
        is_change = first.unit in ("", last.unit) and _value(first) != _value(last)
        return turns[0] if is_change and is_up != is_said_up else ""

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
        return not self._is_left_alone(term, amount) and not self._how(term)

    def _is_left_alone(self, term: Term, amount: Amount) -> bool:
        """Whether it is a rough number, one in words, a small count, or a part of a name."""
        if not any(map(str.isdigit, term.raw)):
            return True
        if amount.is_rough and any(_are_near(amount, one) for one in self._given):
            return True
        is_bare = not amount.unit and not self._is_cell and _value(amount).is_integer()
        before = self._statement[: self._statement.find(term.raw)]
        return is_bare and (_value(amount) < COUNTED or (_value(amount) < 1000 and bool(_NAMED.search(before))))

    def _how(self, term: Term) -> str:
        """How a figure follows from others; empty if it does not."""
        amount = _amount(term)
        others = [one for one in self._beside if one.values != amount.values]
        if not self._is_cell and (how := _found(amount, _reckoned(others))):
            return how
        if self._has_parts and _found(amount, ((value, "a part") for value in _OF_PARTS)):
            return "a part"
        how = _found(amount, _converted(self._near, ""))
        return how if how or self._is_cell else _found(amount, _reckoned([*others, *self._near]))

    def _is_of_another_year(self, term: Term) -> bool:
        """Whether no source names the year of a date, or one names its month, but in other years only."""
        times = _amount(term).times
        years = {time.first for time in times} - {0}
        if not any(years & source.years for source in self._read):
            return bool(years) and not years & self._years
        months = {time.month for time in times} - {0}
        return any(other.month in months and other.first for one in self._given for other in one.times)


def _first_year(span: re.Match[str]) -> str:
    """The first year of a season, 2023/24; else the words as they are, which are a month: 2023-05."""
    return f"{span[1]}{span[2]}" if int(span[3]) == (int(span[2]) + 1) % 100 else span[0]


def _is_told(term: Term) -> bool:
    return term.amount is not None and bool(term.amount.values or term.amount.times)


def _amount(term: Term) -> Amount:
    assert term.amount
    return term.amount


def _before(amount: Amount, pieces: Sequence[Piece]) -> str:
    """The word before a number and the sign of its currency."""
    place = amount.first - 1
    place -= place > 0 and pieces[place].raw in UNIT_SIGNS
    return pieces[place].word if place >= 0 else ""


def _near(statement: str, source: Evidence) -> Iterator[str]:
    """The places of a source that share most with a statement."""
    for number in source.windows.best(statement, NEAREST):
        window = source.windows.windows[number]
        yield source.text[window.start : window.end]


def _value(amount: Amount) -> float:
    """What a number is; of two readings the one with groups of digits."""
    return amount.values[-1]


def _are_near(amount: Amount, other: Amount) -> bool:
    return bool(other.values) and abs(_value(amount) - _value(other)) <= ROUGH * abs(_value(other))


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


def _rates(text: str) -> Iterator[tuple[Amount, tuple[str, ...], str]]:
    """The numbers of a text, with the words for what each is paid or counted (none if that is not said), as written."""
    pieces = [*pieces_of(text), *[NOTHING] * 4]
    for amount in amounts_of(pieces):
        if amount.values and not amount.times:
            raw = text[pieces[amount.first].start : pieces[amount.last].end]
            yield amount, _bases(pieces[amount.last + 1 : amount.last + 5]), raw


def _bases(behind: Sequence[Piece]) -> tuple[str, ...]:
    """The word behind "per", and the next one: per active user."""
    by, *bases = behind[1:] if unit_of(behind[0], behind[1]) else behind[:3]
    is_base = by.word in _BY and bases[0].kind == "word" and bases[0].word not in STOP_WORDS
    return tuple(MEASURES.get(one.word) or key_of(one.word) for one in bases[:2]) if is_base else ()
