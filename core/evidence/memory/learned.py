"""Extracts learnings (statements with a source, or thoughts) from findings; merges and rates
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from ...records.plan import Fact, Learning, Observation
from ...records.research import Finding
from ...records.sources import Source
from ..text.sentences import sentences_of
from ..text.similarity import components, grouped, interleave, is_same_statement
from ..text.words import tokens
from .observations import ResearchMemory, relevance

_CHARACTERS_PER_TOKEN = 4
"""Assumed average length of a token."""
_OVERHEAD = 15
"""Assumed tokens that a learning's number, source and step take in a prompt."""
CONFIDENT = 0.6
"""Confidence above which insights are derived from the learnings of a step."""
_AGREEMENT, _COVERAGE, _PROMPTNESS = 0.5, 0.4, 0.1
"""Weights in the confidence."""
_ITERATIONS = 5
"""Number of iterations after which promptness is 0."""


def learnings_of(finding: Finding) -> list[Learning]:
    """Return the learnings of a finding: one for each sentence with citations and each source that
    it cites.

    Findings that were withheld, had failures or are only excerpts have none.
    """
    if finding.is_withheld or finding.failures or finding.is_excerpt:
        return []
    sources = dict(enumerate(finding.sources, 1))
    cited = dict[tuple[str, str], None]()
    for sentence in sentences_of(finding.text):
        if not tokens(sentence.text):
            continue
        for number in sentence.numbers:
            if number in sources:
                cited.setdefault((sentence.text, sources[number]))
    return [_learning(finding, text, source) for text, source in cited]


def facts_of(learnings: Iterable[Learning]) -> list[Fact]:
    """Merge learnings into facts, in order of first appearance.

    Learnings without a source merge only with each other. Learnings from different sources are the
    same fact only if their words are the same, since contradictions use nearly the same words.
    Learnings from one source, which may have been read twice, may differ slightly.
    """
    return list(_merged(tuple(learnings)))


# Status, audit, notes and versions ask for the facts of the same learnings.
@lru_cache(maxsize=4)
def _merged(learnings: tuple[Learning, ...]) -> tuple[Fact, ...]:
    """Return the facts of `facts_of`."""

    def same_words(learning: Learning) -> tuple[bool, str]:
        return bool(learning.source), " ".join(learning.text.casefold().split())

    def are_repeats(number: int, other: int) -> bool:
        if sources[number].isdisjoint(sources[other]):
            return False
        return is_same_statement(facts[number].text, facts[other].text)

    facts = list[Fact]()
    # Each fact is compared with all others.
    sources = list[frozenset[str]]()
    for group in grouped(learnings, same_words).values():
        facts.append(Fact(tuple(group)))
        sources.append(frozenset(facts[-1].sources))
    merged = list[Fact]()
    for repeats in components(range(len(facts)), are_repeats):
        group = list[Learning]()
        for number in repeats:
            group += facts[number].learnings
        merged.append(Fact(tuple(group)))
    return tuple(merged)


def fitting_learnings(
    groups: Sequence[Sequence[Learning]], about: str, tokens: int
) -> list[Learning]:
    """Return as many learnings as fit into `tokens` tokens of a prompt, in their order.

    Earlier groups come first. Of a group that does not fit completely, each step in turn adds its
    learning that is most relevant to `about`. The same words from the same source are returned
    once.
    """

    def irrelevance(learning: Learning) -> float:
        return -relevance(learning.text, about)

    kept = dict[tuple[str, str], Learning]()
    for group in groups:
        ranked = list[list[Learning]]()
        for of_step in grouped(group, lambda learning: learning.step).values():
            ranked.append(sorted(of_step, key=irrelevance))
        for learning in interleave(ranked):
            key = (learning.source, learning.text)
            cost = _OVERHEAD + len(learning.text) // _CHARACTERS_PER_TOKEN
            if key not in kept and cost <= tokens:
                tokens -= cost
                kept[key] = learning
    positions = dict[str, int]()
    for position, learning in enumerate(chain.from_iterable(groups)):
        positions[learning.id] = position
    return sorted(kept.values(), key=lambda learning: positions[learning.id])


def confidence(
    task: str,
    learnings: Sequence[Learning],
    sources: Mapping[str, Source],
    iteration: int,
    completeness: float | None = None,
) -> float:
    """Return the confidence (0 to 1, two decimals) in what was learned for a task up to an
    iteration (from 1).

    It is 0.5 × agreement + 0.4 × coverage + 0.1 × promptness, and 0 if nothing was learned.
    Agreement is 1 - 0.5ⁿ for n independent sources; all pages of a host count as one. Coverage is a
    model's judgement (`completeness`, 0 to 1), or else the share of the task's specific words in
    the learnings. Promptness is 1 at the first iteration and falls by a fifth with each further
    one, down to 0.
    """
    if not learnings:
        return 0.0
    texts = list[str]()
    independent = set[str]()
    for learning in learnings:
        texts.append(learning.text)
        source = sources.get(learning.source)
        if source:
            independent.add(source.host or source.key)
    agreement = 1 - 0.5 ** len(independent)
    coverage = completeness
    if coverage is None:
        coverage = relevance(" ".join(texts), task)
    promptness = min(1.0, max(0.0, (_ITERATIONS + 1 - iteration) / _ITERATIONS))
    return round(_AGREEMENT * agreement + _COVERAGE * coverage + _PROMPTNESS * promptness, 2)


def is_confident(value: float) -> bool:
    """Whether a confidence is above `CONFIDENT`."""
    return value > CONFIDENT


def notice_findings(
    findings: Sequence[Finding], memory: Mapping[str, Observation]
) -> tuple[dict[str, Learning], dict[str, Observation]]:
    """Return the learnings from a round's findings by id, and the observations about them by key.

    The observations are the gaps that the findings open or close, and their contradictions. A
    finding closes a gap only if the gap was its whole task; the orchestrator decides about other
    gaps. `memory` are the earlier observations.
    """
    before = ResearchMemory(memory.values())
    learned = {finding.id: learnings_of(finding) for finding in findings}
    learnings = list(chain.from_iterable(learned.values()))
    opened = list[Observation]()
    closed = list[Observation]()
    disputed = list[Observation]()
    for finding in findings:
        if not learned[finding.id]:
            # Such a finding closes no gap and shows no contradiction.
            opened.append(_gap(finding, finding.task))
            continue
        for rank, text in enumerate(finding.missing):
            opened.append(_gap(finding, text, rank))
        if finding.ended != "done":
            opened.append(_gap(finding, finding.task))
        for gap in before.open_gaps():
            if gap.text == finding.task and gap.question_id == finding.question_id:
                closed += before.closing(gap, finding.cycle, finding.id, 0)
        for dispute in finding.contradictions:
            sides = list[Learning]()
            for side in dispute.sides:
                sides.append(_learning(finding, side.text, side.source))
            first, second = sides
            learnings += sides
            disputed.append(
                Observation.of_dispute(dispute, (first, second), finding.cycle, finding.id)
            )
    observations = [*opened, *closed, *disputed]
    return (
        {learning.id: learning for learning in learnings},
        {observation.key: observation for observation in observations},
    )


def _learning(finding: Finding, text: str, source: str) -> Learning:
    return Learning(text=text, source=source, step=finding.id, question_id=finding.question_id)


def _gap(finding: Finding, text: str, rank: int = 0) -> Observation:
    return Observation.of_gap(text, finding.question_id, finding.cycle, finding.id, rank)
