"""Means with their 95 % intervals, and the sign test."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

RESAMPLES = 1000
SEED = 1
"""The same figures always get the same interval."""
Z = statistics.NormalDist().inv_cdf(0.975)


class Estimate(BaseModel):
    """A mean over questions with its 95 % interval."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float
    questions: int


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean: of yes and no with Wilson's interval, of other figures with a bootstrap's."""
    mean = math.fsum(values) / len(values)
    low, high = wilson(mean, len(values)) if set(values) <= {0.0, 1.0} else bootstrap(values)
    return Estimate(value=mean, low=low, high=high, questions=len(values))


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the interval of a share of `count` answers of yes or no."""
    spread = Z * Z / count
    middle = (share + spread / 2) / (1 + spread)
    width = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    # Rounding must not push the share itself out.
    return max(0.0, min(share, middle - width)), min(1.0, max(share, middle + width))


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of a mean, from means of values drawn again."""
    draw = random.Random(SEED)  # noqa: S311 - this hides nothing, it has to be repeatable
    means = [math.fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)]
    return quantile(means, 0.025), quantile(means, 0.975)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies, between two of them if need be."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))


def sign_test(better: int, worse: int) -> float:
    """Return how likely so uneven a result is, or a more uneven one, if better and worse are equally likely."""
    count = better + worse
    tail = sum(math.comb(count, number) for number in range(max(better, worse), count + 1))
    return float(min(1.0, 2 * tail / 2**count))
