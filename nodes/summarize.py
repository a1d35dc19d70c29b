"""Sums up the conversation, and meanwhile reads the pages that the user named: they are the first that is learned."""

from __future__ import annotations

from dataclasses import dataclass, field

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.citations.citing import number_findings
from ..core.models.resolve import settings_of
from ..core.records.plan import Learning, PlanStep
from ..core.records.report import Brief
from ..core.records.research import Action, Finding, Progress, Run, Spent
from ..core.records.sources import Source, short_hash
from ..core.run import tool_names
from ..core.run.branches import StepState, StepTask
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context, within_scope
from ..core.run.conversation import latest_messages, question_of
from ..core.run.events.activities import activity
from ..core.run.events.call import SilentEvents, tool_call_packets, tool_result_packet
from ..core.run.events.log import emitter
from ..core.run.events.packets import Placement, SectionEnd, Summary
from ..core.run.spending import recorded
from ..core.run.store.pages import Pages, pages_of, reference_to
from ..core.writing.facts import facts_of_run
from ..core.writing.fill_in import Filler
from ..core.writing.forms import RecordRound, RecordSummary
from ..core.writing.steps import ask_round, asked, finding_of, learned_in
from ..state import ResearchState
from ..tools.addresses import Addresses, addresses_in
from ..tools.tool import Outcome, ToolContext
from ..tools.use import Time, found_in, keep, meter_for_run, use_tool

NAMED_PAGES = "0"
"""Id of the step that stands for the pages that the user named."""


@dataclass
class Read:
    """What the pages have brought; nothing if none was named."""

    findings: list[Finding] = field(default_factory=list)
    learnings: dict[str, Learning] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)


class NamedPages:
    """The pages that one question names."""

    def __init__(
        self, state: ResearchState, context: Context, pages: Pages, filler: Filler, events: SilentEvents
    ) -> None:
        """`filler` has them read, `events` is told what opening them costs; that stands in the first tab beside it."""
        assert state.run is not None
        self._run, self._spending, self._asked = state.run, state.spending, question_of(state.messages)
        self._context, self._pages, self._filler, self._events = context, pages, filler, events
        self._place = events.placement.model_copy(update={"tab_index": 1})
        self._emitter = events.emitter

    async def read(self) -> Read:
        """Open them, and learn what bears on the question; what cannot be read becomes a problem of the finding."""
        addresses = addresses_in(self._asked)[: self._context.limits.max_open]
        if not addresses:
            return Read()
        # An answer to a question back has not passed the entry.
        await Addresses(self._pages, self._run.id).allow(addresses)
        outcome = await self._open(addresses)
        sources = found_in(outcome)
        numbers = {key: number for number, key in enumerate(sources, 1)}
        reference = await keep(outcome, numbers, self._pages, self._run.id)
        state = self._state(addresses, outcome, list(sources), reference)
        form = await ask_round(state, self._context, self._pages, self._filler) if sources else None
        learned = learned_in(form, state, numbers.values()).learnings if form else {}
        state.learnings = learned
        if outcome.problems:
            state.ended, state.reason = "partial", " ".join(outcome.problems).rstrip(".")
        finding = finding_of(state, self._filler.failures, 0.0)
        return Read([finding], learned, sources)

    async def _open(self, addresses: list[str]) -> Outcome:
        meter, outcome = meter_for_run(self._context.limits, self._spending), Outcome()
        time = Time(self._context.limits.tool_seconds, "tool_seconds")
        tool_context = ToolContext(self._pages, self._run.id, meter)
        self._emitter.emit(*tool_call_packets(self._place, tool_names.OPEN_URL, addresses, self._run.scope))
        try:
            outcome = await use_tool(tool_names.OPEN_URL, {"urls": addresses}, self._context, tool_context, time)
        finally:
            self._events.bill.add(meter.spent(tool_names.OPEN_URL))
            brought = tool_result_packet(self._place, tool_names.OPEN_URL, found_in(outcome).values())
            self._emitter.emit(brought, SectionEnd(placement=self._place))
        return outcome

    def _state(self, addresses: list[str], outcome: Outcome, keys: list[str], reference: str) -> StepState:
        """Return the pages as a step that has opened them."""
        run = self._run
        step = PlanStep(
            id=NAMED_PAGES, title="The pages named in the question", task=run.question, requires_search=True
        )
        task = StepTask(
            id=f"{run.id[:8]}-{NAMED_PAGES}",
            question_id=run.id,
            question=run.question,
            cycle=-1,
            position=0,
            text=step.title,
            step=step,
            turn=self._place.turn_index,
            date=run.date,
            language=run.language,
            scope=run.scope,
            seconds=self._context.limits.max_seconds_planned,
            tokens=None,
            searches=None,
            fetches=None,
            usd=None,
        )
        action = Action(
            id=short_hash(task.id),
            tool=tool_names.OPEN_URL,
            inputs=tuple(addresses),
            found=tuple(keys),
            problems=outcome.problems,
            not_read=outcome.not_read,
        )
        state = StepState([task], iteration=1, has_results=True, numbered=keys, actions=[action])
        state.notes = [asked(RecordRound(open_next=addresses), state.call_id), reference_to(state.call_id, reference)]
        return state


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
