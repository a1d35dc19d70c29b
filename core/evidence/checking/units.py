"""Cuts a report into the units that are checked: headings, clauses, sentences, and the cells of tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import Literal, NamedTuple

from ..citations.citing import UNKNOWN
from ..citations.markers import Marker, code_lines, settle_fences
from ..citations.rendering import refusals_in
from ..citations.scanner import scan
from ..memory.learned import without_markers
from ..text.sentences import LINE_MARK, Sentence, sentences_of
from ..text.words import tokens

Kind = Literal["heading", "intro", "statement", "cell", "label", "head"]
NEARBY = 6
"""Sources cited around a unit that stand in for those that it does not cite."""
AROUND = 600
"""Characters of the list below its introduction that are shown with it."""
FEWEST_WORDS = 2
"""Words after a citation from which on they are a clause of their own."""
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|[*_]{2}[^*_]+[*_]{2}\s*$)")
_HASHES = re.compile(r"\s{0,3}#{1,6}\s+")
_RULE = re.compile(r"[\s|:=+*_-]*")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_LETTER = re.compile(r"[^\W\d_]")
_FIGURE = re.compile(r"\d")
_IN_BRACKETS = re.compile(r"(?<=\s)\0+(?=\))")
"""A citation at the end of a bracket, which makes no sense without it: (calculated from [2])."""
_JOINT = re.compile(r"[ \t]*[,;:–—][ \t]*(?=\S)")
_CLOSING = re.compile(r"[)\]]*(?:[.!?…。！？][\"'”’»)]*\s*$)?")
_EMPHASIS = re.compile(r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")


class ReportUnit(NamedTuple):
    """A part of a report that is checked against sources."""

    raw: str
    """As written, with its markers."""
    start: int
    """Where it begins in the text of the report, in characters."""
    text: str
    """Its words without markers; those of a cell follow its row's first cell and its column's head."""
    sources: tuple[str, ...]
    """Keys of the sources that it cites; a cell without a citation has those of its row or column."""
    is_cited: bool
    """Whether it, or its row or column, has a marker, even one that names no source."""
    sentence: str
    """The sentence or row that it is a part of, as written."""
    sentence_start: int
    """Where that begins."""
    of_sentence: tuple[str, ...] = ()
    """Keys of the sources that the sentence cites anywhere."""
    rows: tuple[str, ...] = ()
    """Of a cell: the head and the row of its table, as they would stand in a source; else empty."""
    kind: Kind = "statement"
    """A heading or bold lead-in, the introduction of a list, a clause or sentence, or a part of a table: a cell, the
    label of a row, or the whole head."""
    around: str = ""
    """What it needs to be understood: its sentence, its row with the head, or the items that it introduces."""
    nearby: tuple[str, ...] = ()
    """Keys of the sources that its paragraph, its section or else the report cites most; none if it cites some."""
    rests_on: tuple[int, ...] = ()
    """Of a cell or label: where the head and the label above it begin."""

    @property
    def raw_words(self) -> str:
        """Its own words: those of a cell without its row's label and its column's head."""
        return _words(self.raw)

    @property
    def end(self) -> int:
        """Where it ends in the text of the report."""
        return self.start + len(self.raw)


def units_of(text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return all that a report states, in order.

    Left out are rules, questions, code, and the lines that say that nothing was found. `sources` are the keys by the
    report's numbers, from 1; places are those of the text after `settle_fences`.
    """
    settled = settle_fences(text)
    refusals = refusals_in(settled)
    tables = list(_tables(settled))
    inside = [range(rows[0][0], rows[-1][0] + len(rows[-1][1]) + 1) for rows in tables]
    units = [unit for rows in tables for unit in _cells(rows, sources)]
    for sentence in sentences_of(text):
        if not (refusals.hold(sentence) or any(sentence.start in place for place in inside)):
            units += _clauses(sentence, sources)
    return _with_surroundings(sorted(units, key=lambda unit: unit.start), settled)


def _with_surroundings(units: Sequence[ReportUnit], text: str) -> list[ReportUnit]:
    """Return the units with what is around them, and the sources that are cited near those that cite none."""
    gaps = [found.start() for found in re.finditer(r"\n[ \t]*\n|\n(?=#)", text)]
    bounds = [0, *gaps, len(text) + 1]
    whole = (0, len(text) + 1)
    sections = [0, *(found.start() for found in re.finditer(r"(?m)^#{1,6}\s", text)), len(text) + 1]

    def cited_in(place: int, edges: Sequence[int]) -> list[str]:
        start, end = next(((one, other) for one, other in pairwise(edges) if one <= place < other), (0, 0))
        counts = Counter(key for unit in units if start <= unit.start < end for key in unit.sources)
        return [key for key, _ in counts.most_common()]

    found = []
    for unit in units:
        if unit.kind == "intro":
            first, *below = text[unit.start :][:AROUND].split("\n")
            items = takewhile(lambda line: not line.strip() or LINE_MARK.match(line), below)
            unit = unit._replace(around="\n".join([first, *(line for line in items if line.strip())]))
        if not (unit.sources or unit.of_sentence):
            near = dict.fromkeys(key for edges in (bounds, sections, whole) for key in cited_in(unit.start, edges))
            unit = unit._replace(nearby=tuple(near)[:NEARBY])
        found.append(unit)
    return found


def _plain(sentence: Sentence) -> str:
    if _RULE.fullmatch(sentence.raw):
        return ""
    text = sentence.text or LINE_MARK.sub("", without_markers(_HASHES.sub("", sentence.raw)))
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    return _EMPHASIS.sub("", ", ".join(cell for cell in cells if cell))


def _clauses(sentence: Sentence, sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    whole = _plain(sentence)
    if not tokens(whole) or whole.endswith(("?", "？")):
        return
    of_sentence = _keys(sentence.numbers, sources)
    hashes = _HASHES.match(sentence.raw)
    if hashes or _HEADING.match(sentence.raw):
        begin = hashes.end() if hashes else 0
        raw, start = sentence.raw[begin:], sentence.start + begin
        is_cited = bool(sentence.numbers)
        yield ReportUnit(
            raw, start, whole, of_sentence, is_cited, sentence.raw, sentence.start, of_sentence, kind="heading"
        )
        return
    bounds = _bounds(sentence.raw)
    for start, end in bounds:
        raw = sentence.raw[start:end]
        numbers, words = _numbers(raw), whole if len(bounds) == 1 else _words(raw)
        if not tokens(words) or not (numbers or _LETTER.search(words)):
            # The number of an item of a list.
            continue
        cited = _keys(numbers, sources)
        yield ReportUnit(
            raw,
            sentence.start + start,
            words,
            cited,
            bool(cited) or UNKNOWN in numbers,
            sentence.raw,
            sentence.start,
            of_sentence,
            kind="intro" if words.endswith((":", "：")) and not cited else "statement",
            around=sentence.raw if len(bounds) > 1 else "",
        )


def _bounds(raw: str) -> list[tuple[int, int]]:
    """Return where the clauses of a sentence begin and end: each ends after its citation, if another one follows."""
    parts = scan(raw)
    places = accumulate(len(part.raw if isinstance(part, Marker) else part) for part in parts)
    ends = [place for place, part in zip(places, parts, strict=True) if isinstance(part, Marker)]
    bounds, start = list[tuple[int, int]](), 0
    for cited, following in pairwise([*ends, len(raw)]):
        behind = _CLOSING.match(raw, cited)
        end = behind.end() if behind else cited
        joint, is_last = _JOINT.match(raw, end), following == len(raw)
        has_clauses = tokens(_words(raw[start:end])) and len(tokens(_words(raw[end:following]))) >= FEWEST_WORDS
        if has_clauses and (joint or not is_last):
            bounds.append((start, end))
            start = joint.end() if joint else end + len(raw[end:]) - len(raw[end:].lstrip())
    return [*bounds, (start, len(raw))]


def _tables(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the rows of each table with their places, including its head and the rule below it."""
    place, rows = 0, list[tuple[int, str]]()
    lines = text.split("\n")
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if _ROW.match(line) and not is_code:
            rows.append((place, line))
        else:
            if len(rows) > 2:
                yield rows
            rows = []
        place += len(line) + 1
    if len(rows) > 2:
        yield rows


def _cells(rows: Sequence[tuple[int, str]], sources: Mapping[int, str]) -> Iterator[ReportUnit]:
    (head_place, head_line), *places = [row for row in rows if not _RULE.fullmatch(row[1])]
    head, *body = [list(_cut(line)) for _, line in (rows[0], *places)]
    of_columns = [_numbers(raw) for _, raw in head]
    # A column of citations alone stands in no source.
    worded = {column for cells in body for column, (_, raw) in enumerate(cells) if _words(raw) or not _numbers(raw)}
    quoted_head = _row_of(head, worded)
    start, end = head[0][0], head[-1][0] + len(head[-1][1])
    of_head = _keys([number for numbers in of_columns for number in numbers], sources)
    raw_head = head_line[start:end]
    if tokens(_words(raw_head)):
        yield ReportUnit(
            raw_head, head_place + start, quoted_head, of_head, bool(of_head), head_line, head_place, kind="head"
        )
    for (place, line), cells in zip(places, body, strict=True):
        of_row, quoted_row = _of_row([raw for _, raw in cells]), _row_of(cells, worded)
        around = f"{quoted_head}\n{quoted_row}"
        for column, (start, raw) in enumerate(cells):
            words = _words(raw)
            numbers = _numbers(raw) or of_row or (of_columns[column] if column < len(of_columns) else ())
            is_label = not column and not _numbers(raw)
            if not tokens(words):
                continue
            label = _words(cells[0][1]) if column else ""
            name = _words(head[column][1]) if column < len(head) else ""
            above = "" if is_label else ", ".join(part for part in (label, name) if part)
            cited = _keys(numbers, sources)
            yield ReportUnit(
                raw,
                place + start,
                f"{above}: {words}" if above else words,
                cited,
                not is_label and (bool(cited) or UNKNOWN in numbers),
                line,
                place,
                rows=() if is_label else (quoted_head, quoted_row),
                kind="label" if is_label else "cell",
                around=around,
                rests_on=(head_place + head[0][0],) if is_label else (head_place + head[0][0], place + cells[0][0]),
            )


def _row_of(cells: Sequence[tuple[int, str]], columns: Collection[int]) -> str:
    """Return a row as a source would have it: these columns, without markers."""
    return " | ".join(_words(raw) for column, (_, raw) in enumerate(cells) if column in columns)


def _cut(line: str) -> Iterator[tuple[int, str]]:
    """Yield the cells of a row with their places in it, without surrounding white space."""
    first = line.index("|") + 1
    bars = [first, *(match.end() for match in _BAR.finditer(line, first))]
    for start, end in pairwise(bars):
        raw = line[start : end - 1]
        yield start + len(raw) - len(raw.lstrip()), raw.strip()


def _of_row(cells: Sequence[str]) -> tuple[int, ...]:
    """Return the citation of a whole row: in its first cell, or alone in another one."""
    alone = [_numbers(cell) for cell in cells if _numbers(cell) and not _words(cell)]
    return alone[0] if alone else (_numbers(cells[0]) if cells else ())


def _numbers(raw: str) -> tuple[int, ...]:
    return tuple(number for part in scan(raw) if isinstance(part, Marker) for number in part.numbers)


def _keys(numbers: Sequence[int], sources: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sources[number] for number in dict.fromkeys(numbers) if number in sources)


def _words(raw: str) -> str:
    """Return the words of a part of a line, without markers, emphasis and list marks."""
    parts = "".join(part if isinstance(part, str) else "\0" for part in scan(raw))
    plain = _IN_BRACKETS.sub("[…]", parts).replace("\0", "")
    return _EMPHASIS.sub("", re.sub(r"\s+([,.;:)])", r"\1", " ".join(LINE_MARK.sub("", plain).split())))


def states_figures(words: str) -> bool:
    """Whether there is a digit in words that end neither a question nor an introduction."""
    return bool(_FIGURE.search(words)) and not words.endswith((":", "?", "：", "？"))
