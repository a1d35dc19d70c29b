"""Tells what the report will say and rest on, before it is written."""

from __future__ import annotations

from typing_extensions import TypedDict

from ..records.research import Progress
from ..run.events.activities import activity
from ..run.events.log import emitter
from ..run.events.packets import Placement
from ..state import ResearchState
from ..writing.basis import framing_packets


class FrameReportUpdate(TypedDict):
    """What `frame_report` writes."""

    progress: Progress


async def frame_report(state: ResearchState) -> FrameReportUpdate:
    """Emit what the report will say, from the learnings and conclusions; no model is asked."""
    run, place = state.run, Placement(turn_index=state.progress.turn)
    assert run is not None
    emitter(run.id).emit(activity("frame", run.question, place), *framing_packets(state, place))
    return FrameReportUpdate(progress=state.progress.model_copy(update={"turn": place.turn_index + 1}))
