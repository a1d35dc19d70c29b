"""Writes the report from the findings, streaming it with its citations resolved."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.citations.citing import by_number, numbered_draft
from ..core.evidence.citations.draft import clean_draft
from ..core.evidence.citations.markers import settle_fences, unwrapped
from ..core.evidence.citations.rendering import without_marks
from ..core.evidence.citations.sanitizing import sanitized
from ..core.evidence.memory.observations import gaps_of, missing_of
from ..core.evidence.text.continuation import words_in
from ..core.models.resolve import settings_of
from ..core.records.report import Draft
from ..core.records.research import Finding, Progress, Run, Spent
from ..core.run.context import Context
from ..core.run.errors import NoReport
from ..core.run.events.log import emitter
from ..core.run.schedule import NOTHING_TO_THINK_OVER
from ..core.run.spending import recorded, unsettled_costs
from ..core.run.store.pages import pages_of
from ..core.run.transcripts import mark_withheld
from ..core.writing.basis import withheld_notes as left_out_of_basis
from ..core.writing.report import ReportEvents
from ..core.writing.write import TextWriter
from ..state import ResearchState


class WriteReportUpdate(TypedDict):
    """What `write_report` writes."""

    run: Run
    draft: Draft
    findings: dict[str, Finding]
    progress: Progress
    spending: dict[str, Spent]


async def write_report(state: ResearchState, runtime: Runtime[Context]) -> WriteReportUpdate:
    """Have the report written; a call that is cut off is continued, an empty one is made once more."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    pages = pages_of(runtime.store, run.id)
    lost = await unsettled_costs(pages, run.id)
    run = lost.settled(run)
    words = await asyncio.to_thread(words_in, _texts(state))
    events = ReportEvents(state.sources, emitter(run.id), state.progress.turn, run.active_seconds, words)
    writer = TextWriter(state, context, events)
    async with recorded(pages, run.id, events.bill):
        cut = await writer.write()
        events.finish()
        if not events.written.strip():
            raise NoReport("The writer's model wrote no report. What was found is kept: resume the run.")
        # Within the booking: answers that no draft can be made of are not to be read again.
        refused = writer.refused
        left_out = mark_withheld(state.findings, refused)
        unshown = left_out_of_basis(state, refused) if state.steps else []
        run = run.model_copy(
            update={
                "active_seconds": run.active_seconds + events.bill.seconds,
                "stop_reason": run.stop_reason or cut,
                "notices": (*run.notices, *unshown, *_shortened(writer.shortened)),
            }
        )
        findings = {**state.findings, **left_out}.values()
        draft = await asyncio.to_thread(_draft, state, run, events, findings, is_any_unshown=bool(unshown))
    return WriteReportUpdate(
        run=run,
        draft=draft,
        findings=left_out,
        spending={**lost.new(state.spending), **events.bill.costs},
        progress=state.progress.model_copy(update={"turn": events.placement.turn_index}),
    )


def _shortened(count: int) -> list[str]:
    what = "A finding was" if count == 1 else f"{count} findings were"
    return [f"{what} shortened for the writer, whose model reads too little at once (window)."] if count else []


def _texts(state: ResearchState) -> Iterator[str]:
    """Yield the texts that say what the report is about."""
    yield from (finding.text for finding in state.findings.values())
    yield from (learning.text for learning in state.learnings.values())
    yield from (source.title for source in state.sources.values())
    yield from (message.text for message in state.messages)


def _draft(
    state: ResearchState, run: Run, events: ReportEvents, findings: Collection[Finding], *, is_any_unshown: bool
) -> Draft:
    """Return the draft; `is_any_unshown`: whether part of its basis could not be shown to the writer."""
    numbered = by_number(state.sources.values())
    # Only a check may mark a sentence.
    cleaned, removed = clean_draft(settle_fences(without_marks(unwrapped(events.raw.strip()))), numbered)
    keys = {number: source.key for number, source in numbered.items()}
    text, sources = numbered_draft(settle_fences(sanitized(cleaned)), keys)
    has_gaps = bool(gaps_of(run, findings) or missing_of(run, findings, state.memory.values()))
    has_gaps |= is_any_unshown or bool(run.stop_reason) or not sources
    has_gaps |= any(step.reason == NOTHING_TO_THINK_OVER for step in state.steps)
    return Draft(
        text=text,
        sources=sources,
        streamed=events.written,
        streamed_sources=events.citations.cited,
        removed_markers=removed,
        has_gaps=has_gaps,
    )
