"""Tells which sources are the same text, so that a claim that many have copied counts once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from deep_research.evidence.likeness import components
from deep_research.evidence.words import tokens

SHINGLE = 5
"""Words in a row by which texts are compared."""
REPRINT = 0.6
"""Share of the shorter text's runs of words that the longer one must hold to count as the same text."""
_FEWEST = 20
"""Runs of words below which texts are too short to be told apart from a quotation."""


def reprints(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Groups of sources (keys) whose texts are nearly the same; sources without such a fellow are left out.

    Compared are runs of `SHINGLE` words (containment, Broder 1997). The order of the texts makes no difference.
    """
    runs = {key: _runs(text) for key, text in texts.items()}
    long = [key for key, own in runs.items() if len(own) >= _FEWEST]
    groups = components(long, lambda one, other: _contained(runs[one], runs[other]) >= REPRINT)
    return sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def independent(sources: Iterable[str], groups: Iterable[Collection[str]]) -> int:
    """How many of these sources remain if those of one group count once."""
    named = {source: place for place, group in enumerate(groups) for source in group}
    return len({named.get(source, source) for source in sources})


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = tokens(text)
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _contained(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / min(len(one), len(other))
