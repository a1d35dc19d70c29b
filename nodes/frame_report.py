"""Tells what the report will say and rest on, before it is written."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..core.run.context import Context
from ..core.writing.basis import framing_packets
from ..core.writing.turn import begin_turn
from ..state import ResearchState, StateUpdate


async def frame_report(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Emit what the report will say, from the learnings and conclusions; no model is asked."""
    turn = await begin_turn(state, runtime)
    turn.announce("frame")
    turn.emit(*framing_packets(state, turn.place))
    return turn.update()
