"""Checks whether learnings contradict each other, before the report is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from langchain_core.messages import HumanMessage

from ..core.evidence.memory.disputes import confirmed_disputes, dispute_between, observed_dispute
from ..core.evidence.memory.learned import facts_of, fitting_learnings
from ..core.evidence.memory.observations import close_gap, contradictions, insights, open_gaps
from ..core.records.dispute import DisputeSubject
from ..core.records.plan import FINAL_CHECK, Learning, Observation
from ..core.run.events.call import disputes_found
from ..core.writing.forms import RecordContradictions
from ..core.writing.steps import learnings_for_prompt, sources_for_prompt
from ..core.writing.turn import NodeRuntime, Turn, begin_turn
from ..prompts import as_gaps, fenced_knowledge
from ..state import ResearchState, StateUpdate


async def cross_check(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have a model compare the most relevant learnings if there are insights, apparent contradictions or open gaps."""
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
        turn.emit(disputes_found(found, turn.placement))
    return {**turn.update(), "memory": memory}


async def _check(state: ResearchState, own: list[Observation], turn: Turn) -> dict[str, Observation]:
    """Return the contradictions and the closed gaps that the model reports, by key; empty if it gives no answer."""
    # Apparent contradictions first, then the most relevant learnings of each step.
    suspicious = {key for pair in contradictions(own) for key in pair.learnings}
    groups: tuple[list[Learning], list[Learning]] = ([], [])
    for learning in state.own_learnings:
        groups[learning.id not in suspicious].append(learning)
    items = fitting_learnings(groups, state.brief.summary, turn.context.limits.memory_tokens)
    gaps, facts = open_gaps(own), facts_of(items)
    numbers = {learning.id: number for number, fact in enumerate(facts, 1) for learning in fact.learnings}
    candidates = [
        [numbers[key] for key in pair.learnings] for pair in contradictions(own) if numbers.keys() >= {*pair.learnings}
    ]
    knowledge = fenced_knowledge(
        learnings=learnings_for_prompt(state, items),
        sources=sources_for_prompt(state, items),
        candidates=candidates,
        gaps=as_gaps(gaps),
    )
    form = await turn.filler.ask_if_possible(
        RecordContradictions,
        "orchestrator",
        "cross_check",
        [HumanMessage(state.brief.summary)],
        knowledge=knowledge,
    )
    if form is None:
        return {}
    # The texts of the facts are the claims: those in the form are shortened.
    stated_pairs: dict[tuple[int, int], DisputeSubject] = {}
    for stated in form.contradictions:
        number, other = sorted((stated.document, stated.other_document))
        if number != other and {number, other} <= {*numbers.values()}:
            stated_pairs[number, other] = stated.about
    found: list[Observation] = []
    for (number, other), about in sorted(stated_pairs.items()):
        # Only learnings from different sources contradict each other; those without a source do not count.
        both = product(facts[number - 1].learnings, facts[other - 1].learnings)
        from_two_sources = (pair for pair in both if len({learning.source for learning in pair} - {""}) == 2)
        if pair := next(from_two_sources, None):
            first, second = pair
            sources = state.sources[first.source], state.sources[second.source]
            dispute = dispute_between((first.text, second.text), sources, about)
            found.append(observed_dispute(dispute, pair, state.progress.cycle, FINAL_CHECK))
    for number in form.answered_gaps:
        if 0 < number <= len(gaps):
            found += close_gap(gaps[number - 1], own, state.progress.cycle, FINAL_CHECK, 0)
    return {observation.key: observation for observation in found}
