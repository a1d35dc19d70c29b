"""Structured facts behind a request's messages; the extractive model reads only these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage

from ...state import ResearchState
from ...tools.results import JOINT, Result, results_in
from ..evidence.memory.learned import own_learnings
from ..evidence.text.similarity import grouped
from ..models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from ..records.plan import Learning
from ..records.sources import time_of
from ..run import tool_names
from ..run.branches import ResearcherState, StepState
from ..run.context import Context
from ..run.conversation import mark_of, question_of
from .answers import is_approval

_OUT_OF_FORCE = frozenset({"superseded_by", "is_draft", "in_force_from"})
"""Fields of a result that mark a document as not in force."""


def facts_of_run(state: ResearchState, context: Context) -> Facts:
    """Return the facts for a role that works for the whole run."""
    run = state.run
    marks = map(mark_of, state.messages)
    reported = max((index for index, mark in enumerate(marks) if mark == "report"), default=0)
    own = [finding for finding in state.findings.values() if finding.question_id == run.id]
    found = tuple(TaskFinding(finding.task, finding.numbered or finding.text) for finding in own)
    return Facts(
        request=_request(state.messages),
        earlier=question_of(state.messages[:reported]),
        language=run.language,
        steps=state.plan.steps if state.plan else (),
        most_steps=context.limits.max_plan_steps,
        tried=_tried(state.transcript),
        documents=_passages(state) if run.is_quick else (),
        findings=_found(state) if state.has_typed_plan else found,
        learnings=learned(state.learnings.values(), {source.key: source.number for source in state.sources.values()}),
    )


def facts_of_researcher(state: ResearcherState, notes: Iterable[AnyMessage]) -> Facts:
    """Return the facts for a researcher; `notes` must include their texts."""
    return Facts(
        language=state.task.language,
        task=state.task.text,
        used=tuple((action.tool, tuple(action.inputs)) for action in state.actions),
        documents=documents_in(results_in(notes)),
    )


def facts_of_step(state: StepState, results: Iterable[Result] = ()) -> Facts:
    """Return the facts for a step; `results` are from its last search."""
    queries = [iteration.queries for iteration in state.iterations] + [state.queries] * state.has_results
    return Facts(
        request=state.task.question,
        language=state.task.language,
        task=state.task.step.task,
        used=tuple((tool_names.INTERNAL_SEARCH, searched) for searched in queries),
        documents=documents_in(results),
        learnings=learned(state.learnings.values(), state.numbers),
    )


def documents_in(results: Iterable[Result]) -> tuple[ShownDocument, ...]:
    """Return the distinct documents in the results, in their order, each with all its excerpts."""
    found: dict[int, ShownDocument] = {}
    for result in results:
        known = found.get(result["document"]) or ShownDocument(result["document"], result["title"], result["address"])
        texts = tuple(dict.fromkeys((*known.texts, *filter(None, result["text"].split(JOINT)))))
        # The result of opening a document has only its text: keep the known date and status.
        found[known.number] = known._replace(
            texts=texts,
            date=time_of(result.get("date", ""), result.get("period", "")) or known.date,
            is_in_force=known.is_in_force and _OUT_OF_FORCE.isdisjoint(result),
            is_whole=result.get("is_whole", False) or known.is_whole,
        )
    return tuple(found.values())


def learned(learnings: Iterable[Learning], numbers: Mapping[str, int]) -> tuple[ShownLearning, ...]:
    """Return learnings with their sources' numbers; `numbers` is keyed by source key."""
    return tuple(ShownLearning(learning.text, numbers.get(learning.source)) for learning in learnings)


def _request(messages: Sequence[AnyMessage]) -> str:
    """Return the user's messages since the last report, except approvals of a plan."""
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
    """Return the learnings from a typed plan's steps as findings."""
    numbers = {source.key: source.number for source in state.sources.values() if source.number}
    own = [learning for learning in own_learnings(state) if learning.source in numbers]
    cited = [(learning.step, f"{learning.text} [{numbers[learning.source]}]") for learning in own]
    return tuple(
        TaskFinding(step.task, " ".join(text for step_id, text in cited if step_id == step.id)) for step in state.steps
    )


def _passages(state: ResearchState) -> tuple[ShownDocument, ...]:
    """Return the sources of a question answered from one search, with the passages found."""
    found = grouped(own_learnings(state), lambda learning: learning.source)
    sources = [(state.sources[key], tuple(learning.text for learning in own)) for key, own in found.items()]
    return tuple(
        ShownDocument(source.number, source.title, source.address, source.time, texts, source.is_in_force)
        for source, texts in sources
    )
