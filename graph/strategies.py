"""Compiles the graph of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from langgraph.graph import StateGraph

from ..core.records.research import Strategy
from .drawable import DrawableGraph
from .orchestrated import build_orchestrated_graph
from .planned import build_planned_graph
from .table import build_table_graph

_BUILDERS: Mapping[Strategy, Callable[[], StateGraph[Any, Any, Any, Any]]] = {
    "orchestrated": build_orchestrated_graph,
    "planned": build_planned_graph,
    "table": build_table_graph,
}


class StrategyGraph(DrawableGraph):
    """The compiled graph of a strategy."""

    @classmethod
    def of_strategy(cls, strategy: Strategy, name: str) -> Self:
        """Return the graph of a strategy, under a name, without checkpointer."""
        return cls.of(_BUILDERS[strategy]().compile(name=name))
