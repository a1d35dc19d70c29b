"""The graph `table_research`: finds the rows of a table and fills them, a researcher a row."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..core.concurrency import slot
from ..core.models.resolve import settings_of
from ..core.records.table import TableTask
from ..core.settings.context import Context, Watch
from ..nodes.ask_user import ask_user
from ..nodes.begin import begin
from ..nodes.clarify import clarify
from ..nodes.collect import collect
from ..nodes.collect_rows import collect_rows
from ..nodes.edit_report import edit_report
from ..nodes.fill_gaps import fill_gaps
from ..nodes.find_rows import find_rows
from ..nodes.look_up import look_up
from ..nodes.merge_rows import merge_rows
from ..nodes.orchestrate import orchestrate
from ..nodes.plan_table import plan_table
from ..nodes.review_plan import review_plan
from ..nodes.verify_report import verify_report
from ..nodes.write_report import write_report
from ..nodes.write_table import write_table
from ..state import ResearchInput, ResearchOutput, ResearchState
from ._handlers import deliver_unchecked, record_failure
from ._routing import (
    dispatch_rows,
    dispatch_scouts,
    dispatch_tasks,
    route_after_ask_user,
    route_after_begin,
    route_after_clarify,
    route_after_collect_rows,
    route_after_collect_table,
    route_after_edit_table,
    route_after_plan,
    route_after_review_plan,
)
from .drawable import compile_drawable
from .orchestrated import build_researcher_graph


@cache
def build_table_graph() -> StateGraph[ResearchState, Context, ResearchInput, ResearchOutput]:
    """Return the uncompiled graph, built once per process; compiling does not change it."""
    graph = StateGraph(
        ResearchState,
        context_schema=Context,
        input_schema=ResearchInput,
        output_schema=ResearchOutput,
    )
    graph.add_node("begin", partial(begin, strategy="table"))
    for node in (clarify, ask_user, look_up, write_report, plan_table, review_plan, find_rows):
        graph.add_node(node)
    for name in ("scout", "fill_row"):
        graph.add_node(name, build_row_researcher(), error_handler=record_failure)
    graph.add_node(collect)
    for after in (merge_rows, collect_rows, fill_gaps, write_table):
        graph.add_node(after)
    # An edit of the table may need further research.
    for editing in (edit_report, orchestrate):
        graph.add_node(editing)
    graph.add_node(
        "researcher",
        compile_drawable(build_researcher_graph(), name="researcher_graph"),
        error_handler=record_failure,
    )
    graph.add_node("verify_report", verify_report, error_handler=deliver_unchecked)

    graph.add_edge(START, "begin")
    graph.add_conditional_edges(
        "begin",
        route_after_begin,
        {
            "clarify": "clarify",
            "look_up": "look_up",
            "plan": "plan_table",
            "orchestrate": "find_rows",
            "write_report": "write_report",
            "edit_report": "edit_report",
        },
    )
    graph.add_conditional_edges(
        "clarify",
        route_after_clarify,
        {
            "ask_user": "ask_user",
            "look_up": "look_up",
            "plan": "plan_table",
            "edit_report": "edit_report",
            "orchestrate": "orchestrate",
        },
    )
    graph.add_conditional_edges(
        "ask_user", route_after_ask_user, {"look_up": "look_up", "plan": "plan_table", END: END}
    )
    graph.add_edge("look_up", "write_report")
    graph.add_edge("write_report", "verify_report")
    graph.add_conditional_edges(
        "plan_table",
        route_after_plan,
        {"review_plan": "review_plan", "orchestrate": "find_rows"},
    )
    graph.add_conditional_edges(
        "review_plan",
        route_after_review_plan,
        {"plan": "plan_table", "orchestrate": "find_rows", END: END},
    )
    graph.add_conditional_edges("find_rows", dispatch_scouts, ["scout", "merge_rows"])
    graph.add_edge("scout", "collect")
    graph.add_conditional_edges("merge_rows", dispatch_rows, ["fill_row", "write_table"])
    graph.add_edge("fill_row", "collect")
    graph.add_conditional_edges("collect", route_after_collect_table)
    graph.add_conditional_edges("collect_rows", route_after_collect_rows)
    graph.add_conditional_edges("fill_gaps", dispatch_rows, ["fill_row", "write_table"])
    graph.add_edge("write_table", "verify_report")
    graph.add_conditional_edges("edit_report", route_after_edit_table)
    graph.add_conditional_edges(
        "orchestrate",
        dispatch_tasks,
        {
            "researcher": "researcher",
            "orchestrate": "orchestrate",
            "analyze_findings": "orchestrate",
            "cross_check": "edit_report",
            "edit_report": "edit_report",
        },
    )
    graph.add_edge("researcher", "collect")
    graph.add_edge("verify_report", END)
    return graph


def build_row_researcher() -> Any:
    """Return the node that runs a researcher once a slot of its round is free.

    The wait counts towards its time.
    """
    graph = compile_drawable(build_researcher_graph(), name="researcher_graph")

    async def research_rows(
        state: dict[str, TableTask], config: RunnableConfig, runtime: Runtime[Context]
    ) -> Any:
        task, waited = state["task"], Watch(settings_of(runtime).clock, 0.0)
        async with slot(f"{task.question_id} {task.turn}", task.slots):
            return await graph.ainvoke({"task": task, "seconds": waited.seconds}, config)

    return research_rows
