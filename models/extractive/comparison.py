"""Questions that compare: what is compared, and what is said of each side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.words import names, stems
from deep_research.models.extractive.pool import Pool, Sentence

PER_SIDE = 2
OF_SIDE = 0.6
"""Share of the words of a side that a sentence and its title must hold to speak of it."""
_AND = r"\s+(?:and|with|to|und|mit|et|avec|à|y|con|versus|vs\.?|or|oder|ou|o)\s+"
_END = r"(?=\s+(?:for|in|on|as|with|regarding|für|hinsichtlich|bei|pour|para|en)\s|\s*[,.;:?!]|\s*$)"
_SIDES = (
    re.compile(
        r"\b(?:compar(?:e|ing)|comparison (?:of|between)|differences? between|between|"
        r"vergleiche?|unterschiede? zwischen|zwischen|"
        rf"compare[rz]?|différences? entre|entre|compara(?:r)?|diferencias? entre)\s+(.+?){_AND}(.+?){_END}",
        re.IGNORECASE,
    ),
    re.compile(r"(?:^|[,:]\s*)([^,:?]+?)\s+(?:versus|vs\.?)\s+([^,?]+)", re.IGNORECASE),
    re.compile(r"[,:]\s*([^,:?]+?)\s+(?:or|oder|ou|o)\s+([^,?]+?)\s*\?", re.IGNORECASE),
)


def sides_of(question: str) -> tuple[str, ...]:
    """What a question compares, two or more names or phrases; empty if it compares nothing."""
    found = next((match for pattern in _SIDES if (match := pattern.search(question))), None)
    if found is None:
        return ()
    named = [name for side in found.groups() for name in names(side)]
    return tuple(named) if len(named) > 1 else found.groups()


def said_of_sides(pool: Pool, sides: Sequence[str]) -> list[Sentence]:
    """The sentences of each side that hold most of what is compared; empty unless there are some of two sides."""
    of_sides = frozenset(stem for side in sides for stem in stems(side))
    found = [_said_of(pool, frozenset(stems(side)), of_sides) for side in sides]
    return [one for said in found for one in said] if sum(map(bool, found)) > 1 else []


def _said_of(pool: Pool, side: frozenset[str], of_sides: frozenset[str]) -> list[Sentence]:
    own = [one for one in pool.sentences if len(side & (one.stems | one.context)) >= OF_SIDE * len(side)]
    others = of_sides - side
    ranked = sorted(
        own,
        key=lambda one: (
            -pool.weight((one.stems | one.context) - of_sides),
            len(others & (one.stems | one.context)),
            not one.is_right,
            one.place,
        ),
    )
    return sorted(ranked[:PER_SIDE], key=lambda one: (one.number, one.place))
