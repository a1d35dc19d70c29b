"""Finds what can be drawn in a table: a time series, or a comparison in one unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from math import isclose, isnan, nan
from typing import NamedTuple

import lxml.html
from babel.core import UnknownLocaleError
from babel.numbers import get_decimal_symbol

from ...core.evidence.citations.labels import labels
from ...core.evidence.text.numbers import measures_in, numbers_in
from ...core.evidence.text.words import CHANGE_WORDS, all_month_names

FEWEST_POINTS = 3
"""Minimum points per line or bars per chart."""
_MOST_LINES = 4
"""Maximum lines that are distinct in black and white."""
_MOST_BARS = 24
"""Maximum bars of a chart."""
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
        return sum(not isnan(number) for line in self.lines.values() for number in line)


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


class _Line(NamedTuple):
    """A column with numbers in one unit."""

    numbers: Sequence[float]
    cells: Sequence[str]
    unit: str
    """Unit by which it is compared with other columns, from its cells or its heading."""
    shown_unit: str
    """Unit that the cells state."""
    may_be_label: bool
    """Whether its numbers may be years or ranks."""


def mark_numbers(table: lxml.html.HtmlElement, language_code: str) -> None:
    """Add the class `figure` to numbers and headers, and `right` to other cells, in columns that
    are numbers for at least half or that the writer aligned to the right."""
    head, *rows = table_rows(table, language_code)
    for column in range(len(head)):
        cells = table.xpath(f".//tr/*[{column + 1}]")
        texts = [row[column] for row in rows if column < len(row)]
        figures = [_figure_of(text, language_code) for text in texts]
        filled = [figure for figure in figures if figure is None or not isnan(figure.number)]
        numbers = [figure for figure in filled if figure]
        was_aligned = "right" in cells[0].classes
        is_mostly_numbers = bool(numbers) and 2 * len(numbers) >= len(filled)
        if not was_aligned and not is_mostly_numbers:
            continue
        for cell, figure in zip(cells, [_Figure(nan), *figures], strict=False):
            cell.classes.discard("right")
            cell.classes.add("figure" if figure else "right")


def table_rows(table: lxml.html.HtmlElement, language_code: str) -> list[list[str]]:
    """Return the text of each cell by row, without citations; empty for cells marked as not
    verified."""
    table = deepcopy(table)
    for mark in [*table.xpath(CITES), *table.find_class("note")]:
        mark.drop_tree()
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
    turned = list(zip(*rows, strict=False))
    unit_above = _unit(rows[0][0]) or _unit(title)
    for table in (rows, turned):
        names = [row[0] for row in table[1:]]
        times = _times(names)
        if times:
            # A total, average or change below the times is left out.
            table = table[: len(times) + 1]
            return _best(table, times, unit_above, language_code)
    for table in (rows, turned):
        names = [row[0] for row in table[1:]]
        if _can_be_compared(names):
            found = _best(table, (), unit_above, language_code)
            if found:
                return found
    return None


def _best(
    table: Sequence[Sequence[str]], times: Sequence[float], unit_above: str, language_code: str
) -> Series | None:
    """Return the columns of a table that share a unit, of several units those with most
    columns."""
    names = [row[0] for row in table[1:]]
    by_unit = defaultdict[str, dict[str, _Line]](dict)
    for heading, *cells in list(zip(*table, strict=False))[1:]:
        line = _line(heading, cells, unit_above, language_code)
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
    shown_units = {line.shown_unit for line in best.values()}
    kept = list(range(len(names)))
    if not times:
        kept = _compared_rows(list(best.values()))
        if len(kept) < FEWEST_POINTS or len(kept) * len(best) > _MOST_BARS:
            return None
    numbers = {name: [line.numbers[row] for row in kept] for name, line in best.items()}
    cells_shown = {name: [line.cells[row] for row in kept] for name, line in best.items()}
    series = Series(
        names=[names[row] for row in kept],
        times=times,
        lines=numbers,
        cells=cells_shown,
        unit=shown_units.pop() if len(shown_units) == 1 else "",
    )
    return series if _is_drawable(series) else None


def _line(heading: str, cells: Sequence[str], unit_above: str, language_code: str) -> _Line | None:
    """Return a column as a line; None if it is mostly text, states changes, or has several
    units."""
    figures = [_figure_of(cell, language_code) for cell in cells]
    filled = [figure for figure in figures if figure is None or not isnan(figure.number)]
    numbers = [figure for figure in filled if figure]
    if len(numbers) < FEWEST_POINTS or 2 * len(numbers) <= len(filled):
        return None
    units = {figure.unit or _unit(heading) or unit_above for figure in numbers}
    is_change = any(figure.has_plus for figure in numbers) or any(
        word.casefold() in CHANGE_WORDS for word in _WORD.findall(heading)
    )
    values = [figure.number for figure in numbers]
    is_rank = values == list(range(1, len(values) + 1))
    is_year = all(figure.is_year for figure in numbers)
    if len(units) != 1 or is_change:
        return None
    unit = units.pop()
    shown = list[str]()
    line = list[float]()
    for figure, cell in zip(figures, cells, strict=True):
        number = figure.number if figure else nan
        line.append(number)
        shown.append("" if isnan(number) else cell)
    may_be_label = not unit and (is_rank or is_year)
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


def _compared_rows(lines: Sequence[_Line]) -> list[int]:
    """Return the rows with a number, without a last one that is the total of the others."""
    kept = list[int]()
    for row, numbers in enumerate(zip(*[line.numbers for line in lines], strict=True)):
        if not all(map(isnan, numbers)):
            kept.append(row)
    *parts, last = kept
    for line in lines:
        total = sum(line.numbers[row] for row in parts)
        if not isclose(total, line.numbers[last], rel_tol=0.01):
            return kept
    return parts


def _is_drawable(series: Series) -> bool:
    """Whether a series has numbers that differ, and names that the font of charts has."""
    numbers = {number for line in series.lines.values() for number in line if not isnan(number)}
    letters = {*"".join([*series.names, *series.lines, *_all_cells(series)])} - _ALSO_DRAWN
    return len(numbers) > 1 and all(ord(letter) in _DRAWN for letter in letters)


def _all_cells(series: Series) -> Iterator[str]:
    for cells in series.cells.values():
        yield from cells


def _times(names: Sequence[str]) -> Sequence[float]:
    """Parse the first names as times in years; empty unless they have the same form and rise or
    fall."""
    times = list[_Time]()
    for name in names:
        time = _time_of(name)
        if time is None:
            break
        times.append(time)
    if len(times) < FEWEST_POINTS:
        return ()
    years = [time.years for time in times]
    steps = [later - earlier for earlier, later in pairwise(years)]
    if len({time.form for time in times}) == 1 and (min(steps) > 0 or max(steps) < 0):
        return years
    return ()


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
    numbers = numbers_in(cell, _decimal_sign(language_code))
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


def _decimal_sign(language_code: str) -> str:
    """Return the decimal sign of a language."""
    try:
        return get_decimal_symbol(language_code or "en")
    except (UnknownLocaleError, ValueError):
        return ""


def _unit(words: str) -> str:
    """Return the unit of measure in a heading; empty if there is none."""
    match = _UNIT.search(words)
    if not match:
        return ""
    return " ".join(sorted(measures_in(match[1] or match[2])))
