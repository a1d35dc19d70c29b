"""What a model's call costs in money."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..records.research import Spent
from ..run.context import Price

TOKENS = 1_000_000
"""Tokens that a price is for."""


def cost_of(model: str, spent: Spent, prices: Mapping[str, Price], told: float | None = None) -> float:
    """US dollars for a call's tokens: by `prices`, else what the server `told`, else 0."""
    price = price_of(model, prices)
    if price is None:
        return told or 0.0
    cached_price = price.input if price.cached is None else price.cached
    fresh = spent.input_tokens - spent.cached_tokens
    return (fresh * price.input + spent.cached_tokens * cached_price + spent.output_tokens * price.output) / TOKENS


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price under the model's name, with or without its provider, or under what follows its last `/` or `:`."""
    by_name = {name.removeprefix("openai:"): price for name, price in prices.items()}
    return by_name.get(model) or by_name.get(re.split("[/:]", model)[-1])
