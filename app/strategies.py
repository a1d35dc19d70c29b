"""The strategies of research: which there are, and which one a run goes by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, get_args

from .words import nearest

Strategy = Literal["orchestrated", "planned"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
GRAPHS: Mapping[Strategy, str] = {"orchestrated": "deep_research", "planned": "planned_research"}
"""Name of each strategy's graph."""
VARIABLE = "DEEP_RESEARCH_STRATEGY"
"""Variable of the environment that says by which strategy the command line begins a run."""
MARK = "research_strategy"
"""Where the checkpoints of a thread say by which strategy they were made, in their metadata."""


def check_strategy(name: str, place: str = "strategy") -> Strategy:
    """The strategy of this name; raises `UnknownSetting`, which names the place that the name comes from."""
    for known in STRATEGIES:
        if name == known:
            return known
    # Errors are LangGraph's, which would make the help of the command line slow.
    from ..run.errors import UnknownSetting

    there_are = " and ".join(map(repr, STRATEGIES))
    raise UnknownSetting(f"{place}: there is no {name!r}{nearest(name, STRATEGIES)}; there are {there_are}.")


def default_strategy() -> Strategy:
    """By which strategy the command line begins a run where none is named; raises `UnknownSetting`."""
    return check_strategy(os.environ.get(VARIABLE) or STRATEGIES[0], VARIABLE)


def strategy_of(metadata: Mapping[str, Any]) -> Strategy:
    """By which strategy a checkpoint with this metadata was made; one that says nothing is older than the choice."""
    return "planned" if metadata.get(MARK) == "planned" else "orchestrated"
