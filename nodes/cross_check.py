"""Holds what was learned against itself before the report is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from ..core.evidence.memory.learned import facts_of, fitting_learnings, own_learnings, own_observations
from ..core.evidence.memory.observations import close_gap, contradictions, insights, open_gaps
from ..core.records.plan import FINAL_CHECK, Fact, Learning, Observation
from ..core.run.context import Context
from ..core.writing.basis import disagreement, disagreement_packets
from ..core.writing.facts import facts_of_run
from ..core.writing.forms import RecordInconsistencies
from ..core.writing.steps import sources_of, with_numbers
from ..core.writing.turn import Turn, begin_turn
from ..prompts import as_gaps, fenced_knowledge
from ..state import ResearchState, StateUpdate


async def cross_check(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Have the most relevant learnings compared, if there are insights, contrary claims, or open gaps."""
    own = own_observations(state)
    # Thoughts alone, as in a follow-up on what is known, are nobody's word.
    has_sources = any(one.source for one in own_learnings(state))
    if not has_sources or not (insights(own) or contradictions(own) or open_gaps(own)):
        return {}
    turn = await begin_turn(state, runtime)
    turn.announce("cross_check")
    async with turn.paid():
        memory = await _check(state, own, turn)
    found = disagreement(replace(state, memory={**state.memory, **memory}))
    turn.emit(*disagreement_packets(found, turn.place))
    return {**turn.update(), "memory": memory}


async def _check(state: ResearchState, own: list[Observation], turn: Turn) -> dict[str, Observation]:
    """Return the contradictions and the answered gaps by key; nothing if the model gives no answer."""
    items = _items(state, own, turn.context.limits.memory_tokens)
    gaps = open_gaps(own)
    facts = facts_of(items)
    places = {learning.id: number for number, fact in enumerate(facts, 1) for learning in fact.learnings}
    candidates = [
        [places[one] for one in pair.learnings] for pair in contradictions(own) if places.keys() >= {*pair.learnings}
    ]
    knowledge = fenced_knowledge(
        learnings=with_numbers(state, items),
        sources=sources_of(state, items),
        candidates=candidates,
        gaps=as_gaps(gaps),
    )
    said = [HumanMessage(state.brief.summary)]
    form = await turn.filler.ask_if_possible(
        RecordInconsistencies,
        "orchestrator",
        "cross_check",
        said,
        facts=facts_of_run(state, turn.context),
        knowledge=knowledge,
    )
    if form is None:
        return {}
    pairs = {frozenset((pair.claim, pair.other)) for pair in form.inconsistencies}
    known_pairs = [sorted(pair) for pair in pairs if len(pair) == 2 and pair <= {*places.values()}]
    apart = [_apart(facts[one - 1], facts[other - 1]) for one, other in sorted(known_pairs)]
    found = [_contradiction(*pair, state) for pair in apart if pair]
    for number in form.answered_gaps:
        if 0 < number <= len(gaps):
            found += close_gap(gaps[number - 1], own, state.progress.cycle, FINAL_CHECK, 0)
    return {observation.key: observation for observation in found}


def _items(state: ResearchState, own: list[Observation], tokens: int) -> list[Learning]:
    """Return the learnings to compare: those that look contradictory, then the most relevant ones of each step."""
    suspicious = {key for pair in contradictions(own) for key in pair.learnings}
    groups: tuple[list[Learning], list[Learning]] = ([], [])
    for one in own_learnings(state):
        groups[one.id not in suspicious].append(one)
    return fitting_learnings(groups, state.brief.summary, tokens)


def _apart(one: Fact, other: Fact) -> tuple[Learning, Learning] | None:
    """Return one learning of each claim, from different sources: a thought has no source and contradicts nothing."""
    pairs = product(one.learnings, other.learnings)
    return next((pair for pair in pairs if len({learning.source for learning in pair} - {""}) == 2), None)


def _contradiction(one: Learning, other: Learning, state: ResearchState) -> Observation:
    return Observation(
        kind="contradiction",
        text=one.text,
        other=other.text,
        question_id=one.question_id,
        round=state.progress.cycle,
        step=FINAL_CHECK,
        learnings=(one.id, other.id),
    )
