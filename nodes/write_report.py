"""Writes the report from the findings and streams it with resolved citations."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from ..core.evidence.citations.citing import by_number, known_citations
from ..core.evidence.citations.draft import clean_draft
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import source_list, without_marks
from ..core.evidence.citations.sanitizing import sanitized
from ..core.evidence.memory.observations import missing_of, research_gaps
from ..core.models.resolve import is_extractive, is_small, profile_of
from ..core.records.report import Draft
from ..core.records.research import Finding, Run
from ..core.run.conversation import attached_to_question
from ..core.run.errors import NoReport
from ..core.run.schedule import NOTHING_TO_THINK_OVER
from ..core.run.transcripts import THOUGHTS_ALONE, mark_withheld
from ..core.writing.basis import deciding_passages
from ..core.writing.basis import withheld_notes as left_out_of_basis
from ..core.writing.report import ReportEvents, draft_message, reader_of
from ..core.writing.turn import NodeRuntime, begin_turn
from ..core.writing.write import TextWriter
from ..state import ResearchState, StateUpdate


async def write_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the writer for the report; a truncated answer is continued, an empty one requested once more."""
    turn = await begin_turn(state, runtime)
    events = ReportEvents(state.sources, turn.emitter, turn.placement, turn.state.run.active_seconds, state.title)
    has_room = not (state.run.is_quick or is_small("writer", turn.context) or is_extractive("writer", turn.context))
    window = profile_of("writer", turn.context).window
    passages = await deciding_passages(state, turn.pages, window) if has_room else ""
    writer = TextWriter(state, turn.context, events, passages)
    async with turn.paid(events):
        cut = await writer.write()
        events.finish()
        if not events.written.strip():
            why = THOUGHTS_ALONE if events.thoughts else ""
            raise NoReport(f"The writer's model wrote no report.{why} The findings are kept: resume the run.")
        known = by_number(state.sources.values())
        written = await writer.cited(known, turn.pages)
        # Inside `paid`: if an answer cannot become a draft, a resumed run must not replay it.
        left_out = mark_withheld(state.findings, writer.refused)
        unshown = left_out_of_basis(state, writer.refused) if state.has_typed_plan else []
        what = "A finding was" if writer.shortened == 1 else f"{writer.shortened} findings were"
        note = f"{what} shortened for the writer, whose model has a small context window (window)."
        shortened = [note] if writer.shortened else []
        update = turn.update(
            stop_reason=state.run.stop_reason or cut,
            not_read=(*state.run.not_read, *attached_to_question(state.messages)),
            notices=(*state.run.notices, *unshown, *shortened, *writer.notices),
        )
        findings = {**state.findings, **left_out}.values()
        draft = await asyncio.to_thread(_draft, state, update["run"], events, written, findings, bool(unshown))
        state = replace(state, run=update["run"], findings={**state.findings, **left_out})
        reader = reader_of(turn.context, turn.pages)
        message = await asyncio.to_thread(draft_message, state, draft, reader, events)
    sources = [state.sources[key] for _, key in sorted(events.citations.cited.items())]
    events.stream("\n\n" + source_list(sources, labels(state.run.language_code), reader))
    return {**update, "draft": draft, "findings": left_out, "messages": [message]}


def _draft(
    state: ResearchState,
    run: Run,
    events: ReportEvents,
    written: str,
    findings: Collection[Finding],
    is_any_unshown: bool,
) -> Draft:
    """Return the draft; `is_any_unshown`: whether the writer was shown only part of the findings."""
    numbered = by_number(state.sources.values())
    # Only the verification may mark sentences.
    cleaned, removed = clean_draft(settle_fences(without_marks(written)), numbered)
    keys = {number: source.key for number, source in numbered.items()}
    text, cited = known_citations(settle_fences(sanitized(cleaned)), keys)
    has_gaps = bool(research_gaps(run, findings) or missing_of(run, findings, state.memory.values()))
    has_gaps |= is_any_unshown or bool(run.stop_reason) or not cited
    has_gaps |= any(step.reason == NOTHING_TO_THINK_OVER for step in state.steps)
    return Draft(
        text=text,
        sources=tuple(cited.values()),
        numbers=tuple(cited),
        streamed=events.written,
        streamed_sources=tuple(key for _, key in sorted(events.citations.cited.items())),
        removed_markers=removed,
        has_gaps=has_gaps,
        findings=tuple(state.findings),
    )
