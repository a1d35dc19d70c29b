"""Looks around once before anything is asked or planned: one broad search for the question itself."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.text.similarity import interleave
from ..core.models.resolve import settings_of
from ..core.records.report import Brief
from ..core.records.research import Action, Progress, Run, Spent
from ..core.records.sources import Source
from ..core.run import tool_names
from ..core.run.context import Context, within_scope
from ..core.run.conversation import subject_of
from ..core.run.errors import NoSearchTool
from ..core.run.events.activities import activity
from ..core.run.events.call import step_failed, tool_call_packets, tool_result_packet
from ..core.run.events.log import Emitter, emitter
from ..core.run.events.packets import Placement, SectionEnd
from ..core.run.spending import Bill, recorded
from ..core.run.store.pages import Pages, pages_of
from ..state import ResearchState
from ..tools.offer import offered_tools
from ..tools.tool import Outcome, ToolContext
from ..tools.use import Time, found_in, keep, meter_for_run, use_tool

SHOWN = 10
"""Results that the clarifier and the planner are shown."""


class OrientUpdate(TypedDict):
    """What `orient` writes."""

    run: Run
    progress: Progress
    brief: Brief
    sources: dict[str, Source]
    spending: dict[str, Spent]


async def orient(state: ResearchState, runtime: Runtime[Context]) -> OrientUpdate:
    """Search for a question as it stands; whatever goes wrong with that, the research goes on.

    Of a follow-up, the conversation and what was learned for it tell more than a search for its words, and of documents
    that each step reads whole, their list does.
    """
    run = state.run
    assert run is not None
    context, pages = within_scope(settings_of(runtime), run.scope), pages_of(runtime.store, run.id)
    place = Placement(turn_index=0)
    look, start = Orientation(run, context, pages, emitter(run.id)), context.clock.seconds()
    emitter(run.id).emit(activity("understand", run.question, place))
    offered = offered_tools(context, has_read_all=run.scope.reads_all)
    if not offered and not run.scope.reads_all:
        raise NoSearchTool(
            "The steps of a plan search, and there are only tools (tools, mcp): name documents or an engine, or pass a "
            "tool that takes a query among the engines."
        )
    async with recorded(pages, run.id, look.bill):
        searches = [name for name in offered if name != tool_names.OPEN_URL]
        allowed = [most for most in (context.limits.max_searches, context.limits.max_tool_calls) if most is not None]
        if state.learnings or min(allowed, default=len(searches) + 1) <= len(searches):
            # What little may be done is kept for the steps.
            searches = []
        found = [await look.around(name, tab) for tab, name in enumerate(searches, 1)]
        sources = {key: source for one in found for key, source in found_in(one).items()}
        numbers = {key: number for number, key in enumerate(sources, 1)}
        outcome = Outcome(tuple(interleave(one.hits for one in found))[:SHOWN])
        reference = await keep(outcome, numbers, pages, run.id) if sources else ""
    failures = [problem.rstrip(".") for one in found for problem in one.broken]
    emitter(run.id).emit(*(step_failed(place, failure) for failure in failures))
    seconds = run.active_seconds + context.clock.seconds() - start
    return OrientUpdate(
        run=run.model_copy(update={"active_seconds": seconds}),
        progress=state.progress.model_copy(update={"turn": place.turn_index + 1}),
        brief=Brief(orientation=reference, actions=tuple(look.actions)),
        sources=sources,
        spending=look.bill.costs,
    )


class Orientation:
    """Searches with one tool after the other; the packets of each stand in a tab of their own."""

    def __init__(self, run: Run, context: Context, pages: Pages, emitter: Emitter) -> None:
        self._run, self._context, self._pages, self._emitter = run, context, pages, emitter
        self._query = subject_of(run.question)[: context.limits.query_characters]
        self.bill, self.actions = Bill(), list[Action]()

    async def around(self, name: str, tab: int) -> Outcome:
        """Return what one tool finds."""
        place, found = Placement(turn_index=0, tab_index=tab), Outcome()
        meter = meter_for_run(self._context.limits, self.bill.costs)
        self._emitter.emit(*tool_call_packets(place, name, [self._query], self._run.scope))
        try:
            time = Time(self._context.limits.tool_seconds, "tool_seconds")
            tool_context = ToolContext(self._pages, self._run.id, meter)
            found = await use_tool(name, {"queries": [self._query]}, self._context, tool_context, time)
        finally:
            self.bill.add(meter.spent(name))
            self._emitter.emit(tool_result_packet(place, name, found_in(found).values()), SectionEnd(placement=place))
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
