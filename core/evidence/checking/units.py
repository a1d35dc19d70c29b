"""Splits a report into units, the parts that are checked one by one: headings, sentences or clauses, table cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise, takewhile
from typing import Literal, NamedTuple

from ..citations.citing import UNKNOWN
from ..citations.markers import Marker, code_lines, marker_numbers, replace_markers, scan, settle_fences
from ..citations.rendering import refusal_spans
from ..memory.learned import without_markers
from ..text.sentences import LINE_MARK, Sentence, sentences_of
from ..text.words import tokens

UnitKind = Literal["heading", "intro", "statement", "cell", "label", "head"]
_NEARBY = 6
"""Maximum number of sources cited nearby against which a unit without citations is checked."""
_AROUND = 600
"""Number of characters from the start of a list's introduction that are its context."""
_FEWEST_WORDS = 2
"""Minimum number of words after a citation that form a unit of their own."""
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|[*_]{2}[^*_]+[*_]{2}\s*$)")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s+")
_RULE = re.compile(r"[\s|:=+*_-]*")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_LETTER = re.compile(r"[^\W\d_]")
_FIGURE = re.compile(r"\d")
_IN_BRACKETS = re.compile(r"(?<=\s)\0+(?=\))")
"""Citations at the end of a remark in brackets, which needs them to make sense: (calculated from [2])."""
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
    """Its words without these; a cell is preceded by its row label and column header: `Tower, height: 38 m`."""
    sources: tuple[str, ...]
    """Keys of the sources that it cites; for a cell without citations, those of its row or column."""
    is_cited: bool
    """Whether it, its row or its column has a citation marker, even one that names no source."""
    sentence: str
    """The sentence or row that contains it, as written."""
    sentence_start: int
    """Offset of that sentence or row."""
    of_sentence: tuple[str, ...] = ()
    """Keys of all sources cited in the sentence."""
    rows: tuple[str, ...] = ()
    """For a cell: the table's header and the cell's row, as a source would have them; else empty."""
    kind: UnitKind = "statement"
    """`heading`: also a bold line; `intro`: the introduction of a list; `statement`: a sentence or clause; parts of a
    table: `cell`, `label` (the first cell of a row), `head` (its whole header)."""
    around: str = ""
    """Its context: for a clause its sentence, for a cell its row below the header, for an introduction its list."""
    nearby: tuple[str, ...] = ()
    """For a unit without sources: keys of the most cited sources of its paragraph, then section, then report."""
    rests_on: tuple[int, ...] = ()
    """For a row label: the offset of the header; for a cell: the offsets of the header and of its row label."""

    @property
    def raw_words(self) -> str:
        """Its words without markers and emphasis; for a cell, without row label and column header."""
        return _words(self.raw)

    @property
    def end(self) -> int:
        """Offset of its end."""
        return self.start + len(self.raw)


def report_units(text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units of a report in order, without rules, questions, code, and lines that say what was not found.

    `sources` are the source keys by citation number. Offsets refer to the text after `settle_fences`.
    """
    settled = settle_fences(text)
    tables = list(_tables(settled))
    skipped = [range(rows[0][0], rows[-1][0] + len(rows[-1][1]) + 1) for rows in tables] + refusal_spans(settled)
    units = [unit for rows in tables for unit in _cells(rows, sources)]
    for sentence in sentences_of(text):
        if not any(sentence.start in span for span in skipped):
            units += _clauses(sentence, sources)
    units.sort(key=lambda unit: unit.start)
    # Paragraphs, sections, the whole report.
    borders = (r"\n[ \t]*\n|\n(?=#)", r"(?m)^#{1,6}\s", r"(?!)")
    edges_by_level = [
        [0, *(found.start() for found in re.finditer(border, settled)), len(settled) + 1] for border in borders
    ]

    def cited_around(position: int, edges: Sequence[int]) -> list[str]:
        """Return the keys of the sources cited in the part between two edges around a position, most cited first."""
        start, end = next((first, last) for first, last in pairwise(edges) if first <= position < last)
        counts = Counter(key for unit in units if start <= unit.start < end for key in unit.sources)
        return [key for key, _ in counts.most_common()]

    found = list[ReportUnit]()
    for unit in units:
        if unit.kind == "intro":
            first, *below = settled[unit.start :][:_AROUND].split("\n")
            items = takewhile(lambda line: not line.strip() or LINE_MARK.match(line), below)
            unit = unit._replace(around="\n".join([first, *(line for line in items if line.strip())]))
        if not (unit.sources or unit.of_sentence):
            near = dict.fromkeys(key for edges in edges_by_level for key in cited_around(unit.start, edges))
            unit = unit._replace(nearby=tuple(near)[:_NEARBY])
        found.append(unit)
    return found


def _clauses(sentence: Sentence, sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    """Yield the clauses of a sentence; nothing for a rule or a question."""
    text = sentence.text or LINE_MARK.sub("", without_markers(_HASHES.sub("", sentence.raw)))
    cells = (cell.strip() for cell in text.strip().strip("|").split("|"))
    whole = _EMPHASIS.sub("", ", ".join(cell for cell in cells if cell))
    if _RULE.fullmatch(sentence.raw) or not tokens(whole) or whole.endswith(("?", "？")):
        return
    hashes, of_sentence = _HASHES.match(sentence.raw), _keys(sentence.numbers, sources)
    is_heading = bool(hashes or _HEADING.match(sentence.raw))
    bounds = [(hashes.end() if hashes else 0, len(sentence.raw))] if is_heading else _bounds(sentence.raw)
    for start, end in bounds:
        raw = sentence.raw[start:end]
        numbers, words = marker_numbers(raw), whole if len(bounds) == 1 else _words(raw)
        if not is_heading and (not tokens(words) or not (numbers or _LETTER.search(words))):
            # Only a list number.
            continue
        cited = _keys(numbers, sources)
        is_intro = words.endswith((":", "：")) and not cited
        yield ReportUnit(
            raw,
            sentence.start + start,
            words,
            cited,
            bool(cited) or UNKNOWN in numbers,
            sentence.raw,
            sentence.start,
            of_sentence,
            kind="heading" if is_heading else "intro" if is_intro else "statement",
            around=sentence.raw if len(bounds) > 1 else "",
        )


def _bounds(raw: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of a sentence's clauses, which end at citations with more words after them."""
    parts = scan(raw)
    positions = accumulate(len(part.raw if isinstance(part, Marker) else part) for part in parts)
    ends = [position for position, part in zip(positions, parts, strict=True) if isinstance(part, Marker)]
    bounds, start = list[tuple[int, int]](), 0
    for cited, following in pairwise([*ends, len(raw)]):
        behind = _CLOSING.match(raw, cited)
        end = behind.end() if behind else cited
        joint, is_last = _JOINT.match(raw, end), following == len(raw)
        has_clauses = tokens(_words(raw[start:end])) and len(tokens(_words(raw[end:following]))) >= _FEWEST_WORDS
        if has_clauses and (joint or not is_last):
            bounds.append((start, end))
            start = joint.end() if joint else end + len(raw[end:]) - len(raw[end:].lstrip())
    return [*bounds, (start, len(raw))]


def _tables(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield each table as its rows (offset, line), including the header and the rule below it."""
    lines = text.split("\n")
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    located = zip(starts, lines, code_lines(lines), strict=False)
    for is_table, group in groupby(located, key=lambda row: bool(_ROW.match(row[1])) and not row[2]):
        rows = [(start, line) for start, line, _ in group]
        if is_table and len(rows) > 2:
            yield rows


def _cells(rows: Sequence[tuple[int, str]], sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    """Yield the header of a table, its row labels and its other cells that have words."""
    head_start, head_line = rows[0]
    head = [] if _RULE.fullmatch(head_line) else list(_cut(head_line))
    lines = [row for row in rows[1:] if not _RULE.fullmatch(row[1])]
    body = [list(_cut(line)) for _, line in lines]
    of_columns = [marker_numbers(raw) for _, raw in head]
    # A column that contains only citations is in no source.
    worded = {
        column for cells in body for column, (_, raw) in enumerate(cells) if _words(raw) or not marker_numbers(raw)
    }
    quoted_head = _row_of(head, worded)
    # A header that is empty or has only escaped bars has no cells.
    first, last = (head[0][0], head[-1][0] + len(head[-1][1])) if head else (0, 0)
    raw_head = head_line[first:last]
    of_head, head_at = _keys(marker_numbers(raw_head), sources), head_start + first
    if tokens(_words(raw_head)):
        yield ReportUnit(raw_head, head_at, quoted_head, of_head, bool(of_head), head_line, head_start, kind="head")
    for (line_start, line), cells in zip(lines, body, strict=True):
        # A citation applies to the whole row if it is alone in a cell, or else if it is in the first cell.
        alone = [marker_numbers(raw) for _, raw in cells if marker_numbers(raw) and not _words(raw)]
        of_row = alone[0] if alone else marker_numbers(cells[0][1]) if cells else ()
        quoted_row = _row_of(cells, worded)
        for column, (start, raw) in enumerate(cells):
            words = _words(raw)
            numbers = marker_numbers(raw) or of_row or (of_columns[column] if column < len(of_columns) else ())
            is_label = not column and not marker_numbers(raw)
            if not tokens(words):
                continue
            label = _words(cells[0][1]) if column else ""
            name = _words(head[column][1]) if column < len(head) else ""
            above = "" if is_label else ", ".join(part for part in (label, name) if part)
            cited = _keys(numbers, sources)
            yield ReportUnit(
                raw,
                line_start + start,
                f"{above}: {words}" if above else words,
                cited,
                not is_label and (bool(cited) or UNKNOWN in numbers),
                line,
                line_start,
                rows=() if is_label else (quoted_head, quoted_row),
                kind="label" if is_label else "cell",
                around=f"{quoted_head}\n{quoted_row}".strip(),
                rests_on=(head_at,) if is_label else (head_at, line_start + cells[0][0]),
            )


def _row_of(cells: Sequence[tuple[int, str]], columns: Collection[int]) -> str:
    """Return these columns of a row without markers and emphasis, as a source would have them."""
    return " | ".join(_words(raw) for column, (_, raw) in enumerate(cells) if column in columns)


def _cut(line: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each cell of a row, without white space around it."""
    for start, end in pairwise(match.end() for match in _BAR.finditer(line)):
        raw = line[start : end - 1]
        yield start + len(raw) - len(raw.lstrip()), raw.strip()


def _keys(numbers: Sequence[int], sources: Mapping[int, str]) -> tuple[str, ...]:
    """Return the keys of the sources that have these numbers."""
    return tuple(sources[number] for number in dict.fromkeys(numbers) if number in sources)


def _words(raw: str) -> str:
    """Return a part of a line without citation markers, emphasis and list marks."""
    plain = _IN_BRACKETS.sub("[…]", replace_markers(raw, "\0")).replace("\0", "")
    return _EMPHASIS.sub("", re.sub(r"\s+([,.;:)])", r"\1", " ".join(LINE_MARK.sub("", plain).split())))


def states_figures(words: str) -> bool:
    """Whether a text has a digit and is neither a question nor the introduction of a list."""
    return bool(_FIGURE.search(words)) and not words.endswith((":", "?", "：", "？"))
