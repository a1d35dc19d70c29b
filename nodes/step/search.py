"""Searches for a step's queries in parallel, and reads the best of the pages that were found."""

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...core.models.resolve import settings_of
from ...core.records.research import Action, Ending, Spent
from ...core.records.sources import Source
from ...core.run.branches import StepState
from ...core.run.context import Context, Watch, within_scope
from ...core.run.events.call import step_failed
from ...core.run.events.log import emitter
from ...core.run.spending import Bill, recorded
from ...core.run.store.pages import pages_of
from ...tools.search_round import SearchRound


class SearchUpdate(TypedDict, total=False):
    """What `search` writes."""

    queries: tuple[str, ...]
    has_results: bool
    notes: list[list[AnyMessage]]
    next_queries: tuple[str, ...]
    open_next: tuple[str, ...]
    numbered: list[str]
    actions: list[Action]
    sources: dict[str, Source]
    turn: int
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def search(state: StepState, runtime: Runtime[Context]) -> SearchUpdate:
    """Search with every tool for each query; a failure becomes a problem of its call and no more."""
    task, context = state.task, within_scope(settings_of(runtime), state.task.scope)
    pages, bill, watch = pages_of(runtime.store, task.question_id), Bill(), Watch(context.clock, state.seconds)
    work = SearchRound(state, context, pages, bill, emitter(task.question_id), watch)
    async with recorded(pages, task.question_id, bill, researcher=task.id):
        broken = await work.do()
        fault = "" if broken else work.lasting_fault()
    update = SearchUpdate(
        queries=tuple(dict.fromkeys(query for query, _, _ in work.outcomes if query)),
        has_results=work.has_results,
        notes=[work.notes],
        next_queries=(),
        open_next=(),
        numbered=work.new,
        actions=work.actions,
        sources=work.sources,
        turn=work.turn,
        failures=work.failures,
        seconds=watch.seconds,
        spending=bill.costs,
    )
    emitter(task.question_id).emit(*(step_failed(task.place, failure) for failure in work.failures))
    if broken or fault:
        return {**update, "is_over": True, "ended": "partial", "reason": broken or fault}
    return update
