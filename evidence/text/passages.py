"""Splits a text into passages along its headings and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PAGE_END = "\f"
"""Separates the pages of a document; texts without pages have none."""


def page_of(text: str, start: int) -> int:
    """Return the page on which a passage begins, from 1; 0 if the text has no pages."""
    return text.count(PAGE_END, 0, start) + 1 if PAGE_END in text else 0


LEAST = 400
MOST = 1200

_GAP = re.compile(r"\n[ \t]*\n\s*|\Z")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)|([^\n]+)\n(?:=+|-+|~+)[ \t]*\Z")
_MARKED_LINE = re.compile(r"#{1,6}[ \t].*(?=\n)")
SENTENCE_ENDS = ".!?…。！？।။។"
"""What ends a sentence, in any script."""
CLOSERS = "\"'”’»)]"
"""What may follow it."""
_BREAKS = (re.compile(rf"[{SENTENCE_ENDS}][{re.escape(CLOSERS)}]*(?:\s+|(?<=[。！？]))"), re.compile(r"\s+"))


class Span(NamedTuple):
    """Where a passage stands in the text, and the headings above it."""

    start: int
    end: int
    heading: str


def split_passages(text: str) -> list[Span]:
    """Split the text into passages of up to `MOST` characters, between paragraphs where possible."""
    passages: list[Span] = []
    headings: list[str] = []
    start = end = 0
    above = ""
    for block_start, block_end in _blocks(text):
        found = _HEADING.match(text, block_start, block_end)
        length = end - start
        is_full = block_end - start > MOST or bool(found and length >= LEAST)
        if length and is_full:
            passages.append(Span(start, end, above))
            length = 0
        if found:
            _enter(headings, found)
        if not length:
            start, above = block_start, " › ".join(headings)
        end = block_end
    return [*passages, Span(start, end, above)] if end > start else passages


def _enter(headings: list[str], found: re.Match[str]) -> None:
    marks, name, underlined = found.groups()
    level = len(marks) if marks else 2
    del headings[level - 1 :]
    headings.append((name or underlined).split("\n")[0].strip(" #"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _GAP.finditer(text):
        end = gap.start()
        if heading := _MARKED_LINE.match(text, start, end):
            yield start, heading.end()
            start = heading.end() + 1
        while end - start > MOST:
            cut = _cut(text, start)
            yield start, cut
            start = cut
        if text[start:end].strip():
            yield start, end
        start = gap.end()


def _cut(text: str, start: int) -> int:
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, start + LEAST, start + MOST)]
        if ends:
            return ends[-1]
    return start + MOST
