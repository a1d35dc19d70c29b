"""Splits a report into units, the parts that are checked one by one: headings, sentences or
clauses, table cells."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from ..citations.citing import UNKNOWN, Edit, with_edits
from ..citations.markers import (
    NOTE_REFERENCE,
    Marker,
    cited_calculations,
    code_lines,
    marker_numbers,
    replace_markers,
    scan,
    settle_fences,
    without_markers,
)
from ..citations.rendering import refusal_spans, words_of_line
from ..text.numbers import numbers_in
from ..text.sentences import LINE_MARK, Sentence, sentences_of
from ..text.words import QUOTED, STOP_WORDS, tokens

UnitKind = Literal["heading", "intro", "statement", "cell", "label", "head"]
_NEARBY = 6
"""Maximum number of sources cited nearby against which a unit without citations is checked."""
_AROUND = 600
"""Number of characters from the start of a list's introduction that are its context."""
_LONGEST_AROUND = 4000
"""Maximum length, in characters, of a sentence that is the context of its clauses as a whole."""
_LONGEST_NAME = 1000
"""Maximum length, in characters, of the row label or column header that precedes a cell's words."""
_FEWEST_WORDS = 2
"""Minimum number of words after a citation that form a unit of their own."""
_FEWEST_IN_REMARK = 3
"""Minimum number of words of a remark in brackets without a number that is a unit of its own."""
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
_ROUND_BRACKET = re.compile(r"[()（）]")
# Between two clauses, and at the end of one.
_JOINT = re.compile(r"[ \t]*[,;:–—][ \t]*(?=\S)")
_SPACE = re.compile(r"\s*")
_CLOSING = re.compile(r"[)\]]*(?:[.!?…。！？][\"'”’»)]*\s*$)?")
_EMPHASIS = re.compile(
    r"(?<!\\)[*`]{1,3}(?=\S)|(?<=[^\s\\])[*`]{1,3}"
    r"|(?<![\w\\])_{1,3}(?=\S)|(?<=[^\s\\])_{1,3}(?!\w)"
)
"""Matches signs of emphasis that are not escaped."""


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
    before: str = ""
    """The sentence before, as written; for a part of a table, the one before the table. Empty at
    the start of a section."""

    @property
    def raw_words(self) -> str:
        """Its words without markers and emphasis.

        For a cell, they are without row label and column header.
        """
        if self.kind in ("cell", "label"):
            return _words_of_cell(self.raw)
        return _words(self.raw)

    @property
    def end(self) -> int:
        """Offset of its end."""
        return self.start + len(self.raw)

    @property
    def calculations(self) -> tuple[int, ...]:
        """Numbers of the calculations that it cites."""
        return cited_calculations(self.raw)

    @property
    def table_start(self) -> int | None:
        """Offset of its table's header; None if it is no part of a table."""
        if self.kind == "head":
            return self.start
        return self.rests_on[0] if self.rests_on else None

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
    skipped.sort(key=lambda span: span.start)
    skipped_starts = [span.start for span in skipped]
    prose = list[Sentence]()
    for sentence in sentences_of(text):
        # Spans are lines, and so do not overlap.
        before = bisect_right(skipped_starts, sentence.start) - 1
        if before < 0 or sentence.start not in skipped[before]:
            prose.append(sentence)
            units += _clauses(sentence, sources)
    units.sort(key=lambda unit: unit.start)

    nearby = _Nearby(settled, units)
    prose_starts = [sentence.start for sentence in prose]
    with_context = list[ReportUnit]()
    for unit in units:
        index = bisect_left(prose_starts, unit.sentence_start) - 1
        if index >= 0 and unit.kind != "heading" and not _is_heading(prose[index].raw):
            unit = unit._replace(before=prose[index].raw)
        if unit.kind == "intro":
            unit = unit._replace(around=_list_at(settled, unit.start))
        if not unit.sources and not unit.of_sentence:
            unit = unit._replace(nearby=nearby.keys_at(unit.start))
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


class _Nearby:
    """The sources that are cited most in the paragraphs and sections of a report."""

    def __init__(self, text: str, units: Sequence[ReportUnit]) -> None:
        """`units`: the units of the report, in order."""
        self._units = units
        self._unit_starts = [unit.start for unit in units]
        self._borders_by_level = (
            _borders(_PARAGRAPH, text),
            _borders(_SECTION, text),
            _borders(_REPORT, text),
        )
        self._cited: dict[tuple[int, int], list[str]] = {}
        """The most cited keys of a part of the text, by its start and end."""

    def keys_at(self, position: int) -> tuple[str, ...]:
        """Return the keys of the sources that are cited most around a position, nearest first."""
        keys = dict[str, None]()
        for borders in self._borders_by_level:
            part = bisect_right(borders, position)
            # A key that was added before keeps its place.
            keys.update(dict.fromkeys(self._cited_in(borders[part - 1], borders[part])))
        return tuple(keys)[:_NEARBY]

    def _cited_in(self, start: int, end: int) -> list[str]:
        """Return the keys of the sources cited in a part of the text, the most cited first."""
        if (start, end) not in self._cited:
            first = bisect_left(self._unit_starts, start)
            last = bisect_left(self._unit_starts, end)
            counts = Counter[str]()
            for unit in self._units[first:last]:
                counts.update(unit.sources)
            self._cited[start, end] = [key for key, _ in counts.most_common(2 * _NEARBY)]
        return self._cited[start, end]


def _clauses(sentence: Sentence, sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    """Yield the clauses of a sentence; nothing for a rule or a question."""
    text = sentence.text
    if not text:
        plain = replace_markers(without_markers(_HASHES.sub("", sentence.raw)), "")
        text = LINE_MARK.sub("", plain)
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    whole = _EMPHASIS.sub("", ", ".join(filter(None, cells)))
    if _RULE.fullmatch(sentence.raw) or not tokens(whole) or whole.endswith(("?", "？")):
        return

    hashes = _HASHES.match(sentence.raw)
    is_heading = _is_heading(sentence.raw)
    clauses = [_Clause(0, sentence.raw, sentence.raw)]
    if hashes:
        raw = sentence.raw[hashes.end() :]
        clauses = [_Clause(hashes.end(), raw, raw)]
    elif not is_heading:
        clauses = _split(sentence.raw)
    is_whole = len(clauses) == 1
    of_sentence = _keys(sentence.numbers, sources)
    for start, raw, says in clauses:
        numbers = marker_numbers(says)
        words = whole if is_whole else _words(says)
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
            around="" if is_whole else _around_clause(sentence.raw, start, start + len(raw)),
        )


def _around_clause(sentence: str, start: int, end: int) -> str:
    """Return the sentence around a clause; of a very long one, the part around the clause."""
    if len(sentence) <= _LONGEST_AROUND:
        return sentence
    beside = max(0, _LONGEST_AROUND - (end - start)) // 2
    return sentence[max(0, start - beside) : end + beside]


def _is_heading(raw: str) -> bool:
    """Whether a sentence, as written, is a heading or a bold line."""
    return _HEADING.match(raw) is not None


class _Clause(NamedTuple):
    """A clause of a sentence."""

    start: int
    """Offset in the sentence, in characters."""
    raw: str
    """As written, with its citations; if remarks in brackets interrupt it, its longest part."""
    says: str
    """All that it says, with its citations and without such remarks."""


def _split(raw: str) -> list[_Clause]:
    """Return the clauses of a sentence in order.

    They end at citations with more words after them. A remark in brackets with a citation of its
    own is split off if the clause around it has another one.
    """
    all_remarks = _cited_remarks(raw)
    outside = _blanked(raw, all_remarks)
    remarks = list[tuple[int, int]]()
    end_before = 0
    for start, end in _bounds(outside):
        # Those between two clauses belong to none.
        remarks += _starting_in(all_remarks, end_before, start)
        if marker_numbers(outside[start:end]):
            remarks += _starting_in(all_remarks, start, end)
        # Else the citation in the brackets is the only one of the clause.
        end_before = end
    outside = _blanked(raw, remarks)
    clauses = list[_Clause]()
    for start, end in _bounds(outside):
        within = _starting_in(remarks, start, end)
        part_start, part_end = _longest_part(raw, start, end, within)
        clauses.append(_Clause(part_start, raw[part_start:part_end], outside[start:end]))
    for remark_start, remark_end in remarks:
        inner = raw[remark_start + 1 : remark_end - 1]
        for start, end in _bounds(inner):
            clause = inner[start:end]
            clauses.append(_Clause(remark_start + 1 + start, clause, clause))
    return sorted(clauses)


def _cited_remarks(raw: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the remarks in brackets that state something and cite it.

    The brackets are included. A remark that needs its citation to make sense, such as (calculated
    from [2]), is none.
    """
    parts = list[str]()
    for part in scan(raw):
        if isinstance(part, Marker):
            parts.append("\0" * len(part.raw))
        elif part.startswith(("`", "[")):
            # Code or a link.
            parts.append("_" * len(part))
        else:
            parts.append(part)
    plain = "".join(parts)
    remarks = list[tuple[int, int]]()
    openings = list[int]()
    for bracket in _ROUND_BRACKET.finditer(plain):
        if bracket.group() in "(（":
            openings.append(bracket.start())
        elif openings:
            start = openings.pop()
            if not openings and _states_and_cites(plain[start + 1 : bracket.start()]):
                remarks.append((start, bracket.end()))
    return remarks


def _states_and_cites(remark: str) -> bool:
    """Whether a remark, with NUL characters for its citations, states something and cites it."""
    cited, *behind = re.split("\0+", remark)
    is_statement = len(tokens(cited)) >= _FEWEST_IN_REMARK or numbers_in(cited)
    if not behind or not is_statement:
        return False
    for words in map(tokens, [cited, *behind[:-1]]):
        if words and words[-1] in STOP_WORDS:
            return False
    return True


def _blanked(raw: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a sentence with spaces in place of these spans, so that all offsets stay."""
    return with_edits(raw, [Edit(start, end, " " * (end - start)) for start, end in spans])


def _starting_in(
    spans: Sequence[tuple[int, int]], start: int, end: int
) -> Sequence[tuple[int, int]]:
    """Return those of some ordered spans that begin between two offsets."""
    return spans[bisect_left(spans, (start, 0)) : bisect_left(spans, (end, 0))]


def _longest_part(
    raw: str, start: int, end: int, within: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the (start, end) offsets of the longest part of a clause between the remarks in it."""
    if not within:
        return start, end
    borders = [start]
    for remark_start, remark_end in within:
        borders += [remark_start, remark_end]
    borders.append(end)
    parts = list(zip(borders[::2], borders[1::2], strict=True))
    first, last = max(parts, key=lambda part: len(tokens(raw[slice(*part)])))
    words = raw[first:last].strip()
    first = raw.index(words, first)
    return first, first + len(words)


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
        following_words = tokens(_words(raw[end:following_end]))
        # The words since the last clause are looked at only if a clause may end here.
        if len(following_words) < _FEWEST_WORDS or not tokens(_words(raw[start:end])):
            continue
        joint = _JOINT.match(raw, end)
        if joint:
            bounds.append((start, end))
            start = joint.end()
        elif following_end < len(raw):
            bounds.append((start, end))
            space = _SPACE.match(raw, end)
            start = space.end() if space else end
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
    around = f"{head.text}\n{quoted}".strip()
    row_label = row.cells[0].words[:_LONGEST_NAME] if row.cells else ""
    for column, cell in enumerate(row.cells):
        if not tokens(cell.words):
            continue
        above = list[str]()
        of_column: tuple[int, ...] = ()
        if column:
            above.append(row_label)
        if column < len(header.cells):
            above.append(header.cells[column].words[:_LONGEST_NAME])
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
            around=around,
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
        words = _words_of_cell(raw)
        cells.append(_Cell(line_start + start + indent, raw, words, marker_numbers(raw)))
    return cells


def _keys(numbers: Sequence[int], sources: Mapping[int, str]) -> tuple[str, ...]:
    """Return the keys of the sources that have these numbers."""
    return tuple(sources[number] for number in dict.fromkeys(numbers) if number in sources)


def _words(raw: str) -> str:
    """Return a part of a line without citation markers, emphasis and list marks."""
    return _EMPHASIS.sub("", LINE_MARK.sub("", _without_citations(raw)))


def _words_of_cell(raw: str) -> str:
    """Return a cell without citation markers, emphasis and escapes; what looks like the mark of a
    list belongs to it, as in "7. Juli 1937" and "- 3 %"."""
    return words_of_line(_EMPHASIS.sub("", _without_citations(raw)))


def _without_citations(raw: str) -> str:
    """Return a part of a line without citation markers, with single spaces."""
    bare = NOTE_REFERENCE.sub("", raw)
    plain = _IN_BRACKETS.sub("[…]", replace_markers(bare, "\0")).replace("\0", "")
    return re.sub(r"\s+([,.;:)])", r"\1", " ".join(plain.split()))
