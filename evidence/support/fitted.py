"""How much each signal tells."""

from __future__ import annotations

import math
from collections.abc import Mapping

WEIGHTS = {
    "in two": 6.0,
    "number conflict": -3.0,
    "date conflict": -3.0,
    "name conflict": -2.0,
    "negation conflict": -3.0,
    "opposite conflict": -3.0,
    "unit conflict": -3.0,
}
CONSTANT = -4.0


def probability(signals: Mapping[str, float]) -> float:
    """How likely a source with these signals supports the claim, from 0 to 1."""
    return 1 / (1 + math.exp(-CONSTANT - sum(weight * signals[name] for name, weight in WEIGHTS.items())))
