"""Learnings of findings and steps, how certain they are, and what they add to the research memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from urllib.parse import urlsplit

from ....state import ResearchState
from ...records.plan import Fact, Learning, Observation
from ...records.research import ConflictingClaims, Finding
from ...records.sources import Source
from ..citations.scanner import KnownMarkers
from ..text.sentences import Sentence, sentences_of
from ..text.similarity import components, distinct, grouped, interleave, is_same, meaning
from ..text.words import tokens
from .observations import close_gap, gap_of, open_gaps, relevance

CHARACTERS_PER_TOKEN = 4
OVERHEAD = 15
"""Tokens around a learning that is shown: its number, its document and its step."""
CONFIDENT = 0.6
"""Confidence above which insights are drawn from results."""
_AGREEMENT, _COVERAGE, _PROMPTNESS = 0.5, 0.4, 0.1
_ITERATIONS = 5


def learnings_of(finding: Finding) -> list[Learning]:
    """Return the cited sentences of a finding, once for each source that they cite.

    There are none of a finding that is withheld, or made of excerpts that no model has read.
    """
    return list(
        dict.fromkeys(
            Learning(text=sentence.text, source=key, step=finding.id, question_id=finding.question_id)
            for sentence in _sentences(finding)
            for key in _cited(sentence, finding)
        )
    )


def without_markers(text: str) -> str:
    """Return a text in one line without markers: the citations of a source are none of ours."""
    markers = KnownMarkers(())
    parts = [*markers.feed(" ".join(text.split())), *markers.finish()]
    return "".join(part for part in parts if isinstance(part, str)).strip()


def facts_of(learnings: Iterable[Learning]) -> list[Fact]:
    """Return the facts that learnings state, each once, in order of first appearance; thoughts are kept apart.

    Of different sources, only the same words are the same fact: they contradict each other in nearly the same words. A
    source that is read twice says nearly the same.
    """
    groups = grouped(learnings, lambda one: (bool(one.source), " ".join(one.text.casefold().split())))
    facts = [Fact(tuple(group)) for group in groups.values()]
    return [Fact(tuple(one for fact in same for one in fact.learnings)) for same in components(facts, _are_repeats)]


def _are_repeats(one: Fact, other: Fact) -> bool:
    return not set(one.sources).isdisjoint(other.sources) and is_same(meaning(one.text), meaning(other.text))


def merged_by_source(learnings: Iterable[Learning]) -> list[tuple[str, list[Fact]]]:
    """Return each source with the facts first learned from it, in order of first appearance; no thoughts."""
    facts = facts_of(one for one in learnings if one.source)
    return list(grouped(facts, lambda fact: fact.sources[0]).items())


def fitting_learnings(groups: Sequence[Sequence[Learning]], about: str, tokens: int) -> list[Learning]:
    """Return the learnings that fit into a number of tokens, group by group, each in its order.

    Of a group that does not fit whole, each step in turn adds its learning that is most relevant to `about`. The same
    words of the same source are returned once.
    """
    kept: dict[tuple[str, str], Learning] = {}
    for group in groups:
        by_step = grouped(group, lambda one: one.step)
        ranked = (sorted(of_step, key=lambda one: -relevance(one.text, about)) for of_step in by_step.values())
        for one in interleave(ranked):
            cost = OVERHEAD + len(one.text) // CHARACTERS_PER_TOKEN
            if (one.source, one.text) not in kept and cost <= tokens:
                tokens -= cost
                kept[one.source, one.text] = one
    order = {one.id: place for place, one in enumerate(one for group in groups for one in group)}
    return sorted(kept.values(), key=lambda one: order[one.id])


def thoughts(learnings: Sequence[Learning]) -> list[Learning]:
    """Return the learnings without a source, those in the same words once."""
    return distinct([one for one in learnings if not one.source], lambda one: one.text)


def _sentences(finding: Finding) -> list[Sentence]:
    return [] if finding.is_withheld or finding.failures or finding.is_excerpt else sentences_of(finding.text)


def _cited(sentence: Sentence, finding: Finding) -> tuple[str, ...]:
    if not tokens(sentence.text):
        return ()
    known = [number for number in sentence.numbers if 0 < number <= len(finding.sources)]
    return tuple(dict.fromkeys(finding.sources[number - 1] for number in known))


def confidence(
    task: str,
    learnings: Sequence[Learning],
    sources: Mapping[str, Source],
    iteration: int,
    completeness: float | None = None,
) -> float:
    """Return the confidence in the learnings of a task after an iteration (from 1), from 0 to 1 with two decimals.

    0.5 × agreement + 0.4 × coverage + 0.1 × promptness; 0 if nothing was learned. Agreement is 1 - 0.5ⁿ for n
    independent sources: the pages of one host count as one, each document as one, thoughts as none. Coverage is a
    model's judgement (`completeness`, from 0 to 1), or else the share of the task's specific words that the learnings
    contain. Promptness falls from 1 at the first iteration by a fifth with each further one, down to 0.
    """
    if not learnings:
        return 0.0
    independent = {_publisher(sources[learning.source]) for learning in learnings if learning.source in sources}
    agreement = 1 - 0.5 ** len(independent)
    words = " ".join(learning.text for learning in learnings)
    coverage = relevance(words, task) if completeness is None else completeness
    promptness = min(1.0, max(0.0, (_ITERATIONS + 1 - iteration) / _ITERATIONS))
    return round(_AGREEMENT * agreement + _COVERAGE * coverage + _PROMPTNESS * promptness, 2)


def is_confident(value: float) -> bool:
    """Whether a confidence is above `CONFIDENT`, strictly."""
    return value > CONFIDENT


def _publisher(source: Source) -> str:
    if source.kind == "document":
        return source.key
    try:
        host = urlsplit(source.key).hostname
    except ValueError:
        host = None
    return (host or source.key).removeprefix("www.")


def notice_findings(
    findings: Sequence[Finding], memory: Mapping[str, Observation]
) -> tuple[dict[str, Learning], dict[str, Observation]]:
    """Return the learnings of a round's findings, the contradictions in them, and the gaps that they open or close.

    They close a gap that is the whole task of an earlier finding; the orchestrator decides about the others.
    """
    learned = {finding.id: learnings_of(finding) for finding in findings}
    opened = [
        gap_of(text, finding.question_id, finding.cycle, finding.id, about=finding.task)
        for finding in findings
        for text in _missing(finding, learned[finding.id])
    ]
    closed = [
        one
        for finding in findings
        for gap in open_gaps(memory.values())
        if learned[finding.id] and gap.text == finding.task and gap.question_id == finding.question_id
        for one in close_gap(gap, memory.values(), finding.cycle, finding.id, 0)
    ]
    # What is withheld from models is so with its contradictions.
    usable = [finding for finding in findings if learned[finding.id]]
    disputed = [_disputed(one, finding) for finding in usable for one in finding.contradictions]
    said = chain(chain.from_iterable(learned.values()), chain.from_iterable(pair for pair, _ in disputed))
    noted = (*opened, *closed, *(one for _, one in disputed))
    return {one.id: one for one in said}, {one.key: one for one in noted}


def _disputed(found: ConflictingClaims, finding: Finding) -> tuple[list[Learning], Observation]:
    """Return both claims as learnings, and the contradiction between them."""
    asked, step = finding.question_id, finding.id
    pair = [
        Learning(text=text, source=key, step=step, question_id=asked)
        for text, key in zip(found.claims, found.sources, strict=True)
    ]
    text, other = found.claims
    learnings = (pair[0].id, pair[1].id)
    return pair, Observation(
        kind="contradiction",
        text=text,
        other=other,
        question_id=asked,
        round=finding.cycle,
        step=step,
        learnings=learnings,
    )


def _missing(finding: Finding, learned: Sequence[Learning]) -> list[str]:
    """Return the gaps the researcher declared, and its task if it was not finished or nothing is cited."""
    if not learned:
        return [finding.task]
    return [*finding.missing, *([] if finding.ended == "done" else [finding.task])]


def own_learnings(state: ResearchState) -> list[Learning]:
    """Return what was learned for the present question, in order."""
    return [learning for learning in state.learnings.values() if learning.question_id == state.run.id]


def own_observations(state: ResearchState) -> list[Observation]:
    """Return what was noticed for the present question."""
    return [observation for observation in state.memory.values() if observation.question_id == state.run.id]
