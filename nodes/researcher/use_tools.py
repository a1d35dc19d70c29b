"""Carries out the researcher's tool call and writes its result into the notes."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.models.settings import settings_of
from deep_research.run.branch import ResearcherState, ToolRequest
from deep_research.run.calls import in_order
from deep_research.run.context import Context, bound
from deep_research.run.errors import SearchFailed
from deep_research.run.packets import (
    OpenUrlDocuments,
    OpenUrlStart,
    OpenUrlUrls,
    Packet,
    Placement,
    SearchToolDocuments,
    SearchToolFilters,
    SearchToolQueries,
    SearchToolStart,
    SectionEnd,
    document,
    emit,
)
from deep_research.run.pages import Pages, pages_of, refer
from deep_research.run.spending import seconds_left, total
from deep_research.state import Action, Source, Spent
from deep_research.tools.addresses import Addresses
from deep_research.tools.carry_out import carry_out
from deep_research.tools.desk import Desk
from deep_research.tools.offer import research_tool
from deep_research.tools.outcome import Outcome
from deep_research.tools.results import read_results, write_results


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
    request, pages = state.request, pages_of(runtime.store, state.task.question_id)
    context = bound(settings_of(runtime), state.task.docs)
    assert request is not None
    start = context.clock.seconds()
    inputs = request.inputs
    place = Placement(turn_index=state.task.turn, tab_index=state.task.position, sub_turn_index=state.step)
    emit(runtime.stream_writer, *_announcement(place, request, inputs, context))
    try:
        outcome = await _carry_out(state, request, context, pages)
        emit(runtime.stream_writer, _documents(place, request, outcome))
    finally:
        emit(runtime.stream_writer, SectionEnd(placement=place))
    update = await _update(state, outcome, pages)
    action = Action(
        id=request.id,
        tool=request.tool,
        inputs=inputs,
        found=tuple(dict.fromkeys(hit.source.key for hit in outcome.hits)),
        problems=outcome.problems,
        fault=outcome.fault,
    )
    return {**update, "actions": [action], "seconds": state.seconds + context.clock.seconds() - start}


async def _update(state: ResearcherState, outcome: Outcome, pages: Pages) -> UseToolsUpdate:
    """Number what was found, and keep its texts."""
    request, task = state.request, state.task
    assert request is not None
    sources = {hit.source.key: hit.source for hit in outcome.hits}
    new = [key for key in sources if key not in state.numbered]
    numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
    for hit in outcome.hits:
        if hit.source.content_hash:
            await pages.keep(hit.text, hit.source.content_hash)
    found_on_web = [hit.source.address for hit in outcome.hits if hit.source.kind == "web"]
    await Addresses(pages, task.question_id).allow(found_on_web)
    reference = await pages.keep(write_results(outcome, numbers))
    return UseToolsUpdate(
        notes=[refer(request.id, reference)],
        request=None,
        reason=_fault(state, outcome),
        iteration=state.iteration + 1,
        step=state.step + 1,
        thinks=0,
        numbered=new,
        sources=sources,
        # The ids of calls are unique within one researcher only.
        spending={
            f"{task.id}/{request.id}": Spent(role=request.tool, searches=outcome.searches, fetches=outcome.fetches)
        },
    )


def _fault(state: ResearcherState, outcome: Outcome) -> str:
    """Why nothing can be searched any more, empty if something can; raises where the run has nothing to go on with."""
    if not outcome.fault or state.task.docs:
        return ""
    if state.task.cycle == 0 and not state.numbered:
        raise SearchFailed(outcome.fault)
    return outcome.fault


async def _carry_out(state: ResearcherState, request: ToolRequest, context: Context, pages: Pages) -> Outcome:
    left, what = _left(state, request)
    if left is not None and left <= 0:
        return Outcome(problems=(f"Not run: {what}. Write down what was found.",))
    desk = Desk(pages, state.task.question_id, await _excerpts(state, pages))
    seconds = min(context.limits.tool_seconds, seconds_left(context.limits, state.seconds))
    tool = research_tool(request.tool, context, desk)
    return await carry_out(tool, _first(request.arguments, left), seconds)


def _left(state: ResearcherState, request: ToolRequest) -> tuple[int | None, str]:
    """How many queries or addresses the researcher may still use, and what to say when there are none."""
    used, task = total(state.spending), state.task
    if request.tool == "open_url":
        most, spent, what = task.fetches, used.fetches, "no pages are left to open (max_fetches)"
    else:
        most, spent, what = task.searches, used.searches, "no searches are left (max_searches)"
    return (None if most is None else most - spent), what


def _first(arguments: dict[str, Any], count: int | None) -> dict[str, Any]:
    """The arguments with at most so many entries in each list."""
    return {name: value[:count] if isinstance(value, list) else value for name, value in arguments.items()}


async def _excerpts(state: ResearcherState, pages: Pages) -> dict[str, str]:
    """What earlier searches showed of each address."""
    notes = await pages.fill_in(in_order(state.notes))
    results = [result for note in notes if note.type == "tool" for result in read_results(note.text)]
    return {result["address"]: result["text"] for result in reversed(results)}


def _announcement(place: Placement, request: ToolRequest, inputs: tuple[str, ...], context: Context) -> list[Packet]:
    if request.tool == "open_url":
        return [OpenUrlStart(placement=place), OpenUrlUrls(placement=place, urls=list(inputs))]
    is_web = request.tool == "web_search"
    start = SearchToolStart(placement=place, is_internet_search=is_web)
    packets = [start, SearchToolQueries(placement=place, queries=list(inputs))]
    allow, deny, after = context.domains_allow, context.domains_deny, context.published_after
    if is_web and (allow or deny or after):
        since = after.isoformat() if after else None
        packets.append(SearchToolFilters(placement=place, sources=list(allow), excluded=list(deny), time_start=since))
    return packets


def _documents(place: Placement, request: ToolRequest, outcome: Outcome) -> Packet:
    documents = [document(source) for source in {hit.source.key: hit.source for hit in outcome.hits}.values()]
    if request.tool == "open_url":
        return OpenUrlDocuments(placement=place, documents=documents)
    return SearchToolDocuments(placement=place, documents=documents)
