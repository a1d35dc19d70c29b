"""Finds the figures, dates, names and citations that an edited report no longer has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..core.evidence.citations.markers import marker_numbers, replace_markers
from ..core.evidence.text.numbers import Number, numbers_in, scales_in
from ..core.evidence.text.sentences import sentences_of
from ..core.evidence.text.words import all_month_names, dates_in, names, tokens
from ..core.writing.blocks import ReportBlock, Table, report_blocks

_SHORTEST_MONTH = 4
"""Minimum length of the name of a month that stands without a day or a year."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_DAY_BEFORE = re.compile(r"(?<![\d.,])(\d{1,2})(?:\.|st|nd|rd|th|er|º)?\s+(?:(?:of|de)\s+)?$")
_DAY_AFTER = re.compile(r"\.?\s+(\d{1,2})(?!\d|[.,]\d)")
_DAYS = range(1, 32)
_BEFORE_WORDS = "*_\"'“„«( "
"""What may stand before the first word of a sentence or cell."""


def losses(
    before: str,
    after: str,
    asked: str,
    fewest_words: int | None = 1,
    listed: Collection[int] = (),
) -> list[str]:
    """Return the figures, dates, names and citations of a text that an edited report no longer has.

    What the user's request (`asked`) names itself is left out. Only names of at least
    `fewest_words` are looked for; None: no names, as in a translation. `listed` are numbers of
    sources that the report lists without citing them.
    """
    old = _Content(before)
    new = _Content(f"{after}\n\n{asked}")
    lost = dict[str, None]()
    for figure in old.figures:
        is_left_out = figure.is_of_date or figure.number.is_count
        if not is_left_out and not any(map(figure.is_also, new.figures)):
            lost[figure.number.words or figure.number.digits] = None
    for date in old.dates:
        if not any(map(date.is_also, new.dates)):
            lost[date.words] = None
    if fewest_words is not None:
        words_after = f" {' '.join(new.words)} "
        for name in old.names(old.words_within | new.words_within):
            is_there = f" {' '.join(tokens(name))} " in words_after
            if len(name.split()) >= fewest_words and not is_there:
                lost[name] = None
    cited = {*marker_numbers(after), *listed}
    for marker in marker_numbers(before):
        if marker not in cited:
            lost[f"[{marker}]"] = None
    return list(lost)


class _Figure(NamedTuple):
    """A number outside names: no day, but perhaps the year of a date."""

    number: Number
    values: frozenset[str]
    """The values that it may have."""
    is_in_table: bool
    is_of_date: bool

    def is_also(self, other: _Figure) -> bool:
        """Whether another figure is the same: of the same value, unit of measure and sign. In a
        table, the header may name the unit."""
        if self.values.isdisjoint(other.values) or not self.number.may_have_sign_of(other.number):
            return False
        may_lack_measure = self.is_in_table or other.is_in_table
        if may_lack_measure and not (self.number.measure and other.number.measure):
            return True
        return not self.number.measure or self.number.may_have_measure_of(other.number)


class _Date(NamedTuple):
    """A date with a month; what it does not name is 0."""

    year: int
    month: int
    day: int
    words: str
    start: int
    """Offset in its passage, in characters."""
    end: int

    def is_also(self, other: _Date) -> bool:
        """Whether another date is the same; the year may be left out."""
        if self.month != other.month or (self.day and self.day != other.day):
            return False
        return not self.year or not other.year or self.year == other.year


class _Passage(NamedTuple):
    """A sentence or cell, without citations."""

    text: str
    is_in_table: bool = False
    scales: frozenset[float] = frozenset()
    """The scales that its table's header names, such as a million."""
    may_have_names: bool = True


class _Content:
    """The figures, dates and names of a report."""

    def __init__(self, text: str) -> None:
        self.figures = list[_Figure]()
        self.dates = list[_Date]()
        self.words = tokens(replace_markers(text, " "))
        self.words_within = set[str]()
        """Capitalised words of names that do not begin a sentence or cell."""
        self._names = list[tuple[str, bool]]()
        """Names, each with whether it begins a sentence or cell."""
        for block in report_blocks(replace_markers(text, " ")):
            for passage in _passages(block):
                self._add(passage)

    def names(self, words_within: Collection[str]) -> Iterator[str]:
        """Yield the names. A word that begins a sentence is only part of a name if it is among
        `words_within`."""
        for name, begins in self._names:
            words = name.split()
            if begins and words[0] not in words_within:
                del words[0]
                while words and words[0].islower():
                    del words[0]
            if words:
                yield " ".join(words)

    def _add(self, passage: _Passage) -> None:
        dates = list(_dates_in(passage.text))
        self.dates += dates
        rest = passage.text
        for date in dates:
            rest = f"{rest[: date.start]}{';' * (date.end - date.start)}{rest[date.end :]}"
        found = names(rest) if passage.may_have_names else []
        for name in found:
            begins = rest.lstrip(_BEFORE_WORDS).startswith(name) and rest.count(name) == 1
            self._names.append((name, begins))
            self.words_within.update(name.split()[1 if begins else 0 :])
        for number in numbers_in(passage.text):
            is_of_date = any(date.start <= number.start < date.end for date in dates)
            # The name is compared as a whole.
            is_of_name = number.is_name or number.name in found
            if is_of_name or (is_of_date and not number.is_year):
                continue
            values = {number.value}
            if not number.has_scale:
                values.update(number.readings)
                values.update(number.value * scale for scale in passage.scales)
            shown = frozenset(f"{value:.9g}" for value in values)
            self.figures.append(_Figure(number, shown, passage.is_in_table, is_of_date))


def _passages(block: ReportBlock) -> Iterator[_Passage]:
    """Yield the sentences or cells of a block."""
    if block.kind == "table":
        table = Table.read(block)
        scales = scales_in(table.header.text)
        for row in (table.header, *table.rows):
            for value in row.values:
                yield _Passage(value, is_in_table=True, scales=scales)
    elif block.kind == "heading":
        yield _Passage(block.text, may_have_names=False)
    elif block.kind != "code":
        for sentence in sentences_of(block.text):
            yield _Passage(sentence.text)


def _dates_in(text: str) -> Iterator[_Date]:
    """Yield the dates with a month in a text, also those without a year."""
    end = 0
    for date in dates_in(text):
        yield from _without_year(text, end, date.start)
        end = date.end
        year, month, day = (*map(int, date.iso.split("-")), 0, 0)[:3]
        if month:
            yield _Date(year, month, day, text[date.start : date.end], date.start, date.end)
    yield from _without_year(text, end, len(text))


def _without_year(text: str, start: int, end: int) -> Iterator[_Date]:
    """Yield the dates without a year in a part of a text."""
    months = all_month_names()
    for word in _WORD.finditer(text, start, end):
        month = months.get(word[0].casefold(), 0)
        if not month:
            continue
        is_capitalised = word[0][0].isupper()
        before = _DAY_BEFORE.search(text[start : word.start()])
        after = _DAY_AFTER.match(text, word.end(), end)
        day = 0
        begin, last = word.span()
        if before and int(before[1]) in _DAYS:
            day = int(before[1])
            begin = start + before.start()
        elif after and is_capitalised and int(after[1]) in _DAYS:
            day = int(after[1])
            last = after.end()
        is_month = is_capitalised and len(word[0]) >= _SHORTEST_MONTH
        if day or is_month:
            yield _Date(0, month, day, text[begin:last], begin, last)
