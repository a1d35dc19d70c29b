"""Looks around once before anything is asked or planned: one broad search for the question itself."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..core.evidence.text.similarity import interleave
from ..core.records.report import Brief
from ..core.records.research import Action
from ..core.run import tool_names
from ..core.run.context import Context
from ..core.run.conversation import subject_of
from ..core.run.errors import NoSearchTool
from ..core.run.events.call import step_failed, tool_call_packets, tool_result_packet
from ..core.run.events.packets import SectionEnd
from ..core.writing.turn import Turn, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.offer import offered_tools
from ..tools.tool import Outcome, ToolContext
from ..tools.use import Time, found_in, keep, meter_for_run, use_tool

SHOWN = 10
"""Results that the clarifier and the planner are shown."""


async def orient(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Search for a question as it stands; whatever goes wrong with that, the research goes on.

    Of a follow-up, the conversation and what was learned for it tell more than a search for its words, and of documents
    that each step reads whole, their list does.
    """
    run, turn = state.run, await begin_turn(state, runtime)
    context, look = turn.context, Orientation(turn)
    turn.announce("understand")
    offered = offered_tools(context, has_read_all=run.scope.reads_all)
    if not offered and not run.scope.reads_all:
        raise NoSearchTool(
            "The steps of a plan search, and there are only tools (tools, mcp): name documents or an engine, or pass a "
            "tool that takes a query among the engines."
        )
    async with turn.paid():
        searches = [name for name in offered if name != tool_names.OPEN_URL]
        allowed = [most for most in (context.limits.max_searches, context.limits.max_tool_calls) if most is not None]
        if state.learnings or min(allowed, default=len(searches) + 1) <= len(searches):
            # What little may be done is kept for the steps.
            searches = []
        found = [await look.around(name, tab) for tab, name in enumerate(searches, 1)]
        sources = {key: source for one in found for key, source in found_in(one).items()}
        numbers = {key: number for number, key in enumerate(sources, 1)}
        outcome = Outcome(tuple(interleave(one.hits for one in found))[:SHOWN])
        reference = await keep(outcome, numbers, turn.pages, run.id) if sources else ""
    failures = [problem.rstrip(".") for one in found for problem in one.broken]
    turn.emit(*(step_failed(turn.place, failure) for failure in failures))
    brief = Brief(orientation=reference, actions=tuple(look.actions))
    return {**turn.update(), "brief": brief, "sources": sources}


class Orientation:
    """Searches with one tool after the other; the packets of each stand in a tab of their own."""

    def __init__(self, turn: Turn) -> None:
        self._turn, self.actions = turn, list[Action]()
        self._query = subject_of(turn.state.run.question)[: turn.context.limits.query_characters]

    async def around(self, name: str, tab: int) -> Outcome:
        """Return what one tool finds."""
        turn, found = self._turn, Outcome()
        place, run = turn.place.model_copy(update={"tab_index": tab}), turn.state.run
        meter = meter_for_run(turn.context.limits, turn.spending)
        turn.emit(*tool_call_packets(place, name, [self._query], run.scope))
        try:
            time = Time(turn.context.limits.tool_seconds, "tool_seconds")
            tool_context = ToolContext(turn.pages, run.id, meter)
            found = await use_tool(name, {"queries": [self._query]}, turn.context, tool_context, time)
        finally:
            turn.events.bill.add(meter.spent(name))
            turn.emit(tool_result_packet(place, name, found_in(found).values()), SectionEnd(placement=place))
        keys, inputs = tuple(found_in(found)), (self._query,)
        self.actions.append(
            Action(
                id=f"orient-{tab}",
                tool=name,
                inputs=inputs,
                found=keys,
                problems=found.problems,
                not_read=found.not_read,
                redacted=found.redacted,
            )
        )
        return found
