"""Has a round of a step read by one form: what the results say, what is thought of it, and what comes next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import tool_call

from ..evidence.memory.confidence import is_confident
from ..evidence.memory.learned import plain_fact
from ..evidence.memory.observations import answers
from ..knowledge import Learning, Observation, Suggestion
from ..run import tool_names
from ..run.context import Context
from ..run.knowing import as_gaps, known
from ..run.pages import Pages
from ..run.step_branch import Judgement, StepState, noticed
from .arguments import as_lines
from .fill_in import Filler
from .forms import Judged, LearnedFact, RecordRound
from .offer import offered_tools
from .read_documents import behind_documents
from .request_facts import facts_of_step
from .results import results_in
from .step_context import gaps_of, given_to

INSIGHT_CONFIDENCE = 0.8
"""Confidence of an insight: it is noted only where the step's results are sure enough."""


class Learned(NamedTuple):
    """What was new in the results."""

    learnings: dict[str, Learning]
    """The learnings, by id."""
    memory: dict[str, Observation]
    """The gaps that they answer, and what of them contradicts each other, by key."""


async def ask_round(state: StepState, context: Context, pages: Pages, filler: Filler) -> RecordRound | None:
    """Have the form of a round filled in, in the one conversation of the step; none if that fails.

    As long as nothing was searched, it says only what is searched for first.
    """
    limits, task = context.limits, state.task
    notes = await pages.fill_in(state.notes)
    opening = [HumanMessage(text) for text in (task.step.task, given_to(task)) if text]
    said = behind_documents(opening, notes)
    return await filler.ask_if_possible(
        RecordRound,
        "researcher",
        "study",
        said,
        facts=facts_of_step(state, results_in(notes[-1:]) if state.has_results else ()),
        offered=list(offered_tools(context, has_read_all=task.scope.reads_all)),
        has_read_all=task.scope.reads_all,
        max_queries=limits.max_queries,
        documents="" if task.scope.reads_all else task.scope.documents,
        iteration=state.iteration + (not state.has_results),
        max_iterations=limits.max_step_iterations,
        has_results=state.has_results,
        gaps=known(gaps=as_gaps(gaps_of(state)[: limits.max_elements])),
    )


def asked(form: RecordRound, call_id: str) -> AIMessage:
    """The form as the model's message: what is found next becomes its result."""
    said = form.model_dump(exclude_defaults=True)
    return AIMessage("", tool_calls=[tool_call(name=tool_names.RECORD_ROUND, args=said, id=call_id)])


def new_queries(queries: Sequence[str], state: StepState, most: int) -> tuple[str, ...]:
    """The queries that were not asked before."""
    before = {query.casefold() for iteration in state.iterations for query in iteration.queries}
    before |= {query.casefold() for query in state.queries}
    lines: list[str] = as_lines(list(queries))
    return tuple(query for query in dict.fromkeys(lines) if query.casefold() not in before)[:most]


def learned_in(form: RecordRound, state: StepState, shown: Iterable[int]) -> Learned:
    """What is new, and the gaps that are answered by now; facts of documents that were not `shown` are left out."""
    task, open_now, numbers = state.task, gaps_of(state), set(shown)
    noted = [*task.gaps, *state.memory.values()]
    # What an earlier question has learned is learned for this one, too, where its sources say it again.
    given = [one for one in task.known if one.question_id == task.question_id]
    before = {(learning.source, _plain(learning.text)) for learning in (*given, *state.learnings.values())}
    pairs = [
        (one.claim, one.other) for one in form.contradictions if {one.claim.document, one.other.document} <= numbers
    ]
    facts = [fact for fact in form.learnings if fact.document in numbers]
    learnings: dict[str, Learning] = {}
    for one in (one for fact in (*facts, *chain.from_iterable(pairs)) for one in _learned(fact, state, numbers)):
        if one.text and (one.source, _plain(one.text)) not in before:
            before.add((one.source, _plain(one.text)))
            learnings[one.id] = one
    memory: dict[str, Observation] = {}
    for claim, other in ((_learned(claim, state)[0], _learned(other, state)[0]) for claim, other in pairs):
        if claim.source != other.source and claim.text and other.text:
            said = noticed(state, "contradiction", claim.text, 0.0, (claim.id, other.id), other.text)
            memory[said.key] = said
    # Only something that was learned can answer.
    for number in form.answered_gaps if facts else ():
        if 0 < number <= len(open_now):
            closed = answers(open_now[number - 1], noted, task.cycle, task.step.id, state.iteration)
            memory |= {one.key: one for one in closed}
    return Learned(learnings, memory)


def observed(form: Judged, state: StepState, rests_on: Iterable[str], confidence: float) -> dict[str, Observation]:
    """The gaps that the form declares, and its insights where what they rest on (ids of learnings) is sure enough."""
    found: list[Observation] = []
    learnings = tuple(sorted(rests_on))
    for insight in form.insights if learnings and is_confident(confidence) else ():
        if text := " ".join(insight.split()):
            found.append(noticed(state, "insight", text, INSIGHT_CONFIDENCE, learnings))
    for gap in form.gaps:
        if text := " ".join(gap.question.split()):
            found.append(noticed(state, "gap", text, gap.relevance))
    return {one.key: one for one in found}


def judged_by(form: Judged) -> Judgement:
    """What the form says of the step."""
    suggestions = tuple(
        Suggestion(title=one.title.strip(), task=one.rationale.strip(), requires_search=one.requires_search)
        for one in form.next_steps
    )
    return Judgement(completeness=form.completeness, quality=form.quality, suggestions=suggestions)


def _learned(fact: LearnedFact, state: StepState, shown: Collection[int] = ()) -> list[Learning]:
    """The fact as its source has it, and as the others do that were `shown`."""
    task, text = state.task, plain_fact(fact.text)
    documents = dict.fromkeys([fact.document, *(one for one in fact.also if one in shown)])
    keys = [state.keys[number - 1] for number in documents]
    return [Learning(text=text, source=key, step=task.step.id, question_id=task.question_id) for key in keys]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
