"""Checks whether learnings contradict each other, before the report is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import Field, ValidatorFunctionWrapHandler, field_validator

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.learned import facts_of, fitting_learnings
from ..core.evidence.memory.observations import (
    ResearchMemory,
    ThreadDisputes,
    dispute_between,
    observed_dispute,
)
from ..core.records.plan import FINAL_CHECK, Fact, Learning, Observation
from ..core.records.sources import DisputeSubject
from ..core.writing.forms import Form
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._disputes import StatedDispute, StatedDisputes
from ._knowledge import as_gaps
from .turn import NodeRuntime, Turn, begin_turn


class RecordContradictions(Form):
    """Hand in which learnings contradict each other, and which open questions they answer."""

    contradictions: StatedDisputes
    """The pairs of learnings that contradict each other; empty if there are none."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the learnings do answer."""

    @field_validator("contradictions", mode="wrap")
    @classmethod
    def _keep_a_pair(cls, given: Any, read: ValidatorFunctionWrapHandler) -> list[StatedDispute]:
        # Malformed pairs are dropped; if none is left, the model is asked again.
        pairs: list[StatedDispute] = read(given)
        if given and not pairs:
            raise ValueError("each pair needs claim, document, other and other_document")
        return pairs


async def cross_check(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have a model compare the most relevant learnings if there are insights, apparent
    contradictions or open gaps.
    """
    memory = ResearchMemory(state.own_observations)
    # Learnings without a source, as in a follow-up on known facts, cannot contradict a source.
    has_sources = any(learning.source for learning in state.own_learnings)
    has_reason = memory.insights() or memory.contradictions() or memory.open_gaps()
    if not has_sources or not has_reason:
        return {}
    turn = await begin_turn(state, runtime)
    state = turn.state
    turn.announce("cross_check")
    async with turn.paid():
        observed = await _check(memory, turn)
    turn.apply(memory={**state.memory, **observed})
    found = ThreadDisputes(turn.state).confirmed()
    if found:
        turn.emit(ReportPackets(turn.placement).disputes(found))
    return {**turn.update(), "memory": observed}


async def _check(memory: ResearchMemory, turn: Turn) -> dict[str, Observation]:
    """Return the contradictions and the closed gaps that the model reports, by key.

    Empty if it gives no answer.
    """
    state = turn.state
    learnings = _comparable(state, memory, turn.context.limits.memory_tokens)
    facts = facts_of(learnings)
    gaps = memory.open_gaps()
    form = await turn.filler.ask_if_possible(
        RecordContradictions,
        "orchestrator",
        "cross_check",
        [HumanMessage(state.brief.summary)],
        knowledge=fenced_knowledge(
            learnings=turn.learnings_for_prompt(learnings),
            sources=turn.sources_for_prompt(learnings),
            candidates=_candidates(memory, facts),
            gaps=as_gaps(gaps),
        ),
    )
    if form is None:
        return {}
    observations = _disputes(form, facts, state)
    for number in form.answered_gaps:
        if 0 < number <= len(gaps):
            gap = gaps[number - 1]
            observations += memory.closing(gap, state.progress.cycle, FINAL_CHECK, 0)
    return {observation.key: observation for observation in observations}


def _comparable(state: ResearchState, memory: ResearchMemory, max_tokens: int) -> list[Learning]:
    """Return the learnings to compare: apparent contradictions first, then the most relevant."""
    suspicious = set[str]()
    for pair in memory.contradictions():
        suspicious.update(pair.learnings)
    first = list[Learning]()
    others = list[Learning]()
    for learning in state.own_learnings:
        if learning.id in suspicious:
            first.append(learning)
        else:
            others.append(learning)
    return fitting_learnings((first, others), state.brief.summary, max_tokens)


def _candidates(memory: ResearchMemory, facts: Iterable[Fact]) -> list[list[int]]:
    """Return the numbers of facts that apparently contradict each other, from 1."""
    numbers = dict[str, int]()
    for number, fact in enumerate(facts, 1):
        for learning in fact.learnings:
            numbers[learning.id] = number
    candidates = list[list[int]]()
    for pair in memory.contradictions():
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
