"""Money in words."""

from __future__ import annotations

import math

CENT = 0.01


def dollars(usd: float) -> str:
    """US dollars to the cent; less than a cent to two digits that count, so that little is not taken for nothing."""
    if usd >= CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")
