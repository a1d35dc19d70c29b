"""Writes the typed plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..core.evidence.memory.learned import fitting_learnings, own_learnings
from ..core.evidence.memory.observations import open_gaps
from ..core.models.resolve import settings_of
from ..core.records.plan import PlanStep
from ..core.records.research import Plan, Progress, Run, Spent
from ..core.run.context import Context
from ..core.run.conversation import latest_messages, marked
from ..core.run.errors import ModelFailed, NoPlan
from ..core.run.events.activities import activity
from ..core.run.events.call import SilentEvents, stop_packet
from ..core.run.events.log import emitter
from ..core.run.events.packets import EstimateMade, Placement, PlanDelta, PlanStart, SectionEnd
from ..core.run.schedule import plan_text, read_steps
from ..core.run.spending import recorded
from ..core.run.store.pages import Pages, pages_of
from ..core.writing.estimate import estimate
from ..core.writing.facts import facts_of_run
from ..core.writing.fill_in import Filler
from ..core.writing.forms import MakePlan, PlannedStep
from ..core.writing.steps import sources_of, with_numbers
from ..prompts import fenced_knowledge
from ..state import ResearchState


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
        return {"steps": read_steps(state.plan.text, context.limits.max_plan_steps)}
    place, pages = Placement(turn_index=state.progress.turn), pages_of(runtime.store, run.id)
    events = SilentEvents(emitter(run.id), place)
    filler = Filler(context, run, events, place)
    emitter(run.id).emit(activity("plan", run.question, place))
    async with recorded(pages, run.id, events.bill):
        form = await _ask(state, context, pages, filler)
    # What earlier questions have learned can be thought over.
    steps = typed_steps(form.steps, context.limits.max_plan_steps, "" if state.learnings else run.question)
    text = plan_text(steps)
    named = sum(bool(step.title.strip() or step.task.strip()) for step in form.steps)
    written = Plan(text=text, steps=tuple(step.title for step in steps), left_out=max(0, named - len(steps)))
    emitter(run.id).emit(
        PlanStart(placement=place),
        PlanDelta(placement=place, content=text),
        SectionEnd(placement=place),
    )
    run = run.model_copy(update={"active_seconds": run.active_seconds + events.bill.seconds})
    if (cost := await estimate(pages, replace(state, plan=written, steps=steps), context)) is not None:
        run = run.model_copy(update={"estimate": cost})
        emitter(run.id).emit(EstimateMade(placement=place, estimate=cost))
    count = len(state.messages)
    progress = {"turn": place.turn_index + 1, "opening": count, "seen_messages": count}
    update = PlanStepsUpdate(
        plan=written,
        steps=steps,
        run=run,
        progress=state.progress.model_copy(update=progress),
        spending=events.bill.costs,
    )
    if context.review_plan and run.is_resumable:
        update["messages"] = [marked(text, "plan")]
        update["run"] = run.model_copy(update={"status": "waiting"})
        emitter(run.id).emit(stop_packet(update["run"], place.turn_index))
    return update


def typed_steps(planned: Sequence[PlannedStep], most: int, question: str) -> list[PlanStep]:
    """Return the steps of a plan as a model wrote it, `most` at most, without empty ones.

    A step can only depend on steps before it, so that nothing waits in a circle; what it names beside them is left
    out. One that needs earlier steps and names none needs all before it. A `question` stands for the search that a plan
    of thought alone lacks; without one, there is something to think over already.
    """
    steps: list[PlanStep] = []
    ids: dict[int, str] = {}
    for number, step in enumerate(planned, 1):
        title, task = " ".join(step.title.split()), step.task.strip()
        if not (title or task) or len(steps) == most:
            continue
        named = [ids[earlier] for earlier in dict.fromkeys(step.depends_on) if earlier in ids]
        ids[number] = str(len(steps) + 1)
        typed = PlanStep(
            id=ids[number],
            title=title or " ".join(task.split())[:80],
            description=step.description.strip(),
            task=task or title,
            requires_search=step.requires_search,
            depends_on=tuple(named or (fenced_knowledge.id for fenced_knowledge in steps if step.requires_previous)),
        )
        steps.append(typed)
    if question and not any(step.requires_search for step in steps):
        search = PlanStep(id=str(len(steps) + 1), title=question[:80], task=question, requires_search=True)
        steps = [*steps[: most - 1], search.model_copy(update={"id": str(min(len(steps) + 1, most))})]
    return steps


async def _ask(state: ResearchState, context: Context, pages: Pages, filler: Filler) -> MakePlan:
    run, limits, brief = state.run, context.limits, state.brief
    assert run is not None
    own = own_learnings(state)
    earlier = [one for one in state.learnings.values() if one not in own]
    learned = fitting_learnings([own, earlier], brief.summary, limits.memory_tokens)
    try:
        return await filler.ask(
            MakePlan,
            "planner",
            "plan_steps",
            latest_messages(state.messages, limits.context_messages),
            facts=facts_of_run(state, context, "planner"),
            max_steps=limits.max_plan_steps,
            instructions=context.instructions,
            assumptions=run.assumptions,
            documents=run.scope.documents,
            reads_all=run.scope.reads_all,
            has_web=bool(run.scope.engines),
            summary=brief.summary,
            orientation=await pages.text(brief.orientation) if brief.orientation else "",
            knowledge=fenced_knowledge(
                learnings=with_numbers(state, learned),
                sources=sources_of(state, learned),
                gaps=[gap.text for gap in open_gaps(state.memory.values())][: limits.max_elements],
            ),
        )
    except ModelFailed as error:
        if type(error) is not ModelFailed:
            raise
        raise NoPlan(f"{str(error).rstrip('.')}. Resume the run, or set another model.") from None
