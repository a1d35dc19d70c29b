"""The subgraph of a step of a typed plan: searches round by round or analyzes, then evaluates the result."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..core.models.resolve import settings_of
from ..core.run.branches import StepInput, StepOutput, StepState, StepTask
from ..core.run.concurrency import slot
from ..core.run.context import Context, Watch
from ..nodes.step.analyze import analyze
from ..nodes.step.choose_queries import choose_queries
from ..nodes.step.evaluate import evaluate
from ..nodes.step.search import search
from ..nodes.step.study import study
from .drawable import compile_drawable
from .handlers import end_step, evaluate_partial_step
from .routing import route_after_choose_queries, route_after_search, route_after_study, route_into_step


def build_step_graph() -> StateGraph[StepState, Context, StepInput, StepOutput]:
    """Return the uncompiled subgraph for one step."""
    graph = StateGraph(StepState, context_schema=Context, input_schema=StepInput, output_schema=StepOutput)
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
    """Return the node that runs a step once a slot of its round is free; the wait counts towards the step's time."""
    graph = compile_drawable(build_step_graph(), name="step_graph")

    async def step(state: dict[str, StepTask], config: RunnableConfig, runtime: Runtime[Context]) -> Any:
        task, waited = state["task"], Watch(settings_of(runtime).clock, 0.0)
        async with slot(f"{task.question_id} {task.turn}", task.slots):
            return await graph.ainvoke({"given": [task], "seconds": waited.seconds}, config)

    return step
