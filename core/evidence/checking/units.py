"""Splits a report into units, the parts that are checked one by one: headings, sentences or
clauses, table cells."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from ..citations.citing import UNKNOWN
from ..citations.markers import (
    Marker,
    code_lines,
    marker_numbers,
    replace_markers,
    scan,
    settle_fences,
    without_markers,
)
from ..citations.rendering import refusal_spans
from ..text.numbers import numbers_in
from ..text.sentences import LINE_MARK, Sentence, sentences_of
from ..text.words import QUOTED, tokens

UnitKind = Literal["heading", "intro", "statement", "cell", "label", "head"]
_NEARBY = 6
"""Maximum number of sources cited nearby against which a unit without citations is checked."""
_AROUND = 600
"""Number of characters from the start of a list's introduction that are its context."""
_FEWEST_WORDS = 2
"""Minimum number of words after a citation that form a unit of their own."""
# Where a paragraph, a section, and the whole report begin.
_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=#)")
_SECTION = re.compile(r"^#{1,6}\s", re.MULTILINE)
_REPORT = re.compile(r"(?!)")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|[*_]{2}[^*_]+[*_]{2}\s*$)")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s+")
_RULE = re.compile(r"[\s|:=+*_-]*")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_LETTER = re.compile(r"[^\W\d_]")
_FIGURE = re.compile(r"\d")
_IN_BRACKETS = re.compile(r"(?<=\s)\0+(?=\))")
"""Citations at the end of a remark in brackets, which needs them to make sense: (calculated from
[2])."""
# Between two clauses, and at the end of one.
_JOINT = re.compile(r"[ \t]*[,;:–—][ \t]*(?=\S)")
_CLOSING = re.compile(r"[)\]]*(?:[.!?…。！？][\"'”’»)]*\s*$)?")
_EMPHASIS = re.compile(r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")


class ReportUnit(NamedTuple):
    """A part of a report that is checked against sources."""

    raw: str
    """As written, with citation markers and emphasis."""
    start: int
    """Offset in the text of the report, in characters."""
    text: str
    """Its words without these; a cell is preceded by its row label and column header: `Tower,
    height: 38 m`."""
    sources: tuple[str, ...]
    """Keys of the sources that it cites; for a cell without citations, those of its row or
    column."""
    is_cited: bool
    """Whether it, its row or its column has a citation marker, even one that names no source."""
    sentence: str
    """The sentence or row that contains it, as written."""
    sentence_start: int
    """Offset of that sentence or row."""
    of_sentence: tuple[str, ...] = ()
    """Keys of all sources cited in the sentence."""
    rows: tuple[str, ...] = ()
    """For a cell: the table's header and the cell's row, as a source would have them; else
    empty."""
    kind: UnitKind = "statement"
    """`heading`: also a bold line; `intro`: the introduction of a list; `statement`: a sentence or
    clause; parts of a table: `cell`, `label` (the first cell of a row), `head` (its whole header).
    """
    around: str = ""
    """Its context: for a clause its sentence, for a cell its row below the header, for an
    introduction its list."""
    nearby: tuple[str, ...] = ()
    """For a unit without sources: keys of the most cited sources of its paragraph, then section,
    then report."""
    rests_on: tuple[int, ...] = ()
    """For a row label: the offset of the header; for a cell: the offsets of the header and of its
    row label."""

    @property
    def raw_words(self) -> str:
        """Its words without markers and emphasis.

        For a cell, they are without row label and column header.
        """
        return _words(self.raw)

    @property
    def end(self) -> int:
        """Offset of its end."""
        return self.start + len(self.raw)

    @property
    def has_number(self) -> bool:
        """Whether it has a number, in digits or in words."""
        return bool(numbers_in(self.text))

    @property
    def can_be_looked_up(self) -> bool:
        """Whether it states a number or quotes somebody."""
        return self.has_number or QUOTED.search(self.text) is not None

    @property
    def states_figures(self) -> bool:
        """Whether it has a digit and is neither a question nor the introduction of a list."""
        is_statement = not self.text.endswith((":", "?", "：", "？"))
        return is_statement and _FIGURE.search(self.text) is not None


def report_units(text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units of a report in order, without rules, questions, code, and lines that say
    what was not found.

    `sources` are the source keys by citation number. Offsets refer to the text after
    `settle_fences`.
    """
    settled = settle_fences(text)
    units = list[ReportUnit]()
    skipped = refusal_spans(settled)
    for rows in _tables(settled):
        first_start, _ = rows[0]
        last_start, last_line = rows[-1]
        skipped.append(range(first_start, last_start + len(last_line) + 1))
        units += _cells(rows, sources)
    for sentence in sentences_of(text):
        if not any(sentence.start in span for span in skipped):
            units += _clauses(sentence, sources)
    units.sort(key=lambda unit: unit.start)

    borders_by_level = (
        _borders(_PARAGRAPH, settled),
        _borders(_SECTION, settled),
        _borders(_REPORT, settled),
    )
    with_context = list[ReportUnit]()
    for unit in units:
        if unit.kind == "intro":
            unit = unit._replace(around=_list_at(settled, unit.start))
        if not unit.sources and not unit.of_sentence:
            unit = unit._replace(nearby=_cited_nearby(unit.start, units, borders_by_level))
        with_context.append(unit)
    return with_context


def _borders(pattern: re.Pattern[str], text: str) -> list[int]:
    """Return the offsets at which the parts of a text begin, and one after its end."""
    return [0, *(border.start() for border in pattern.finditer(text)), len(text) + 1]


def _list_at(text: str, start: int) -> str:
    """Return the introduction of a list that begins at `start`, with the list's items."""
    introduction, *below = text[start : start + _AROUND].split("\n")
    lines = [introduction]
    for line in below:
        if not line.strip():
            continue
        if not LINE_MARK.match(line):
            break
        lines.append(line)
    return "\n".join(lines)


def _cited_nearby(
    position: int, units: Sequence[ReportUnit], borders_by_level: Sequence[Sequence[int]]
) -> tuple[str, ...]:
    """Return the keys of the sources that are cited most around a position, nearest first."""
    keys = dict[str, int]()
    for borders in borders_by_level:
        part = bisect_right(borders, position)
        start = borders[part - 1]
        end = borders[part]
        counts = Counter[str]()
        for unit in units:
            if start <= unit.start < end:
                counts.update(unit.sources)
        # A key that was added before keeps its place.
        keys.update(counts.most_common())
    return tuple(keys)[:_NEARBY]


def _clauses(sentence: Sentence, sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    """Yield the clauses of a sentence; nothing for a rule or a question."""
    text = sentence.text or LINE_MARK.sub("", without_markers(_HASHES.sub("", sentence.raw)))
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    whole = _EMPHASIS.sub("", ", ".join(filter(None, cells)))
    if _RULE.fullmatch(sentence.raw) or not tokens(whole) or whole.endswith(("?", "？")):
        return

    hashes = _HASHES.match(sentence.raw)
    is_heading = bool(hashes or _HEADING.match(sentence.raw))
    bounds = [(0, len(sentence.raw))]
    if hashes:
        bounds = [(hashes.end(), len(sentence.raw))]
    elif not is_heading:
        bounds = _bounds(sentence.raw)
    is_whole = len(bounds) == 1
    of_sentence = _keys(sentence.numbers, sources)
    for start, end in bounds:
        raw = sentence.raw[start:end]
        numbers = marker_numbers(raw)
        words = whole if is_whole else _words(raw)
        has_words = tokens(words) and (numbers or _LETTER.search(words))
        if not has_words and not is_heading:
            # Only a list number.
            continue
        cited = _keys(numbers, sources)
        kind: UnitKind = "statement"
        if is_heading:
            kind = "heading"
        elif words.endswith((":", "：")) and not cited:
            kind = "intro"
        yield ReportUnit(
            raw,
            sentence.start + start,
            words,
            cited,
            bool(cited) or UNKNOWN in numbers,
            sentence.raw,
            sentence.start,
            of_sentence,
            kind=kind,
            around="" if is_whole else sentence.raw,
        )


def _bounds(raw: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of a sentence's clauses.

    They end at citations with more words after them.
    """
    marker_ends = list[int]()
    position = 0
    for part in scan(raw):
        if isinstance(part, Marker):
            position += len(part.raw)
            marker_ends.append(position)
        else:
            position += len(part)

    bounds = list[tuple[int, int]]()
    start = 0
    for marker_end, following_end in pairwise([*marker_ends, len(raw)]):
        closing = _CLOSING.match(raw, marker_end)
        end = closing.end() if closing else marker_end
        words = tokens(_words(raw[start:end]))
        following_words = tokens(_words(raw[end:following_end]))
        if not words or len(following_words) < _FEWEST_WORDS:
            continue
        joint = _JOINT.match(raw, end)
        if joint:
            bounds.append((start, end))
            start = joint.end()
        elif following_end < len(raw):
            bounds.append((start, end))
            start = len(raw) - len(raw[end:].lstrip())
    return [*bounds, (start, len(raw))]


def _tables(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield each table as its rows (offset, line), including the header and the rule below it."""
    lines = text.split("\n")
    rows = list[tuple[int, str]]()
    start = 0
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if _ROW.match(line) and not is_code:
            rows.append((start, line))
        else:
            if len(rows) > 2:
                yield rows
            rows = []
        start += len(line) + 1
    if len(rows) > 2:
        yield rows


class _Cell(NamedTuple):
    """A cell of a table."""

    start: int
    """Offset in the text of the report, in characters."""
    raw: str
    """As written, without white space around it."""
    words: str
    """Its words without citation markers and emphasis."""
    numbers: tuple[int, ...]
    """The source numbers in its markers."""


class _Row(NamedTuple):
    """A row of a table."""

    start: int
    """Offset in the text of the report, in characters."""
    line: str
    """As written."""
    cells: list[_Cell]
    """Its cells; a rule has none."""


def _cells(rows: Sequence[tuple[int, str]], sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    """Yield the header of a table, its row labels and its other cells that have words."""
    header = _row(*rows[0])
    body = list[_Row]()
    # A column that contains only citations is in no source.
    worded = set[int]()
    for start, line in rows[1:]:
        row = _row(start, line)
        body.append(row)
        for column, cell in enumerate(row.cells):
            if cell.words or not cell.numbers:
                worded.add(column)
    head = _head(header, worded, sources)
    if tokens(head.raw_words):
        yield head
    for row in body:
        yield from _units_of_row(row, header, head, worded, sources)


def _row(start: int, line: str) -> _Row:
    """Return a row of a table, which begins at this offset of the report."""
    cells = list[_Cell]()
    if not _RULE.fullmatch(line):
        cells = _cut(line, start)
    return _Row(start, line, cells)


def _head(header: _Row, worded: Collection[int], sources: Mapping[int, str]) -> ReportUnit:
    """Return the header of a table as a unit, with the words of the columns `worded`."""
    raw = ""
    raw_start = header.start
    # A header that is empty or has only escaped bars has no cells.
    if header.cells:
        last = header.cells[-1]
        raw_start = header.cells[0].start
        raw_end = last.start + len(last.raw)
        raw = header.line[raw_start - header.start : raw_end - header.start]
    cited = _keys(marker_numbers(raw), sources)
    return ReportUnit(
        raw,
        raw_start,
        _quoted(header, worded),
        cited,
        bool(cited),
        header.line,
        header.start,
        kind="head",
    )


def _units_of_row(
    row: _Row,
    header: _Row,
    head: ReportUnit,
    worded: Collection[int],
    sources: Mapping[int, str],
) -> Iterator[ReportUnit]:
    """Yield the label of a row and its other cells that have words; `head` is the header's unit."""
    of_row = _numbers_of_row(row.cells)
    quoted = _quoted(row, worded)
    for column, cell in enumerate(row.cells):
        if not tokens(cell.words):
            continue
        above = list[str]()
        of_column: tuple[int, ...] = ()
        if column:
            above.append(row.cells[0].words)
        if column < len(header.cells):
            above.append(header.cells[column].words)
            of_column = header.cells[column].numbers
        name = ", ".join(filter(None, above))
        numbers = cell.numbers or of_row or of_column
        cited = _keys(numbers, sources)
        unit = ReportUnit(
            cell.raw,
            cell.start,
            f"{name}: {cell.words}" if name else cell.words,
            cited,
            bool(cited) or UNKNOWN in numbers,
            row.line,
            row.start,
            rows=(head.text, quoted),
            kind="cell",
            around=f"{head.text}\n{quoted}".strip(),
            rests_on=(head.start, row.cells[0].start),
        )
        if column == 0 and not cell.numbers:
            # It names its row.
            unit = unit._replace(
                text=cell.words, is_cited=False, rows=(), kind="label", rests_on=(head.start,)
            )
        yield unit


def _numbers_of_row(cells: Sequence[_Cell]) -> tuple[int, ...]:
    """Return the source numbers in a citation that is alone in a cell, or else in the first cell.

    Such a citation applies to the whole row.
    """
    for cell in cells:
        if cell.numbers and not cell.words:
            return cell.numbers
    return cells[0].numbers if cells else ()


def _quoted(row: _Row, columns: Collection[int]) -> str:
    """Return the words of a row in these columns, as a source would have them."""
    words = list[str]()
    for column, cell in enumerate(row.cells):
        if column in columns:
            words.append(cell.words)
    return " | ".join(words)


def _cut(line: str, line_start: int) -> list[_Cell]:
    """Return the cells of a row that begins at this offset of the report."""
    cells = list[_Cell]()
    for start, end in pairwise(bar.end() for bar in _BAR.finditer(line)):
        padded = line[start : end - 1]
        raw = padded.strip()
        indent = len(padded) - len(padded.lstrip())
        cells.append(_Cell(line_start + start + indent, raw, _words(raw), marker_numbers(raw)))
    return cells


def _keys(numbers: Sequence[int], sources: Mapping[int, str]) -> tuple[str, ...]:
    """Return the keys of the sources that have these numbers."""
    return tuple(sources[number] for number in dict.fromkeys(numbers) if number in sources)


def _words(raw: str) -> str:
    """Return a part of a line without citation markers, emphasis and list marks."""
    plain = _IN_BRACKETS.sub("[…]", replace_markers(raw, "\0")).replace("\0", "")
    plain = " ".join(LINE_MARK.sub("", plain).split())
    plain = re.sub(r"\s+([,.;:)])", r"\1", plain)
    return _EMPHASIS.sub("", plain)
