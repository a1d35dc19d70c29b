"""Tells clients the main message and the sources of the report before it is written."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.learned import fitting_learnings
from ..core.evidence.memory.observations import ResearchMemory
from ..core.evidence.text.similarity import distinct
from ..core.records.plan import Learning
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, begin_turn

_MAIN_MESSAGE_TOKENS = 500
"""Token budget for choosing the most relevant learnings, the first of which replaces a missing main
message."""


async def frame_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Emit the report's main message, taken from conclusions or learnings without a model, if
    anything was learned, and its citable sources.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    turn.announce("frame")
    conclusions = _main_conclusions(state)
    if conclusions:
        message, *reasons = conclusions
        turn.emit(ReportPackets(turn.placement).framing(message, " ".join(reasons)))
    # Cited sources first.
    ordered = sorted(
        state.sources.values(),
        key=lambda source: (not source.number, source.number, source.key),
    )
    turn.emit(ReportPackets(turn.placement).sources(ordered))
    return turn.update()


def _main_conclusions(state: ResearchState) -> list[str]:
    """Return the texts from which the report's main message is made; empty if nothing was learned.

    They are the last analysis's conclusions, else the insights, else the fact most relevant to the
    question.
    """
    learnings = state.own_learnings
    about = state.brief.summary
    conclusions = thoughts(learnings)
    if conclusions:
        last_step = conclusions[-1].step
        return [conclusion.text for conclusion in conclusions if conclusion.step == last_step]
    memory = ResearchMemory(state.own_observations)
    noticed = [insight.text for insight in memory.insights()]
    if noticed:
        return noticed
    relevant = fitting_learnings([learnings], about, _MAIN_MESSAGE_TOKENS)
    return [learning.text for learning in relevant[:1]]


def thoughts(learnings: Sequence[Learning]) -> list[Learning]:
    """Return the learnings without a source, in order; the same words once."""
    concluded = [learning for learning in learnings if not learning.source]
    return distinct(concluded, lambda learning: learning.text)
