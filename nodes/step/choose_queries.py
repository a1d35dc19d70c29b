"""Chooses the queries of a step's next iteration."""

from __future__ import annotations

from ...core.concurrency import Failed
from ...core.events.blocks import StepPackets, activity
from ...core.models.resolve import RoleModels
from ...core.records import tool_names
from ...core.records.plan import PLAN_TIME_OVER
from ...core.records.research import total
from ...core.settings.context import Context
from ...state import BranchUpdate, StepState
from ...tools.offer import DOCUMENTS_CALL
from ...tools.tool import Meter
from ..step_turn import RecordRound, StepTurn
from ..turn import FINISHING, NodeRuntime


async def choose_queries(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the model for queries unless it named some in `study`.

    If it gives none, search for the title of the step. Pages that it named in `study` are opened
    along with the search; without any, the best of each query are opened where no model would see
    the results first. The step ends if its time or its allowance is used up, or if there is no new
    query.
    """
    task = state.task
    turn = StepTurn(state, runtime)
    if not state.iteration:
        turn.emit(StepPackets(turn.tab).start(task.step))
    reads_first = task.scope.reads_all and not state.iteration
    reason = _limit(state, turn, reads_first=reads_first)
    sent = await turn.read_inbox()
    if sent.is_finishing:
        reason = reason or FINISHING
    if reason:
        return {"is_over": True, "ended": "partial", "reason": reason}
    turn.emit(activity("search", task.question, turn.placement, task.step.title))
    limits = turn.context.limits
    is_last = state.iteration + 1 >= limits.max_step_iterations
    update = BranchUpdate(
        iteration=state.iteration + 1,
        turn=state.turn + 1,
        opens_best=is_last or not _chooses_pages(turn.context),
    )
    if state.next_queries or state.open_next:
        return {**update, "queries": state.next_queries}
    if reads_first:
        # All documents are read before the model is asked, so the form is empty.
        message = RecordRound().as_call(DOCUMENTS_CALL)
        return {**update, "queries": (task.step.title,), "notes": [[message]]}
    # All results have been studied, so the form asks for queries only.
    heard = turn.hear(sent)
    form = await turn.in_time(turn.work.ask_for_queries(heard))
    update |= {
        "failures": turn.filler.failures,
        "seconds": turn.seconds,
        "spending": turn.spending,
    }
    if isinstance(form, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": form.reason}
    if form:
        queries = turn.work.new_queries(form)
    else:
        # Even if the title was searched before: its results may not have been read.
        update["opens_best"] = True
        queries = (task.step.title,)
        form = RecordRound(next_queries=[task.step.title])
    notes = [*heard]
    if queries:
        notes.append(form.as_call(f"{task.id}-{state.iteration + 1}"))
    return {**update, "queries": queries, "is_over": not queries, "notes": [notes]}


def _chooses_pages(context: Context) -> bool:
    """Return whether the model that studies the results is asked which pages to open."""
    return RoleModels(context).is_capable("researcher")


def _limit(state: StepState, turn: StepTurn, *, reads_first: bool) -> str:
    """Return the limit that ends the step, in words; empty if none is reached."""
    task = state.task
    searches = turn.branch_tools
    if tool_names.OPEN_URL in searches:
        searches.remove(tool_names.OPEN_URL)
    tool = tool_names.READ_DOCUMENTS if reads_first else searches[0]
    if state.seconds >= task.seconds:
        return PLAN_TIME_OVER
    reason = total(state.spending).share_used_up(task)
    return reason or Meter.of_task(task, state.spending).used_up(tool)
