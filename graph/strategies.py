"""Compiles the graph of a strategy."""

from __future__ import annotations

from typing import Self

from ..core.records.research import Strategy
from .drawable import DrawableGraph
from .orchestrated import build_orchestrated_graph
from .planned import build_planned_graph


class StrategyGraph(DrawableGraph):
    """The compiled graph of a strategy."""

    @classmethod
    def of_strategy(cls, strategy: Strategy, name: str) -> Self:
        """Return the graph of a strategy, under a name, without checkpointer."""
        build = build_planned_graph if strategy == "planned" else build_orchestrated_graph
        return cls.of(build().compile(name=name))
