"""The facts that a request contains, as data; the extractive model reads only these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langchain_core.messages import AIMessage, AnyMessage

from ..core.dialogue.conversation import Conversation, mark_of
from ..core.evidence.citations.labels import is_approval
from ..core.evidence.text.similarity import grouped
from ..core.models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from ..core.records import tool_names
from ..core.records.plan import Learning
from ..core.records.research import Finding
from ..core.records.sources import time_of
from ..core.settings.context import Context
from ..state import ResearcherState, ResearchState, StepState
from ..tools.results import Result, excerpts_in, results_in

_OUT_OF_FORCE = frozenset({"superseded_by", "is_draft", "in_force_from", "is_retracted"})
"""Fields of a result that mark a document as not in force."""


def facts_of_run(state: ResearchState, context: Context) -> Facts:
    """Return the facts for a request that concerns the whole run, such as a plan or a report."""
    run = state.run
    last_report = 0
    for index, message in enumerate(state.messages):
        if mark_of(message) == "report":
            last_report = index
    # The user's messages since the last report, except approvals of a plan.
    question = Conversation(state.messages).question.splitlines()
    findings = list[TaskFinding]()
    for finding in state.own_findings:
        findings.append(TaskFinding(finding.task, _quotes(state, finding)))
    return Facts(
        request="\n".join(line for line in question if not is_approval(line)),
        earlier=Conversation(state.messages[:last_report]).question,
        language=run.language,
        steps=state.plan.steps if state.plan else (),
        most_steps=context.limits.max_plan_steps,
        tried=tuple(_tasks_tried(state)),
        documents=_passages(state) if run.is_quick else (),
        findings=tuple(findings),
        learnings=shown_learnings(state.learnings.values(), state.numbers),
    )


def _tasks_tried(state: ResearchState) -> list[str]:
    """Return the tasks for which researchers were called."""
    tasks = list[str]()
    for message in state.transcript:
        if not isinstance(message, AIMessage):
            continue
        for call in message.tool_calls:
            if call["name"] == tool_names.RESEARCH_AGENT:
                tasks.append(str(call["args"].get("task", "")))
    return tasks


def facts_of_researcher(state: ResearcherState, notes: Iterable[AnyMessage]) -> Facts:
    """Return the facts for a researcher's request.

    `notes` are its messages, with the texts of results filled in.
    """
    used = [(action.tool, tuple(action.inputs)) for action in state.actions]
    return Facts(
        language=state.task.language,
        task=state.task.text,
        used=tuple(used),
        documents=documents_in(results_in(notes)),
    )


def facts_of_step(state: StepState, results: Iterable[Result] = ()) -> Facts:
    """Return the facts for a step's request; `results` are those of its current iteration."""
    used = list[tuple[str, tuple[str, ...]]]()
    for iteration in state.iterations:
        used.append((tool_names.INTERNAL_SEARCH, iteration.queries))
    if state.has_results:
        used.append((tool_names.INTERNAL_SEARCH, state.queries))
    return Facts(
        request=state.task.question,
        language=state.task.language,
        task=state.task.step.task,
        used=tuple(used),
        documents=documents_in(results),
        learnings=shown_learnings(state.learnings.values(), state.numbers),
    )


def documents_in(results: Iterable[Result]) -> tuple[ShownDocument, ...]:
    """Return the documents in the results, each once and with all its distinct excerpts.

    They are in the order of the results.
    """
    documents: dict[int, ShownDocument] = {}
    for result in results:
        number = result["document"]
        known = documents.get(number) or ShownDocument(number, result["title"], result["address"])
        excerpts = excerpts_in(result["text"])
        # The result of opening a document has only its text: keep the known date and status.
        documents[number] = known._replace(
            texts=tuple(dict.fromkeys((*known.texts, *excerpts))),
            date=time_of(result.get("date", ""), result.get("period", "")) or known.date,
            is_in_force=known.is_in_force and _OUT_OF_FORCE.isdisjoint(result),
            is_whole=result.get("is_whole", False) or known.is_whole,
        )
    return tuple(documents.values())


def shown_learnings(
    learnings: Iterable[Learning], numbers: Mapping[str, int]
) -> tuple[ShownLearning, ...]:
    """Return learnings as facts of a request; `numbers` are those of the sources, by key."""
    shown = [ShownLearning(learning.text, numbers.get(learning.source)) for learning in learnings]
    return tuple(shown)


def _quotes(state: ResearchState, finding: Finding) -> str:
    """Return the text of a finding for the extractive model.

    Of a step's finding it is only the facts, each with one source: the model takes the text apart
    at the citations, so one that follows another would be lost.
    """
    if not finding.lists_learnings:
        return finding.numbered or finding.text
    numbers = state.numbers
    facts = list[str]()
    for learning in state.stated_in(finding):
        if learning.source in numbers:
            facts.append(f"{learning.text} [{numbers[learning.source]}]")
    return " ".join(facts)


def _passages(state: ResearchState) -> tuple[ShownDocument, ...]:
    """Return the documents found for a quick question, with the passages that were kept."""
    learnings_by_source = grouped(state.own_learnings, lambda learning: learning.source)
    documents = list[ShownDocument]()
    for key, learnings in learnings_by_source.items():
        source = state.sources[key]
        documents.append(
            ShownDocument(
                source.number,
                source.title,
                source.address,
                source.time,
                texts=tuple(learning.text for learning in learnings),
                is_in_force=source.is_in_force,
            )
        )
    return tuple(documents)
