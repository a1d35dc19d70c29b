"""Lists of facts from which small models write a report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.text.numbers import plain_figures
from ..evidence.text.sentences import LINE_MARK
from .basis import ReportBasis

FACTS_AT_ONCE = 12
"""Maximum number of facts for a report without sections; with more facts, each topic gets a section
of its own."""
_MOST_OMITTED = 3
"""Maximum number of omitted facts to add to the report."""
_MARKER = re.compile(r"\[[\d, ]+\]")
_HEADING_CHARACTERS = 80
"""Maximum length of a section's heading."""
SMALL_WRITER_NOTICE = (
    "The writer's model was given small tasks: it wrote from lists of facts (setting small)."
)


def omitted_facts(facts: Mapping[str, Sequence[str]], text: str) -> str:
    """Return a list of facts whose figures the text lacks.

    Small models skip facts that contradict others.
    """
    stated = plain_figures(text)
    omitted = list[str]()
    for line in chain.from_iterable(facts.values()):
        figures = plain_figures(_MARKER.sub("", line))
        if not figures <= stated:
            omitted.append(f"- {LINE_MARK.sub('', line)}")
    return "\n".join(omitted[:_MOST_OMITTED])


def facts_by_topic(basis: ReportBasis) -> dict[str, list[str]]:
    """Return the distinct cited lines of the question's findings, by topic.

    A topic is a heading: the title of a step, or the task of a researcher.
    """
    state = basis.state
    known = by_number(state.sources.values())
    titles = {step.id: step.title for step in state.steps}
    texts = basis.texts_of_steps(state.own_findings)
    seen = set[str]()
    facts = dict[str, list[str]]()
    for finding in state.own_findings:
        topic = titles.get(finding.step, finding.task)
        heading = " ".join(topic.split())[:_HEADING_CHARACTERS]
        text = texts.get(finding.id, finding.numbered or "")
        for line in text.split("\n"):
            fact = line.strip()
            if fact not in seen and cited_numbers(line, known):
                # Long tasks may begin with the same words.
                facts.setdefault(heading, []).append(fact)
                seen.add(fact)
    return facts
