"""Carries out the researcher's tool call and writes its result into the notes."""

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.models.settings import settings_of
from deep_research.run import tool_names
from deep_research.run.branch import ResearcherState, ToolRequest
from deep_research.run.calls import NOT_RUN, in_order
from deep_research.run.context import Context, bound
from deep_research.run.errors import SearchFailed
from deep_research.run.ledger import Bill, booked
from deep_research.run.limits import Limits
from deep_research.run.packets import Placement, SectionEnd, emit
from deep_research.run.pages import Pages, pages_of, refer
from deep_research.run.spending import seconds_left, total
from deep_research.state import Action, Source, Spent
from deep_research.tools import shown
from deep_research.tools.addresses import Addresses
from deep_research.tools.carry_out import Time, carry_out
from deep_research.tools.desk import Desk
from deep_research.tools.meter import Meter
from deep_research.tools.offer import research_tool
from deep_research.tools.outcome import Outcome
from deep_research.tools.private import documents_shown, note_documents
from deep_research.tools.results import Result, results_in, write_results


class UseToolsUpdate(TypedDict, total=False):
    """What `use_tools` writes."""

    notes: list[AnyMessage]
    request: ToolRequest | None
    reason: str
    iteration: int
    step: int
    thinks: int
    seconds: float
    numbered: list[str]
    actions: list[Action]
    sources: dict[str, Source]
    spending: dict[str, Spent]


async def use_tools(state: ResearcherState, runtime: Runtime[Context]) -> UseToolsUpdate:
    """Run the requested tool; whatever happens becomes the result of the call."""
    request, task = state.request, state.task
    assert request is not None
    context, pages = bound(settings_of(runtime), task.scope), pages_of(runtime.store, task.question_id)
    start, meter, bill = context.clock.seconds(), _meter(state), Bill()
    place = Placement(turn_index=task.turn, tab_index=task.position, sub_turn_index=state.step)
    emit(runtime.stream_writer, *shown.asked(place, request.tool, request.inputs, task.scope))
    async with booked(pages, task.question_id, bill, researcher=task.id):
        sources: dict[str, Source] = {}
        try:
            outcome = await _carry_out(state, request, context, pages, meter)
            found = {hit.source.key: hit.source for hit in outcome.hits}
            update = await _update(state, request, outcome, found, pages)
            sources = found
        finally:
            bill.add(Spent(role=request.tool, searches=meter.searches, fetches=meter.fetches))
            brought = shown.brought(place, request.tool, sources.values())
            emit(runtime.stream_writer, brought, SectionEnd(placement=place))
    action = Action(
        id=request.id,
        tool=request.tool,
        inputs=request.inputs,
        found=tuple(sources),
        problems=outcome.problems,
        fault=outcome.fault,
    )
    seconds = state.seconds + context.clock.seconds() - start
    return {**update, "actions": [action], "spending": bill.costs, "seconds": seconds}


async def _update(
    state: ResearcherState, request: ToolRequest, outcome: Outcome, sources: dict[str, Source], pages: Pages
) -> UseToolsUpdate:
    """Number what was found, and keep its texts."""
    new = [key for key in sources if key not in state.numbered]
    numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
    for hit in outcome.hits:
        if hit.source.content_hash:
            await pages.keep(hit.text, hit.source.content_hash)
    found_on_web = [source.address for source in sources.values() if source.kind == "web"]
    await Addresses(pages, state.task.question_id).allow(found_on_web)
    reference = await pages.keep(write_results(outcome, numbers))
    await note_documents(pages, outcome, reference)
    return UseToolsUpdate(
        notes=[refer(request.id, reference)],
        request=None,
        reason=_fault(state, outcome),
        iteration=state.iteration + 1,
        step=state.step + 1,
        thinks=0,
        numbered=new,
        sources=sources,
    )


def _fault(state: ResearcherState, outcome: Outcome) -> str:
    """Why nothing can be searched any more, empty if something can; raises where the run has nothing to go on with."""
    if not outcome.fault or state.task.scope.docs:
        return ""
    if state.task.cycle == 0 and not state.numbered:
        raise SearchFailed(outcome.fault)
    return outcome.fault


async def _carry_out(
    state: ResearcherState, request: ToolRequest, context: Context, pages: Pages, meter: Meter
) -> Outcome:
    used_up = _used_up(request.tool, meter)
    if used_up:
        return Outcome(problems=(f"{NOT_RUN} {used_up}. Write down what was found.",))
    earlier = await _results(state, pages) if request.tool == tool_names.OPEN_URL else []
    desk = Desk(
        pages,
        state.task.question_id,
        # What was shown first is what made somebody open it.
        excerpts={result["address"]: result["text"] for result in reversed(earlier)},
        # A task may quote what another researcher was shown.
        private=await documents_shown(pages) if request.tool == tool_names.WEB_SEARCH else (),
        meter=meter,
    )
    return await carry_out(
        research_tool(request.tool, context, desk), request.arguments, _time(context.limits, state.seconds)
    )


def _meter(state: ResearcherState) -> Meter:
    """What is left to the researcher, as long as nothing of it is used."""
    used, task = total(state.spending), state.task
    return Meter(
        most_searches=None if task.searches is None else task.searches - used.searches,
        most_fetches=None if task.fetches is None else task.fetches - used.fetches,
    )


def _used_up(tool: str, meter: Meter) -> str:
    """Why the tool cannot do anything any more; empty if it can."""
    if tool == tool_names.OPEN_URL:
        return "" if meter.most_fetches is None or meter.most_fetches > 0 else "no pages are left to open (max_fetches)"
    return "" if meter.most_searches is None or meter.most_searches > 0 else "no searches are left (max_searches)"


def _time(limits: Limits, used: float) -> Time:
    """How long a tool may take, in a researcher that has worked for so many seconds."""
    return min(Time(limits.tool_seconds, "tool_seconds"), Time(seconds_left(limits, used), "researcher_seconds_hard"))


async def _results(state: ResearcherState, pages: Pages) -> list[Result]:
    """All that earlier calls have shown."""
    return results_in(await pages.fill_in(in_order(state.notes)))
