"""Reads the results of a step's iteration: records learnings and gaps, and decides on the next queries."""

from __future__ import annotations

from ...core.evidence.memory.learned import confidence
from ...core.models.resolve import is_extractive
from ...core.records.plan import Iteration, Verdict
from ...core.run.branches import BranchUpdate, StepState
from ...core.run.concurrency import Failed
from ...core.run.events.call import iteration_packets
from ...core.writing.forms import RecordRound
from ...core.writing.steps import StepTurn, ask_round, form_as_call, judgement_in, learned_in, new_queries, observed_in
from ...core.writing.turn import NodeRuntime
from ...tools.offer import offered_tools
from ...tools.results import results_in

_MOST_UNPRODUCTIVE = 2
"""Number of consecutive iterations without new learnings after which a step ends."""
_NOTHING_NEW = "it ended after two rounds in a row that brought nothing new"
_NO_VERDICT = "No verdict was given"


async def study(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the model to read the iteration's results and fill in one form; without results it is not asked."""
    task, turn = state.task, StepTurn(state, runtime)
    context = turn.context
    answer = await turn.in_time(ask_round(state, turn, turn.filler)) if state.has_results else None
    failed = answer if isinstance(answer, Failed) else None
    form = answer if isinstance(answer, RecordRound) else None
    filled_in = form or RecordRound()
    results = results_in(await turn.pages.fill_in(state.notes)) if form else []
    learned = learned_in(filled_in, state, {result["document"] for result in results})
    known = {**state.learnings, **learned.learnings}
    # The extractive model cannot judge completeness; `confidence` then compares words instead.
    completeness = form.completeness if form and not is_extractive("researcher", context) else None
    sure = confidence(task.step.task, list(known.values()), state.sources, state.iteration, completeness)
    verdicts = () if failed or not state.has_results else (_verdict(form, state, turn.filler.failures),)
    iteration = Iteration(
        number=state.iteration,
        queries=state.queries,
        learnings=tuple(learned.learnings),
        confidence=sure,
        at=context.clock.now().isoformat(timespec="seconds"),
        verdicts=verdicts,
    )
    turn.emit(*iteration_packets(task.step.id, iteration, known, turn.placement))
    unproductive = 0 if learned.learnings else state.unproductive + 1
    queries = new_queries(filled_in.next_queries, state, context.limits.max_queries)
    can_search = bool(offered_tools(context, has_read_all=task.scope.reads_all))
    has_nothing_next = not can_search or (form is not None and not queries and not form.open_next)
    is_over = any(verdict.is_complete for verdict in verdicts) or state.iteration >= context.limits.max_step_iterations
    update = BranchUpdate(
        seconds=turn.seconds,
        spending=turn.spending,
        iterations=[iteration],
        notes=[[form_as_call(form, f"{task.id}-{state.iteration + 1}")]] if form else [],
        next_queries=queries,
        open_next=tuple(filled_in.open_next),
        learnings=learned.learnings,
        memory=learned.memory,
        unproductive=unproductive,
        is_over=is_over or has_nothing_next or unproductive >= _MOST_UNPRODUCTIVE,
        failures=turn.filler.failures,
        turn=state.turn + 1,
    )
    if unproductive >= _MOST_UNPRODUCTIVE and not (is_over or state.failures or turn.filler.failures):
        update["reason"] = _NOTHING_NEW
    if form:
        update["judged"] = judgement_in(form)
        update["memory"] = {**learned.memory, **observed_in(form, state, learned.learnings, sure)}
    if failed:
        update |= {"is_over": True, "ended": "partial", "reason": failed.reason}
    return update


def _verdict(form: RecordRound | None, state: StepState, failures: list[str]) -> Verdict:
    """Return the form's verdict on the iteration; without a form, an incomplete one with the latest failure."""
    query = ", ".join(state.queries)
    if form is None:
        # Without a verdict the step does not count as complete.
        return Verdict(query=query, is_complete=False, reasoning=f"{_NO_VERDICT}: {failures[-1]}.")
    elements = tuple(dict.fromkeys(words.strip() for words in form.key_elements if words.strip()))
    return Verdict(query=query, is_complete=form.is_complete, reasoning=form.reasoning.strip(), key_elements=elements)
