"""How much it says that a passage holds a word."""

from __future__ import annotations

import math


def rarity(total: int, count: int) -> float:
    """Weight of a word that stands in `count` of `total` passages (the inverse document frequency of BM25)."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))
