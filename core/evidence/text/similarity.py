"""Finds near-duplicates: statements with the same meaning, reprinted sources, repeated texts, and
endless repetition at the end of a model's text, as small models write it; and groups lists."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

from .words import (
    NEGATIONS,
    NUMBER_WORDS,
    QUESTION_WORDS,
    STOP_WORDS,
    stem,
    stems,
    tokens,
)

SHORTEST_LOOP, LONGEST_REPEATED = 1200, 400
"""Minimum length of a loop, and maximum length of the passage that it repeats, in characters."""
_REMARK = re.compile(r"(?<!\s)\s*(?:\([^()]*\)|,.*)$")
Value = TypeVar("Value")
Item = TypeVar("Item")
Key = TypeVar("Key")
_NEAR = 0.8
"""Minimum Jaccard index of the stems of two statements that count as the same."""
_CACHED = 4096
"""Number of texts whose words are cached, since each text is compared with many others."""
_DECISIVE = NEGATIONS | QUESTION_WORDS | (NUMBER_WORDS.keys() - {"one"})
"""Words that two statements must have in common to count as the same, besides numbers in digits."""
_WRITTEN_OUT = (
    (re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
)
_LATER_WORD = re.compile(r"(?<=[^\W_])[^\w.!?。！？]+([^\W\d_][\w’'-]*)")
_SHINGLE = 5
"""Length of a shingle (a sequence of neighbouring words of a text), in words."""
_REPRINT = 0.6
"""Minimum overlap (see `_overlap`) of two texts that count as reprints of each other."""
COMPARED_CHARACTERS = 50_000
"""Number of characters at the start of a text that are compared."""
_FEWEST = 20
"""Minimum number of shingles of a text to compare; a shorter text may be a mere quotation."""
_REPEATED = 0.8
"""Minimum share of a text's shingles that an earlier text contains if it repeats that text."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def distinct(values: Iterable[Value], key: Callable[[Value], object]) -> list[Value]:
    """Return the first value of each key, in order."""
    return [same[0] for same in grouped(values, key).values()]


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Return the lists of values that have the same key, by key, in order of first appearance."""
    groups: dict[Key, list[Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def interleave(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """Return the first value of each list, then the second of each, and so on, without None."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]


def bare_title(title: str) -> str:
    """Return the title without what follows in brackets or after a comma: "Velm" for "Velm
    (river)"."""
    return _REMARK.sub("", title) or title


def rarity(total: int, count: int) -> float:
    """Return the inverse document frequency (BM25) of a word in `count` of `total` passages."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


class _Meaning(NamedTuple):
    """The words of a text by which it is compared with others."""

    stems: frozenset[str]
    """Stems of the content words; of all words if there are no content words."""
    decisive: frozenset[str]
    """Its numbers, negations and question words; statements that differ in them are different."""
    names: frozenset[str]
    """Stems of its names (see `_inner_names`)."""


@lru_cache(maxsize=_CACHED)
def _meaning(text: str) -> _Meaning:
    """Return the words by which a text is compared with others."""
    decisive = set[str]()
    for word in tokens(_expand_negations(text)):
        if word in _DECISIVE or any(map(str.isdigit, word)):
            decisive.add(word)
    content = frozenset(normalised(text).split()) - NEGATIONS - QUESTION_WORDS
    return _Meaning(content, frozenset(decisive), _inner_names(text))


@lru_cache(maxsize=_CACHED)
def normalised(text: str) -> str:
    """Return the stems of a text without stop words, joined with spaces.

    Texts with equal results say the same.
    """
    words = tokens(_expand_negations(text))
    kept = list[str]()
    for word in words:
        if word in _DECISIVE:
            kept.append(word)
        elif word not in STOP_WORDS:
            kept.append(stem(word))
    return " ".join(kept or words) or " ".join(text.split())


def _expand_negations(text: str) -> str:
    """Return the text with contracted negations (can't, won't, isn't) written out: can not, will
    not, is not."""
    for short, whole in _WRITTEN_OUT:
        text = short.sub(whole, text)
    return text


def _inner_names(text: str) -> frozenset[str]:
    """Return the stems of capitalised words that do not begin a sentence."""
    names = set[str]()
    for later_word in _LATER_WORD.finditer(text):
        word = later_word[1]
        if word[0].isupper():
            names.update(stems(word))
    return frozenset(names)


def is_same_statement(text: str, other: str) -> bool:
    """Whether two texts say nearly the same about the same names, with the same numbers and
    negations."""
    first = _meaning(text)
    second = _meaning(other)
    if first.decisive != second.decisive:
        return False
    if first.names - second.names and second.names - first.names:
        return False
    # The Jaccard index.
    either = first.stems | second.stems
    both = first.stems & second.stems
    return not either or len(both) / len(either) >= _NEAR


def components(items: Iterable[Item], are_alike: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Group items that are alike, or connected by alike ones; `are_alike` must be symmetric."""
    remaining = list(items)
    groups = list[list[Item]]()
    while remaining:
        group = [remaining.pop(0)]
        # The group grows in this loop.
        for member in group:
            others = list[Item]()
            for item in remaining:
                if are_alike(member, item):
                    group.append(item)
                else:
                    others.append(item)
            remaining = others
        groups.append(group)
    return groups


def reprints(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the sorted groups of keys whose texts are nearly the same.

    Texts are compared by containment of shingles (Broder 1997).
    """
    if len(texts) < 2:
        return []
    shingles = {key: _shingles_of(text) for key, text in texts.items()}

    def are_reprints(first: str, second: str) -> bool:
        return _overlap(shingles[first], shingles[second]) >= _REPRINT

    groups = components(shingles, are_reprints)
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def _shingles_of(text: str) -> frozenset[int]:
    """Return the shingles of a text (see `_SHINGLE`), as hashes to save memory."""
    words = tokens(text[:COMPARED_CHARACTERS])
    neighbours = [words[start:] for start in range(_SHINGLE)]
    return frozenset(map(hash, zip(*neighbours, strict=False)))


def _overlap(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the share of the smaller set of shingles that the larger set contains.

    It is 0 if the smaller set has too few.
    """
    fewest = min(len(first), len(second))
    if fewest < _FEWEST:
        return 0.0
    return len(first & second) / fewest


class _Comparable:
    """A text, prepared for comparison with many others."""

    def __init__(self, text: str) -> None:
        self.words = tokens(text)
        self.shingles = _shingles_of(text)
        self.specifics = {*_FIGURE.findall(text), *_inner_names(text)}

    def is_contained_in(self, other: _Comparable) -> bool:
        """Whether the other text says everything in this one, with the same numbers and names."""
        if self.words == other.words:
            return True
        if len(self.shingles) < _FEWEST or not self.specifics <= other.specifics:
            return False
        return len(self.shingles & other.shingles) >= _REPEATED * len(self.shingles)


def without_repeated(items: Iterable[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Drop items whose text is contained in an earlier item nearly word for word."""
    kept: list[tuple[Item, _Comparable]] = []
    for item in items:
        text = _Comparable(text_of(item))
        if not any(text.is_contained_in(other) for _, other in kept):
            kept.append((item, text))
    return [item for item, _ in kept]


class LoopWatch:
    """Notices that a text that arrives in parts has come to repeat itself endlessly."""

    def __init__(self) -> None:
        self._tail = ""

    def repeats(self, part: str) -> bool:
        """Whether the text ends in a loop (see `loop_start`) after this further part."""
        self._tail = (self._tail + part)[-SHORTEST_LOOP:]
        return loop_start(self._tail) is not None


def without_loop(text: str) -> str:
    """Return the text without the repetitions of a loop at its end (see `loop_start`)."""
    return text[: loop_start(text.rstrip())].rstrip()


def loop_start(text: str) -> int | None:
    """Return the offset of the first repetition if a text ends in a loop, as small models' texts
    may; else None.

    In a loop, the last `SHORTEST_LOOP` characters repeat one passage of at most `LONGEST_REPEATED`
    characters.
    """
    tail = text[-SHORTEST_LOOP:]
    if len(tail) < SHORTEST_LOOP:
        return None
    period = (
        SHORTEST_LOOP
        - LONGEST_REPEATED
        - tail.rfind(tail[-LONGEST_REPEATED:], 0, SHORTEST_LOOP - 1)
    )
    if period > LONGEST_REPEATED or tail[period:] != tail[:-period]:
        return None
    start = len(text) - SHORTEST_LOOP
    while start and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start + period
