"""Takes from the results of each query what bears on the step's task."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...knowledge import Learning, Observation
from ...models.settings import settings_of
from ...run.context import Context, bound
from ...run.step_branch import StepState, why
from ...run.tries import Failed
from ...state import Ending, Spent
from ...tools.result_reader import Reader
from ...tools.step_call import StepCall


class ExtractLearningsUpdate(TypedDict, total=False):
    """What `extract_learnings` writes."""

    learned: dict[str, tuple[str, ...]]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def extract_learnings(state: StepState, runtime: Runtime[Context]) -> ExtractLearningsUpdate:
    """Have each result set read at the same time; one that cannot be read costs its own learnings only."""
    context = bound(settings_of(runtime), state.task.scope)
    call = StepCall(state, context, runtime)
    read = await call.tried(Reader(state, context, call.pages, call.filler).read())
    update = ExtractLearningsUpdate(failures=call.filler.failures, seconds=call.seconds, spending=call.costs)
    if isinstance(read, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": why(read)}
    return {**update, "learned": read.by_query, "learnings": read.learnings, "memory": read.memory}
