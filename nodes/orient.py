"""Searches once for the question as worded, before any clarifying question or plan."""

from __future__ import annotations

from ..core.dialogue.conversation import question_line
from ..core.errors import NoSearchTool
from ..core.events.blocks import StepPackets
from ..core.evidence.text.similarity import interleave
from ..core.records import tool_names
from ..core.records.report import Brief
from ..core.records.research import Action
from ..core.records.sources import Source
from ..state import ResearchState, StateUpdate
from ..tools.tool import WEB_QUERY_CHARACTERS, Outcome
from ..tools.use import keep
from .turn import NodeRuntime, Turn, begin_turn

_SHOWN = 10
"""Maximum number of results shown to the clarifier and the planner."""


async def orient(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Search with each tool and store the best results for the clarifier and the planner.

    Failed searches are reported. Follow-ups are not searched: the conversation and earlier
    learnings say more than a search for their words. Nor are documents that each step reads whole:
    their list is enough.
    """
    turn = await begin_turn(state, runtime)
    run = turn.state.run
    turn.announce("understand")
    if not turn.branch_tools and not run.scope.reads_all:
        raise NoSearchTool(
            "The steps of a plan need something to search, and only tools are set (tools, mcp): "
            "add documents or an engine, or pass a tool that takes a query as an engine (engines)."
        )
    outcomes = list[Outcome]()
    actions = list[Action]()
    async with turn.paid():
        queries = [question_line(run.question)[:WEB_QUERY_CHARACTERS]]
        for tab, name in enumerate(_searches(turn), 1):
            outcome, action = await turn.use(name, queries, f"orient-{tab}", tab)
            outcomes.append(outcome)
            actions.append(action)
        sources = dict[str, Source]()
        for outcome in outcomes:
            sources |= outcome.sources
        reference = ""
        if sources:
            numbers = {key: number for number, key in enumerate(sources, 1)}
            hits = interleave([outcome.hits for outcome in outcomes])
            best = Outcome(tuple(hits[:_SHOWN]))
            reference = await keep(best, numbers, turn.pages, run.id)
    for outcome in outcomes:
        for problem in outcome.broken:
            turn.emit(StepPackets(turn.placement).failure(problem.rstrip(".")))
    brief = Brief(orientation=reference, actions=tuple(actions))
    return {**turn.update(), "brief": brief, "sources": sources}


def _searches(turn: Turn) -> list[str]:
    """Return the search tools to use.

    There are none for a follow-up, or if the searches would use up the limits before any step.
    """
    if turn.state.learnings:
        return []
    searches = [name for name in turn.branch_tools if name != tool_names.OPEN_URL]
    limits = turn.context.limits
    for allowed in (limits.max_searches, limits.max_tool_calls):
        if allowed is not None and allowed <= len(searches):
            return []
    return searches
