"""Chooses what a step searches for next."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...core.models.resolve import settings_of
from ...core.records.research import Ending, Spent
from ...core.run import tool_names
from ...core.run.branches import TIME_OVER, StepState, failure_reason
from ...core.run.concurrency import Failed
from ...core.run.context import Context, within_scope
from ...core.run.decisions import allowance_used_up
from ...core.run.events.activities import activity
from ...core.run.events.call import step_started
from ...core.run.events.log import emitter
from ...core.writing.forms import RecordRound
from ...core.writing.steps import StepCall, ask_round, asked, new_queries
from ...tools.internal_search import CALL_ID
from ...tools.offer import offered_tools
from ...tools.use import meter_of, used_up


class ChooseQueriesUpdate(TypedDict, total=False):
    """What `choose_queries` writes."""

    iteration: int
    queries: tuple[str, ...]
    notes: list[list[AnyMessage]]
    turn: int
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def choose_queries(state: StepState, runtime: Runtime[Context]) -> ChooseQueriesUpdate:
    """Ask for the first queries, and for others where the last round has named none; if that fails, take the title."""
    task, context = state.task, within_scope(settings_of(runtime), state.task.scope)
    events, call = emitter(task.question_id), StepCall(state, context, runtime)
    if not state.iteration:
        events.emit(step_started(task.step, task.place))
    searches = [
        name for name in offered_tools(context, has_read_all=task.scope.reads_all) if name != tool_names.OPEN_URL
    ]
    reason = TIME_OVER if state.seconds >= task.seconds else allowance_used_up(task, state.spending)
    reads_first = task.scope.reads_all and not state.iteration
    tool = tool_names.READ_DOCUMENTS if reads_first else searches[0]
    reason = reason or used_up(tool, meter_of(task, state.spending))
    if reason:
        return {"is_over": True, "ended": "partial", "reason": reason}
    events.emit(activity("search", task.question, call.place, task.step.title))
    update = ChooseQueriesUpdate(iteration=state.iteration + 1, turn=state.turn + 1)
    if state.next_queries or state.open_next:
        return {**update, "queries": state.next_queries}
    if reads_first:
        # All documents are read first, whatever is asked for.
        message = asked(RecordRound(), CALL_ID)
        return {**update, "queries": (task.step.title,), "notes": [[message]]}
    # Nothing that was found is left to be read.
    form = await call.attempt(ask_round(replace(state, has_results=False), context, call.pages, call.filler))
    update |= {"failures": call.filler.failures, "seconds": call.seconds, "spending": call.costs}
    if isinstance(form, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": failure_reason(form)}
    said = form or RecordRound(next_queries=[task.step.title])
    # What was found for the title may not have been read yet.
    queries = new_queries(said.next_queries, state, context.limits.max_queries) if form else (task.step.title,)
    # Nothing that is worth asking may be left.
    is_over = not queries
    notes: list[AnyMessage] = [] if is_over else [asked(said, f"{task.id}-{state.iteration + 1}")]
    return {**update, "queries": queries, "is_over": is_over, "notes": [notes]}
