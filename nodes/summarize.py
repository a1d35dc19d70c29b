"""Summarizes the conversation, and records learnings from the pages that the user named."""

from __future__ import annotations

from ..core.concurrency import gather_or_cancel
from ..core.dialogue.conversation import Conversation
from ..core.events.packets import Summary
from ..core.evidence.citations.citing import number_findings
from ..core.records import tool_names
from ..core.records.plan import PlanStep
from ..core.records.sources import short_hash
from ..core.store.pages import reference_to
from ..core.writing.fill_in import Filler
from ..core.writing.forms import RecordRound, RecordSummary
from ..state import ResearchState, StateUpdate, StepState
from ..tools.addresses import addresses_in
from ..tools.redaction import note_user
from ..tools.use import keep, sources_found
from .step_turn import ask_round, finding_of, form_as_call, learned_in, single_task
from .turn import NodeRuntime, Turn, begin_turn

_NAMED_PAGES = "0"
"""Id of the step that represents the pages named by the user."""


async def summarize(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Summarize the conversation and read the named pages at the same time."""
    turn = await begin_turn(state, runtime)
    turn.announce("summarize")
    async with turn.paid():
        summarized, read = await gather_or_cancel([_summary(state, turn), _read_named(state, turn)])
    turn.emit(Summary(placement=turn.placement, summary=summarized["brief"].summary))
    return {**turn.update(), **summarized, **read}


async def _summary(state: ResearchState, turn: Turn) -> StateUpdate:
    """Note the summary of the conversation.

    This is the question itself if it is the only message or the model gives no answer.
    """
    conversation = Conversation(state.messages).latest_for_models()
    summary = Conversation(state.messages).question
    if len(conversation) > 1:
        form = await turn.filler.ask_if_possible(
            RecordSummary, "planner", "summarize", conversation
        )
        if form:
            summary = form.summary.strip() or summary
    began = turn.state.run.active_seconds
    return {"brief": state.brief.model_copy(update={"summary": summary, "began": began})}


async def _read_named(state: ResearchState, turn: Turn) -> StateUpdate:
    """Open the pages named in the question and record learnings.

    The finding says which could not be read.
    """
    run = turn.state.run
    addresses = addresses_in(Conversation(state.messages).question)[: turn.context.limits.max_open]
    if not addresses:
        return {"findings": {}, "learnings": {}, "sources": {}}
    # An answer to a clarifying question, which `begin` has not seen, may name pages too.
    await note_user(turn.pages, state.messages, run)
    # The reading is recorded as a plan step.
    named = PlanStep(
        id=_NAMED_PAGES,
        title="The pages named in the question",
        task=run.question,
        requires_search=True,
    )
    task = single_task(turn.state, named, turn.context.limits, cycle=-1)
    outcome, action = await turn.use(tool_names.OPEN_URL, addresses, short_hash(task.id))
    sources = sources_found(outcome)
    numbers = {key: number for number, key in enumerate(sources, 1)}
    reference = await keep(outcome, numbers, turn.pages, run.id)
    step = StepState([task], iteration=1, has_results=True, numbered=[*sources], actions=[action])
    call = form_as_call(RecordRound(open_next=addresses), step.call_id)
    step.notes = [call, reference_to(step.call_id, reference)]
    filler = Filler(turn.context, run, turn.events, turn.placement)
    if sources:
        form = await ask_round(step, turn, filler)
        if form:
            step.learnings = learned_in(form, step, numbers.values()).learnings
    if outcome.problems:
        step.ended = "partial"
        step.reason = " ".join(outcome.problems).rstrip(".")
    finding = finding_of(step, filler.failures, 0.0)
    findings, cited = number_findings([finding], {**state.sources, **sources})
    return {
        "findings": findings,
        "learnings": step.learnings,
        "sources": {**sources, **cited},
    }
