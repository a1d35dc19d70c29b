"""Which of the candidate passages answers a question best, over all indexes together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..evidence.text.inflection.stems import tokens_of
from ..evidence.text.inflection.wording import title_key
from ..knowledge import Source

SATURATION = 1.2
LENGTH_SHARE = 0.5
USUAL_CHARACTERS = 700
COLUMN_WEIGHTS = {"title": 2.5, "heading": 1.5, "text": 1.0}
MENTION_WEIGHT = 1.5


class Passage(NamedTuple):
    """A passage of a document that answers a query."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """The headings above it."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


def scores(candidates: Sequence[Passage], weights: Mapping[str, float], mentioned: Mapping[str, float]) -> list[float]:
    """The score of each candidate: BM25 over its title, headings and text, plus a bonus if its title is mentioned."""
    counts: dict[tuple[int, str], float] = defaultdict(float)
    # Passages of one document have its title, and often their headings, in common.
    hits = cache(lambda text, language: Counter(filter(weights.__contains__, tokens_of(text, language))))
    for row, one in enumerate(candidates):
        for column, text in zip(COLUMN_WEIGHTS, (one.source.title, one.heading, one.text), strict=True):
            for stem, times in hits(text, one.language).items():
                counts[row, stem] += COLUMN_WEIGHTS[column] * times
    totals = [0.0] * len(candidates)
    for (row, stem), count in sorted(counts.items()):
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * len(candidates[row].text) / USUAL_CHARACTERS
        totals[row] += weights[stem] * count * (SATURATION + 1) / (count + SATURATION * length)
    _add_mentions(totals, candidates, mentioned)
    return totals


def _add_mentions(totals: list[float], candidates: Sequence[Passage], mentioned: Mapping[str, float]) -> None:
    # Only the best passage of a document gains by its title; else one long document would fill the list.
    best: dict[str, int] = {}
    for row, one in enumerate(candidates):
        holder = best.setdefault(one.source.key, row)
        if (totals[row], -one.start) > (totals[holder], -candidates[holder].start):
            best[one.source.key] = row
    for row in best.values():
        totals[row] += MENTION_WEIGHT * mentioned.get(title_key(candidates[row].source.title), 0.0)
