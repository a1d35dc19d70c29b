"""What a run has spent, and what a researcher may still spend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ..records.research import Spent
from .limits import Limits


class Total(NamedTuple):
    """Sums over all calls."""

    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    searches: int
    fetches: int
    tool_calls: int
    usd: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class Allowance(NamedTuple):
    """What one researcher may spend; none: unlimited."""

    seconds: float
    tokens: int | None
    searches: int | None
    fetches: int | None
    tool_calls: int | None
    usd: float | None


def total(spending: Mapping[str, Spent]) -> Total:
    """Add up what was spent."""
    entries = spending.values()
    return Total(
        calls=sum(1 for spent in entries if spent.input_tokens or spent.output_tokens),
        input_tokens=sum(spent.input_tokens for spent in entries),
        cached_tokens=sum(spent.cached_tokens for spent in entries),
        output_tokens=sum(spent.output_tokens for spent in entries),
        searches=sum(spent.searches for spent in entries),
        fetches=sum(spent.fetches for spent in entries),
        tool_calls=sum(spent.tool_calls for spent in entries),
        usd=sum(spent.usd for spent in entries),
    )


def limit_reached(limits: Limits, spending: Mapping[str, Spent], active_seconds: float) -> str:
    """Return the limit that forbids more research, in words for the reader; empty if none."""
    spent = total(spending)
    if active_seconds > limits.max_seconds:
        return f"the time limit of {limits.max_seconds:g} s (max_seconds) was reached"
    if limits.max_usd is not None and spent.usd >= _usd_for_research(limits):
        return f"the limit max_usd was reached ({dollars(spent.usd)} of {dollars(limits.max_usd)})"
    for name, used, most in (
        ("max_tokens", spent.tokens, _for_research(limits)),
        ("max_searches", spent.searches, limits.max_searches),
        ("max_fetches", spent.fetches, limits.max_fetches),
        ("max_tool_calls", spent.tool_calls, limits.max_tool_calls),
    ):
        if most is not None and used >= most:
            return f"the limit {name} was reached ({used} of {getattr(limits, name)})"
    return ""


def limits_of_round(limits: Limits, spending: Mapping[str, Spent]) -> Limits:
    """Return the limits of the next round: no more researchers than searches and tool calls are left."""
    spent, most = total(spending), [limits.max_parallel_researchers]
    if limits.max_searches is not None:
        most.append(max(1, limits.max_searches - spent.searches))
    if limits.max_tool_calls is not None:
        most.append(max(1, limits.max_tool_calls - spent.tool_calls))
    return limits.model_copy(update={"max_parallel_researchers": min(most)})


def seconds_left(limits: Limits, seconds: float) -> float:
    """Return the seconds that a researcher's call may take, without the share for writing."""
    return limits.researcher_seconds_hard * (1 - limits.writing_share) - seconds


def allowance(limits: Limits, spending: Mapping[str, Spent], researchers: int) -> Allowance:
    """Return one researcher's part of what remains, without the share for writing."""
    spent = total(spending)

    def part(most: int | None, used: int) -> int | None:
        return None if most is None else max(1, (most - used) // researchers)

    return Allowance(
        seconds=limits.researcher_seconds,
        tokens=part(_for_research(limits), spent.tokens),
        searches=part(limits.max_searches, spent.searches),
        fetches=part(limits.max_fetches, spent.fetches),
        tool_calls=part(limits.max_tool_calls, spent.tool_calls),
        usd=None if limits.max_usd is None else max(0.0, _usd_for_research(limits) - spent.usd) / researchers,
    )


def _usd_for_research(limits: Limits) -> float:
    return (limits.max_usd or 0.0) * (1 - limits.writing_share)


def _for_research(limits: Limits) -> int | None:
    return None if limits.max_tokens is None else int(limits.max_tokens * (1 - limits.writing_share))


CENT = 0.01


def dollars(usd: float) -> str:
    """Return US dollars to the cent; less than a cent to two significant digits."""
    if usd >= CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")
