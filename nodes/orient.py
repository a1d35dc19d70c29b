"""Searches once for the question as worded, before any clarifying question or plan."""

from __future__ import annotations

from ..core.evidence.text.similarity import interleave
from ..core.records.report import Brief
from ..core.run import tool_names
from ..core.run.conversation import question_line
from ..core.run.errors import NoSearchTool
from ..core.run.events.call import step_failed
from ..core.writing.turn import NodeRuntime, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.offer import offered_tools
from ..tools.tool import Outcome
from ..tools.use import keep, sources_found
from ..tools.web_search import QUERY_CHARACTERS

_SHOWN = 10
"""Maximum number of results shown to the clarifier and the planner."""


async def orient(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Search with each tool and store the best results for the clarifier and the planner; failed searches are reported.

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
            # For a follow-up, or if the searches would use up the limits before any step.
            searches = []
        queries = [question_line(run.question)[:QUERY_CHARACTERS]]
        looks = [await turn.use(name, queries, f"orient-{tab}", tab) for tab, name in enumerate(searches, 1)]
        found = [outcome for outcome, _ in looks]
        sources = sources_found(*found)
        numbers = {key: number for number, key in enumerate(sources, 1)}
        outcome = Outcome(tuple(interleave(each.hits for each in found))[:_SHOWN])
        reference = await keep(outcome, numbers, turn.pages, run.id) if sources else ""
    failures = [problem.rstrip(".") for each in found for problem in each.broken]
    turn.emit(*(step_failed(turn.placement, failure) for failure in failures))
    brief = Brief(orientation=reference, actions=tuple(action for _, action in looks))
    return {**turn.update(), "brief": brief, "sources": sources}
