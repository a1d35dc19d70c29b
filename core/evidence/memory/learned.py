"""Extracts learnings from findings, merges them into facts, and computes the confidence in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....state import ResearchState
from ...records.plan import Fact, Learning, Observation
from ...records.research import Finding
from ...records.sources import Source
from ..citations.scanner import KnownMarkers
from ..origin import web_host
from ..text.sentences import sentences_of
from ..text.similarity import components, distinct, grouped, interleave, is_same_statement, meaning
from ..text.words import tokens
from .observations import close_gap, gap_of, open_gaps, relevance

_CHARACTERS_PER_TOKEN = 4
_OVERHEAD = 15
"""Tokens that a learning's number, document and step add to it in a prompt."""
CONFIDENT = 0.6
"""Insights are derived from results with a confidence above this."""
_AGREEMENT, _COVERAGE, _PROMPTNESS = 0.5, 0.4, 0.1
_ITERATIONS = 5


def learnings_of(finding: Finding) -> list[Learning]:
    """Return a learning for each cited sentence of a finding and each source that it cites.

    Withheld or failed findings, and excerpts that no model has read, give no learnings.
    """
    if finding.is_withheld or finding.failures or finding.is_excerpt:
        return []
    known = dict(enumerate(finding.sources, 1))
    cited = (
        (sentence.text, known[number])
        for sentence in sentences_of(finding.text)
        if tokens(sentence.text)
        for number in sentence.numbers
        if number in known
    )
    same = {"step": finding.id, "question_id": finding.question_id}
    return [Learning(text=text, source=key, **same) for text, key in dict.fromkeys(cited)]


def without_markers(text: str) -> str:
    """Return a text in one line without markers, since those in a source's text are not our citations."""
    markers = KnownMarkers(())
    parts = [*markers.feed(" ".join(text.split())), *markers.finish()]
    return "".join(part for part in parts if isinstance(part, str)).strip()


def facts_of(learnings: Iterable[Learning]) -> list[Fact]:
    """Merge learnings into distinct facts, in order of first appearance; thoughts stay separate.

    Learnings of different sources are the same fact only if their words are the same, since contradictions use nearly
    the same words. Learnings from one source, read twice, may differ slightly.
    """
    groups = grouped(learnings, lambda learning: (bool(learning.source), " ".join(learning.text.casefold().split())))
    facts = [Fact(tuple(group)) for group in groups.values()]

    def are_repeats(fact: Fact, other: Fact) -> bool:
        return not set(fact.sources).isdisjoint(other.sources) and is_same_statement(
            meaning(fact.text), meaning(other.text)
        )

    repeats = components(facts, are_repeats)
    return [Fact(tuple(learning for fact in same for learning in fact.learnings)) for same in repeats]


def merged_by_source(learnings: Iterable[Learning]) -> list[tuple[str, list[Fact]]]:
    """Return each source with the facts that were first learned from it, in order of first appearance, no thoughts."""
    facts = facts_of(learning for learning in learnings if learning.source)
    return list(grouped(facts, lambda fact: fact.sources[0]).items())


def fitting_learnings(groups: Sequence[Sequence[Learning]], about: str, tokens: int) -> list[Learning]:
    """Return the learnings that fit into `tokens`, in their order; earlier groups take precedence.

    In a group that does not fit completely, the steps take turns adding their learning most relevant to `about`. The
    same words from the same source are returned once.
    """
    kept: dict[tuple[str, str], Learning] = {}
    for group in groups:
        by_step = grouped(group, lambda learning: learning.step)
        ranked = (
            sorted(of_step, key=lambda learning: -relevance(learning.text, about)) for of_step in by_step.values()
        )
        for learning in interleave(ranked):
            cost = _OVERHEAD + len(learning.text) // _CHARACTERS_PER_TOKEN
            if (learning.source, learning.text) not in kept and cost <= tokens:
                tokens -= cost
                kept[learning.source, learning.text] = learning
    order = {
        learning.id: position for position, learning in enumerate(learning for group in groups for learning in group)
    }
    return sorted(kept.values(), key=lambda learning: order[learning.id])


def thoughts(learnings: Sequence[Learning]) -> list[Learning]:
    """Return the learnings without a source, without duplicates."""
    return distinct([learning for learning in learnings if not learning.source], lambda learning: learning.text)


def confidence(
    task: str,
    learnings: Sequence[Learning],
    sources: Mapping[str, Source],
    iteration: int,
    completeness: float | None = None,
) -> float:
    """Return the confidence (0 to 1, two decimals) in a task's learnings after an iteration, which counts from 1.

    0.5 × agreement + 0.4 × coverage + 0.1 × promptness; 0 if nothing was learned. Agreement is 1 - 0.5ⁿ for n
    independent sources: all pages of a host count as one source, thoughts as none. Coverage is a model's judgement
    (`completeness`, 0 to 1), or else the share of the task's specific words in the learnings. Promptness is 1 at the
    first iteration and falls by a fifth with each further one, down to 0.
    """
    if not learnings:
        return 0.0
    cited = [sources[learning.source] for learning in learnings if learning.source in sources]
    independent = {(source.kind == "web" and web_host(source.key)) or source.key for source in cited}
    agreement = 1 - 0.5 ** len(independent)
    words = " ".join(learning.text for learning in learnings)
    coverage = relevance(words, task) if completeness is None else completeness
    promptness = min(1.0, max(0.0, (_ITERATIONS + 1 - iteration) / _ITERATIONS))
    return round(_AGREEMENT * agreement + _COVERAGE * coverage + _PROMPTNESS * promptness, 2)


def is_confident(value: float) -> bool:
    """Whether a confidence is above `CONFIDENT`."""
    return value > CONFIDENT


def notice_findings(
    findings: Sequence[Finding], memory: Mapping[str, Observation]
) -> tuple[dict[str, Learning], dict[str, Observation]]:
    """Return a round's learnings by id; and its contradictions, and gaps opened or closed, as observations by key.

    A finding closes a gap only if the gap was its whole task; the orchestrator decides about the others.
    """
    learned = {finding.id: learnings_of(finding) for finding in findings}
    said = [learning for own in learned.values() for learning in own]
    opened, closed, disputed = list[Observation](), list[Observation](), list[Observation]()
    for finding in findings:
        same: Any = {"step": finding.id, "question_id": finding.question_id}
        missing = [*finding.missing, *([] if finding.ended == "done" else [finding.task])]
        if not learned[finding.id]:
            missing = [finding.task]
        opened += [gap_of(text, **same, round=finding.cycle, about=finding.task) for text in missing]
        if not learned[finding.id]:
            # Findings without learnings close no gaps and give no contradictions.
            continue
        for gap in open_gaps(memory.values()):
            if gap.text == finding.task and gap.question_id == finding.question_id:
                closed += close_gap(gap, memory.values(), finding.cycle, finding.id, 0)
        for found in finding.contradictions:
            claims = zip(found.claims, found.sources, strict=True)
            pair = [Learning(text=text, source=key, **same) for text, key in claims]
            about: Any = {"text": found.claims[0], "other": found.claims[1], "round": finding.cycle, **same}
            ids = tuple(learning.id for learning in pair)
            said += pair
            disputed.append(Observation(kind="contradiction", learnings=ids, **about))
    noted = (*opened, *closed, *disputed)
    return {learning.id: learning for learning in said}, {found.key: found for found in noted}


def own_learnings(state: ResearchState) -> list[Learning]:
    """Return the learnings for the current question, in order."""
    return [learning for learning in state.learnings.values() if learning.question_id == state.run.id]


def own_observations(state: ResearchState) -> list[Observation]:
    """Return the observations for the current question."""
    return [observation for observation in state.memory.values() if observation.question_id == state.run.id]
