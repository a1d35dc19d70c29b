"""Questions that want a list, and the sentences that are its items."""

from __future__ import annotations

import re

from deep_research.models.extractive.pool import Pool, Sentence

MOST_ITEMS = 10
NEAR_BEST = 0.6
"""Share of the best item's weight that the others must have."""
_ASKS = re.compile(
    r"^\W*(?:please\s+)?(?:list|name|enumerate)\b|\b(?:give|show|tell) (?:me )?(?:a list|all)\b|"
    r"\bwhich (?:[\w-]+ )?[\w-]+s (?:are|were|have|do|did|exist)\b|\bwhat are (?:the|all)\b|"
    r"^\W*(?:nenne?|liste|zähle)\b|\bwelche [\w-]+ (?:gibt|gab|sind|waren|haben)\b|"
    r"^\W*(?:énumère|liste[rz]?)\b|\bquel(?:le)?s (?:sont|étaient)\b|"
    r"^\W*(?:enumera|lista)\b|\bcu[aá]les (?:son|eran)\b|列出|有哪些",
    re.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """Whether a question wants all things of a kind."""
    return _ASKS.search(question) is not None


def items(pool: Pool) -> list[Sentence]:
    """The sentences that fit about as well as the best one, by their words and titles, in the documents' order."""
    weights = {one: pool.weight(one.stems | one.context) for one in pool.sentences}
    least = NEAR_BEST * max(weights.values(), default=0.0)
    fitting = sorted((one for one in weights if weights[one] >= least > 0), key=lambda one: -weights[one])
    kept = fitting[:MOST_ITEMS]
    return [one for one in pool.sentences if one in kept]
