"""Writes the research plan."""

from __future__ import annotations

from langchain_core.messages import HumanMessage, SystemMessage
from typing_extensions import override

from ..core.dialogue.plan_text import PlanText, with_requirements
from ..core.errors import NoPlan
from ..core.events.blocks import PlanPackets
from ..core.events.packets import Packet, Placement
from ..core.models.resolve import RoleModels
from ..core.writing.write import ContinuedEvents, ask_for_prose
from ..prompts import render_prompt
from ..state import ResearchState, StateUpdate
from ._answers import offer_plan
from .turn import NodeRuntime, begin_turn


async def plan(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the planner's model for the plan, and offer it to the user for review if that is set.

    If the answer is empty, the model is asked once more.
    """
    turn = await begin_turn(state, runtime)
    context = turn.context
    run = turn.state.run
    outline = turn.basis.outline(turn.context)
    limits = context.limits
    # At turn 0, so that in clients a new plan replaces the previous one.
    events = PlanEvents(turn.emitter, Placement(turn_index=0))
    system = render_prompt(
        "plan",
        "system",
        date=run.date,
        language=run.language,
        max_steps=limits.max_plan_steps,
        instructions=context.instructions,
        outline=outline.whole_text if outline else "",
        documents=run.scope.documents,
        reads_all=run.scope.reads_all,
        has_web=bool(run.scope.engines),
    )
    async with turn.paid(events):
        for again in (False, True):
            reminder = render_prompt("plan", "reminder", again=again, assumptions=run.assumptions)
            messages = [SystemMessage(system), *turn.conversation, HumanMessage(reminder)]
            reply = await ask_for_prose(turn.request("planner", messages), context, events)
            if reply.message.text.strip():
                break
        else:
            why = events.why_no_text
            raise NoPlan(
                f"{RoleModels(context).subject('planner')} wrote no plan, even when asked again."
                f"{why} Resume the run, or choose another model (setting models)."
            )
    written = PlanText.read(reply.message.text).plan(limits.max_plan_steps)
    if outline:
        longer = with_requirements(written, outline.requirements)
        events.pass_on(longer.text.removeprefix(written.text))
        written = longer
    if written.remark:
        events.pass_on(f"\n\n({written.remark})")
    events.emit(PlanPackets(events.placement).end())
    return await offer_plan(turn, written)


class PlanEvents(ContinuedEvents):
    """Emits the plan as it is written."""

    @override
    def start(self) -> Packet:
        return PlanPackets(self.placement).start()

    @override
    def show(self, words: str) -> None:
        self.emit(PlanPackets(self.placement).piece(words))
