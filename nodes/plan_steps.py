"""Writes the typed plan."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.knowledge import PlanStep
from deep_research.models.settings import settings_of
from deep_research.run.activities import activity, told
from deep_research.run.context import Context
from deep_research.run.conversation import latest, marked
from deep_research.run.errors import ModelFailed, NoPlan
from deep_research.run.knowing import known
from deep_research.run.ledger import booked
from deep_research.run.packet import Placement, emit
from deep_research.run.packets import PlanDelta, PlanStart, SectionEnd
from deep_research.run.pages import Pages, pages_of
from deep_research.run.plans import read_plan
from deep_research.run.schedule import plan_text
from deep_research.run.telling import QuietTeller
from deep_research.state import Plan, Progress, ResearchState, Run, Spent
from deep_research.tools.fill_in import Filler
from deep_research.tools.forms import MakePlan, PlannedStep
from deep_research.tools.run_context import own_learnings, with_numbers


class PlanStepsUpdate(TypedDict, total=False):
    """What `plan_steps` writes."""

    messages: list[AnyMessage]
    plan: Plan
    steps: list[PlanStep]
    run: Run
    progress: Progress
    spending: dict[str, Spent]


async def plan_steps(state: ResearchState, runtime: Runtime[Context]) -> PlanStepsUpdate:
    """Have the plan made, or take it as the user has edited it; it is shown, and where that is wanted, approved."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    if state.plan and state.plan.review == "approved":
        return {"steps": edited_steps(state.plan, state.steps)}
    place, pages = Placement(turn_index=state.progress.turn), pages_of(runtime.store, run.id)
    teller = QuietTeller(runtime.stream_writer, place)
    filler = Filler(context, run, teller, place)
    emit(runtime.stream_writer, activity("plan", run.question, place))
    async with booked(pages, run.id, teller.bill):
        steps = typed_steps((await _ask(state, context, pages, filler)).steps, context.limits.max_plan_steps)
    text = plan_text(steps)
    written = Plan(text=text, steps=tuple(step.title for step in steps))
    emit(
        runtime.stream_writer,
        PlanStart(placement=place),
        PlanDelta(placement=place, content=text),
        SectionEnd(placement=place),
    )
    run = run.model_copy(update={"active_seconds": run.active_seconds + teller.bill.seconds})
    count = len(state.messages)
    progress = {**told(state.progress, place, "plan"), "opening": count, "seen_messages": count}
    update = PlanStepsUpdate(
        plan=written,
        steps=steps,
        run=run,
        progress=state.progress.model_copy(update=progress),
        spending=teller.bill.costs,
    )
    if context.review_plan and run.is_resumable:
        update["messages"] = [marked(text, "plan")]
        update["run"] = run.model_copy(update={"status": "waiting"})
    return update


def typed_steps(planned: Sequence[PlannedStep], most: int) -> list[PlanStep]:
    """The steps of a plan as a model hands it in, at most so many.

    A step can only depend on steps before it, so that nothing waits in a circle; what it names beside them is left
    out. One that needs earlier steps and names none needs all before it.
    """
    steps: list[PlanStep] = []
    for number, step in enumerate(planned[:most], 1):
        named = [earlier for earlier in dict.fromkeys(step.depends_on) if 0 < earlier < number]
        wanted = named or (list(range(1, number)) if step.requires_previous else [])
        typed = PlanStep(
            id=str(number),
            title=" ".join(step.title.split()) or " ".join(step.task.split())[:80],
            description=step.description.strip(),
            task=step.task.strip() or step.title.strip(),
            requires_search=step.requires_search,
            depends_on=tuple(map(str, wanted)),
        )
        steps.append(typed)
    return steps


def edited_steps(plan: Plan, known_steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The steps of a plan that the user has edited: those whose words are known stay as they were, others search."""
    written = {read_plan(plan_text([step]), 1).steps[0]: step for step in known_steps}
    ids: dict[str, str] = {}
    steps: list[PlanStep] = []
    for number, line in enumerate(plan.steps, 1):
        step = written.get(line) or PlanStep(id="", title=line[:80], task=line, requires_search=True)
        depends_on = tuple(ids[earlier] for earlier in step.depends_on if earlier in ids)
        steps.append(step.model_copy(update={"id": str(number), "depends_on": depends_on}))
        ids[step.id] = str(number)
    return steps


async def _ask(state: ResearchState, context: Context, pages: Pages, filler: Filler) -> MakePlan:
    run, limits, brief = state.run, context.limits, state.brief
    assert run is not None
    try:
        return await filler.ask(
            MakePlan,
            "planner",
            "plan_steps",
            latest(state.messages, limits.context_messages),
            max_steps=limits.max_plan_steps,
            instructions=context.instructions,
            assumptions=run.assumptions,
            summary=brief.summary,
            orientation=await pages.text(brief.orientation) if brief.orientation else "",
            knowledge=known(learnings=with_numbers(state, own_learnings(state))),
        )
    except ModelFailed as error:
        if type(error) is not ModelFailed:
            raise
        raise NoPlan(f"{str(error).rstrip('.')}. Resume the run, or set another model.") from None
