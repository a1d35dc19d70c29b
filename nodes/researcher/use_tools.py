"""Carries out the researcher's tool call and writes its result into the notes."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from ...core.evidence.memory.observations import unopened
from ...core.records.sources import Source
from ...core.run import tool_names
from ...core.run.branches import BranchUpdate, ResearcherState, ToolRequest
from ...core.run.context import Context
from ...core.run.events.call import SilentEvents
from ...core.run.store.pages import Pages, reference_to
from ...core.run.transcripts import results_in_order
from ...core.writing.turn import BranchTurn
from ...tools.passed import load_servers
from ...tools.results import Result, results_in, shrunk
from ...tools.tool import Meter, Outcome, ToolContext
from ...tools.use import action_of, found_in, keep, lasting_fault, meter_of, shown_use, tool_time, use_tool


async def use_tools(state: ResearcherState, runtime: Runtime[Context]) -> BranchUpdate:
    """Run the requested tool; whatever happens becomes the result of the call."""
    request, task = state.request, state.task
    assert request is not None
    turn = BranchTurn(task, state.seconds, state.step, runtime, SilentEvents)
    await load_servers(turn.context)
    meter = meter_of(task, state.spending)
    async with turn.paid():
        bill = turn.events.bill
        with shown_use(turn.emitter, bill, turn.place, request.tool, request.inputs, task.scope, [meter]) as outcomes:
            notes = await turn.pages.fill_in(results_in_order(state.notes))
            earlier = results_in(shrunk(notes, max(state.shrunk, default=0), task.text))
            outcome = await _carry_out(state, request, turn, meter, earlier)
            update = await _update(state, request, outcome, found_in(outcome), turn.pages, earlier)
            outcomes.append(outcome)
    action = action_of(request.id, request.tool, request.inputs, outcomes)
    return {**update, "actions": [action], "spending": turn.spending, "seconds": turn.seconds}


async def _update(
    state: ResearcherState,
    request: ToolRequest,
    outcome: Outcome,
    sources: dict[str, Source],
    pages: Pages,
    earlier: Sequence[Result],
) -> BranchUpdate:
    """Number the sources found, and store their texts."""
    task = state.task
    new = [key for key in sources if key not in state.numbered]
    numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
    is_shared = request.tool == tool_names.READ_DOCUMENTS
    reference = await keep(outcome, numbers, pages, task.question_id, earlier, is_shared=is_shared)
    return BranchUpdate(
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
    turn: BranchTurn[SilentEvents],
    meter: Meter,
    earlier: Sequence[Result],
) -> Outcome:
    # What was shown first is what made somebody open it.
    excerpts = {result["address"]: result["text"] for result in reversed(earlier)}
    tool_context = ToolContext(turn.pages, state.task.question_id, meter, excerpts, topic=state.task.text)
    time = tool_time(turn.context.limits, state.seconds)
    return await use_tool(request.tool, request.arguments, turn.context, tool_context, time)
