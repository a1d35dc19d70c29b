"""How much each signal tells.

The weights of what claim and source have in common were fitted by logistic regression (151 labelled pairs of a sentence
and a text, their signals standardised and then weighed alike but for `pairs` and `hedged`). Those of conflicts were
chosen on the same pairs and on copies of them with a changed number, year, unit, negation or opposite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

WEIGHTS: Mapping[str, float] = {
    "everywhere": 0.55,
    "in one sentence": 0.53,
    "in two": 0.53,
    "in order": 0.49,
    "pairs": 0.92,
    "weakest part": 0.42,
    "weakest part in passage": 0.41,
    "names in passage": 0.46,
    "missing": -0.17,
    "hedged": -0.25,
    "number conflict": -4.00,
    "unit conflict": -4.00,
    "date conflict": -4.00,
    "negation conflict": -4.00,
    "opposite conflict": -4.00,
}
"""What a signal adds to the logarithm of the odds."""
CONSTANT = -1.60


def probability(signals: Mapping[str, float]) -> float:
    """How likely a source with these signals supports the claim, from 0 to 1."""
    return 1 / (1 + math.exp(-CONSTANT - sum(weight * signals[name] for name, weight in WEIGHTS.items())))
