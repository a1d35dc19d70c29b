"""Compiles graphs that Studio and `get_graph(xray=True)` draw with subgraphs.

Error handlers are left out of the drawing.
"""

from __future__ import annotations

from typing import Any, TypeVar

from langchain_core.runnables.config import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import CompiledStateGraph, StateGraph

Drawable = TypeVar("Drawable", bound="DrawableGraph")


class DrawableGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose drawing leaves out its error handlers.

    LangGraph would draw them as nodes without edges, and open a subgraph only if it has a single
    first and last node.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return LangGraph's drawing without error handlers."""
        return self._without_handlers(super().get_graph(config, xray=xray))

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Return LangGraph's drawing without error handlers."""
        return self._without_handlers(await super().aget_graph(config, xray=xray))

    def _without_handlers(self, drawing: Graph) -> Graph:
        for name, node in self.nodes.items():
            if node.is_error_handler:
                drawing.remove_node(drawing.nodes[name])
        return drawing

    @classmethod
    def of(
        cls: type[Drawable], compiled: CompiledStateGraph[Any, Any, Any, Any], **changes: Any
    ) -> Drawable:
        """Return a compiled graph as an instance of this class, with these attributes changed."""
        # `compile` always returns LangGraph's own class; the attributes are copied as in
        # LangGraph's `copy`.
        attributes = dict(vars(compiled))
        attributes.pop("__orig_class__", None)
        return cls(**attributes | changes)


def compile_drawable(graph: StateGraph[Any, Any, Any, Any], **settings: Any) -> DrawableGraph:
    """Compile a graph with these settings of LangGraph's `compile`."""
    return DrawableGraph.of(graph.compile(**settings))
