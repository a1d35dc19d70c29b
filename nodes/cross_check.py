"""Checks whether learnings contradict each other, before the report is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from langchain_core.messages import HumanMessage

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.disputes import confirmed_disputes, dispute_between, observed_dispute
from ..core.evidence.memory.learned import facts_of, fitting_learnings
from ..core.evidence.memory.observations import close_gap, contradictions, insights, open_gaps
from ..core.records.plan import FINAL_CHECK, Fact, Learning, Observation
from ..core.records.sources import DisputeSubject
from ..core.writing.forms import RecordContradictions
from ..prompts import as_gaps, fenced_knowledge
from ..state import ResearchState, StateUpdate
from .step_turn import learnings_for_prompt, sources_for_prompt
from .turn import NodeRuntime, Turn, begin_turn


async def cross_check(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have a model compare the most relevant learnings if there are insights, apparent
    contradictions or open gaps.
    """
    own = state.own_observations
    # Learnings without a source, as in a follow-up on known facts, cannot contradict a source.
    has_sources = any(learning.source for learning in state.own_learnings)
    if not has_sources or not (insights(own) or contradictions(own) or open_gaps(own)):
        return {}
    turn = await begin_turn(state, runtime)
    turn.announce("cross_check")
    async with turn.paid():
        memory = await _check(state, own, turn)
    found = confirmed_disputes(replace(state, memory={**state.memory, **memory}))
    if found:
        turn.emit(ReportPackets(turn.placement).disputes(found))
    return {**turn.update(), "memory": memory}


async def _check(
    state: ResearchState, own: list[Observation], turn: Turn
) -> dict[str, Observation]:
    """Return the contradictions and the closed gaps that the model reports, by key.

    Empty if it gives no answer.
    """
    learnings = _comparable(state, own, turn.context.limits.memory_tokens)
    facts = facts_of(learnings)
    gaps = open_gaps(own)
    form = await turn.filler.ask_if_possible(
        RecordContradictions,
        "orchestrator",
        "cross_check",
        [HumanMessage(state.brief.summary)],
        knowledge=fenced_knowledge(
            learnings=learnings_for_prompt(state, learnings),
            sources=sources_for_prompt(state, learnings),
            candidates=_candidates(own, facts),
            gaps=as_gaps(gaps),
        ),
    )
    if form is None:
        return {}
    observations = _disputes(form, facts, state)
    for number in form.answered_gaps:
        if 0 < number <= len(gaps):
            gap = gaps[number - 1]
            observations += close_gap(gap, own, state.progress.cycle, FINAL_CHECK, 0)
    return {observation.key: observation for observation in observations}


def _comparable(
    state: ResearchState, own: Iterable[Observation], max_tokens: int
) -> list[Learning]:
    """Return the learnings to compare: apparent contradictions first, then the most relevant."""
    suspicious = set[str]()
    for pair in contradictions(own):
        suspicious.update(pair.learnings)
    first = list[Learning]()
    others = list[Learning]()
    for learning in state.own_learnings:
        if learning.id in suspicious:
            first.append(learning)
        else:
            others.append(learning)
    return fitting_learnings((first, others), state.brief.summary, max_tokens)


def _candidates(own: Iterable[Observation], facts: Iterable[Fact]) -> list[list[int]]:
    """Return the numbers of facts that apparently contradict each other, from 1."""
    numbers = dict[str, int]()
    for number, fact in enumerate(facts, 1):
        for learning in fact.learnings:
            numbers[learning.id] = number
    candidates = list[list[int]]()
    for pair in contradictions(own):
        if numbers.keys() >= {*pair.learnings}:
            candidates.append([numbers[learning_id] for learning_id in pair.learnings])
    return candidates


def _disputes(
    form: RecordContradictions, facts: Sequence[Fact], state: ResearchState
) -> list[Observation]:
    """Return the contradictions in a form, in the order of the facts.

    The texts of the facts are the claims: those in the form are shortened.
    """
    subjects: dict[tuple[int, int], DisputeSubject] = {}
    for stated in form.contradictions:
        number, other = sorted((stated.document, stated.other_document))
        if 0 < number < other <= len(facts):
            subjects[number, other] = stated.about
    disputes = list[Observation]()
    for (number, other), subject in sorted(subjects.items()):
        pair = _from_two_sources(facts[number - 1], facts[other - 1])
        if pair is None:
            continue
        first, second = pair
        sources = state.sources[first.source], state.sources[second.source]
        dispute = dispute_between((first.text, second.text), sources, subject)
        disputes.append(observed_dispute(dispute, pair, state.progress.cycle, FINAL_CHECK))
    return disputes


def _from_two_sources(fact: Fact, other: Fact) -> tuple[Learning, Learning] | None:
    """Return the first learnings of two facts that come from different sources, if there are any.

    Only these contradict each other; learnings without a source do not count.
    """
    for learning, other_learning in product(fact.learnings, other.learnings):
        has_sources = learning.source and other_learning.source
        if has_sources and learning.source != other_learning.source:
            return learning, other_learning
    return None
