"""The facts behind the messages of a request, for a model that goes by these alone; see `models.facts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage

from ...state import ResearchState
from ...tools.results import JOINT, Result, results_in
from ..evidence.text.similarity import grouped
from ..models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from ..records.plan import Learning
from ..records.sources import Source, time_of
from ..run import tool_names
from ..run.branches import ResearcherState, StepState
from ..run.context import Context
from ..run.conversation import mark_of, question_of
from .answers import is_approval

_OUT_OF_FORCE = frozenset({"superseded_by", "is_draft", "in_force_from"})
"""Fields of a result that only documents have that are not in force."""


def facts_of_run(state: ResearchState, context: Context) -> Facts:
    """Return the facts for a role that answers for the whole run."""
    run = state.run
    reported = max((place for place, one in enumerate(state.messages) if mark_of(one) == "report"), default=0)
    mine = [finding for finding in state.findings.values() if finding.question_id == run.id]
    found = tuple(TaskFinding(one.task, one.numbered or one.text) for one in mine)
    return Facts(
        request=_request(state.messages),
        earlier=question_of(state.messages[:reported]),
        language=run.language,
        steps=state.plan.steps if state.plan else (),
        most_steps=context.limits.max_plan_steps,
        tried=_tried(state.transcript),
        documents=_passages(state) if run.is_quick else (),
        findings=_found(state) if state.has_typed_plan else found,
        learnings=learned(state.learnings.values(), {one.key: one.number for one in state.sources.values()}),
    )


def facts_of_researcher(state: ResearcherState, notes: Iterable[AnyMessage]) -> Facts:
    """Return the facts for a researcher; `notes` with their texts."""
    return Facts(
        language=state.task.language,
        task=state.task.text,
        used=tuple((action.tool, tuple(action.inputs)) for action in state.actions),
        documents=documents_in(results_in(notes)),
    )


def facts_of_step(state: StepState, results: Iterable[Result] = ()) -> Facts:
    """Return the facts for a step; `results` are those of its last search."""
    queries = [one.queries for one in state.iterations] + [state.queries] * state.has_results
    return Facts(
        request=state.task.question,
        language=state.task.language,
        task=state.task.step.task,
        used=tuple((tool_names.INTERNAL_SEARCH, one) for one in queries),
        documents=documents_in(results),
        learnings=learned(state.learnings.values(), state.numbers),
    )


def documents_in(results: Iterable[Result]) -> tuple[ShownDocument, ...]:
    """Return the documents in results, each with all its excerpts, in the order of the results."""
    found: dict[int, ShownDocument] = {}
    for result in results:
        known = found.get(result["document"]) or ShownDocument(result["document"], result["title"], result["address"])
        texts = tuple(dict.fromkeys((*known.texts, *filter(None, result["text"].split(JOINT)))))
        # A document that was opened is shown without what the search has told of it.
        found[known.number] = known._replace(
            texts=texts,
            date=time_of(result.get("date", ""), result.get("period", "")) or known.date,
            is_in_force=known.is_in_force and _OUT_OF_FORCE.isdisjoint(result),
            is_whole=result.get("is_whole", False) or known.is_whole,
        )
    return tuple(found.values())


def learned(learnings: Iterable[Learning], numbers: Mapping[str, int]) -> tuple[ShownLearning, ...]:
    """Return learnings with the numbers of their sources, which are given by key."""
    return tuple(ShownLearning(one.text, numbers.get(one.source)) for one in learnings)


def _request(messages: Sequence[AnyMessage]) -> str:
    """Return the user's words since the last report, without a yes to a plan."""
    return "\n".join(line for line in question_of(messages).splitlines() if not is_approval(line))


def _tried(transcript: Iterable[AnyMessage]) -> tuple[str, ...]:
    return tuple(
        str(call["args"].get("task", ""))
        for message in transcript
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] == tool_names.RESEARCH_AGENT
    )


def _found(state: ResearchState) -> tuple[TaskFinding, ...]:
    """Return what the steps of a typed plan have learned, as findings."""
    numbers = {source.key: source.number for source in state.sources.values() if source.number}
    own = [one for one in state.learnings.values() if one.question_id == state.run.id]
    return tuple(
        TaskFinding(
            step.task,
            " ".join(
                f"{one.text} [{numbers[one.source]}]" for one in own if one.step == step.id and numbers.get(one.source)
            ),
        )
        for step in state.steps
    )


def _passages(state: ResearchState) -> tuple[ShownDocument, ...]:
    """Return the sources of a question that is answered from one search, with the passages that it found."""
    own = [one for one in state.learnings.values() if one.question_id == state.run.id]
    return tuple(
        _document(state.sources[key], state.sources[key].number, [one.text for one in found])
        for key, found in grouped(own, lambda one: one.source).items()
    )


def _document(source: Source, number: int, texts: Iterable[str]) -> ShownDocument:
    return ShownDocument(
        number,
        source.title,
        source.address,
        source.time,
        tuple(texts),
        source.is_in_force,
    )
