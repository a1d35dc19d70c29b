"""Divides a report's text into numbered blocks, and says which of them a new text has changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from ..evidence.citations.markers import code_lines

BlockKind = Literal["heading", "paragraph", "item", "table", "caption", "footnote", "code"]
"""Kind of a block; `item`: an item of a list, with the lines that continue it, but not the items
below it."""
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_BULLET = re.compile(r"\s*[-*+•]\s+\S")
_ORDERED = re.compile(r"\s*(?P<number>\d{1,3})[.)]\s+\S")
_FOOTNOTE = re.compile(r" {0,3}\\?\[\^[^\]\s^]+\]:")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
"""Matches the line below the header of a table."""
_UNESCAPED_BAR = re.compile(r"(?<!\\)\|")
"""Matches a bar that separates cells."""
_CAPTION = re.compile(
    r"\s*(?:[*_]{1,2})?[^\W\d_]+\s\d{1,3}\s?[:.–—-]|\s*(?P<sign>\*\*?|__?)\S.*(?P=sign)\s*$"
)
"""Matches a line beside a table that is emphasised, or begins like "Table 2:"."""


class ReportBlock(NamedTuple):
    """A part of a report between two places at which text can be inserted."""

    number: int
    """Its number in the report, from 1."""
    kind: BlockKind
    text: str
    """Its lines as they stand in the report."""
    start: int
    """Offset of its first character in the report."""

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.start + len(self.text)

    @property
    def is_ordered(self) -> bool:
        """Whether it is an item of a numbered list."""
        return self.kind == "item" and _ORDERED.match(self.text) is not None


def report_blocks(text: str) -> list[ReportBlock]:
    """Return the blocks of a Markdown text in order; only white space stands between them."""
    lines = text.split("\n")
    are_code = code_lines(lines)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    blocks = list[ReportBlock]()
    first = 0
    while first < len(lines):
        if not lines[first].strip() and not are_code[first]:
            first += 1
            continue
        kind, end = _block_at(lines, are_code, first)
        block = ReportBlock(len(blocks) + 1, kind, "\n".join(lines[first:end]), offsets[first])
        blocks.append(block)
        first = end
    return _with_captions(blocks)


def _block_at(lines: Sequence[str], are_code: Sequence[bool], first: int) -> tuple[BlockKind, int]:
    """Return the kind of the block that begins at a line, and the index after its last line."""

    def end_of(belongs: Callable[[int], bool]) -> int:
        end = first + 1
        while end < len(lines) and belongs(end):
            end += 1
        return end

    def continues(index: int) -> bool:
        line = lines[index]
        if not line.strip() or are_code[index] or _begins_table(lines, are_code, index):
            return False
        return not (_HEADING.match(line) or _BULLET.match(line) or _FOOTNOTE.match(line))

    line = lines[first]
    if are_code[first]:
        return "code", end_of(lambda index: are_code[index])
    if _HEADING.match(line):
        return "heading", first + 1
    if _begins_table(lines, are_code, first):
        return "table", end_of(lambda index: _has_bar(lines[index]) and not are_code[index])
    if _FOOTNOTE.match(line):
        return "footnote", end_of(lambda index: continues(index))
    if _BULLET.match(line) or _ORDERED.match(line):
        return "item", end_of(lambda index: continues(index) and not _ORDERED.match(lines[index]))

    def continues_paragraph(index: int) -> bool:
        # A line of a paragraph may begin with a figure; a list inside one begins with 1.
        ordered = _ORDERED.match(lines[index])
        return continues(index) and not (ordered and int(ordered["number"]) == 1)

    return "paragraph", end_of(continues_paragraph)


def _has_bar(line: str) -> bool:
    return bool(line.strip()) and _UNESCAPED_BAR.search(line) is not None


def _begins_table(lines: Sequence[str], are_code: Sequence[bool], index: int) -> bool:
    """Whether a line is the header of a table: a rule with as many cells follows it."""
    if index + 1 >= len(lines) or are_code[index] or are_code[index + 1]:
        return False
    header, rule = lines[index], lines[index + 1]
    if not _has_bar(header) or not _has_bar(rule) or not _TABLE_RULE.fullmatch(rule):
        return False
    return len(TableRow.read(header).cells) == len(TableRow.read(rule).cells)


def _with_captions(blocks: Sequence[ReportBlock]) -> list[ReportBlock]:
    """Return the blocks, with single lines beside a table that name it as captions."""
    captioned = list[ReportBlock]()
    for index, block in enumerate(blocks):
        beside = [*blocks[max(0, index - 1) : index], *blocks[index + 1 : index + 2]]
        is_beside_table = any(other.kind == "table" for other in beside)
        is_line = block.kind == "paragraph" and "\n" not in block.text
        if is_line and is_beside_table and _CAPTION.match(block.text):
            block = block._replace(kind="caption")
        captioned.append(block)
    return captioned


class TableRow(NamedTuple):
    """A line of a table."""

    before: str
    """What stands before its first cell: white space and perhaps a bar."""
    cells: tuple[str, ...]
    """The texts between its bars, with the white space around them."""
    after: str

    @classmethod
    def read(cls, line: str) -> TableRow:
        """Divide a line at its bars."""
        inner = line.strip()
        start = line.index(inner)
        end = start + len(inner)
        if inner.startswith("|"):
            start += 1
        if len(inner) > 1 and inner.endswith("|") and not inner.endswith("\\|"):
            end -= 1
        return cls(line[:start], tuple(_UNESCAPED_BAR.split(line[start:end])), line[end:])

    @staticmethod
    def cell(text: str) -> str:
        """Return a text as a cell, with its bars escaped."""
        escaped = _UNESCAPED_BAR.sub(r"\\|", text.strip())
        return f" {escaped} "

    @property
    def text(self) -> str:
        """The line."""
        return f"{self.before}{'|'.join(self.cells)}{self.after}"

    @property
    def values(self) -> list[str]:
        """The texts of its cells."""
        return [cell.strip() for cell in self.cells]


class Table(NamedTuple):
    """A table of a report."""

    header: TableRow
    rule: TableRow
    rows: tuple[TableRow, ...]
    """Its rows below the header."""

    @classmethod
    def read(cls, block: ReportBlock) -> Table:
        """Return the table of a block of this kind."""
        header, rule, *rows = map(TableRow.read, block.text.split("\n"))
        return cls(header, rule, tuple(rows))

    @property
    def text(self) -> str:
        """Its lines."""
        return "\n".join(row.text for row in (self.header, self.rule, *self.rows))


class ChangedBlock(NamedTuple):
    """A block of a text that the text before did not have."""

    number: int
    """Its number, from 1."""
    start: int
    """Offset of its first character in the text."""
    end: int
    """Offset after its last character."""


def changed_blocks(before: str, after: str) -> list[ChangedBlock]:
    """Return the blocks of a text that are new or differ from those of the text before."""
    old = [block.text for block in report_blocks(before)]
    blocks = report_blocks(after)
    new = [block.text for block in blocks]
    changed = list[ChangedBlock]()
    for tag, _, _, first, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for block in blocks[first:end]:
            changed.append(ChangedBlock(block.number, block.start, block.end))
    return changed
