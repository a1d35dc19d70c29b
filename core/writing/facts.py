"""The facts that a request contains, as data: the extractive model reads only these, small models write from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from langchain_core.messages import AIMessage, AnyMessage

from ...state import ResearchState
from ...tools.results import JOINT, Result, results_in
from ..evidence.checking.proof import Known
from ..evidence.checking.source_text import SourceText
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.citations.labels import is_approval
from ..evidence.text.quantities import plain_figures
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.similarity import grouped
from ..models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from ..records.plan import Learning
from ..records.research import Finding
from ..records.sources import time_of
from ..run import tool_names
from ..run.branches import ResearcherState, StepState
from ..run.context import Context
from ..run.conversation import mark_of, question_of
from .basis import texts_of_steps

_OUT_OF_FORCE = frozenset({"superseded_by", "is_draft", "in_force_from"})
"""Fields of a result that mark a document as not in force."""
FACTS_AT_ONCE = 12
"""Maximum number of facts for a report without sections; with more facts, each topic gets a section of its own."""
MOST_OTHERS = 3
"""Maximum number of lines to add to a small model's text: quotations of uncited sources, or omitted facts."""
_MARKER = re.compile(r"\[[\d, ]+\]")
_HEADING_CHARACTERS = 80
"""Maximum length of a section's heading."""
SMALL_WRITER_NOTICE = "The writer's model was given small tasks: it wrote from lists of facts (setting small)."


def facts_of_run(state: ResearchState, context: Context) -> Facts:
    """Return the facts for a request that concerns the whole run, such as a plan or a report."""
    run = state.run
    marks = map(mark_of, state.messages)
    reported = max((index for index, mark in enumerate(marks) if mark == "report"), default=0)
    calls = chain.from_iterable(message.tool_calls for message in state.transcript if isinstance(message, AIMessage))
    numbers = state.numbers
    return Facts(
        # The user's messages since the last report, except approvals of a plan.
        request="\n".join(line for line in question_of(state.messages).splitlines() if not is_approval(line)),
        earlier=question_of(state.messages[:reported]),
        language=run.language,
        steps=state.plan.steps if state.plan else (),
        most_steps=context.limits.max_plan_steps,
        tried=tuple(str(call["args"].get("task", "")) for call in calls if call["name"] == tool_names.RESEARCH_AGENT),
        documents=_passages(state) if run.is_quick else (),
        findings=tuple(TaskFinding(finding.task, _quotes(state, finding)) for finding in state.own_findings),
        learnings=shown_learnings(state.learnings.values(), numbers),
    )


def facts_of_researcher(state: ResearcherState, notes: Iterable[AnyMessage]) -> Facts:
    """Return the facts for a researcher's request; `notes` are its messages, with the texts of results filled in."""
    return Facts(
        language=state.task.language,
        task=state.task.text,
        used=tuple((action.tool, tuple(action.inputs)) for action in state.actions),
        documents=documents_in(results_in(notes)),
    )


def facts_of_step(state: StepState, results: Iterable[Result] = ()) -> Facts:
    """Return the facts for a step's request; `results` are those of its current iteration."""
    queries = [iteration.queries for iteration in state.iterations] + [state.queries] * state.has_results
    return Facts(
        request=state.task.question,
        language=state.task.language,
        task=state.task.step.task,
        used=tuple((tool_names.INTERNAL_SEARCH, searched) for searched in queries),
        documents=documents_in(results),
        learnings=shown_learnings(state.learnings.values(), state.numbers),
    )


def documents_in(results: Iterable[Result]) -> tuple[ShownDocument, ...]:
    """Return the documents in the results, each once and with all its distinct excerpts, in the results' order."""
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


def known_from(results: Iterable[Result]) -> dict[int, Known]:
    """Return the texts of tool results, by source number."""
    found: dict[int, Known] = {}
    for result in results:
        known = found.get(result["document"], Known((), f"{result['title']} {result.get('date', '')}"))
        found[result["document"]] = known._replace(texts=(*known.texts, SourceText("", result["text"])))
    return found


def shown_learnings(learnings: Iterable[Learning], numbers: Mapping[str, int]) -> tuple[ShownLearning, ...]:
    """Return learnings as facts of a request; `numbers` are those of the sources, by source key."""
    return tuple(ShownLearning(learning.text, numbers.get(learning.source)) for learning in learnings)


def _quotes(state: ResearchState, finding: Finding) -> str:
    """Return the text of a finding for the extractive model; of a step's finding only its facts, each with one source.

    It takes the text apart at the citations, so one that follows another would be lost.
    """
    if not finding.lists_learnings:
        return finding.numbered or finding.text
    numbers = state.numbers
    learnings = [learning for learning in state.stated_in(finding) if learning.source in numbers]
    return " ".join(f"{learning.text} [{numbers[learning.source]}]" for learning in learnings)


def _passages(state: ResearchState) -> tuple[ShownDocument, ...]:
    """Return the documents found for a question answered from one search, with the passages that were kept."""
    found = grouped(state.own_learnings, lambda learning: learning.source)
    sources = [(state.sources[key], tuple(learning.text for learning in own)) for key, own in found.items()]
    return tuple(
        ShownDocument(source.number, source.title, source.address, source.time, texts, source.is_in_force)
        for source, texts in sources
    )


def with_other_sources(text: str, quoted: str, known: Collection[int]) -> str:
    """Append quotations from sources that a list of facts does not cite, since small models overlook a second source.

    `quoted` is the same text as written by the extractive model, one quotation per line; `known` are source numbers.
    """
    own = {*cited_numbers(text, known)}
    others = [line for line in quoted.split("\n") if (cited := cited_numbers(line, known)) and not own & {*cited}]
    return "\n".join([text, *(line for line in others if not line.startswith("|"))][: 1 + MOST_OTHERS])


def omitted_facts(facts: Mapping[str, Sequence[str]], text: str) -> str:
    """Return a list of facts whose figures the text lacks, since small models skip facts that contradict others."""
    stated = plain_figures(text)
    lines = chain.from_iterable(facts.values())
    omitted = [line for line in lines if not plain_figures(_MARKER.sub("", line)) <= stated][:MOST_OTHERS]
    return "\n".join(f"- {LINE_MARK.sub('', line)}" for line in omitted)


def facts_by_topic(state: ResearchState) -> dict[str, list[str]]:
    """Return the distinct cited lines of the question's findings by topic (a heading): the task or title of a step."""
    known = by_number(state.sources.values())
    titles = {step.id: step.title for step in state.steps}
    texts = texts_of_steps(state, state.own_findings)
    noted = [
        (titles.get(finding.step, finding.task), texts.get(finding.id, finding.numbered or ""))
        for finding in state.own_findings
    ]
    seen, facts = set[str](), dict[str, list[str]]()
    for topic, text in noted:
        lines = [line.strip() for line in text.split("\n") if cited_numbers(line, known)]
        if new := [line for line in dict.fromkeys(lines) if line not in seen]:
            # Long tasks may begin with the same words.
            facts.setdefault(" ".join(topic.split())[:_HEADING_CHARACTERS], []).extend(new)
            seen.update(new)
    return facts
