"""Chooses what a step searches for next."""

from __future__ import annotations

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...models.settings import settings_of
from ...run import tool_names
from ...run.activities import activity
from ...run.context import Context, bound
from ...run.packet import emit
from ...run.step_branch import TIME_OVER, StepState, why
from ...run.step_telling import step_started
from ...run.steps import share_used_up
from ...run.tries import Failed
from ...state import Ending, Spent
from ...tools.arguments import as_lines
from ...tools.fill_in import Filler
from ...tools.forms import ChooseQueries
from ...tools.offer import offered_tools
from ...tools.request_facts import facts_of_step
from ...tools.step_call import StepCall
from ...tools.step_context import knowledge_of
from ...tools.use import meter_of, used_up


class ChooseQueriesUpdate(TypedDict, total=False):
    """What `choose_queries` writes."""

    iteration: int
    began: int
    queries: tuple[str, ...]
    turn: int
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def choose_queries(state: StepState, runtime: Runtime[Context]) -> ChooseQueriesUpdate:
    """Ask for the next queries; where that fails, the step's title is searched for."""
    task, context = state.task, bound(settings_of(runtime), state.task.scope)
    writer, call = runtime.stream_writer, StepCall(state, context, runtime)
    if not state.iteration:
        emit(writer, step_started(task.step, task.place))
    searches = [name for name in offered_tools(context) if name != tool_names.OPEN_URL]
    reason = TIME_OVER if state.seconds >= task.seconds else share_used_up(task, state.spending)
    reason = reason or used_up(searches[0], meter_of(task, state.spending))
    if reason:
        return {"is_over": True, "ended": "partial", "reason": reason}
    emit(writer, activity("search", task.question, call.place))
    form = await call.tried(_ask(state, context, call.filler))
    update = ChooseQueriesUpdate(
        iteration=state.iteration + 1,
        began=state.turn,
        turn=state.turn + 1,
        failures=call.filler.failures,
        seconds=call.seconds,
        spending=call.costs,
    )
    if isinstance(form, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": why(form)}
    queries = _new(form, state, context.limits.max_queries) if form else (task.step.title,)
    # Nothing that is worth asking may be left.
    return {**update, "queries": queries, "is_over": not queries}


async def _ask(state: StepState, context: Context, filler: Filler) -> ChooseQueries | None:
    limits = context.limits
    return await filler.ask_if_possible(
        ChooseQueries,
        "researcher",
        "choose_queries",
        [HumanMessage(state.task.text)],
        facts=facts_of_step(state),
        offered=list(offered_tools(context)),
        max_queries=limits.max_queries,
        documents=state.task.scope.documents,
        iteration=state.iteration + 1,
        max_iterations=limits.max_step_iterations,
        knowledge=knowledge_of(state, limits),
    )


def _new(form: ChooseQueries, state: StepState, most: int) -> tuple[str, ...]:
    """The queries that were not asked before."""
    asked = {query.casefold() for iteration in state.iterations for query in iteration.queries}
    lines: list[str] = as_lines(form.queries)
    return tuple(query for query in dict.fromkeys(lines) if query.casefold() not in asked)[:most]
