"""Sums up the conversation, and meanwhile reads the pages that the user named: they are the first that is learned."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..evidence.citations.numbering import number_findings
from ..models.resolve import settings_of
from ..records.plan import Learning
from ..records.report import Brief
from ..records.research import Finding, Progress, Run, Spent
from ..records.sources import Source
from ..run.concurrency import gather_or_cancel
from ..run.context import Context, within_scope
from ..run.conversation import latest_messages, question_of
from ..run.events.activities import activity
from ..run.events.call import SilentEvents
from ..run.events.log import emitter
from ..run.events.packets import Placement, Summary
from ..run.ledger import recorded
from ..run.store.pages import pages_of
from ..state import ResearchState
from ..writing.facts import facts_of_run
from ..writing.fill_in import Filler
from ..writing.forms import RecordSummary
from ..writing.named_pages import NamedPages, Read


class SummarizeUpdate(TypedDict):
    """What `summarize` writes."""

    run: Run
    progress: Progress
    brief: Brief
    findings: dict[str, Finding]
    learnings: dict[str, Learning]
    sources: dict[str, Source]
    spending: dict[str, Spent]


async def summarize(state: ResearchState, runtime: Runtime[Context]) -> SummarizeUpdate:
    """Have the summary written; a conversation of one message is its own summary."""
    run = state.run
    assert run is not None
    context, pages = within_scope(settings_of(runtime), run.scope), pages_of(runtime.store, run.id)
    place, start = Placement(turn_index=state.progress.turn), context.clock.seconds()
    events = SilentEvents(emitter(run.id), place)
    events.emit(activity("summarize", run.question, place))
    filler, reader = Filler(context, run, events, place), Filler(context, run, events, place)
    named = NamedPages(state, context, pages, reader, events)
    async with recorded(pages, run.id, events.bill):
        summary, read = await _side_by_side(state, context, filler, named)
    events.emit(Summary(placement=place, summary=summary))
    findings, cited = number_findings(read.findings, {**state.sources, **read.sources})
    seconds = run.active_seconds + context.clock.seconds() - start
    return SummarizeUpdate(
        run=run.model_copy(update={"active_seconds": seconds}),
        progress=state.progress.model_copy(update={"turn": place.turn_index + 1}),
        brief=state.brief.model_copy(update={"summary": summary, "began": run.active_seconds}),
        findings=findings,
        learnings=read.learnings,
        sources={**read.sources, **cited},
        spending=events.bill.costs,
    )


async def _side_by_side(state: ResearchState, context: Context, filler: Filler, named: NamedPages) -> tuple[str, Read]:
    summary, read = await gather_or_cancel([_summary(state, context, filler), named.read()])
    assert isinstance(summary, str) and isinstance(read, Read)
    return summary, read


async def _summary(state: ResearchState, context: Context, filler: Filler) -> str:
    """Return the summary; the question itself if there is nothing to sum up or the model gives no answer."""
    said, asked = latest_messages(state.messages, context.limits.context_messages), question_of(state.messages)
    if len(said) == 1:
        return asked
    form = await filler.ask_if_possible(
        RecordSummary, "planner", "summarize", said, facts=facts_of_run(state, context, "planner")
    )
    return (form.summary.strip() if form else "") or asked
