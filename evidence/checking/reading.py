"""Reads a source text once, so that many claims can be held against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..text.sentences import spans_of
from .lines import unwrap
from .terms import Term, terms_of
from .windows import Windows

LONGEST = 600
"""Characters of a sentence; a longer one is cut at a space."""


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
        self.passages = tuple(passage for passage in _passages(text) if passage.terms)
        """Its sentences, in order, but for those without a word."""

    @cached_property
    def windows(self) -> Windows:
        """The text, cut into places of a few lines."""
        return Windows(self.text)

    @cached_property
    def plain(self) -> str:
        """The text with single spaces as its only white space."""
        return " ".join(self.text.split())

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

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring words that carry meaning."""
        return frozenset(pair for passage in self.passages for pair in pairs_of(passage.terms))


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
