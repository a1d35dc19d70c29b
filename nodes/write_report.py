"""Writes the report from the findings and streams it with resolved citations."""

from __future__ import annotations

import asyncio

from ..core.dialogue.conversation import Conversation
from ..core.dialogue.transcripts import mark_withheld
from ..core.errors import NoReport
from ..core.models.resolve import RoleModels, profile_of
from ..core.writing.report import ReportEvents, new_draft
from ..core.writing.write import TextWriter
from ..state import ResearchState, StateUpdate
from ._ahead import sections_checked, with_verdicts
from .turn import NodeRuntime, Turn, begin_turn


async def write_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the writer's model for the report, stream it, and store it as the draft."""
    turn = await begin_turn(state, runtime)
    heard = turn.hear()
    turn.note_read(heard, "writer", turn.placement)
    state = turn.state
    run = turn.state.run
    events = ReportEvents(turn.state, turn.emitter, turn.placement)
    writer = TextWriter(
        turn.basis,
        turn.context,
        events,
        turn.request,
        await _passages(turn),
        turn.calculator if _may_calculate(turn) else None,
    )
    async with turn.paid(events), sections_checked(turn, events, writer) as checks:
        cut = await writer.write()
        events.finish()
        if not events.written.strip():
            why = events.why_no_text
            raise NoReport(
                f"{RoleModels(turn.context).subject('writer')} wrote no report.{why} The findings "
                "are kept: resume the run."
            )
        written = await writer.cited(turn.pages)
        if not cut and not turn.is_on_reserve:
            written = await writer.in_outline(written)
        # Before the costs are added up.
        examinations = await checks.examinations()
        # Inside `paid`: if an answer cannot become a draft, a resumed run must not replay it.
        withheld = mark_withheld(state.findings, writer.refused)
        update = turn.update(
            stop_reason=run.stop_reason or cut,
            not_read=(*run.not_read, *Conversation(state.messages).not_read),
            notices=(*run.notices, *_notices(writer)),
        )
        turn.apply(
            run=update["run"],
            findings={**state.findings, **withheld},
            calculations={**state.calculations, **writer.calculations},
        )
        draft = await asyncio.to_thread(new_draft, turn.state, events, written)
        draft = await with_verdicts(draft, examinations, turn)
        turn.apply(draft=draft)
        delivery = turn.delivery
        message = await asyncio.to_thread(delivery.draft_message, draft, events)
    delivery.stream_sources(draft, events)
    return {
        **update,
        "draft": draft,
        "findings": withheld,
        "calculations": writer.calculations,
        "messages": [*heard, message],
    }


def _may_calculate(turn: Turn) -> bool:
    """Whether the writer's model is offered `calculate`: it has to call tools through the API,
    since otherwise the report would have to be written as JSON."""
    if turn.state.run.is_quick or not turn.is_capable("writer"):
        return False
    # The setting `small` may say that a model without such calls is none.
    return not RoleModels(turn.context.model_copy(update={"small": "auto"})).is_small("writer")


async def _passages(turn: Turn) -> str:
    """Return the passages behind the findings; empty for writers that have no use for them."""
    if turn.state.run.is_quick or not turn.is_capable("writer"):
        return ""
    window = profile_of("writer", turn.context).window
    return await turn.basis.deciding_passages(turn.pages, window)


def _notices(writer: TextWriter) -> list[str]:
    """Return notices for the reader on how the report was written."""
    if not writer.shortened:
        return writer.notices
    findings = "A finding was"
    if writer.shortened > 1:
        findings = f"{writer.shortened} findings were"
    note = f"{findings} shortened for the writer, whose model has a small context window (window)."
    return [note, *writer.notices]
