"""Tells which sources are the same text, so that a claim that many have copied counts once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from zlib import crc32

from ..text.likeness import components
from ..text.words import tokens

SHINGLE = 5
"""Words in a row by which texts are compared."""
REPRINT = 0.6
"""Share of the shorter text's runs of words that the longer one must hold to count as the same text."""
LONGEST = 50_000
"""Characters of a text that are compared."""
FEWEST = 20
"""Runs of words below which texts are too short to be told apart from a quotation."""


def reprints(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Groups of sources (keys) whose texts are nearly the same; sources without such a fellow are left out.

    Compared are runs of `SHINGLE` words (containment, Broder 1997). The order of the texts makes no difference.
    """
    if len(texts) < 2:
        return []
    runs = {key: runs_of(text) for key, text in texts.items()}
    groups = components(runs, lambda one, other: overlap(runs[one], runs[other]) >= REPRINT)
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def independent(sources: Iterable[str], groups: Iterable[Collection[str]]) -> int:
    """How many of these sources remain if those of one group count once."""
    named = {source: place for place, group in enumerate(groups) for source in group}
    return len({named.get(source, source) for source in sources})


def runs_of(text: str) -> frozenset[int]:
    """The runs of words of a text by their checksums, which take far less room."""
    words = tokens(text[:LONGEST])
    runs = zip(*(words[start:] for start in range(SHINGLE)), strict=False)
    return frozenset(crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs)


def overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """Share of the shorter text's runs that the longer one holds, from 0 to 1; 0 if one is too short to tell."""
    fewest = min(len(one), len(other))
    return len(one & other) / fewest if fewest >= FEWEST else 0.0
