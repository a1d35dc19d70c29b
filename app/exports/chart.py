"""Charts of a report's tables: cited figures of one unit as bars, or as lines over the years."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

import lxml.html
from lxml.html import builder

from ...core.evidence.checking.amounts import MONEY, Amount, amounts_of, key_of, pieces_of

FEWEST, MOST = 3, 20
"""Rows of a table that is drawn."""
MOST_SERIES = 3
"""Columns of figures that are drawn together."""
MOST_CHARACTERS = 60
"""Characters of a name; a longer one is a sentence."""
_CURRENCIES = "$€£¥₹"
_SPACES = "\u00a0\u202f\u2009"
_FIGURE = re.compile(r"(?P<sign>[+-]?)(?P<money>[^\W\d_]{0,3}[$€£¥₹]?) ?(?P<number>\d.*)")
_THOUSANDTHS = re.compile(r"(?P<whole>\d{1,3})(?P<sign>[.,])\d{3}(?!\d|[.,]\d)")
"""A number that is a thousand times as large where this sign groups digits as where it begins the decimals."""
_NOT_IN_UNITS = re.compile(r"[\d+<>~≈±–—(\[?;:-]|\.\.")
_LONGEST_UNIT = 24
_IN_HEADER = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")
_POINT_GROUPS = frozenset({"da", "de", "el", "es", "id", "it", "nl", "pt", "tr", "vi"})
"""Languages that group digits by points, and in which a comma begins the decimals."""
_COMMA_DECIMALS = _POINT_GROUPS | {"bg", "cs", "fi", "fr", "hu", "no", "nb", "pl", "ro", "ru", "sk", "sv", "uk"}


class Series(NamedTuple):
    """A column of figures."""

    name: str
    """Its header."""
    values: Sequence[float]
    labels: Sequence[str]
    """The cells as they are written."""


class Chart(NamedTuple):
    """What is drawn of a table."""

    title: str
    names: Sequence[str]
    """The first cell of each row."""
    times: Sequence[float]
    """When each row was, in years, rising; empty if rows are no times."""
    series: Sequence[Series]


class _Figure(NamedTuple):
    """A figure of a cell."""

    value: float
    unit: str
    is_year: bool


class _Cell(NamedTuple):
    text: str
    """Its words, without citations."""
    citations: Sequence[lxml.html.HtmlElement]
    is_doubtful: bool
    """Whether it is marked as not supported."""


def draw_charts(tree: lxml.html.HtmlElement, language_code: str) -> None:
    """Put a chart below each table of a report's text whose figures can be drawn without doubt."""
    for number, table in enumerate(list(tree.iter("table")), 1):
        rows = [[_cell(cell) for cell in row] for row in table.iter("tr")]
        chart = chart_of([[cell.text for cell in row] for row in rows], language_code) if _is_cited(rows) else None
        if chart:
            citations = [one for row in rows for cell in row for one in cell.citations]
            box = table.getparent()
            box.addnext(_figure(chart, citations, f"chart-{number}"))


def _cell(cell: lxml.html.HtmlElement) -> _Cell:
    words = deepcopy(cell)
    marks = words.xpath(".//*[contains(concat(' ', @class, ' '), ' cite ') or @class='flag']")
    is_doubtful = bool(words.xpath(".//*[contains(@class, 'unsupported') or @class='flag']"))
    for mark in marks:
        mark.drop_tree()
    text = " ".join(words.text_content().translate(dict.fromkeys(map(ord, _SPACES), " ")).split())
    return _Cell(text, cell.xpath(".//*[contains(concat(' ', @class, ' '), ' cite ')]"), is_doubtful)


def _is_cited(rows: Sequence[Sequence[_Cell]]) -> bool:
    """Whether each row below the header cites a source, and none is in doubt."""
    cited = all(any(cell.citations for cell in row) for row in rows[1:])
    return cited and not any(cell.is_doubtful for row in rows for cell in row)


def chart_of(rows: Sequence[Sequence[str]], language_code: str) -> Chart | None:
    """Return what can be drawn of a table, its header first; none unless all of its figures are of one unit."""
    head, *body = rows or [[]]
    if not FEWEST <= len(body) <= MOST or any(len(row) != len(head) for row in body):
        return None
    first, *columns = zip(head, *body, strict=False)
    # A column of citations alone holds nothing else.
    columns = [column for column in columns if any(column[1:])]
    if not 1 <= len(columns) <= MOST_SERIES:
        return None
    found = [_figures(column[1:], language_code) for column in columns]
    names, times = first[1:], _times(first[1:])
    if times is None or len(set(names)) < len(names):
        return None
    series, units = list[Series](), set[str]()
    for column, figures in zip(columns, found, strict=True):
        if figures is None:
            return None
        in_header = _IN_HEADER.search(column[0])
        units.add(figures[0].unit or (in_header[1].strip().casefold() if in_header else ""))
        series.append(Series(column[0], [one.value for one in figures], column[1:]))
    is_known = bool(units - {""}) or len(series) == 1 or all(map(_time, (one.name for one in series)))
    if len(units) > 1 or not is_known or not any(value for one in series for value in one.values):
        return None
    title = ": ".join(filter(None, [first[0], ", ".join(one.name for one in series if one.name)]))
    return _in_time(Chart(title, names, times, series))


def _in_time(chart: Chart) -> Chart:
    """Return the chart with the earliest time first."""
    if not chart.times or chart.times[0] < chart.times[-1]:
        return chart
    series = [one._replace(values=one.values[::-1], labels=one.labels[::-1]) for one in chart.series]
    return chart._replace(names=chart.names[::-1], times=chart.times[::-1], series=series)


def _figures(cells: Sequence[str], language_code: str) -> Sequence[_Figure] | None:
    """Return the figures of a column; none unless each cell is one, and all have one unit."""
    separator = _decimal_sign(cells, language_code)
    found = [_figure_of(cell, separator) for cell in cells]
    figures = [one for one in found if one]
    if len(figures) < len(cells) or len({one.unit for one in figures}) > 1:
        return None
    # Years say when, not how much.
    return None if all(one.is_year for one in figures) else figures


def _decimal_sign(cells: Sequence[str], language_code: str) -> str:
    """Return the sign before decimals: as clear figures have it, else the language."""
    clear = {sign for cell in cells for sign in re.findall(r"\d([.,])(?:\d{1,2}|\d{4,})(?!\d|[.,]\d)", cell)}
    grouping = {sign for cell in cells for sign in re.findall(r"\d([.,])\d{3}(?=[.,]\d)", cell)}
    signs = clear | {"," if sign == "." else "." for sign in grouping}
    if len(signs) == 1:
        return signs.pop()
    return "" if signs else "," if language_code in _COMMA_DECIMALS else "."


def _figure_of(cell: str, decimal_sign: str) -> _Figure | None:
    """Return the figure that a cell is, with its unit; none if it is anything else, or more."""
    found = _FIGURE.fullmatch(cell.replace("\u2212", "-"))
    if not found:
        return None
    number, money = found["number"], found["money"]
    pieces = pieces_of(number)
    amounts = amounts_of(pieces)
    if len(amounts) != 1 or amounts[0].first or not amounts[0].values or amounts[0].is_rough:
        return None
    (amount,) = amounts
    behind = number[pieces[amount.last].end :].strip()
    is_unit = len(behind) <= _LONGEST_UNIT and not _NOT_IN_UNITS.search(behind)
    is_money = not money or money[-1] in _CURRENCIES or money.lower() in MONEY
    if amount.unit == "ordinal" or (money and behind) or not is_unit or not is_money:
        return None
    value, thousandths = max(amount.values), _THOUSANDTHS.match(number)
    if thousandths and thousandths["whole"] != "0" and not decimal_sign:
        return None
    if thousandths and (thousandths["whole"] == "0" or thousandths["sign"] == decimal_sign):
        value /= 1000
    unit = " ".join(key_of(word) for word in (money or behind).casefold().split())
    return _Figure(-value if found["sign"] == "-" else value, unit, bool(amount.times) and not unit)


def _times(names: Sequence[str]) -> Sequence[float] | None:
    """Return the times that the rows are of; empty if they are names, none if they are neither one nor the other."""
    times = [time for name in names if (time := _time(name)) is not None]
    if len(times) == len(names):
        is_ordered = all(one < other for one, other in pairwise(times)) or all(
            one > other for one, other in pairwise(times)
        )
        return times if is_ordered else None
    is_name = all(len(name) <= MOST_CHARACTERS and any(map(str.isalpha, name)) for name in names)
    return () if is_name and not times else None


def _time(name: str) -> float | None:
    """Return the year, month or day that a cell is, in years; none if it is no time, or anything more."""
    pieces = pieces_of(name)
    amounts = amounts_of(pieces)
    if len(amounts) != 1 or len(amounts[0].times) != 1 or _rest(amounts[0], len(pieces)):
        return None
    (when,) = amounts[0].times
    if not when.first or when.first != when.last:
        return None
    return when.first + max(when.month - 1, 0) / 12 + max(when.day - 1, 0) / 366


def _rest(amount: Amount, count: int) -> bool:
    """Whether there is anything besides an amount among so many pieces."""
    return amount.first > 0 or amount.last < count - 1


WIDTH, HEIGHT = 420, 190
"""Of a drawing, and of the lines in it, in pixels."""
LETTER, LINE = 14, 18
"""Size of letters, and of a line of them."""
BAR, SPACE = 14, 12
_COLOURS = ("#3f7cb5", "#c2652a", "#5f8f3a")
"""Told apart on white and on black; their order and dashes tell, too."""
_DASHES = ("none", "8 4", "2 4")


class _Box(NamedTuple):
    """Where a label stands."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        """Whether two labels overlap."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _figure(chart: Chart, citations: Sequence[lxml.html.HtmlElement], name: str) -> lxml.html.HtmlElement:
    """Return a chart with its title and the citations of its table below."""
    parts, height = _legend(chart)
    drawn, bottom = _lines(chart, height) if chart.times else _bars(chart, height)
    drawing = _element(
        "svg",
        viewBox=f"0 0 {WIDTH} {bottom:g}",
        role="img",
        direction="ltr",
        fill="currentColor",
        font_size=LETTER,
        font_family="sans-serif",
        aria_labelledby=f"{name}-title {name}-desc",
    )
    drawing.append(_element("title", chart.title, id=f"{name}-title"))
    drawing.append(_element("desc", "; ".join(_described(chart)), id=f"{name}-desc"))
    drawing.extend([*parts, *drawn])
    caption = builder.E.figcaption(f"{chart.title} ")
    # A source that several rows cite for the same reason is named once.
    for one in {(one.text, one.get("href"), one.get("popovertarget")): one for one in citations}.values():
        caption.append(deepcopy(one))
        caption[-1].tail = None
    return builder.E.figure(builder.CLASS("chart"), drawing, caption)


def _described(chart: Chart) -> Iterator[str]:
    for place, name in enumerate(chart.names):
        yield f"{name}: {', '.join(one.labels[place] for one in chart.series)}"


def _legend(chart: Chart) -> tuple[list[lxml.html.HtmlElement], float]:
    """Return the names of several columns with their colours, and where they end."""
    parts, top = list[lxml.html.HtmlElement](), 0.0
    for one, colour, dash in zip(chart.series, _COLOURS, _DASHES, strict=False) if len(chart.series) > 1 else ():
        middle = top + LINE / 2
        if chart.times:
            parts.append(_line(0, middle, 2 * BAR, middle, colour, 1.0, dash))
        else:
            parts.append(_element("rect", x=BAR, y=middle - BAR / 2, width=BAR, height=BAR, fill=colour))
        parts.append(_element("text", _short(one.name), x=2 * BAR + 6, y=middle + LETTER / 3))
        top += LINE
    return parts, top + SPACE if parts else 0.0


def _bars(chart: Chart, top: float) -> tuple[list[lxml.html.HtmlElement], float]:
    """Return a bar from zero for each figure, with its name above and the cell at its end, and where they end."""
    values = [value for one in chart.series for value in one.values]
    room = max(_width(label) for one in chart.series for label in one.labels) + 10
    scale = (WIDTH - room) / (max(0.0, *values) - min(0.0, *values))
    zero = abs(min(0.0, *values)) * scale
    parts, start = list[lxml.html.HtmlElement](), top
    for place, name in enumerate(chart.names):
        parts.append(_element("text", _short(name), x=0, y=top + LETTER))
        top += LINE + 2
        for one, colour in zip(chart.series, _COLOURS, strict=False):
            end = zero + one.values[place] * scale
            left, width = min(zero, end), abs(end - zero)
            parts.append(_element("rect", x=left, y=top, width=width, height=BAR, fill=colour))
            parts.append(_element("text", one.labels[place], x=max(zero, end) + 6, y=top + BAR - 2, font_weight="600"))
            top += BAR + 3
        top += SPACE
    if zero:
        parts.append(_line(zero, start + LETTER / 3, zero, top - SPACE))
    return parts, top


def _lines(chart: Chart, top: float) -> tuple[list[lxml.html.HtmlElement], float]:
    """Return a line over time for each column, with the cells at its points as far as there is room, and their end."""
    values = [value for one in chart.series for value in one.values]
    low, high = min(values), max(values)
    if low == high or 0 <= low <= high / 2 or low <= 0:
        # A line that begins far above zero would lie flat.
        low, high = min(low, 0.0), max(high, 0.0)
    margin = max(map(_width, [*chart.names, *(label for one in chart.series for label in one.labels)])) / 2
    along = (WIDTH - 2 * margin) / (chart.times[-1] - chart.times[0])
    places = [margin + (time - chart.times[0]) * along for time in chart.times]
    top += LINE + 4
    foot = top + HEIGHT
    axis = [_line(0, foot + 8, WIDTH, foot + 8, opacity=0.35)]
    if low < 0 < high:
        zero = foot + low / (high - low) * HEIGHT
        axis.append(_line(0, zero, WIDTH, zero))
    parts, taken = axis, list[_Box]()
    for one, colour, dash in zip(chart.series, _COLOURS, _DASHES, strict=False):
        points = [
            (x, foot - (value - low) / (high - low) * HEIGHT) for x, value in zip(places, one.values, strict=True)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            _element("polyline", points=path, fill="none", stroke=colour, stroke_width=2.5, stroke_dasharray=dash)
        )
        for (x, y), name, label in zip(points, chart.names, one.labels, strict=True):
            parts.append(_element("circle", cx=x, cy=y, r=4, fill=colour))
            parts[-1].append(_element("title", f"{name}: {label}"))
            parts += _label(label, x, (y - 9, y + LINE + 2), taken, weight=600)
    # The ends of the time are named first.
    for place in (0, -1, *range(1, len(places) - 1)):
        parts += _label(chart.names[place], places[place], (foot + 8 + LINE,), taken)
    return parts, foot + 8 + LINE + SPACE


def _label(
    words: str, middle: float, bottoms: Sequence[float], taken: list[_Box], weight: int = 400
) -> list[lxml.html.HtmlElement]:
    """Return words at the first of these heights at which they are free of others; nothing if there is none."""
    half = _width(words) / 2
    middle = min(max(middle, half), WIDTH - half)
    for bottom in bottoms:
        box = _Box(middle - half - 4, bottom - LETTER, middle + half + 4, bottom + 2)
        if not any(map(box.meets, taken)):
            taken.append(box)
            return [_element("text", words, x=middle, y=bottom, text_anchor="middle", font_weight=weight)]
    return []


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor", opacity: float = 0.5, dash: str = ""
) -> lxml.html.HtmlElement:
    thick: dict[str, str | float] = {"stroke_width": 3, "stroke_dasharray": dash} if dash else {}
    return _element("line", "", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_opacity=opacity, **thick)


def _element(tag: str, words: str = "", **attributes: str | float) -> lxml.html.HtmlElement:
    """Return an element; numbers are rounded, and hyphens of attributes are written as underscores."""
    shown = {
        name if name == "viewBox" else name.replace("_", "-"): f"{value:.1f}"
        if isinstance(value, float)
        else str(value)
        for name, value in attributes.items()
    }
    return builder.E(tag, words, **shown) if words else builder.E(tag, **shown)


def _width(words: str, narrow: float = 0.7) -> float:
    """Return how wide words are at most; `narrow` letters are as wide as bold ones, by default."""
    return LETTER * sum(1.0 if east_asian_width(letter) in "FW" else narrow for letter in words)


def _short(name: str) -> str:
    """Return as much of a name as there is room for."""
    width = _width(name, 0.62)
    return name if width <= WIDTH else f"{name[: int(len(name) * WIDTH / width) - 1]}…"
