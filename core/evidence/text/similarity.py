"""Finds texts that say nearly the same, sources that reprint each other, and sentences that repeat what was said."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar
from zlib import crc32

from ...records.research import Value
from .words import NEGATIONS, NUMBER_WORDS, QUESTION_WORDS, STOP_WORDS, stem, stem_run, stems, tokens

WHOLE_TITLE = 1.0
SUBJECT_ONLY = 0.7
"""For a question that contains the title without its remark: "Velm" for "Velm (river)"."""
_REMARK = re.compile(r"\s*(?:\([^)]*\)|,.*)$")
Item = TypeVar("Item")
Key = TypeVar("Key")
NEAR = 0.8
"""Similarity of their stems from which on two texts say the same, if their decisive words are the same."""
KEPT = 4096
"""Texts whose meaning is cached: each is compared with many."""
_DECISIVE = NEGATIONS | QUESTION_WORDS | (NUMBER_WORDS.keys() - {"one"})
_WRITTEN_OUT = (
    (re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
)
_LATER_WORD = re.compile(r"(?<=[^\W_])[^\w.!?。！？]+([^\W\d_][\w’'-]*)")
SHINGLE = 5
"""Words in a row (w-shingles) by which texts are compared."""
REPRINT = 0.6
"""Share of the shorter text's shingles that the longer one must contain to count as the same text."""
LONGEST = 50_000
"""Characters of a text that are compared at most."""
FEWEST = 20
"""Shingles below which a text may be a mere quotation."""
REPEATED = 0.8
"""Share of a text's shingles that another one must contain for it to be left out."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def distinct(values: Iterable[Value], key: Callable[[Value], object]) -> list[Value]:
    """Return the values without those whose key came before."""
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key(value), value)
    return list(first.values())


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Return the values by their keys, in the order in which these came first."""
    groups: dict[Key, list[Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def interleave(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """Return the first of each list, then the second of each, and so on."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]


def spread(values: Iterable[Value], key: Callable[[Value], Hashable], most: int) -> list[Value]:
    """Return at most a given number of values of each key in their order, then the others."""
    counts = Counter[Hashable]()
    first, behind = list[Value](), list[Value]()
    for value in values:
        counts[key(value)] += 1
        (first if counts[key(value)] <= most else behind).append(value)
    return [*first, *behind]


def subject_of(title: str) -> str:
    """Return the title without a remark in brackets or after a comma."""
    return _REMARK.sub("", title) or title


def title_match(title: str, question: str, run: str) -> float:
    """Return how well a question mentions a title: 1 for all of it, less for its main part, else 0.

    Args:
        title: A document's title.
        question: A question; a title's main part counts only with the same capitals, and in any form of its last word.
        run: The question as `stem_run` reads it.
    """
    if _is_in(stem_run(title), run):
        return WHOLE_TITLE
    subject = subject_of(title)
    found = _is_in(stem_run(subject), run) and re.search(rf"(?<!\w){re.escape(subject)}", question)
    return SUBJECT_ONLY if found else 0.0


def mentions(text: str, name: str) -> bool:
    """Whether the text contains the name as whole words, with its capitals."""
    return len(name) > 2 and name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_in(title: str, question: str) -> bool:
    return len(title) > 3 and title in question and not STOP_WORDS.issuperset(title.split())


def rarity(total: int, count: int) -> float:
    """Return the inverse document frequency (of BM25) of a word that stands in `count` of `total` passages."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


class Meaning(NamedTuple):
    """What a text is compared by."""

    stems: frozenset[str]
    """Stems of the words that carry meaning; of all words if none does."""
    decisive: frozenset[str]
    """Numbers, negations and question words: with another one of these it is another statement."""
    names: frozenset[str]
    """Stems of the names in it."""


@lru_cache(maxsize=KEPT)
def meaning(text: str) -> Meaning:
    """Return what a text is compared by."""
    words = tokens(expand_negations(text))
    decisive = frozenset(word for word in words if word in _DECISIVE or any(map(str.isdigit, word)))
    return Meaning(frozenset(normalised(text).split()) - NEGATIONS - QUESTION_WORDS, decisive, inner_names(text))


@lru_cache(maxsize=KEPT)
def normalised(text: str) -> str:
    """Return the words without case, endings and function words; texts that share them count as the same."""
    words = tokens(expand_negations(text))
    kept = [word if word in _DECISIVE else stem(word) for word in words if word in _DECISIVE or word not in STOP_WORDS]
    return " ".join(kept or words) or " ".join(text.split())


def expand_negations(text: str) -> str:
    """Return the text with `n't` written out."""
    for short, whole in _WRITTEN_OUT:
        text = short.sub(whole, text)
    return text


def inner_names(text: str) -> frozenset[str]:
    """Return the stems of the capitalised words that do not begin a sentence."""
    inner = (match.group(1) for match in _LATER_WORD.finditer(text))
    return frozenset(part for word in inner if word[0].isupper() for part in stems(word))


def is_same(one: Meaning, other: Meaning) -> bool:
    """Whether two texts say nearly the same: of the same names, with the same numbers and negations."""
    if one.decisive != other.decisive or (one.names - other.names and other.names - one.names):
        return False
    # The Jaccard index.
    every = one.stems | other.stems
    return not every or len(one.stems & other.stems) / len(every) >= NEAR


def components(items: Iterable[Item], are_alike: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Return the connected components of a relation; the order of the items makes no difference to the groups."""
    left, groups = list(items), []
    while left:
        group, left = [left[0]], left[1:]
        for member in group:
            alike = [are_alike(member, item) for item in left]
            group += [item for item, is_alike in zip(left, alike, strict=True) if is_alike]
            left = [item for item, is_alike in zip(left, alike, strict=True) if not is_alike]
        groups.append(group)
    return groups


def reprints(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return groups of sources (keys) whose texts are nearly the same, by containment of shingles (Broder 1997)."""
    if len(texts) < 2:
        return []
    runs = {key: runs_of(text) for key, text in texts.items()}
    groups = components(runs, lambda one, other: overlap(runs[one], runs[other]) >= REPRINT)
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def runs_of(text: str) -> frozenset[int]:
    """Return the shingles of a text as checksums, which take less memory."""
    words = tokens(text[:LONGEST])
    runs = zip(*(words[start:] for start in range(SHINGLE)), strict=False)
    return frozenset(crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs)


def overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of the shorter text's shingles that the longer one contains; 0 if one is too short."""
    fewest = min(len(one), len(other))
    return len(one & other) / fewest if fewest >= FEWEST else 0.0


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
