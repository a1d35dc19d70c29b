"""Work on one step of a typed plan: what its prompts say is known, its forms, its finding."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import tool_call
from langgraph.runtime import Runtime

from ..core.accounts.spending import Budget
from ..core.concurrency import Failed
from ..core.errors import DeepResearchError, failure_of
from ..core.events.blocks import StepPackets
from ..core.events.call import SilentEvents
from ..core.events.log import Emitter
from ..core.events.packets import Placement
from ..core.evidence.checking.proof import with_found_citations
from ..core.evidence.citations.citing import cited_numbers
from ..core.evidence.memory.disputes import observed_dispute
from ..core.evidence.memory.learned import (
    facts_of,
    fitting_learnings,
    is_confident,
    without_markers,
)
from ..core.evidence.memory.observations import close_gap, open_gaps
from ..core.evidence.text.sentences import LINE_MARK
from ..core.models.request import Request
from ..core.models.resolve import is_small
from ..core.records import tool_names
from ..core.records.plan import (
    PLAN_TIME_OVER,
    Judgement,
    Learning,
    Observation,
    PlanStep,
    StepOutcome,
    StepTask,
    Suggestion,
)
from ..core.records.research import Finding
from ..core.records.sources import Source, short_hash
from ..core.settings.context import Context
from ..core.settings.limits import Limits
from ..core.writing.facts import MOST_OTHERS, facts_of_step, known_from
from ..core.writing.fill_in import Filler
from ..core.writing.forms import Judged, LearnedFact, RecordRound
from ..core.writing.write import write_silently
from ..prompts import as_elements, as_gaps, as_learned, as_sources, fenced_knowledge, render_prompt
from ..state import ResearchState, StepState
from ..tools.disputes import read_disputes
from ..tools.internal_search import documents_first
from ..tools.offer import offered_tools
from ..tools.results import Result, results_in, shortener
from ..tools.tool import as_lines
from .turn import AnyTurn, BranchTurn

Value = TypeVar("Value")
_INSIGHT_CONFIDENCE = 0.8
"""Score of every recorded insight; insights are recorded only if the step's results are
confident."""
_NOTHING = "Nothing that bears on this was found."


def sources_for_prompt(state: ResearchState, learnings: Iterable[Learning]) -> list[dict[str, Any]]:
    """Return the sources of learnings for a prompt, with their numbers in the thread."""
    sources = dict[str, Source]()
    for learning in learnings:
        if learning.source:
            sources[learning.source] = state.sources[learning.source]
    return as_sources(sources.values(), state.numbers)


def learnings_for_prompt(
    state: ResearchState, learnings: Iterable[Learning]
) -> list[dict[str, Any]]:
    """Return learnings for a prompt, each fact once, with the sources' numbers in the thread."""
    return as_learned(facts_of(learnings), state.numbers)


def single_task(state: ResearchState, step: PlanStep, limits: Limits, cycle: int) -> StepTask:
    """Return the task of a step outside the plan; its budget is what the run has left."""
    run = state.run
    fields = Budget(limits, state.spending).shared_task_fields(run, 1)
    fields["seconds"] = limits.max_seconds_planned
    return StepTask(
        id=f"{run.id[:8]}-{step.id}",
        question=run.question,
        text=step.title,
        cycle=cycle,
        position=0,
        turn=state.progress.turn,
        step=step,
        **fields,
    )


def open_questions(state: StepState) -> list[Observation]:
    """Return the step's open questions: those from its task and those noticed, unless answered."""
    return open_gaps([*state.task.gaps, *state.memory.values()])


def knowledge_of(state: StepState, limits: Limits) -> str:
    """Return what a step knows, for a prompt, as fenced JSON.

    It is the step, its learnings, sources, related observations and open questions.
    """
    step = state.task.step
    groups = [list(state.learnings.values()), state.task.known]
    learnings = fitting_learnings(groups, step.task, limits.memory_tokens)
    gaps = [gap.text for gap in open_questions(state)]
    return fenced_knowledge(
        title=step.title,
        task=step.task,
        learnings=as_learned(facts_of(learnings), state.numbers),
        sources=as_sources(state.task.rests_on, state.numbers),
        elements=as_elements(state.task.elements),
        gaps=gaps[: limits.max_elements],
    )


class StepTurn(BranchTurn[SilentEvents]):
    """A turn of a node within a step."""

    def __init__(self, state: StepState, runtime: Runtime[Context]) -> None:
        super().__init__(state.task, state.seconds, state.turn, runtime, SilentEvents)
        self.filler = Filler(
            self.context, state.task, self.events, self.tab, lambda: facts_of_step(state)
        )

    async def in_time(self, work: Coroutine[Any, Any, Value]) -> Value | Failed:
        """Await the work within the step's remaining time.

        Return its result or failure (see `attempt`).
        """
        result = await self.attempt(work, self._task.seconds - self.seconds)
        if not isinstance(result, Failed):
            return result
        if result.is_late:
            return result._replace(reason=PLAN_TIME_OVER)
        # For example, a store that cannot record the costs of the calls.
        self.filler.fail(result.reason)
        return result


class NewKnowledge(NamedTuple):
    """Learnings and observations from one round of results."""

    learnings: dict[str, Learning]
    """Learnings by id."""
    memory: dict[str, Observation]
    """Closed gaps, and disputes, by key."""


async def ask_round(state: StepState, turn: AnyTurn, filler: Filler) -> RecordRound | None:
    """Have the model fill in `RecordRound` on the step's latest results; None if that fails.

    Without results, as before the first search, the model fills in only the queries.
    """
    task = state.task
    context = turn.context
    limits = context.limits
    notes = await turn.pages.fill_in(state.notes)
    said = documents_first(_opening(task), notes)
    listed = list[LearnedFact]()
    results = list[Result]()
    if state.has_results:
        # The extractive model reads only the results of this round.
        results = results_in(notes[-1:])
    if is_small("researcher", context):
        if state.has_results:
            listed = await _list_facts(state, turn, filler, said, notes)
        # The extractive model chooses the queries and adds facts from other sources.
        filler = filler.without_model("researcher")
    iteration = state.iteration
    if not state.has_results:
        iteration += 1
    gaps = open_questions(state)[: limits.max_elements]
    form = await filler.with_facts(facts_of_step(state, results)).ask_if_possible(
        RecordRound,
        "researcher",
        "study",
        said,
        offered=list(offered_tools(context, has_read_all=task.scope.reads_all)),
        own_sources=context.own_sources,
        has_read_all=task.scope.reads_all,
        max_queries=limits.max_queries,
        documents="" if task.scope.reads_all else task.scope.documents,
        iteration=iteration,
        max_iterations=limits.max_step_iterations,
        has_results=state.has_results,
        gaps=fenced_knowledge(gaps=as_gaps(gaps)),
    )
    if not form or not listed:
        return form
    cited = {fact.document for fact in listed}
    others = [fact for fact in form.learnings if fact.document not in cited]
    return form.model_copy(update={"learnings": [*listed, *others[:MOST_OTHERS]]})


def _opening(task: StepTask) -> list[AnyMessage]:
    """Return the first messages of a step: its task, and its initial knowledge if there is any."""
    keys = dict.fromkeys(learning.source for learning in task.known if learning.source)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    knowledge = fenced_knowledge(
        fence_name=short_hash(task.question_id, task.id)[:8],
        learnings=as_learned(facts_of(task.known), numbers),
        elements=as_elements(task.elements),
    )
    return [HumanMessage(text) for text in (task.step.task, knowledge) if text]


async def _list_facts(
    state: StepState,
    turn: AnyTurn,
    filler: Filler,
    said: Sequence[AnyMessage],
    notes: Sequence[AnyMessage],
) -> list[LearnedFact]:
    """Have a small model list the facts in the results, one per line.

    Returns those whose source is known.
    """
    task = state.task
    context = turn.context
    system = render_prompt("_list_facts", "system", date=task.date)
    reminder = render_prompt(
        "write_finding",
        "reminder",
        task=task.step.task,
        language=task.language,
        is_small=True,
        again=False,
    )
    request = Request(
        "researcher",
        task.question_id,
        [SystemMessage(system), *said, HumanMessage(reminder)],
        shortener(task.step.task),
        max_tokens=context.limits.finding_tokens,
        is_long=True,
    )
    try:
        text = (await write_silently(request, context, turn.events)).text
    except DeepResearchError as error:
        filler.fail(failure_of(error))
        return []
    shown = known_from(results_in(notes))
    text = await asyncio.to_thread(with_found_citations, text, shown)
    facts = list[LearnedFact]()
    for line in text.split("\n"):
        cited = cited_numbers(line, shown)
        if cited:
            facts.append(LearnedFact(text=LINE_MARK.sub("", line), document=cited[0]))
    return facts


def form_as_call(form: RecordRound, call_id: str) -> AIMessage:
    """Return a message in which the model calls the form's tool.

    The next search results answer that call.
    """
    args = form.model_dump(exclude_defaults=True)
    return AIMessage(
        "", tool_calls=[tool_call(name=tool_names.RECORD_ROUND, args=args, id=call_id)]
    )


def new_queries(queries: Sequence[str], state: StepState, most: int) -> tuple[str, ...]:
    """Return the first `most` queries that the step has not sent yet, ignoring case."""
    sent = set(map(str.casefold, state.queries))
    for iteration in state.iterations:
        sent.update(map(str.casefold, iteration.queries))
    given = dict.fromkeys(as_lines(list(queries)))
    new = [query for query in given if query.casefold() not in sent]
    return tuple(new[:most])


def learned_in(form: RecordRound, state: StepState, shown: Iterable[int]) -> NewKnowledge:
    """Return a form's new learnings, disputes and closed gaps.

    `shown` are the numbers of the documents that the model was shown; facts from others are
    dropped.
    """
    task = state.task
    keys = {number: state.keys[number - 1] for number in shown}
    facts = [fact for fact in form.learnings if fact.document in keys]
    learned = list[Learning]()
    for fact in facts:
        learned += _learned(fact, state, keys)
    memory = dict[str, Observation]()
    sources = dict[str, Source]()
    for source in (*task.rests_on, *state.sources.values()):
        sources[source.key] = source
    for dispute in read_disputes(form.contradictions, keys, sources):
        one_side, other_side = dispute.sides
        first = _learning(one_side.text, one_side.source, state)
        second = _learning(other_side.text, other_side.source, state)
        learned += (first, second)
        observed = observed_dispute(
            dispute, (first, second), task.cycle, task.step.id, state.iteration
        )
        memory[observed.key] = observed
    # Close gaps only if something was learned.
    if facts:
        for gap in _closed_gaps(form.answered_gaps, state):
            memory[gap.key] = gap
    return NewKnowledge(_new_learnings(learned, state), memory)


def _closed_gaps(numbers: Iterable[int], state: StepState) -> list[Observation]:
    """Return the open questions with these numbers, which count from 1, as closed gaps."""
    task = state.task
    open_now = open_questions(state)
    noted = [*task.gaps, *state.memory.values()]
    closed = list[Observation]()
    for number in numbers:
        if 0 < number <= len(open_now):
            gap = open_now[number - 1]
            closed += close_gap(gap, noted, task.cycle, task.step.id, state.iteration)
    return closed


def _new_learnings(learned: Iterable[Learning], state: StepState) -> dict[str, Learning]:
    """Return the learnings that the step does not know yet, each once, by id."""
    known = set[tuple[str, str]]()
    for learning in state.learnings.values():
        known.add((learning.source, _plain(learning.text)))
    for learning in state.task.known:
        # Learnings from earlier questions may be recorded again for this question.
        if learning.question_id == state.task.question_id:
            known.add((learning.source, _plain(learning.text)))
    new = dict[str, Learning]()
    for learning in learned:
        statement = (learning.source, _plain(learning.text))
        if learning.text and statement not in known:
            known.add(statement)
            new[learning.id] = learning
    return new


def observed_in(
    form: Judged, state: StepState, rests_on: Iterable[str], confidence: float
) -> dict[str, Observation]:
    """Return a form's gaps and insights by key.

    Insights are left out unless there are learnings (ids `rests_on`) with enough confidence.
    """
    observations = list[Observation]()
    learnings = tuple(sorted(rests_on))
    if learnings and is_confident(confidence):
        for text in as_lines([*form.insights]):
            observations.append(state.observation("insight", text, _INSIGHT_CONFIDENCE, learnings))
    for gap in form.gaps:
        for text in as_lines([gap.question]):
            observations.append(state.observation("gap", text, gap.relevance))
    return {observation.key: observation for observation in observations}


def judgement_in(form: Judged) -> Judgement:
    """Return completeness, quality and suggested further steps from a form."""
    suggestions = list[Suggestion]()
    for step in form.next_steps:
        suggestion = Suggestion(
            title=step.title.strip(),
            task=step.rationale.strip(),
            requires_search=step.requires_search,
        )
        suggestions.append(suggestion)
    return Judgement(
        completeness=form.completeness,
        quality=form.quality,
        suggestions=tuple(suggestions),
    )


def _learned(fact: LearnedFact, state: StepState, shown: Mapping[int, str]) -> list[Learning]:
    """Return the fact as learnings: first for its document, then for each other that states it.

    `shown`: source keys by the numbers of the documents that the model was shown.
    """
    text = without_markers(fact.text)
    learnings = list[Learning]()
    for number in dict.fromkeys([fact.document, *fact.also]):
        if number in shown:
            learnings.append(_learning(text, shown[number], state))
    return learnings


def _learning(text: str, source: str, state: StepState) -> Learning:
    task = state.task
    return Learning(text=text, source=source, step=task.step.id, question_id=task.question_id)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def finding_of(state: StepState, failures: Sequence[str], seconds: float) -> Finding:
    """Return the step's finding, one fact per line.

    It has failed if nothing was learned and there are `failures`.
    """
    numbers = state.numbers
    lines = list[str]()
    for fact in facts_of(state.learnings.values()):
        markers = [f"[{numbers[key]}]" for key in fact.sources]
        lines.append(" ".join([fact.text, *markers]))
    ended = state.ended
    reason = state.reason
    if not lines and (failures or ended == "partial"):
        ended = "failed"
        reason = reason or failures[-1]
    if ended != "done":
        logging.getLogger(__name__).warning(
            "Step %s of the plan ends early: %s", state.task.step.id, ended
        )
    return Finding(
        **state.task.assignment,
        text="\n".join(lines) or _NOTHING,
        sources=tuple(state.keys),
        ended=ended,
        reason=reason,
        failures=tuple(failures),
        seconds=seconds,
        actions=tuple(state.actions),
    )


def outcome_of(state: StepState) -> StepOutcome:
    """Return the step's outcome with its iterations, not yet evaluated."""
    return StepOutcome(step=state.task.step.id, iterations=tuple(state.iterations))


def gap_left_by(state: StepState, finding: Finding) -> dict[str, Observation]:
    """Return the task of an incomplete step as a gap, by key.

    Empty if the step failed, or its model named an open gap. A step that found only known facts is
    complete. `cross_check` closes the gap if other steps have answered it.
    """
    if finding.ended == "failed":
        return {}
    verdict = outcome_of(state).verdict
    is_complete = bool(state.learnings)
    if verdict is not None:
        is_complete = verdict.is_complete
    if is_complete and (state.learnings or state.task.known):
        return {}
    if any(noted.kind == "gap" and noted.is_open for noted in state.memory.values()):
        return {}
    gap = state.observation("gap", state.task.step.task, 1.0)
    return {gap.key: gap}


def ended_step(step: PlanStep, finding: Finding) -> PlanStep:
    """Return the step with its final status."""
    status = "failed" if finding.ended == "failed" else "completed"
    return step.model_copy(update={"status": status, "reason": finding.reason})


def emit_end(emitter: Emitter, finding: Finding, task: StepTask) -> None:
    """Emit the packets that end the step."""
    packets = StepPackets(Placement.of(task))
    emitter.emit(*packets.end(ended_step(task.step, finding)))
