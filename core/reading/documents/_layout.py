"""Converts positioned text fragments to text in reading order: columns, tables and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from ._gutters import blocks_in_order
from ._lines import Line, Rule, rows_of, text_of_row, without_wide_spaces
from ._page_tables import (
    address_blocks,
    regrouped,
    tables_among,
    text_of_table,
    wide_prose,
    with_aligned_cells,
)
from ._table_cells import steps_of

_GAP = 1.7
"""A paragraph ends if the distance to the next line exceeds the usual distance by this factor."""
_FAR = 2.6
"""Line distance, in letter heights, that always separates two paragraphs."""
_OTHER_SIZE = 1.25
"""Ratio of two line heights that separates two paragraphs."""
_SHORT_LINE = 0.6
"""A line shorter than this share of the page width ends its paragraph."""
_ROOM = 0.85
"""A line that would be shorter than this share even with the next word ends its paragraph too,
unless that word starts with a lower-case letter."""

_SECTION = re.compile(
    r"(?:\d{1,2}[.)]|\d{1,2}\.\d{1,2}\.?|\([a-z\d]{1,2}\)|[•▪‣◦·\x7f\ue000-\uf8ff])\s+[^\W\d_]"
)
"""Start of a list item or section."""
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)


def in_order(lines: Sequence[Line], rules: Sequence[Rule] = ()) -> str:
    """Return the text of the lines in reading order, as paragraphs and Markdown tables.

    `rules` are the horizontal ruled lines of the page.
    """
    blocks = list[str]()
    for block in blocks_in_order(without_wide_spaces(lines)):
        parts = _parts(rows_of(block), rules)
        blocks.append("\n\n".join(parts))
    text = "\f".join(blocks)
    # Text that starts with a lower-case letter continues the previous column or a widely spaced
    # line.
    text = re.sub(r"(?<=[^\W\d_])-(?:\f|\n\n)(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<=[\w,])\f(?=[a-zß-ÿ])", " ", text).replace("\f", "\n\n")


def _parts(rows: Sequence[list[Line]], rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the tables in a block, as Markdown, and the paragraphs between them."""
    rows = with_aligned_cells(list(map(regrouped, rows)))
    start = 0
    tables = tables_among(rows, rules, wide_prose(rows))
    for index, table in enumerate(tables):
        beside = address_blocks(rows, tables, index, start)
        first, stop = (beside or table)[:2]
        text = _text(rows[start:first])
        if text:
            yield text
        if beside:
            yield from map(_lines_of, beside.blocks)
        else:
            yield from text_of_table(rows, rules, table)
        start = stop
    text = _text(rows[start:])
    if text:
        yield text


def _lines_of(block: Sequence[Line]) -> str:
    """Return the lines of an address, and labels with their values."""
    lines = list[str]()
    for label, *values in rows_of(block):
        if values:
            lines.append(f"{label.text.rstrip(' :')}: {text_of_row(values)}")
        else:
            lines.append(label.text)
    return "\n".join(lines)


def _text(rows: Sequence[list[Line]]) -> str:
    """Return the text of these rows as paragraphs."""
    if not rows:
        return ""
    steps = steps_of(rows)
    usual = median(steps or [0.0])
    text = text_of_row(rows[0])
    for step, (row, following) in zip(steps, pairwise(rows), strict=True):
        smaller, larger = sorted((row[0].height, following[0].height))
        is_far = step > min(_GAP * usual, _FAR * larger)
        if is_far or larger > _OTHER_SIZE * smaller:
            text += "\n"
        text += f"\n{text_of_row(following)}"
    return "\n\n".join(map(_paragraphs, text.strip().split("\n\n")))


def _paragraphs(page: str) -> str:
    """Join printed lines into paragraphs."""
    lines = [line.strip() for line in page.translate(_LIGATURES).splitlines()]
    width = max(map(len, lines), default=0)
    text = ""
    for line, following in pairwise([*lines, ""]):
        text += f"{line}\n"
        if _ends_paragraph(line, following, width):
            text += "\n"
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()


def _ends_paragraph(line: str, following: str, width: int) -> bool:
    """Whether a paragraph ends with a line, on a page whose longest line has `width` characters."""
    if not line or not following or len(line) < _SHORT_LINE * width:
        return True
    if _SECTION.match(following):
        return True
    if following[0].islower():
        return False
    # The next word would have fitted on the line.
    next_word, *_ = following.split()
    return len(line) + len(next_word) < _ROOM * width
