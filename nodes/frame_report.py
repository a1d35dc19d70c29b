"""Tells what the report will say and rest on, before it is written."""

from __future__ import annotations

from typing_extensions import TypedDict

from ..core.records.research import Progress
from ..core.run.events.activities import activity
from ..core.run.events.log import emitter
from ..core.run.events.packets import Placement
from ..core.writing.basis import framing_packets
from ..state import ResearchState


class FrameReportUpdate(TypedDict):
    """What `frame_report` writes."""

    progress: Progress


async def frame_report(state: ResearchState) -> FrameReportUpdate:
    """Emit what the report will say, from the learnings and conclusions; no model is asked."""
    run, place = state.run, Placement(turn_index=state.progress.turn)
    assert run is not None
    emitter(run.id).emit(activity("frame", run.question, place), *framing_packets(state, place))
    return FrameReportUpdate(progress=state.progress.model_copy(update={"turn": place.turn_index + 1}))
