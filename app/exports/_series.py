"""Finds what can be drawn in a table: a time series, or a comparison in one unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from math import isclose, isnan, nan
from typing import NamedTuple

import lxml.html

from ...core.evidence.citations.labels import labels
from ...core.evidence.text.numbers import measures_in, numbers_in
from ...core.evidence.text.words import CHANGE_WORDS, VALUE_WORDS, all_month_names
from ...core.tables.values import decimal_sign

FEWEST_POINTS = 3
"""Minimum points per line or bars per chart."""
_MOST_LINES = 4
"""Maximum lines that are distinct in black and white."""
_MOST_BARS = 24
"""Maximum bars of a chart."""
_SHORTEST_BAR = 0.05
"""Minimum length of the longest bar of a column, as a share of the longest of all."""
_LONGEST_NAME = 70
"""Maximum characters of the name of a bar."""
_TIME = re.compile(
    r"(?:[QT](?P<quarter>[1-4])[ /-]?|(?P<month>[^\W\d_]{3,})\.?(?: |$))?"
    r"(?:FY ?)?(?P<year>(?:1[5-9]|2[01])\d\d)?"
    r"(?:-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>\d\d))?|[/–]\d\d(?:\d\d)?)?(?: \(.+\)|[ep*])?"
)
"""A time in a header or first column: a year, quarter, month, day, or fiscal year such as
2023/24."""
_YEAR = re.compile(r"1\d{3}|2[01]\d\d")
_LONGEST_UNIT = 24
"""Maximum length of a unit in a cell with a number, in characters."""
_SIGN = re.compile(r"\s*[+−-]?\s*(?:[A-Z]{3}\s*)?")
"""A sign and the code of a currency before a number."""
_NO_UNIT = re.compile(r"[\d()<>~±;:?]")
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]$|(?:,| in) ([^,]+)$")
"""A unit at the end of a heading: in brackets, after a comma, or after "in"."""
_WORD = re.compile(r"[^\W\d_]+|[Δ∆±]")
_DRAWN = range(0x500)
"""Code points that matplotlib's own font can draw and that need no joining of letters, as Arabic
does."""
_ALSO_DRAWN = frozenset("–—‘’“”…€−\u202f\u00a0")
CITES = ".//*[contains(concat(' ', @class, ' '), ' cite ')]"
"""XPath of the citations in an element."""


class Series(NamedTuple):
    """What a chart shows of a table."""

    names: Sequence[str]
    """Times or things that are compared, as the table writes them."""
    times: Sequence[float]
    """Times in years, rising or falling; empty for a comparison."""
    lines: Mapping[str, Sequence[float]]
    """Numbers of each line, or each set of bars, by name; nan for cells that are left out."""
    cells: Mapping[str, Sequence[str]]
    """The cells of these numbers as the table writes them; empty where they are left out."""
    unit: str
    """Unit that the cells state; empty if they state none."""

    @property
    def points(self) -> int:
        """How many numbers it has."""
        count = 0
        for line in self.lines.values():
            count += len(line) - sum(map(isnan, line))
        return count


class _Figure(NamedTuple):
    """The content of a cell that is a number, or empty."""

    number: float
    """Its number; nan if it is empty."""
    measure: str = ""
    """Its currency or unit of measure; empty if it has none that is known."""
    suffix: str = ""
    """Other words after the number."""
    is_year: bool = False
    """Whether its digits may be a year."""
    has_plus: bool = False

    @property
    def unit(self) -> str:
        """All that its unit consists of."""
        return f"{self.measure} {self.suffix}".strip(" .").casefold()


class _Time(NamedTuple):
    """A time that a name states."""

    years: float
    form: Sequence[str]
    """Which parts of a date it states."""


class _Column(NamedTuple):
    """The cells of a column below its heading."""

    figures: Sequence[_Figure | None]
    """The content of each cell; None for text."""
    numbers: Sequence[_Figure]
    """The figures of the cells with numbers."""
    filled: int
    """How many cells are not empty."""

    @classmethod
    def of(cls, cells: Sequence[str], language_code: str) -> _Column:
        """Read the cells of a column."""
        figures = list[_Figure | None]()
        numbers = list[_Figure]()
        filled = 0
        for cell in cells:
            figure = _figure_of(cell, language_code)
            figures.append(figure)
            if figure is None:
                filled += 1
            elif not isnan(figure.number):
                filled += 1
                numbers.append(figure)
        return cls(figures, numbers, filled)


class _Line(NamedTuple):
    """A column with numbers in one unit."""

    numbers: Sequence[float]
    cells: Sequence[str]
    unit: str
    """Unit by which it is compared with other columns, from its cells or its heading."""
    shown_unit: str
    """Unit that the cells state."""
    may_be_label: bool
    """Whether its numbers may be years, ranks, or different quantities."""


def mark_numbers(table: lxml.html.HtmlElement, language_code: str) -> None:
    """Add the class `figure` to numbers and headers, and `right` to other cells, in columns that
    are numbers for at least half or that the writer aligned to the right."""
    head, *rows = table_rows(table, language_code)
    for column in range(len(head)):
        cells = table.xpath(f".//tr/*[{column + 1}]")
        texts = [row[column] for row in rows if column < len(row)]
        content = _Column.of(texts, language_code)
        was_aligned = "right" in cells[0].classes
        has_numbers = bool(content.numbers) and 2 * len(content.numbers) >= content.filled
        if not was_aligned and not has_numbers:
            continue
        for cell, figure in zip(cells, [_Figure(nan), *content.figures], strict=False):
            cell.classes.discard("right")
            cell.classes.add("figure" if figure else "right")


def table_rows(table: lxml.html.HtmlElement, language_code: str) -> list[list[str]]:
    """Return the text of each cell by row, without citations; empty for cells marked as not
    verified."""
    table = deepcopy(table)
    for mark in [*table.xpath(CITES), *table.find_class("note")]:
        mark.drop_tree()
    for formula in table.iter("math"):
        # Not 103 for ten to the third power.
        formula.text = formula.get("alttext")
        del formula[:]
    mark = f"({labels(language_code).not_verified})"
    rows = list[list[str]]()
    for row in table.iter("tr"):
        texts = list[str]()
        for cell in row:
            text = " ".join(cell.text_content().split())
            texts.append("" if mark in text else text)
        rows.append(texts)
    return rows


def series_of(rows: Sequence[Sequence[str]], title: str, language_code: str) -> Series | None:
    """Return what a chart can show of a table; None if it would show nothing.

    Columns of text, of changes and in other units are left out, and so are cells that are no plain
    number.
    """
    columns = list(zip(*rows, strict=False))
    unit_above = _unit(rows[0][0]) or _unit(title)
    for table in (columns, rows):
        times = _times(table[0][1:])
        if times:
            return _best(table, times, unit_above, language_code)
    for table in (columns, rows):
        if _can_be_compared(table[0][1:]):
            found = _best(table, (), unit_above, language_code)
            if found:
                return found
    return None


def _best(
    columns: Sequence[Sequence[str]], times: Sequence[float], unit_above: str, language_code: str
) -> Series | None:
    """Return the columns that share a unit, of several units those with most columns.

    The first one has the names of the rows. With `times`, rows below them are left out, such as a
    total or an average.
    """
    end = 1 + len(times) if times else None
    names, *others = columns
    names = names[1:end]
    by_unit = defaultdict[str, dict[str, _Line]](dict)
    for column in others:
        heading = column[0]
        line = _line(heading, column[1:end], unit_above, language_code)
        if line is None or (line.may_be_label and not times):
            continue
        if heading in by_unit[line.unit]:
            return None
        by_unit[line.unit][heading] = line
    best: dict[str, _Line] = {}
    for unit, lines in by_unit.items():
        # Numbers of several columns without a unit need not be comparable.
        is_comparable = bool(unit) or len(lines) == 1
        if is_comparable and len(best) < len(lines) <= _MOST_LINES:
            best = lines
    if not best:
        return None
    if not times:
        best = _of_like_size(best)
    shown_unit = next(iter(best.values())).shown_unit
    kept = list(range(len(names)))
    if not times:
        kept = _compared_rows(list(best.values()))
        if len(kept) < FEWEST_POINTS or len(kept) * len(best) > _MOST_BARS:
            return None
    numbers = dict[str, Sequence[float]]()
    shown = dict[str, Sequence[str]]()
    for name, line in best.items():
        numbers[name] = [line.numbers[row] for row in kept]
        shown[name] = [line.cells[row] for row in kept]
    series = Series([names[row] for row in kept], times, numbers, shown, shown_unit)
    return series if _is_drawable(series) else None


def _line(heading: str, cells: Sequence[str], unit_above: str, language_code: str) -> _Line | None:
    """Return a column as a line; None if it is mostly text, states changes, or has several
    units."""
    column = _Column.of(cells, language_code)
    numbers = column.numbers
    if len(numbers) < FEWEST_POINTS or 2 * len(numbers) <= column.filled:
        return None
    words = _WORD.findall(heading.casefold())
    is_change = not CHANGE_WORDS.isdisjoint(words)
    is_rank = is_year = True
    units = set[str]()
    for rank, figure in enumerate(numbers, 1):
        units.add(figure.unit or _unit(heading) or unit_above)
        is_change = is_change or figure.has_plus
        is_rank = is_rank and figure.number == rank
        is_year = is_year and figure.is_year
    if len(units) != 1 or is_change:
        return None
    unit = units.pop()
    shown = list[str]()
    line = list[float]()
    for content, cell in zip(column.figures, cells, strict=True):
        number = content.number if content else nan
        line.append(number)
        shown.append("" if isnan(number) else cell)
    is_mixed = bool(words) and VALUE_WORDS.issuperset(words)
    may_be_label = not unit and (is_rank or is_year or is_mixed)
    return _Line(line, shown, unit, numbers[0].measure, may_be_label)


def _can_be_compared(names: Sequence[str]) -> bool:
    """Whether names can stand beside bars: distinct words, none of them a time."""
    if len(set(names)) < len(names):
        return False
    for name in names:
        is_short = _WORD.search(name) and len(name) <= _LONGEST_NAME
        if not is_short or _time_of(name):
            return False
    return True


def _of_like_size(lines: Mapping[str, _Line]) -> dict[str, _Line]:
    """Return the lines whose bars would be visible beside the longest one."""
    longest = dict[str, float]()
    for name, line in lines.items():
        longest[name] = max(abs(number) for number in line.numbers if not isnan(number))
    least = _SHORTEST_BAR * max(longest.values())
    return {name: line for name, line in lines.items() if longest[name] >= least}


def _compared_rows(lines: Sequence[_Line]) -> list[int]:
    """Return the rows with a number, without a last one that is the total of the others."""
    kept = list[int]()
    for row in range(len(lines[0].numbers)):
        if any(line.cells[row] for line in lines):
            kept.append(row)
    *parts, last = kept
    for line in lines:
        if isnan(line.numbers[last]):
            continue
        numbers = [line.numbers[row] for row in parts]
        total = sum(number for number in numbers if not isnan(number))
        if not isclose(total, line.numbers[last], rel_tol=0.01):
            return kept
    return parts


def _is_drawable(series: Series) -> bool:
    """Whether a series has numbers that differ, and names that the font of charts has."""
    cells = set[str]().union(*series.cells.values()) - {""}
    letters = {*"".join([*series.names, *series.lines, *cells])} - _ALSO_DRAWN
    return len(cells) > 1 and all(ord(letter) in _DRAWN for letter in letters)


def _times(names: Sequence[str]) -> Sequence[float]:
    """Parse the first names as times in years; empty unless they have the same form and rise or
    fall."""
    years = list[float]()
    forms = set[Sequence[str]]()
    for name in names:
        time = _time_of(name)
        if time is None:
            break
        years.append(time.years)
        forms.add(time.form)
    if len(years) < FEWEST_POINTS or len(forms) > 1:
        return ()
    steps = [later - earlier for earlier, later in pairwise(years)]
    return years if min(steps) > 0 or max(steps) < 0 else ()


def _time_of(name: str) -> _Time | None:
    """Return the time that a name states; None if it states none."""
    match = _TIME.fullmatch(name)
    if not match:
        return None
    parts = match.groupdict(default="")
    if not parts["year"] and not parts["month"]:
        return None
    month = int(parts["number"] or 0) or 3 * int(parts["quarter"] or 0)
    if parts["month"]:
        month = all_month_names().get(parts["month"].casefold(), 0)
        if not month:
            return None
    years = int(parts["year"] or 0) + month / 12 + int(parts["day"] or 0) / 366
    return _Time(years, tuple(key for key, words in parts.items() if words))


def _figure_of(cell: str, language_code: str) -> _Figure | None:
    """Return the number in a cell and its unit; nan for an empty cell, None for other text."""
    if not cell.strip("–—- "):
        return _Figure(nan)
    numbers = numbers_in(cell, decimal_sign(language_code or "en"))
    if len(numbers) != 1:
        return None
    [number] = numbers
    suffix = cell[number.end :]
    is_alone = _SIGN.fullmatch(cell[: number.start]) and not _NO_UNIT.search(suffix)
    if number.is_name or number.is_word or not is_alone or len(suffix) > _LONGEST_UNIT:
        return None
    value = number.value
    if number.sign < 0:
        value = -value
    is_year = bool(_YEAR.fullmatch(number.digits))
    return _Figure(value, number.measure, suffix, is_year, number.sign > 0)


def _unit(words: str) -> str:
    """Return the unit of measure in a heading; empty if there is none."""
    match = _UNIT.search(words)
    if not match:
        return ""
    return " ".join(sorted(measures_in(match[1] or match[2])))
