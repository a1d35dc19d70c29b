"""Writes the research plan."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import override

from ..core.models.request import Request
from ..core.run.context import Context
from ..core.run.conversation import latest_messages, marked
from ..core.run.errors import NoPlan
from ..core.run.events.call import stop_packet
from ..core.run.events.packets import EstimateMade, Placement, PlanDelta, PlanStart, SectionEnd
from ..core.run.plan_text import read_plan
from ..core.run.transcripts import THOUGHTS_ALONE
from ..core.writing.estimate import estimate
from ..core.writing.facts import facts_of_run
from ..core.writing.turn import begin_turn
from ..core.writing.write import ContinuedEvents, ask_for_prose
from ..prompts import render
from ..state import ResearchState, StateUpdate


async def plan(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Ask the planner for the plan, once more if it is empty, and parse it."""
    turn = await begin_turn(state, runtime)
    # A new plan replaces the previous one in clients.
    context, events = turn.context, PlanEvents(turn.emitter, Placement(turn_index=0))
    async with turn.paid(events):
        text = await _text(state, context, events)
    written = read_plan(text, context.limits.max_plan_steps)
    if written.remark:
        events.pass_on(f"\n\n({written.remark})")
    events.emit(SectionEnd(placement=events.placement))
    cost = await estimate(turn.pages, replace(state, plan=written), context)
    if cost is not None:
        events.emit(EstimateMade(placement=events.placement, estimate=cost))
    is_reviewed = context.review_plan and state.run.is_resumable
    update = turn.update(estimate=cost, status="waiting" if is_reviewed else state.run.status)
    if is_reviewed:
        update["messages"] = [marked(written.text, "plan")]
        events.emit(stop_packet(update["run"], events.placement.turn_index))
    return {**update, "plan": written}


async def _text(state: ResearchState, context: Context, events: PlanEvents) -> str:
    run, limits = state.run, context.limits
    system = render(
        "plan",
        "system",
        date=run.date,
        language=run.language,
        max_steps=limits.max_plan_steps,
        instructions=context.instructions,
        documents=run.scope.documents,
        reads_all=run.scope.reads_all,
        has_web=bool(run.scope.engines),
    )
    conversation = latest_messages(state.messages, limits.context_messages)
    facts = facts_of_run(state, context)
    for again in (False, True):
        reminder = render("plan", "reminder", again=again, assumptions=run.assumptions)
        messages = [SystemMessage(system), *conversation, HumanMessage(reminder)]
        reply = await ask_for_prose(Request("planner", run.id, messages, facts=facts), context, events)
        if reply.message.text.strip():
            return reply.message.text
    why = THOUGHTS_ALONE if events.thoughts else ""
    raise NoPlan(
        f"The planner's model wrote no plan, even when asked again.{why} Resume the run, or set another model."
    )


class PlanEvents(ContinuedEvents):
    """Emits the plan as it is written."""

    @override
    def start(self) -> PlanStart:
        return PlanStart(placement=self.placement)

    @override
    def show(self, words: str) -> None:
        self.emit(PlanDelta(placement=self.placement, content=words))
