"""Tells what the report will say and rest on, before it is written."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..records.research import Progress
from ..run.context import Context
from ..run.events.activities import activity, told
from ..run.events.packets import Placement, emit
from ..state import ResearchState
from ..writing.basis import framing_told


class FrameReportUpdate(TypedDict):
    """What `frame_report` writes."""

    progress: Progress


async def frame_report(state: ResearchState, runtime: Runtime[Context]) -> FrameReportUpdate:
    """Tell it from what was learned and concluded; no model is asked."""
    run, place = state.run, Placement(turn_index=state.progress.turn)
    assert run is not None
    emit(runtime.stream_writer, activity("frame", run.question, place), *framing_told(state, place))
    return FrameReportUpdate(progress=state.progress.model_copy(update=told(state.progress, place, "frame")))
