"""Runs the researcher's tool call and adds its result to the notes."""

from __future__ import annotations

from ...core.events.call import SilentEvents
from ...core.records import tool_names
from ...core.records.sources import unopened
from ...core.records.table import TableTask
from ...state import BranchUpdate, ResearcherState
from ...tools.offer import ToolOffer
from ...tools.results import results_in
from ...tools.tool import Meter, ToolContext
from ...tools.use import (
    TimeLimit,
    action_of,
    keep,
    shown_use,
    use_tool,
)
from ..turn import NodeRuntime, ResearcherTurn


async def use_tools(state: ResearcherState, runtime: NodeRuntime) -> BranchUpdate:
    """Run the requested tool and number its new sources; if the tool fails, the result says why."""
    request, task = state.request, state.task
    assert request is not None
    turn = ResearcherTurn(state, runtime, SilentEvents)
    await ToolOffer(turn.context).load()
    meter = Meter.of_task(task, state.spending)
    limits = turn.context.limits
    left = TimeLimit(limits.researcher_seconds_left(state.seconds), "researcher_seconds_hard")
    time = min(TimeLimit(limits.tool_seconds, "tool_seconds"), left)
    reads_all = request.tool == tool_names.READ_DOCUMENTS
    use = shown_use(turn.events, turn.placement, request.tool, request.inputs, task.scope, [meter])
    async with turn.paid():
        with use as outcomes:
            earlier = results_in(turn.in_view(await turn.notes()))
            # The first excerpt of a page is the reason why the model opened it.
            excerpts = {result["address"]: result["text"] for result in reversed(earlier)}
            tool_context = ToolContext(
                turn.pages,
                task.question_id,
                meter,
                excerpts,
                topic=task.text,
                excluded=task.scope.excluded,
                part_characters=turn.part_characters,
            )
            if isinstance(task, TableTask):
                tool_context = tool_context._replace(
                    reads_anew=task.reads_anew,
                    questions=task.questions,
                    # A list that it opens again by itself is shown like any page.
                    entries={} if state.actions else task.entries,
                )
            outcome = await use_tool(
                request.tool, request.arguments, turn.context, tool_context, time
            )
            sources = outcome.sources
            new = [key for key in sources if key not in state.numbered]
            numbers = {key: number for number, key in enumerate([*state.numbered, *new], 1)}
            reference = await keep(
                outcome, numbers, turn.pages, task.question_id, earlier, is_shared=reads_all
            )
            fault = outcome.lasting_fault(task, has_found=bool(state.numbered))
            outcomes.append(outcome)
    iteration = state.iteration
    if not reads_all:
        iteration += 1
    return BranchUpdate(
        notes=[[turn.pages.reference(request.id, reference)]],
        request=None,
        reason=fault,
        iteration=iteration,
        step=state.step + 1,
        thinks=0,
        numbered=new,
        sources={**sources, **unopened(state.sources, outcome.not_read)},
        actions=[action_of(request.id, request.tool, request.inputs, outcomes)],
        spending=turn.spending,
        seconds=turn.seconds,
    )
