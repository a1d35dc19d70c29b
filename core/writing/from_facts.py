"""Has a report written from lists of facts, for a model that is asked for little at once."""

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
"""Facts that are written about in one call."""
MOST_OTHERS = 3
"""Quotations of sources that a list of facts does not cite, and facts that an answer leaves out, at most."""
_MARKER = re.compile(r"\[[\d, ]+\]")
HEADING = 80
"""Characters of a heading."""
NOTICE = "The writer's model was asked for little at once: it wrote from lists of facts (setting small)."


def with_other_sources(text: str, quoted: str, known: Collection[int]) -> str:
    """Return a list of facts, with quotations of sources that it does not cite: small models overlook a second source.

    `quoted` is what the model that quotes writes, `known` are the numbers of sources.
    """
    own = {*cited_numbers(text, known)}
    others = [line for line in quoted.split("\n") if (cited := cited_numbers(line, known)) and not own & {*cited}]
    return "\n".join([text, *(line for line in others if not line.startswith("|"))][: 1 + MOST_OTHERS])


def left_out(facts: Mapping[str, Sequence[str]], text: str) -> str:
    """Return, as list items, facts whose figures the text lacks: small models skip facts that contradict others."""
    said, lines = figures_of(text), [line for each in facts.values() for line in each]
    found = [line for line in lines if not figures_of(_MARKER.sub("", line)) <= said][:MOST_OTHERS]
    return "\n".join(f"- {LINE_MARK.sub('', line)}" for line in found)


def noted_by_topic(state: ResearchState) -> dict[str, str]:
    """Return what was noted for the present question with a citation, by task or step: findings, or learnings."""
    known, noted = by_number(state.sources.values()), dict[str, str]()
    if state.has_typed_plan:
        numbers = {source.key: number for number, source in known.items()}
        titles = {step.id: step.title for step in state.steps}
        for one in own_learnings(state):
            if one.source in numbers:
                title = titles.get(one.step, "")
                noted[title] = f"{noted.get(title, '')}\n- {one.text} [{numbers[one.source]}]".strip()
        return noted
    own = [one for one in state.findings.values() if one.question_id == state.run.id]
    return {one.task: one.numbered for one in own if one.numbered and cited_numbers(one.numbered, known)}


def facts_by_topic(state: ResearchState) -> dict[str, list[str]]:
    """Return the distinct noted lines that cite a source, by topic."""
    known, seen, facts = by_number(state.sources.values()), set[str](), dict[str, list[str]]()
    for topic, text in noted_by_topic(state).items():
        lines = [line.strip() for line in text.split("\n") if cited_numbers(line, known)]
        if new := [line for line in dict.fromkeys(lines) if line not in seen]:
            facts[" ".join(topic.split())[:HEADING]] = new
            seen.update(new)
    return facts


def facts_request(state: ResearchState, context: Context, heading: str, *, is_again: bool) -> Request:
    """Return the call that answers from all facts, or writes the section under a heading from those of its topic."""
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
