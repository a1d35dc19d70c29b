"""Holds what was learned against itself before the report is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.memory.learned import facts_of, fitting_learnings, own_learnings, own_observations
from ..core.evidence.memory.observations import close_gap, contradictions, insights, open_gaps
from ..core.models.resolve import settings_of
from ..core.records.plan import FINAL_CHECK, Fact, Learning, Observation
from ..core.records.research import Progress, Run, Spent
from ..core.run.context import Context
from ..core.run.events.activities import activity
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import emitter
from ..core.run.events.packets import Placement
from ..core.run.spending import recorded
from ..core.run.store.pages import pages_of
from ..core.writing.basis import disagreement, disagreement_packets
from ..core.writing.facts import facts_of_run
from ..core.writing.fill_in import Filler
from ..core.writing.forms import RecordInconsistencies
from ..core.writing.steps import sources_of, with_numbers
from ..prompts import as_gaps, fenced_knowledge
from ..state import ResearchState


class CrossCheckUpdate(TypedDict, total=False):
    """What `cross_check` writes."""

    run: Run
    progress: Progress
    memory: dict[str, Observation]
    spending: dict[str, Spent]


async def cross_check(state: ResearchState, runtime: Runtime[Context]) -> CrossCheckUpdate:
    """Have the most relevant learnings compared, if there are insights, contrary claims, or open gaps."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    own = own_observations(state)
    # Thoughts alone, as in a follow-up on what is known, are nobody's word.
    has_sources = any(one.source for one in own_learnings(state))
    if not has_sources or not (insights(own) or contradictions(own) or open_gaps(own)):
        return {}
    place = Placement(turn_index=state.progress.turn)
    events = SilentEvents(emitter(run.id), place)
    filler = Filler(context, run, events, place)
    emitter(run.id).emit(activity("cross_check", run.question, place))
    async with recorded(pages_of(runtime.store, run.id), run.id, events.bill):
        memory = await _check(state, own, context, filler)
    found = disagreement(replace(state, memory={**state.memory, **memory}))
    emitter(run.id).emit(*disagreement_packets(found, place))
    return {
        "run": run.model_copy(update={"active_seconds": run.active_seconds + events.bill.seconds}),
        "progress": state.progress.model_copy(update={"turn": place.turn_index + 1}),
        "memory": memory,
        "spending": events.bill.costs,
    }


async def _check(
    state: ResearchState, own: list[Observation], context: Context, filler: Filler
) -> dict[str, Observation]:
    """Return the contradictions and the answered gaps by key; nothing if the model gives no answer."""
    items = _items(state, own, context.limits.memory_tokens)
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
    form = await filler.ask_if_possible(
        RecordInconsistencies,
        "orchestrator",
        "cross_check",
        said,
        facts=facts_of_run(state, context, "orchestrator"),
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
