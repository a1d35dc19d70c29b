"""Announces what the report will say and which sources it rests on, before it is written."""

from __future__ import annotations

from ..core.writing.basis import framing_packets
from ..core.writing.turn import NodeRuntime, begin_turn
from ..state import ResearchState, StateUpdate


async def frame_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Emit the outline of the report from the learnings and conclusions, without a model."""
    turn = await begin_turn(state, runtime)
    turn.announce("frame")
    turn.emit(*framing_packets(state, turn.placement))
    return turn.update()
