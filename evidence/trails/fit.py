"""How well a passage fits a question."""

from __future__ import annotations

from collections.abc import Mapping

from .candidate import Candidate
from .query import Query

USUAL_LENGTH = 45
"""Words that carry meaning in a passage of usual length."""
LENGTH_SHARE = 0.3
"""How much of a word's weight depends on the length of its passage."""
FULL = 1.25
"""The most that a word can count in one passage."""
REPEATED = 0.15
"""Share of its worth that a word keeps which an earlier passage holds."""


def held(query: Query, candidate: Candidate) -> dict[str, float]:
    """How well the passage holds each stem of the question, from 0 to 1.25; a torn name counts by its share."""
    length = 1 - LENGTH_SHARE + LENGTH_SHARE * candidate.length / USUAL_LENGTH
    inflected = query.inflections.counted(f"{candidate.title}\n{candidate.text}", candidate.language)
    plain = {stem: candidate.counts[stem] + (stem in candidate.title_stems) for stem in query.weights}
    counts = {stem: max(count, inflected[stem]) for stem, count in plain.items()}
    found = {stem: min(FULL, 2 * count / (count + length)) for stem, count in counts.items() if count}
    for name in query.names:
        if name.run not in candidate.stem_run:
            whole = sum(query.weights[stem] for stem in name.stems)
            share = sum(query.weights[stem] for stem in name.stems if stem in found) / whole
            found |= {stem: found[stem] * share for stem in name.stems if stem in found}
    return found


def gain(query: Query, found: Mapping[str, float], known: Mapping[str, float]) -> float:
    """What a passage adds to a question of which so much is known; what is known already counts little."""
    return sum(
        query.weights[stem] * (max(0.0, share - known.get(stem, 0.0)) + REPEATED * min(share, known.get(stem, 0.0)))
        for stem, share in found.items()
    )
