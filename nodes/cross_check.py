"""Settles where learnings contradict each other, before the report is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import Field, ValidatorFunctionWrapHandler, field_validator

from ..core.events.blocks import ReportPackets
from ..core.evidence.checking.source_text import words_and_figures
from ..core.evidence.citations.markers import without_markers
from ..core.evidence.memory.learned import facts_of, fitting_learnings
from ..core.evidence.memory.observations import (
    ResearchMemory,
    ThreadDisputes,
)
from ..core.evidence.text.numbers import plain_figures
from ..core.records.plan import FINAL_CHECK, Fact, Learning, Observation
from ..core.records.sources import Dispute
from ..core.writing.forms import Form
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._disputes import StatedDispute, StatedDisputes
from ._knowledge import as_gaps
from .turn import NodeRuntime, Turn, begin_turn


class RecordContradictions(Form):
    """Hand in where learnings contradict each other, and which open questions they answer."""

    contradictions: StatedDisputes
    """Each matter on which learnings contradict each other once, with the two that say it best; empty if there is none."""  # noqa: E501
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the open questions that the learnings do answer, that the request does not ask, or that another one includes."""  # noqa: E501

    @field_validator("contradictions", mode="wrap")
    @classmethod
    def _keep_a_pair(cls, given: Any, read: ValidatorFunctionWrapHandler) -> list[StatedDispute]:
        # Malformed pairs are dropped; if none is left, the model is asked again.
        pairs: list[StatedDispute] = read(given)
        if given and not pairs:
            raise ValueError("each pair needs claim, document, other and other_document")
        return pairs


async def cross_check(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have a model compare the most relevant learnings if there are insights, declared
    contradictions or open gaps, or the orchestrator asks for it.

    It sees side by side the contradictions that different researchers or steps have declared,
    merges those about one matter, and says how each resolves. Without its answer they stay as
    declared; so do those of a researcher that has seen all that there is.
    """
    memory = ResearchMemory(state.own_observations)
    # Learnings without a source, as in a follow-up on known facts, cannot contradict a source.
    has_sources = any(learning.source for learning in state.own_learnings)
    is_asked = state.progress.is_disputed
    has_reason = memory.insights() or memory.contradictions() or memory.open_gaps() or is_asked
    if not has_sources or not has_reason:
        return {}
    turn = await begin_turn(state, runtime)
    state = turn.state
    is_compared = _has_seen_all(memory, state)
    if is_compared and not memory.contradictions():
        return {}
    turn.announce("cross_check")
    observed = dict[str, Observation]()
    if not is_compared:
        async with turn.paid():
            observed = await _check(memory, turn)
    turn.apply(memory={**state.memory, **observed})
    found = ThreadDisputes(turn.state).confirmed()
    if found:
        turn.emit(ReportPackets(turn.placement).disputes(found))
    progress = turn.advanced(is_disputed=False)
    return {**turn.update(), "progress": progress, "memory": observed}


def _has_seen_all(memory: ResearchMemory, state: ResearchState) -> bool:
    """Whether one researcher has written down all that was found, with all documents before it and
    nothing else to search: it has compared them, and its gaps are those of the documents."""
    if not state.run.scope.needs_no_search or state.progress.is_disputed or memory.insights():
        return False
    learned_by = {learning.step for learning in state.own_learnings}
    if len(learned_by) > 1:
        return False
    return any(found.ended == "done" and found.id in learned_by for found in state.own_findings)


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
        [HumanMessage(_subject(state))],
        language=state.run.language,
        knowledge=fenced_knowledge(
            learnings=_as_entries(learnings, turn),
            sources=turn.sources_for_prompt(learnings),
            candidates=_candidates(memory, facts),
            gaps=as_gaps(gaps),
        ),
    )
    if form is None:
        return {}
    observations = _disputes(form, facts, state)
    if observations or turn.is_capable("orchestrator"):
        # That a small or extractive model names no contradiction dismisses none.
        observations += _dismissed(observations, memory, facts, state.progress.cycle)
    for number, gap in enumerate(gaps, 1):
        closed = memory.closing(gap, state.progress.cycle, FINAL_CHECK, 0)
        if number in form.answered_gaps:
            observations += closed
        elif turn.is_capable("orchestrator"):
            # It stays open, now on behalf of the whole run; other wordings of it are closed.
            observations += [found for found in closed if found.text != gap.text]
            changes = {"step": FINAL_CHECK, "round": state.progress.cycle, "iteration": 0}
            observations.append(gap.model_copy(update={**changes, "rank": number}))
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
    return fitting_learnings((first, others), _subject(state), max_tokens)


def _subject(state: ResearchState) -> str:
    """Return the summary of the conversation, or the question if there is no summary."""
    return state.brief.summary or state.run.question


def _as_entries(learnings: Sequence[Learning], turn: Turn) -> list[dict[str, Any]]:
    """Return learnings for the prompt, numbered from 1; which step or task they are from is of no
    use there."""
    entries = list[dict[str, Any]]()
    for number, entry in enumerate(turn.learnings_for_prompt(learnings), 1):
        del entry["step"]
        entries.append({"number": number, **entry})
    return entries


def _candidates(memory: ResearchMemory, facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Return the declared contradictions as JSON entries, with the numbers of their facts."""
    numbers = _numbers(facts)
    candidates = list[dict[str, Any]]()
    for pair in _shown(memory, numbers):
        assert pair.dispute
        number, other_number = map(numbers.__getitem__, pair.learnings)
        candidates.append(
            {
                "numbers": [number, other_number],
                "about": pair.dispute.about,
                "resolution": pair.dispute.resolution,
            }
        )
    return candidates


def _numbers(facts: Iterable[Fact]) -> dict[str, int]:
    """Return the numbers of the facts, from 1, by the ids of their learnings."""
    numbers = dict[str, int]()
    for number, fact in enumerate(facts, 1):
        for learning in fact.learnings:
            numbers[learning.id] = number
    return numbers


def _shown(memory: ResearchMemory, numbers: Mapping[str, int]) -> list[Observation]:
    """Return the declared contradictions of which both claims are among the numbered facts."""
    return [pair for pair in memory.contradictions() if numbers.keys() >= {*pair.learnings}]


def _dismissed(
    confirmed: Iterable[Observation], memory: ResearchMemory, facts: Iterable[Fact], cycle: int
) -> list[Observation]:
    """Return the observations that dismiss the declared contradictions which the model was shown
    and has not confirmed, since they are none or another one is about the same matter."""
    kept = {found.claims for found in confirmed}
    dismissed = list[Observation]()
    for pair in _shown(memory, _numbers(facts)):
        if pair.claims not in kept and pair.claims[::-1] not in kept:
            changes = {"step": FINAL_CHECK, "round": cycle, "iteration": 0, "is_open": False}
            dismissed.append(pair.model_copy(update=changes))
    return dismissed


def _disputes(
    form: RecordContradictions, facts: Sequence[Fact], state: ResearchState
) -> list[Observation]:
    """Return the contradictions in a form, in the order of the facts."""
    pairs: dict[tuple[int, int], StatedDispute] = {}
    for stated in form.contradictions:
        number, other = stated.document, stated.other_document
        if number > other:
            swapped = {"claim": stated.other, "other": stated.claim}
            number, other = other, number
            stated = stated.model_copy(update=swapped)
        if 0 < number < other <= len(facts):
            pairs[number, other] = stated
    disputes = list[Observation]()
    for (number, other), stated in sorted(pairs.items(), key=itemgetter(0)):
        pair = _from_two_sources(facts[number - 1], facts[other - 1])
        if pair is None:
            continue
        first, second = pair
        sources = state.sources[first.source], state.sources[second.source]
        claims = _claim(stated.claim, first), _claim(stated.other, second)
        dispute = Dispute.between(claims, sources, stated.about, stated.resolution)
        disputes.append(Observation.of_dispute(dispute, pair, state.progress.cycle, FINAL_CHECK))
    return disputes


def _claim(stated: str, learning: Learning) -> str:
    """Return what a learning claims: in the few words of the model if at least half of them, and
    all figures, are in the learning, else in its own."""
    words = without_markers(stated)
    keys = words_and_figures(words)
    known = words_and_figures(learning.text)
    is_shortened = len(keys & known) * 2 >= len(keys) > 0
    if is_shortened and plain_figures(words) <= known:
        return words
    return learning.text


def _from_two_sources(fact: Fact, other: Fact) -> tuple[Learning, Learning] | None:
    """Return the first learnings of two facts that come from different sources, if there are any.

    Only these contradict each other; learnings without a source do not count.
    """
    for learning, other_learning in product(fact.learnings, other.learnings):
        has_sources = learning.source and other_learning.source
        if has_sources and learning.source != other_learning.source:
            return learning, other_learning
    return None
