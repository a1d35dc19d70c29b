"""Summarizes the conversation, and records learnings from the pages that the user named."""

from __future__ import annotations

import asyncio

from ..core.concurrency import gather_or_cancel
from ..core.dialogue.conversation import Conversation
from ..core.events.blocks import MessagePackets
from ..core.evidence.citations.citing import number_findings
from ..core.reading.addresses import addresses_in
from ..core.records import tool_names
from ..core.records.plan import PlanStep
from ..core.records.sources import short_hash
from ..core.writing.forms import Filler, Form
from ..state import ResearchState, StateUpdate, StepState
from ..tools.results import known_in
from ..tools.use import keep
from .step_turn import RecordRound, StepWork, finding_of
from .turn import NodeRuntime, Turn, begin_turn

_NAMED_PAGES = "0"
"""Id of the step that represents the pages named by the user."""


class RecordSummary(Form):
    """Hand in the summary of the conversation."""

    summary: str
    """What the user wants to know, with every detail they gave, in a few sentences."""


async def summarize(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Summarize the conversation and read the named pages at the same time."""
    turn = await begin_turn(state, runtime)
    turn.announce("summarize")
    async with turn.paid():
        summarized, read = await gather_or_cancel([_summary(turn), _read_named(turn)])
    turn.emit(MessagePackets(turn.placement).summary(summarized["brief"].summary))
    return {**turn.update(), **summarized, **read}


async def _summary(turn: Turn) -> StateUpdate:
    """Note the summary of the conversation.

    This is the question itself if it is the only message or the model gives no answer.
    """
    state = turn.state
    summary = Conversation(state.messages).question
    if len(turn.conversation) > 1:
        form = await turn.filler.ask_if_possible(
            RecordSummary, "planner", "summarize", turn.conversation
        )
        if form:
            summary = form.summary.strip() or summary
    began = state.run.active_seconds
    return {"brief": state.brief.model_copy(update={"summary": summary, "began": began})}


async def _read_named(turn: Turn) -> StateUpdate:
    """Open the pages named in the question and record learnings.

    The finding says which could not be read.
    """
    state = turn.state
    run = state.run
    addresses = addresses_in(Conversation(state.messages).question)[: turn.context.limits.max_open]
    if not addresses:
        return {"findings": {}, "learnings": {}, "sources": {}}
    # An answer to a clarifying question, which `begin` has not seen, may name pages too.
    await turn.note_user()
    # The reading is recorded as a plan step.
    named = PlanStep(
        id=_NAMED_PAGES,
        title="The pages named in the question",
        task=run.question,
        requires_search=True,
    )
    task = turn.single_task(named, cycle=-1)
    outcome, action = await turn.use(tool_names.OPEN_URL, addresses, short_hash(task.id))
    sources = outcome.sources
    numbers = {key: number for number, key in enumerate(sources, 1)}
    reference = await keep(outcome, numbers, turn.pages, run.id)
    step = StepState([task], iteration=1, has_results=True, numbered=[*sources], actions=[action])
    call = RecordRound(open_next=addresses).as_call(step.call_id)
    step.notes = [call, turn.pages.reference(step.call_id, reference)]
    filler = Filler(turn.context, run, turn.events, turn.placement)
    if sources:
        work = StepWork(step, turn, filler)
        form = await work.ask_round()
        if form:
            shown = known_in(await turn.pages.fill_in(step.notes))
            learned = await asyncio.to_thread(work.learned, form, shown)
            step.learnings = learned.learnings
            step.corrected = learned.corrected
    if outcome.problems:
        step.ended = "partial"
        step.reason = " ".join(outcome.problems).rstrip(".")
    finding = finding_of(step, filler.failures, 0.0)
    findings, cited = number_findings([finding], {**turn.all_sources, **sources})
    return {
        "findings": findings,
        "learnings": step.learnings,
        "sources": {**sources, **cited},
    }
