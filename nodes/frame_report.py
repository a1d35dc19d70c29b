"""Tells clients the main message and the sources of the report before it is written."""

from __future__ import annotations

from ..core.writing.basis import framing_packets
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, begin_turn


async def frame_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Emit the report's main message, taken from conclusions or learnings without a model, and its
    citable sources.
    """
    turn = await begin_turn(state, runtime)
    turn.announce("frame")
    turn.emit(*framing_packets(state, turn.placement))
    return turn.update()
