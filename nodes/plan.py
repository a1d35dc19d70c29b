"""Writes the research plan."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.models.ask import Reply, Request, ask_model
from deep_research.prompts import render
from deep_research.run.context import Context, context_of
from deep_research.run.conversation import latest, marked
from deep_research.run.errors import NoPlan
from deep_research.run.packets import Placement, PlanDelta, PlanStart, SectionEnd, emit
from deep_research.run.plans import read_plan
from deep_research.state import Plan, ResearchState, Run, Spent

PLACEMENT = Placement(turn_index=0)


class PlanUpdate(TypedDict, total=False):
    """What `plan` writes."""

    messages: list[AnyMessage]
    plan: Plan
    run: Run
    spending: dict[str, Spent]


async def plan(state: ResearchState, runtime: Runtime[Context]) -> PlanUpdate:
    """Have the plan written and parse it; an empty one is asked for once more."""
    context, run = context_of(runtime), state.run
    assert run is not None
    seconds, spending = 0.0, dict[str, Spent]()
    for again in (False, True):
        reply = await _ask(state, runtime, again)
        seconds, spending = seconds + reply.seconds, {**spending, **reply.spent}
        if reply.message.text.strip():
            break
    else:
        raise NoPlan("The planner's model wrote no plan, even when asked again. Resume the run, or set another model.")
    emit(runtime.stream_writer, SectionEnd(placement=PLACEMENT))
    written = read_plan(reply.message.text, context.limits.max_plan_steps)
    run = run.model_copy(update={"active_seconds": run.active_seconds + seconds})
    update = PlanUpdate(plan=written, run=run, spending=spending)
    if context.review_plan and run.is_resumable:
        update["messages"] = [marked(written.text, "plan")]
        update["run"] = run.model_copy(update={"status": "waiting"})
    return update


async def _ask(state: ResearchState, runtime: Runtime[Context], again: bool) -> Reply:
    context, run = context_of(runtime), state.run
    assert run is not None
    limits = context.limits
    system = render(
        "plan",
        "system",
        date=run.date,
        language=run.language,
        max_steps=limits.max_plan_steps,
        instructions=context.instructions,
    )
    reminder = render("plan", "reminder", again=again, assumptions=run.assumptions)
    conversation = latest(state.messages, limits.context_messages)
    return await ask_model(
        Request("planner", [SystemMessage(system), *conversation, HumanMessage(reminder)]), context, _Teller(runtime)
    )


class _Teller:
    """Sends the plan's words as they come, with its start before the first."""

    def __init__(self, runtime: Runtime[Context]) -> None:
        self.writer, self.has_started = runtime.stream_writer, False

    def __call__(self, words: str) -> None:
        if not self.has_started:
            emit(self.writer, PlanStart(placement=PLACEMENT))
        self.has_started = True
        emit(self.writer, PlanDelta(placement=PLACEMENT, content=words))
