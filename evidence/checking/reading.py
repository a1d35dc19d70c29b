"""Reads a source text once, so that many claims can be held against it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from ..text.sentences import spans_of
from .terms import Term, terms_of
from .windows import Windows

LONGEST = 600
"""Characters of a sentence; a longer one is cut at a space."""
FULL = 40
"""Characters of a line at least that can have ended because it was full."""
_APART = re.compile(r"\s*(?:#|>|[-*+•–]\s|\(?\d{1,3}[.)]\s|\[\d|={3}|-{3})|.*[|\t]")
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")


class Passage(NamedTuple):
    """A sentence of a source."""

    start: int
    end: int
    terms: tuple[Term, ...]


class Evidence:
    """A source text, read once, so that many statements can be held against it."""

    def __init__(self, text: str, title: str = "") -> None:
        self.text = text
        """The text itself."""
        self.title = title
        """Title and date of the source; may be empty."""

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """Its sentences, in order, but for those without a word."""
        return tuple(passage for passage in _passages(self.text) if passage.terms)

    @cached_property
    def windows(self) -> Windows:
        """The text, cut into places of a few lines."""
        return Windows(self.text)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """For each word and amount, by its key: in which sentences it stands."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, passage in enumerate(self.passages):
            for key in {term.key for term in passage.terms}:
                found[key].append(number)
        return dict(found)

    @cached_property
    def amounts(self) -> tuple[Term, ...]:
        """Its numbers and dates, each once."""
        found = {term.key: term for passage in self.passages for term in passage.terms if term.amount}
        return tuple(found.values())

    @cached_property
    def years(self) -> frozenset[int]:
        """The years that it names."""
        return frozenset(time.first for term in self.amounts if term.amount for time in term.amount.times)


def pairs_of(terms: Sequence[Term]) -> Iterator[tuple[str, str]]:
    """The pairs of neighbours among the words and amounts that carry meaning."""
    return pairwise(term.key for term in terms if term.kind not in ("stop", "negation"))


def _passages(text: str) -> Iterator[Passage]:
    for start, end in _short_spans(text):
        yield Passage(start, end, tuple(terms_of(text[start:end])))


def _short_spans(text: str) -> Iterator[tuple[int, int]]:
    for start, end in spans_of(unwrap(text)):
        while end - start > LONGEST:
            cut = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
            cut = cut if cut > 0 else start + LONGEST
            yield start, cut
            start = cut + (text[cut] == " ")
        yield start, end


def unwrap(text: str) -> str:
    """The text with a space for each line break within a paragraph; all places stay what they are."""
    lines = text.split("\n")
    breaks = (
        " " if _goes_on(line, following, width) else "\n"
        for (line, following), width in zip(pairwise(lines), _widths(lines), strict=False)
    )
    return lines[0] + "".join(end + line for end, line in zip(breaks, lines[1:], strict=True))


def _widths(lines: list[str]) -> Iterator[int]:
    """For each line, how long the longest of its neighbours up to the next empty lines is."""
    for _, block in groupby(lines, key=lambda line: bool(line.strip())):
        lengths = [len(line.rstrip()) for line in block]
        yield from [max(lengths)] * len(lengths)


def _goes_on(line: str, following: str, width: int) -> bool:
    plain, first = line.rstrip(), (following.split(maxsplit=1) or [""])[0]
    if not plain or not first or _TITLE.match(line) or _APART.match(following):
        return False
    if first[0].islower() and (plain[-1].isalpha() or plain[-1] == ","):
        return True
    return len(plain) >= FULL and len(plain) + 1 + len(first) > width
