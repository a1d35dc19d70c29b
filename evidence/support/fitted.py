"""How much each signal tells."""

from __future__ import annotations

import math
from collections.abc import Mapping

WEIGHTS = {
    "everywhere": 0.52,
    "in one sentence": 0.50,
    "in two": 0.50,
    "in order": 0.47,
    "pairs": 0.88,
    "weakest part": 0.40,
    "weakest part in passage": 0.39,
    "names in passage": 0.44,
    "missing": -0.16,
    "hedged": -0.23,
    "unit conflict": -3.00,
    "date conflict": -3.00,
    "negation conflict": -3.00,
    "opposite conflict": -3.00,
    "number conflict": -2.50,
}
CONSTANT = -1.46


def probability(signals: Mapping[str, float]) -> float:
    """How likely a source with these signals supports the claim, from 0 to 1."""
    return 1 / (1 + math.exp(-CONSTANT - sum(weight * signals[name] for name, weight in WEIGHTS.items())))
