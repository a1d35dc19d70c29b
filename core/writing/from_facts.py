"""Requests for a small model to write a report from lists of facts, one topic at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from langchain_core.messages import HumanMessage, SystemMessage

from ...prompts import fence, render
from ...state import ResearchState
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.memory.learned import own_learnings
from ..evidence.text.quantities import figures_of
from ..evidence.text.sentences import LINE_MARK, cited_sentences
from ..models.request import Request
from ..run.context import Context
from ..run.conversation import text_only
from .facts import facts_of_run

AT_ONCE = 12
"""Maximum number of facts to write about in one call."""
MOST_OTHERS = 3
"""Maximum number of quotations to add from uncited sources, and of facts to add that an answer left out."""
_MARKER = re.compile(r"\[[\d, ]+\]")
_HEADING = 80
"""Maximum length of a heading in characters."""
NOTICE = "The writer's model was given small tasks: it wrote from lists of facts (setting small)."


def with_other_sources(text: str, quoted: str, known: Collection[int]) -> str:
    """Add quotations from sources that a list of facts does not cite, since small models overlook a second source.

    `quoted` is the extractive model's text; `known` are source numbers.
    """
    own = {*cited_numbers(text, known)}
    others = [line for line in quoted.split("\n") if (cited := cited_numbers(line, known)) and not own & {*cited}]
    return "\n".join([text, *(line for line in others if not line.startswith("|"))][: 1 + MOST_OTHERS])


def left_out(facts: Mapping[str, Sequence[str]], text: str) -> str:
    """List facts whose figures are missing from the text, since small models skip facts that contradict others."""
    said, lines = figures_of(text), [line for each in facts.values() for line in each]
    found = [line for line in lines if not figures_of(_MARKER.sub("", line)) <= said][:MOST_OTHERS]
    return "\n".join(f"- {LINE_MARK.sub('', line)}" for line in found)


def _notes_by_topic(state: ResearchState) -> dict[str, str]:
    """Return the current question's cited notes: findings by task, or learnings by step title."""
    known, noted = by_number(state.sources.values()), dict[str, str]()
    if state.has_typed_plan:
        numbers = {source.key: number for number, source in known.items()}
        titles = {step.id: step.title for step in state.steps}
        for learning in own_learnings(state):
            if learning.source in numbers:
                title = titles.get(learning.step, "")
                noted[title] = f"{noted.get(title, '')}\n- {learning.text} [{numbers[learning.source]}]".strip()
        return noted
    own = [finding for finding in state.findings.values() if finding.question_id == state.run.id]
    return {finding.task: finding.numbered for finding in own if finding.numbered}


def facts_by_topic(state: ResearchState) -> dict[str, list[str]]:
    """Return the distinct notes that cite a source, by topic."""
    known, seen, facts = by_number(state.sources.values()), set[str](), dict[str, list[str]]()
    for topic, text in _notes_by_topic(state).items():
        lines = [line.strip() for line in text.split("\n") if cited_numbers(line, known)]
        if new := [line for line in dict.fromkeys(lines) if line not in seen]:
            facts[" ".join(topic.split())[:_HEADING]] = new
            seen.update(new)
    return facts


def facts_request(state: ResearchState, context: Context, heading: str, *, is_again: bool) -> Request:
    """Return the request for an answer from all facts, or for a section from the facts on its topic (`heading`)."""
    run, facts = state.run, facts_by_topic(state)
    lines = facts.get(heading) or [line for each in facts.values() for line in each]
    said = text_only(state.messages[: state.progress.opening or len(state.messages)])
    values = {"date": run.date, "language": run.language, "instructions": context.instructions}
    reminder = render(
        "_write_from_facts",
        "reminder",
        facts=fence("\n".join(lines)),
        heading=heading,
        request=run.question,
        again=is_again,
    )
    messages = [
        SystemMessage(render("_write_from_facts", "system", **values)),
        *(said if len(said) > 1 else ()),
        HumanMessage(reminder),
    ]
    most, known = context.limits.report_tokens, facts_of_run(state, context)
    return Request("writer", run.id, messages, cited_sentences, max_tokens=most, facts=known, is_long=True)
