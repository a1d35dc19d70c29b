"""Splits documents into passages along headings, paragraphs and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..evidence.text.sentences import CLOSING_QUOTES, SENTENCE_ENDS, UNSPACED_ENDS

LONGEST_PASSAGE = 1200
"""Maximum length of a passage, in characters."""
_SHORTEST_PASSAGE = 400
"""Minimum length of a passage that ends at a heading or within a paragraph, in characters."""
_GAP = re.compile(r"\n[ \t]*\n\s*|\Z")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)|([^\n]+)\n(?:=+|-+|~+)[ \t]*\Z")
_MARKED_LINE = re.compile(r"#{1,6}[ \t].*(?=\n)")
_BREAKS = (
    re.compile(
        rf"[{SENTENCE_ENDS}{UNSPACED_ENDS}][{re.escape(CLOSING_QUOTES)}]*(?:\s+|(?<=[{UNSPACED_ENDS}]))"
    ),
    re.compile(r"\s+"),
)
"""Where a paragraph may be cut, best first: after a sentence, after white space."""


class TextSpan(NamedTuple):
    """A passage of a text."""

    start: int
    """Offset in the text, in characters."""
    end: int
    heading: str
    """The headings above it, outermost first, joined with ` › `."""


def split_passages(text: str) -> list[TextSpan]:
    """Split a text into passages of at most `LONGEST_PASSAGE` characters.

    Passages end between paragraphs where possible.
    """
    passages = list[TextSpan]()
    headings = list[str]()
    above = ""
    start = 0
    end = 0
    for block_start, block_end in _blocks(text):
        heading = _HEADING.match(text, block_start, block_end)
        is_full = block_end - start > LONGEST_PASSAGE
        if heading and end - start >= _SHORTEST_PASSAGE:
            is_full = True
        if end > start and is_full:
            passages.append(TextSpan(start, end, above))
            start = end
        is_empty = end == start
        if heading:
            marks, words, underlined = heading.groups()
            level = len(marks) if marks else 2
            del headings[level - 1 :]
            headings.append((words or underlined).split("\n")[0].strip(" #"))
        if is_empty:
            start = block_start
            above = " › ".join(headings)
        end = block_end
    if end > start:
        passages.append(TextSpan(start, end, above))
    return passages


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of headings and paragraphs.

    Paragraphs longer than a passage are cut.
    """
    start = 0
    for gap in _GAP.finditer(text):
        end = gap.start()
        heading = _MARKED_LINE.match(text, start, end)
        if heading:
            yield start, heading.end()
            start = heading.end() + 1
        while end - start > LONGEST_PASSAGE:
            cut = _last_break(text, start + _SHORTEST_PASSAGE, start + LONGEST_PASSAGE)
            yield start, cut
            start = cut
        if text[start:end].strip():
            yield start, end
        start = gap.end()


def _last_break(text: str, first: int, last: int) -> int:
    """Return the last offset between two others at which a paragraph may be cut; `last` if none."""
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, first, last)]
        if ends:
            return ends[-1]
    return last
