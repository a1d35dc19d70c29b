"""Finds texts that repeat others word for word: reprints of a source, passages, sentences of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar
from zlib import crc32

from ..citations.markers import fence_after
from .sentences import Sentence, sentences_of
from .similarity import Meaning, components, inner_names, is_same, meaning
from .words import tokens

SHINGLE = 5
"""Words in a row (w-shingles) by which texts are compared."""
REPRINT = 0.6
"""Share of the shorter text's shingles that the longer one must contain to count as the same text."""
LONGEST = 50_000
"""Characters of a text that are compared at most."""
FEWEST = 20
"""Shingles below which a text may be a mere quotation."""


def reprints(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return groups of sources (keys) whose texts are nearly the same, by containment of shingles (Broder 1997)."""
    if len(texts) < 2:
        return []
    runs = {key: runs_of(text) for key, text in texts.items()}
    groups = components(runs, lambda one, other: overlap(runs[one], runs[other]) >= REPRINT)
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def independent(sources: Iterable[str], groups: Iterable[Collection[str]]) -> int:
    """Count the sources, those of one group once."""
    named = {source: place for place, group in enumerate(groups) for source in group}
    return len({named.get(source, source) for source in sources})


def runs_of(text: str) -> frozenset[int]:
    """Return the shingles of a text as checksums, which take less memory."""
    words = tokens(text[:LONGEST])
    runs = zip(*(words[start:] for start in range(SHINGLE)), strict=False)
    return frozenset(crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs)


def overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of the shorter text's shingles that the longer one contains; 0 if one is too short."""
    fewest = min(len(one), len(other))
    return len(one & other) / fewest if fewest >= FEWEST else 0.0


Item = TypeVar("Item")

REPEATED = 0.8
"""Share of a text's shingles that another one must contain for it to be left out."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class _Item:
    def __init__(self, text: str) -> None:
        self.words = tokens(text)
        self.runs = runs_of(text)
        self.specifics = {*_FIGURE.findall(text), *inner_names(text)}

    def is_contained_in(self, other: _Item) -> bool:
        """Whether the other text says all of this one, with the same figures and names."""
        if self.words == other.words:
            return True
        is_long = len(self.runs) >= FEWEST
        return (
            is_long and self.specifics <= other.specifics and len(self.runs & other.runs) >= REPEATED * len(self.runs)
        )


def without_repeated(items: Iterable[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Return the items without those whose text an earlier one contains nearly word for word."""
    kept: list[tuple[Item, _Item]] = []
    for item in items:
        text = _Item(text_of(item))
        if not any(text.is_contained_in(other) for _, other in kept):
            kept.append((item, text))
    return [item for item, _ in kept]


_COMPLETE = re.compile(r"[.!?…。！？:][\"'”’»)\]」』*_]*$")
_EMPTY = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|>)\s*)*")


class RepetitionFilter:
    """Filters a streamed section: sentences that say the same with the same citations as an earlier one are dropped.

    Each line is passed on when it ends. Sentences without a citation, headings and code stay.
    """

    def __init__(self, before: str) -> None:
        """Take the text that comes before."""
        self._said: dict[tuple[int, ...], list[Meaning]] = {}
        self._fence, self._line = "", ""
        for sentence in sentences_of(before):
            self._note(sentence)

    def feed(self, words: str) -> str:
        """Take the next words; returns the lines that they complete."""
        *lines, self._line = (self._line + words).split("\n")
        return "".join(self._kept(line, "\n") for line in lines)

    def finish(self, *, was_cut: bool) -> str:
        """End the text; return the rest, without its last sentence if that `was_cut` off."""
        line = self._line
        last = sentences_of(line)[-1:] if was_cut and not self._fence else []
        if last and not _COMPLETE.search(last[0].text):
            line = line[: line.rindex(last[0].raw)].rstrip()
        return self._kept(line, "")

    def _kept(self, line: str, end: str) -> str:
        after = fence_after(self._fence, line)
        is_code = bool(self._fence or after)
        self._fence = after
        repeated = [] if is_code else [s for s in sentences_of(line) if not self._note(s)]
        if not repeated:
            return line + end
        for sentence in repeated:
            line = line.replace(sentence.raw, "", 1)
        rest = re.sub(r"(?<=\S) {2,}", " ", line).rstrip()
        return "" if _EMPTY.fullmatch(rest) else rest + end

    def _note(self, sentence: Sentence) -> bool:
        """Remember what the sentence says; false if it was said before."""
        if not sentence.numbers or not sentence.text:
            return True
        said, new = self._said.setdefault(tuple(sorted(sentence.numbers)), []), meaning(sentence.text)
        is_new = not any(is_same(new, old) for old in said)
        said.append(new)
        return is_new
