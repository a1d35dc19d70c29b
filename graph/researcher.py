"""The subgraph of a researcher: decides, uses tools, writes its finding."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from ..core.run.branches import ResearcherInput, ResearcherOutput, ResearcherState
from ..core.run.context import Context
from ..nodes.researcher.think_or_act import think_or_act
from ..nodes.researcher.use_tools import use_tools
from ..nodes.researcher.write_finding import write_finding
from .handlers import keep_excerpts_only, write_partial_finding
from .routing import route_after_think_or_act


def build_researcher_graph() -> StateGraph[ResearcherState, Context, ResearcherInput, ResearcherOutput]:
    """Return the uncompiled subgraph for one task."""
    graph = StateGraph(
        ResearcherState, context_schema=Context, input_schema=ResearcherInput, output_schema=ResearcherOutput
    )
    graph.add_node("think_or_act", think_or_act, error_handler=write_partial_finding)
    graph.add_node("use_tools", use_tools, error_handler=write_partial_finding)
    graph.add_node("write_finding", write_finding, error_handler=keep_excerpts_only)

    graph.add_edge(START, "think_or_act")
    graph.add_conditional_edges("think_or_act", route_after_think_or_act)
    graph.add_edge("use_tools", "think_or_act")
    graph.add_edge("write_finding", END)
    return graph
