"""Searches for the queries of a step in parallel, and opens the pages that were chosen."""

from __future__ import annotations

from ...core.events.blocks import StepPackets
from ...state import BranchUpdate, StepState
from ...tools.use import SearchRound
from ..step_turn import StepTurn
from ..turn import NodeRuntime


async def search(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Search for each query with every tool; a failed call does not stop the others."""
    turn = StepTurn(state, runtime)
    work = SearchRound(state, turn.context, turn.pages, turn.events, turn.watch)
    async with turn.paid():
        reason = await work.do() or work.lasting_fault()
    update = BranchUpdate(
        seconds=turn.seconds,
        spending=turn.spending,
        queries=tuple(dict.fromkeys(work.queries)),
        has_results=work.has_results,
        notes=[work.notes],
        next_queries=(),
        open_next=(),
        numbered=work.new,
        actions=work.actions,
        sources=work.sources,
        turn=work.turn,
        failures=work.failures,
    )
    for failure in work.failures:
        turn.emit(StepPackets(turn.tab).failure(failure))
    if reason:
        update |= {"is_over": True, "ended": "partial", "reason": reason}
    return update
