"""Judges what an iteration of a step has brought: how sure it is by now, and whether anything is missing."""

from __future__ import annotations

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...evidence.memory.confidence import confidence
from ...knowledge import Iteration, Verdict
from ...models.settings import settings_of
from ...run.context import Context, bound
from ...run.packet import emit
from ...run.step_branch import StepState, why
from ...run.step_telling import iteration_told
from ...run.tries import Failed
from ...state import Ending, Spent
from ...tools.fill_in import Filler
from ...tools.forms import GiveVerdict
from ...tools.request_facts import facts_of_step
from ...tools.step_call import StepCall
from ...tools.step_context import knowledge_of

MOST_UNPRODUCTIVE = 2
"""Iterations in a row without anything new after which a step is over."""
NO_VERDICT = "No verdict was given"


class AssessUpdate(TypedDict, total=False):
    """What `assess` writes."""

    iterations: list[Iteration]
    unproductive: int
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    turn: int
    seconds: float
    spending: dict[str, Spent]


async def assess(state: StepState, runtime: Runtime[Context]) -> AssessUpdate:
    """Have a verdict given on each result set that taught something, up to the first that says complete."""
    task, context = state.task, bound(settings_of(runtime), state.task.scope)
    call = StepCall(state, context, runtime)
    judge = Judge(state, context, call.filler)
    judged = await call.tried(judge.judge())
    new = tuple(dict.fromkeys(key for keys in state.learned.values() for key in keys))
    iteration = Iteration(
        number=state.iteration,
        queries=state.queries,
        learnings=new,
        confidence=confidence(task.step.task, list(state.learnings.values()), state.sources, state.iteration),
        at=context.clock.now().isoformat(timespec="seconds"),
        verdicts=tuple(judge.verdicts),
        began=state.began,
        turn=state.turn,
    )
    emit(runtime.stream_writer, *iteration_told(task.step.id, iteration, state.learnings, call.place))
    unproductive = 0 if new else state.unproductive + 1
    is_complete = bool(judge.verdicts) and judge.verdicts[-1].is_complete
    update = AssessUpdate(
        iterations=[iteration],
        unproductive=unproductive,
        is_over=is_complete
        or state.iteration >= context.limits.max_step_iterations
        or unproductive >= MOST_UNPRODUCTIVE,
        failures=call.filler.failures,
        turn=state.turn + 1,
        seconds=call.seconds,
        spending=call.costs,
    )
    if isinstance(judged, Failed):
        return {**update, "is_over": True, "ended": "partial", "reason": why(judged)}
    return update


class Judge:
    """Has verdicts given, one after the other."""

    def __init__(self, state: StepState, context: Context, filler: Filler) -> None:
        self._state, self._context, self._filler = state, context, filler
        self.verdicts: list[Verdict] = []
        """Those that were given so far."""

    async def judge(self) -> None:
        """Give them; raises what stops the whole run."""
        for query, learnings in self._state.learned.items():
            if learnings:
                self.verdicts.append(await self._verdict(query))
                if self.verdicts[-1].is_complete:
                    return

    async def _verdict(self, query: str) -> Verdict:
        form = await self._filler.ask_if_possible(
            GiveVerdict,
            "researcher",
            "assess",
            [HumanMessage(self._state.task.text)],
            facts=facts_of_step(self._state),
            query=query,
            knowledge=knowledge_of(self._state, self._context.limits, self._state.learned[query]),
        )
        if form is None:
            # Nobody says that it is complete.
            reason = f"{NO_VERDICT}: {self._filler.failures[-1]}."
            return Verdict(query=query, is_complete=False, reasoning=reason)
        elements = tuple(dict.fromkeys(words.strip() for words in form.key_elements if words.strip()))
        return Verdict(
            query=query, is_complete=form.is_complete, reasoning=form.reasoning.strip(), key_elements=elements
        )
