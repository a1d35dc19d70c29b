"""Carries out the researcher's tool call and writes its result into the notes."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...core.evidence.memory.observations import unopened
from ...core.models.resolve import settings_of
from ...core.records.research import Action, Spent
from ...core.records.sources import Source
from ...core.run import tool_names
from ...core.run.branches import ResearcherState, ToolRequest
from ...core.run.context import Context, Watch, within_scope
from ...core.run.events.call import tool_call_packets, tool_result_packet
from ...core.run.events.log import emitter
from ...core.run.events.packets import Placement, SectionEnd
from ...core.run.spending import Bill, recorded
from ...core.run.store.pages import Pages, pages_of, reference_to
from ...core.run.transcripts import results_in_order
from ...tools.passed import load_servers
from ...tools.results import Result, results_in, shrunk
from ...tools.tool import Meter, Outcome, ToolContext
from ...tools.use import found_in, keep, lasting_fault, meter_of, tool_time, use_tool


class UseToolsUpdate(TypedDict, total=False):
    """What `use_tools` writes."""

    notes: list[list[AnyMessage]]
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
    context, pages = within_scope(settings_of(runtime), task.scope), pages_of(runtime.store, task.question_id)
    await load_servers(context)
    watch, meter, bill = Watch(context.clock, state.seconds), meter_of(task, state.spending), Bill()
    place = Placement(turn_index=task.turn, tab_index=task.position, sub_turn_index=state.step)
    emitter(task.question_id).emit(*tool_call_packets(place, request.tool, request.inputs, task.scope))
    async with recorded(pages, task.question_id, bill, researcher=task.id):
        sources: dict[str, Source] = {}
        try:
            notes = await pages.fill_in(results_in_order(state.notes))
            earlier = results_in(shrunk(notes, max(state.shrunk, default=0), task.text))
            outcome = await _carry_out(state, request, context, pages, meter, earlier)
            found = found_in(outcome)
            update = await _update(state, request, outcome, found, pages, earlier)
            sources = found
        finally:
            bill.add(meter.spent(request.tool))
            brought = tool_result_packet(place, request.tool, sources.values())
            emitter(task.question_id).emit(brought, SectionEnd(placement=place))
    action = Action(
        id=request.id,
        tool=request.tool,
        inputs=request.inputs,
        found=tuple(sources),
        problems=outcome.problems,
        not_read=outcome.not_read,
        redacted=outcome.redacted,
        fault=outcome.fault,
    )
    return {**update, "actions": [action], "spending": bill.costs, "seconds": watch.seconds}


async def _update(
    state: ResearcherState,
    request: ToolRequest,
    outcome: Outcome,
    sources: dict[str, Source],
    pages: Pages,
    earlier: Sequence[Result],
) -> UseToolsUpdate:
    """Number the sources found, and store their texts."""
    task = state.task
    new = [key for key in sources if key not in state.numbered]
    numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
    is_shared = request.tool == tool_names.READ_DOCUMENTS
    reference = await keep(outcome, numbers, pages, task.question_id, earlier, is_shared=is_shared)
    return UseToolsUpdate(
        notes=[[reference_to(request.id, reference)]],
        request=None,
        reason=lasting_fault(outcome, task, has_found=bool(state.numbered)),
        iteration=state.iteration + (request.tool != tool_names.READ_DOCUMENTS),
        step=state.step + 1,
        thinks=0,
        numbered=new,
        sources={**sources, **unopened(state.sources, outcome.not_read)},
    )


async def _carry_out(
    state: ResearcherState,
    request: ToolRequest,
    context: Context,
    pages: Pages,
    meter: Meter,
    earlier: Sequence[Result],
) -> Outcome:
    # What was shown first is what made somebody open it.
    excerpts = {result["address"]: result["text"] for result in reversed(earlier)}
    tool_context = ToolContext(pages, state.task.question_id, meter, excerpts, topic=state.task.text)
    time = tool_time(context.limits, state.seconds)
    return await use_tool(request.tool, request.arguments, context, tool_context, time)
