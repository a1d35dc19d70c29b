"""Chooses what a step searches for next."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime

from ...core.run import tool_names
from ...core.run.branches import TIME_OVER, BranchUpdate, StepState, failure_reason
from ...core.run.concurrency import Failed
from ...core.run.context import Context
from ...core.run.decisions import allowance_used_up
from ...core.run.events.activities import activity
from ...core.run.events.call import step_started
from ...core.writing.forms import RecordRound
from ...core.writing.steps import StepTurn, ask_round, asked, new_queries
from ...tools.internal_search import CALL_ID
from ...tools.offer import offered_tools
from ...tools.use import meter_of, used_up


async def choose_queries(state: StepState, runtime: Runtime[Context]) -> BranchUpdate:
    """Ask for the first queries, and for others where the last round has named none; if that fails, take the title."""
    task, turn = state.task, StepTurn(state, runtime)
    context = turn.context
    if not state.iteration:
        turn.emit(step_started(task.step, turn.tab))
    searches = [
        name for name in offered_tools(context, has_read_all=task.scope.reads_all) if name != tool_names.OPEN_URL
    ]
    reason = TIME_OVER if state.seconds >= task.seconds else allowance_used_up(task, state.spending)
    reads_first = task.scope.reads_all and not state.iteration
    tool = tool_names.READ_DOCUMENTS if reads_first else searches[0]
    reason = reason or used_up(tool, meter_of(task, state.spending))
    if reason:
        return {"is_over": True, "ended": "partial", "reason": reason}
    turn.emit(activity("search", task.question, turn.place, task.step.title))
    update = BranchUpdate(iteration=state.iteration + 1, turn=state.turn + 1)
    if state.next_queries or state.open_next:
        return {**update, "queries": state.next_queries}
    if reads_first:
        # All documents are read first, whatever is asked for.
        message = asked(RecordRound(), CALL_ID)
        return {**update, "queries": (task.step.title,), "notes": [[message]]}
    # Nothing that was found is left to be read.
    form = await turn.in_time(ask_round(replace(state, has_results=False), turn, turn.filler))
    update |= {"failures": turn.filler.failures, "seconds": turn.seconds, "spending": turn.spending}
    if isinstance(form, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": failure_reason(form)}
    said = form or RecordRound(next_queries=[task.step.title])
    # What was found for the title may not have been read yet.
    queries = new_queries(said.next_queries, state, context.limits.max_queries) if form else (task.step.title,)
    # Nothing that is worth asking may be left.
    is_over = not queries
    notes: list[AnyMessage] = [] if is_over else [asked(said, f"{task.id}-{state.iteration + 1}")]
    return {**update, "queries": queries, "is_over": is_over, "notes": [notes]}
