"""The graph `deep_research`: an orchestrator that dispatches researchers, with their subgraph."""

from __future__ import annotations

from functools import cache, partial

from langgraph.graph import END, START, StateGraph

from ..core.settings.context import Context
from ..nodes.analyze_findings import analyze_findings
from ..nodes.ask_user import ask_user
from ..nodes.begin import begin
from ..nodes.clarify import clarify
from ..nodes.collect import collect
from ..nodes.cross_check import cross_check
from ..nodes.edit_report import edit_report
from ..nodes.grade_report import grade_report
from ..nodes.look_up import look_up
from ..nodes.orchestrate import orchestrate
from ..nodes.plan import plan
from ..nodes.researcher.think_or_act import think_or_act
from ..nodes.researcher.use_tools import use_tools
from ..nodes.researcher.write_finding import write_finding
from ..nodes.review_plan import review_plan
from ..nodes.verify_report import verify_report
from ..nodes.write_report import write_report
from ..state import (
    ResearcherInput,
    ResearcherOutput,
    ResearcherState,
    ResearchInput,
    ResearchOutput,
    ResearchState,
)
from ._handlers import deliver_unchecked, keep_excerpts_only, record_failure, write_partial_finding
from ._routing import (
    dispatch_tasks,
    route_after_ask_user,
    route_after_begin,
    route_after_clarify,
    route_after_cross_check,
    route_after_edit_report,
    route_after_grade_report,
    route_after_plan,
    route_after_review_plan,
    route_after_think_or_act,
)
from .drawable import compile_drawable


@cache
def build_orchestrated_graph() -> StateGraph[ResearchState, Context, ResearchInput, ResearchOutput]:
    """Return the uncompiled graph, built once per process; compiling does not change it."""
    graph = StateGraph(
        ResearchState,
        context_schema=Context,
        input_schema=ResearchInput,
        output_schema=ResearchOutput,
    )
    graph.add_node("begin", partial(begin, strategy="orchestrated"))
    for node in (
        clarify,
        ask_user,
        look_up,
        plan,
        review_plan,
        orchestrate,
        analyze_findings,
        collect,
    ):
        graph.add_node(node)
    graph.add_node(
        "researcher",
        compile_drawable(build_researcher_graph(), name="researcher_graph"),
        error_handler=record_failure,
    )
    for node in (cross_check, write_report, grade_report, edit_report):
        graph.add_node(node)
    graph.add_node("verify_report", verify_report, error_handler=deliver_unchecked)

    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", route_after_begin)
    graph.add_conditional_edges("clarify", route_after_clarify)
    graph.add_conditional_edges("ask_user", route_after_ask_user)
    graph.add_edge("look_up", "write_report")
    graph.add_conditional_edges("plan", route_after_plan)
    graph.add_conditional_edges("review_plan", route_after_review_plan)
    graph.add_conditional_edges(
        "orchestrate",
        dispatch_tasks,
        [
            "researcher",
            "orchestrate",
            "analyze_findings",
            "cross_check",
            "write_report",
            "grade_report",
            "edit_report",
        ],
    )
    graph.add_edge("researcher", "collect")
    graph.add_edge("collect", "orchestrate")
    graph.add_edge("analyze_findings", "orchestrate")
    graph.add_conditional_edges(
        "cross_check",
        route_after_cross_check,
        {
            "frame_report": "write_report",
            "grade_report": "grade_report",
            "edit_report": "edit_report",
        },
    )
    graph.add_edge("write_report", "grade_report")
    graph.add_conditional_edges("grade_report", route_after_grade_report)
    graph.add_conditional_edges("edit_report", route_after_edit_report)
    graph.add_edge("verify_report", END)
    return graph


def build_researcher_graph() -> StateGraph[
    ResearcherState, Context, ResearcherInput, ResearcherOutput
]:
    """Return the uncompiled subgraph for one task."""
    graph = StateGraph(
        ResearcherState,
        context_schema=Context,
        input_schema=ResearcherInput,
        output_schema=ResearcherOutput,
    )
    graph.add_node("think_or_act", think_or_act, error_handler=write_partial_finding)
    graph.add_node("use_tools", use_tools, error_handler=write_partial_finding)
    graph.add_node("write_finding", write_finding, error_handler=keep_excerpts_only)

    graph.add_edge(START, "think_or_act")
    graph.add_conditional_edges("think_or_act", route_after_think_or_act)
    graph.add_edge("use_tools", "think_or_act")
    graph.add_edge("write_finding", END)
    return graph
