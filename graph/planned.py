"""The graph `planned_research`: a typed plan, executed in rounds, with the subgraph of a step."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..core.concurrency import slot
from ..core.models.resolve import settings_of
from ..core.records.plan import StepTask
from ..core.settings.context import Context, Watch
from ..nodes.ask_user import ask_user
from ..nodes.begin import begin
from ..nodes.clarify import clarify
from ..nodes.collect import collect
from ..nodes.cross_check import cross_check
from ..nodes.digest import digest
from ..nodes.edit_report import edit_report
from ..nodes.frame_report import frame_report
from ..nodes.grade_report import grade_report
from ..nodes.look_up import look_up
from ..nodes.orient import orient
from ..nodes.plan_steps import plan_steps
from ..nodes.review_plan import review_plan
from ..nodes.schedule import schedule
from ..nodes.step.analyze import analyze
from ..nodes.step.choose_queries import choose_queries
from ..nodes.step.evaluate import evaluate
from ..nodes.step.search import search
from ..nodes.step.study import study
from ..nodes.summarize import summarize
from ..nodes.verify_report import verify_report
from ..nodes.write_report import write_report
from ..state import ResearchInput, ResearchOutput, ResearchState, StepInput, StepOutput, StepState
from ._handlers import deliver_unchecked, end_step, evaluate_partial_step, record_failure
from ._routing import (
    dispatch_steps,
    route_after_ask_user,
    route_after_begin_planned,
    route_after_choose_queries,
    route_after_clarify,
    route_after_cross_check,
    route_after_edit_report,
    route_after_grade_planned_report,
    route_after_plan,
    route_after_review_steps,
    route_after_search,
    route_after_study,
    route_into_step,
)
from .drawable import compile_drawable


@cache
def build_planned_graph() -> StateGraph[ResearchState, Context, ResearchInput, ResearchOutput]:
    """Return the uncompiled graph, built once per process; compiling does not change it."""
    graph = StateGraph(
        ResearchState,
        context_schema=Context,
        input_schema=ResearchInput,
        output_schema=ResearchOutput,
    )
    graph.add_node("begin", partial(begin, strategy="planned"))
    for before in (
        orient,
        clarify,
        ask_user,
        look_up,
        summarize,
        plan_steps,
        review_plan,
        schedule,
    ):
        graph.add_node(before)
    for after in (
        collect,
        digest,
        cross_check,
        frame_report,
        write_report,
        grade_report,
        edit_report,
    ):
        graph.add_node(after)
    graph.add_node("step", build_step_node(), error_handler=record_failure)
    graph.add_node("verify_report", verify_report, error_handler=deliver_unchecked)

    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", route_after_begin_planned)
    graph.add_edge("orient", "clarify")
    graph.add_conditional_edges(
        "clarify",
        route_after_clarify,
        {
            "ask_user": "ask_user",
            "look_up": "look_up",
            "plan": "summarize",
            "edit_report": "edit_report",
            "orchestrate": "schedule",
        },
    )
    graph.add_conditional_edges(
        "ask_user", route_after_ask_user, {"look_up": "look_up", "plan": "summarize", END: END}
    )
    graph.add_edge("look_up", "write_report")
    graph.add_edge("summarize", "plan_steps")
    graph.add_conditional_edges(
        "plan_steps", route_after_plan, {"review_plan": "review_plan", "orchestrate": "schedule"}
    )
    graph.add_conditional_edges("review_plan", route_after_review_steps)
    graph.add_conditional_edges("schedule", dispatch_steps, ["step", "schedule", "cross_check"])
    graph.add_edge("step", "collect")
    graph.add_edge("collect", "digest")
    graph.add_edge("digest", "schedule")
    graph.add_conditional_edges("cross_check", route_after_cross_check)
    graph.add_edge("frame_report", "write_report")
    graph.add_edge("write_report", "grade_report")
    graph.add_conditional_edges("grade_report", route_after_grade_planned_report)
    graph.add_conditional_edges(
        "edit_report",
        route_after_edit_report,
        {"orchestrate": "schedule", "verify_report": "verify_report"},
    )
    graph.add_edge("verify_report", END)
    return graph


def build_step_graph() -> StateGraph[StepState, Context, StepInput, StepOutput]:
    """Return the uncompiled subgraph for one step."""
    graph = StateGraph(
        StepState, context_schema=Context, input_schema=StepInput, output_schema=StepOutput
    )
    for node in (choose_queries, search, study, analyze):
        graph.add_node(node, error_handler=evaluate_partial_step)
    graph.add_node("evaluate", evaluate, error_handler=end_step)

    graph.add_conditional_edges(START, route_into_step)
    graph.add_conditional_edges("choose_queries", route_after_choose_queries)
    graph.add_conditional_edges("search", route_after_search)
    graph.add_conditional_edges("study", route_after_study)
    graph.add_edge("analyze", "evaluate")
    graph.add_edge("evaluate", END)
    return graph


def build_step_node() -> Any:
    """Return the node that runs a step once a slot of its round is free.

    The wait counts towards the step's time.
    """
    graph = compile_drawable(build_step_graph(), name="step_graph")

    async def step(
        state: dict[str, StepTask], config: RunnableConfig, runtime: Runtime[Context]
    ) -> Any:
        task, waited = state["task"], Watch(settings_of(runtime).clock, 0.0)
        async with slot(f"{task.question_id} {task.turn}", task.slots):
            return await graph.ainvoke({"given": [task], "seconds": waited.seconds}, config)

    return step
