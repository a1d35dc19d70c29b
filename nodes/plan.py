"""Writes the research plan."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict, override

from ..core.models.ask import Reply, ask_model
from ..core.models.request import Request
from ..core.models.resolve import settings_of
from ..core.records.research import Plan, Progress, Run, Spent
from ..core.run.context import Context
from ..core.run.conversation import latest_messages, marked, read_plan
from ..core.run.errors import NoPlan
from ..core.run.events.call import CallEvents, ProseEvents, stop_packet
from ..core.run.events.log import emitter
from ..core.run.events.packets import EstimateMade, Placement, PlanDelta, PlanStart, SectionEnd
from ..core.run.spending import recorded
from ..core.run.store.pages import pages_of
from ..core.writing.estimate import estimate
from ..core.writing.facts import facts_of_run
from ..prompts import render
from ..state import ResearchState


class PlanUpdate(TypedDict, total=False):
    """What `plan` writes."""

    messages: list[AnyMessage]
    plan: Plan
    run: Run
    progress: Progress
    spending: dict[str, Spent]


async def plan(state: ResearchState, runtime: Runtime[Context]) -> PlanUpdate:
    """Have the plan written and parse it; an empty one is asked for once more."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    events = PlanEvents(emitter(run.id), Placement(turn_index=0))
    pages = pages_of(runtime.store, run.id)
    async with recorded(pages, run.id, events.bill):
        text = await _text(state, context, events)
    written = read_plan(text, context.limits.max_plan_steps)
    if written.remark:
        events.pass_on(f"\n\n({written.remark})")
    events.emit(SectionEnd(placement=events.placement))
    run = run.model_copy(update={"active_seconds": run.active_seconds + events.bill.seconds})
    if (cost := await estimate(pages, replace(state, plan=written), context)) is not None:
        run = run.model_copy(update={"estimate": cost})
        events.emit(EstimateMade(placement=events.placement, estimate=cost))
    progress = state.progress.model_copy(update={"turn": events.placement.turn_index + 1})
    update = PlanUpdate(plan=written, run=run, progress=progress, spending=events.bill.costs)
    if context.review_plan and run.is_resumable:
        update["messages"] = [marked(written.text, "plan")]
        update["run"] = run.model_copy(update={"status": "waiting"})
        events.emit(stop_packet(update["run"], events.placement.turn_index))
    return update


async def _text(state: ResearchState, context: Context, events: CallEvents) -> str:
    for again in (False, True):
        reply = await _ask(state, context, events, again)
        if reply.message.text.strip():
            return reply.message.text
    raise NoPlan("The planner's model wrote no plan, even when asked again. Resume the run, or set another model.")


async def _ask(state: ResearchState, context: Context, events: CallEvents, again: bool) -> Reply:
    run, limits = state.run, context.limits
    assert run is not None
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
    reminder = render("plan", "reminder", again=again, assumptions=run.assumptions)
    conversation = latest_messages(state.messages, limits.context_messages)
    messages = [SystemMessage(system), *conversation, HumanMessage(reminder)]
    facts = facts_of_run(state, context, "planner")
    return await ask_model(Request("planner", run.id, messages, facts=facts), context, events)


class PlanEvents(ProseEvents):
    """Shows the plan."""

    @override
    def start(self) -> PlanStart:
        return PlanStart(placement=self.placement)

    @override
    def pass_on(self, words: str) -> None:
        self.emit(PlanDelta(placement=self.placement, content=words))
