"""Searches once, broadly, for the question itself before any clarifying question or plan."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..core.evidence.text.similarity import interleave
from ..core.records.report import Brief
from ..core.records.research import Action
from ..core.run import tool_names
from ..core.run.context import Context
from ..core.run.conversation import subject_of
from ..core.run.errors import NoSearchTool
from ..core.run.events.call import step_failed
from ..core.writing.turn import Turn, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.offer import offered_tools
from ..tools.tool import Outcome, ToolContext
from ..tools.use import Time, action_of, found_in, keep, meter_for_run, shown_use, use_tool

_SHOWN = 10
"""Maximum number of results shown to the clarifier and the planner."""


async def orient(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Search for the question as worded; a failed search does not stop the research.

    Follow-ups are not searched: the conversation and earlier learnings say more than a search for their words. Nor
    are documents that each step reads whole: their list is enough.
    """
    run, turn = state.run, await begin_turn(state, runtime)
    context = turn.context
    turn.announce("understand")
    offered = offered_tools(context, has_read_all=run.scope.reads_all)
    if not offered and not run.scope.reads_all:
        raise NoSearchTool(
            "The steps of a plan need something to search, and only tools are set (tools, mcp): add documents or an "
            "engine, or pass a tool that takes a query as an engine (engines)."
        )
    async with turn.paid():
        searches = [name for name in offered if name != tool_names.OPEN_URL]
        allowed = [most for most in (context.limits.max_searches, context.limits.max_tool_calls) if most is not None]
        if state.learnings or min(allowed, default=len(searches) + 1) <= len(searches):
            # The small remaining allowance is kept for the steps.
            searches = []
        looks = [await _look_around(name, tab, turn) for tab, name in enumerate(searches, 1)]
        found = [outcome for outcome, _ in looks]
        sources = found_in(*found)
        numbers = {key: number for number, key in enumerate(sources, 1)}
        outcome = Outcome(tuple(interleave(each.hits for each in found))[:_SHOWN])
        reference = await keep(outcome, numbers, turn.pages, run.id) if sources else ""
    failures = [problem.rstrip(".") for each in found for problem in each.broken]
    turn.emit(*(step_failed(turn.placement, failure) for failure in failures))
    brief = Brief(orientation=reference, actions=tuple(action for _, action in looks))
    return {**turn.update(), "brief": brief, "sources": sources}


async def _look_around(name: str, tab: int, turn: Turn) -> tuple[Outcome, Action]:
    """Search with one tool and emit its packets in their own tab."""
    context, run = turn.context, turn.state.run
    queries = [subject_of(run.question)[: context.limits.query_characters]]
    placement, meter = (
        turn.placement.model_copy(update={"tab_index": tab}),
        meter_for_run(context.limits, turn.spending),
    )
    time, tool_context = Time(context.limits.tool_seconds, "tool_seconds"), ToolContext(turn.pages, run.id, meter)
    with shown_use(turn.emitter, turn.events.bill, placement, name, queries, run.scope, [meter]) as outcomes:
        outcomes.append(await use_tool(name, {"queries": queries}, context, tool_context, time))
    return outcomes[0], action_of(f"orient-{tab}", name, queries, outcomes)
