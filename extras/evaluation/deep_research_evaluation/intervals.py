"""Means with their 95 % intervals, and the sign test."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

RESAMPLES = 1000
SEED = 1
"""Fixed seed, so that the same figures give the same interval."""
Z = statistics.NormalDist().inv_cdf(0.975)


class Estimate(BaseModel):
    """A mean over questions with its 95 % interval."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float
    questions: int


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean with its interval: Wilson for yes/no values, bootstrap for others."""
    mean = math.fsum(values) / len(values)
    low, high = wilson(mean, len(values)) if set(values) <= {0.0, 1.0} else bootstrap(values)
    return Estimate(value=mean, low=low, high=high, questions=len(values))


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return the Wilson interval of a share of `count` values."""
    spread = Z * Z / count
    middle = (share + spread / 2) / (1 + spread)
    width = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    # Rounding must not exclude the share itself.
    return max(0.0, min(share, middle - width)), min(1.0, max(share, middle + width))


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of a mean."""
    draw = random.Random(SEED)  # noqa: S311 - this hides nothing, it has to be repeatable
    means = [math.fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)]
    return quantile(means, 0.025), quantile(means, 0.975)


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile with linear interpolation."""
    ordered = sorted(values)
    rank = share * (len(ordered) - 1)
    below, above = ordered[math.floor(rank)], ordered[math.ceil(rank)]
    return below + (above - below) * (rank - math.floor(rank))


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of the sign test."""
    count = better + worse
    tail = sum(math.comb(count, number) for number in range(max(better, worse), count + 1))
    return float(min(1.0, 2 * tail / 2**count))
