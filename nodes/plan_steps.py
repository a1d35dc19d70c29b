"""Writes the typed plan: steps with their dependencies, and the checklist of the report."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from ..core.evidence.memory.learned import fitting_learnings
from ..core.evidence.memory.observations import open_gaps
from ..core.records.plan import PlanStep
from ..core.records.research import Plan
from ..core.run.conversation import latest_messages
from ..core.run.errors import ModelFailed, NoPlan
from ..core.run.events.packets import PlanDelta, PlanStart, SectionEnd
from ..core.run.plan_text import MOST_REQUIREMENTS, PLAN_TITLE_CHARACTERS, plan_text, read_steps
from ..core.writing.answers import offer_plan
from ..core.writing.forms import MakePlan, PlannedStep
from ..core.writing.steps import learnings_for_prompt, sources_for_prompt
from ..core.writing.turn import NodeRuntime, Turn, begin_turn
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate


async def plan_steps(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the planner's model for the plan and offer it to the user, or take the steps from the plan they approved."""
    turn = await begin_turn(state, runtime)
    placement, max_steps = turn.placement, turn.context.limits.max_plan_steps
    if state.plan and state.plan.review == "approved":
        return {"steps": read_steps(state.plan.text, max_steps)}
    turn.announce("plan")
    async with turn.paid():
        form = await _ask(state, turn)
    # With learnings from earlier questions, a plan may consist of analysis alone.
    steps = typed_steps(form.steps, max_steps, "" if state.learnings else state.run.question)
    kinds = ", ".join(f"{step.id} {step.kind}" for step in steps)
    logging.getLogger(__name__).info("The plan of %s has %d steps: %s", state.run.id, len(steps), kinds)
    title = " ".join(form.title.split())[:PLAN_TITLE_CHARACTERS]
    requirements = tuple(words for words in form.requirements if words.strip())[:MOST_REQUIREMENTS]
    text = plan_text(steps, title, requirements)
    named = sum(bool(step.title.strip() or step.task.strip()) for step in form.steps)
    written = Plan(
        text=text,
        title=title,
        steps=tuple(step.title for step in steps),
        requirements=requirements,
        left_out=max(0, named - len(steps)),
    )
    delta = PlanDelta(placement=placement, content=text)
    turn.emit(PlanStart(placement=placement), delta, SectionEnd(placement=placement))
    update = await offer_plan(turn, replace(state, plan=written, steps=steps))
    progress = turn.advanced(opening=len(state.messages), seen_messages=len(state.messages))
    return {**update, "steps": steps, "progress": progress}


def typed_steps(planned: Sequence[PlannedStep], most: int, question: str) -> list[PlanStep]:
    """Return the first `most` steps of a plan as the model wrote it, skipping empty ones.

    A step may only depend on earlier steps, which rules out cycles; other dependencies are dropped. A step that
    needs earlier steps but names none depends on all of them. If no step searches, one that searches for `question` is
    added, unless `question` is empty.
    """
    steps: list[PlanStep] = []
    ids: dict[int, str] = {}
    for number, step in enumerate(planned, 1):
        title, task = " ".join(step.title.split()), step.task.strip()
        if not (title or task) or len(steps) == most:
            continue
        named = [ids[parent] for parent in dict.fromkeys(step.depends_on) if parent in ids]
        ids[number] = str(len(steps) + 1)
        typed = PlanStep(
            id=ids[number],
            title=title or " ".join(task.split())[:80],
            description=step.description.strip(),
            task=task or title,
            requires_search=step.requires_search,
            depends_on=tuple(named or (earlier.id for earlier in steps if step.requires_previous)),
        )
        steps.append(typed)
    if question and not any(step.requires_search for step in steps):
        search = PlanStep(id=str(len(steps) + 1), title=question[:80], task=question, requires_search=True)
        steps = [*steps[: most - 1], search.model_copy(update={"id": str(min(len(steps) + 1, most))})]
    return steps


async def _ask(state: ResearchState, turn: Turn) -> MakePlan:
    """Return the planner's form; raise `NoPlan` if the model does not fill it in, or the error of a failed call."""
    run, context, limits, brief = state.run, turn.context, turn.context.limits, state.brief
    own = state.own_learnings
    earlier = [learning for learning in state.learnings.values() if learning not in own]
    learned = fitting_learnings([own, earlier], brief.summary, limits.memory_tokens)
    try:
        return await turn.filler.ask(
            MakePlan,
            "planner",
            "plan_steps",
            latest_messages(state.messages),
            max_steps=limits.max_plan_steps,
            instructions=context.instructions,
            assumptions=run.assumptions,
            documents=run.scope.documents,
            reads_all=run.scope.reads_all,
            has_web=bool(run.scope.engines),
            summary=brief.summary,
            orientation=await turn.pages.text(brief.orientation) if brief.orientation else "",
            knowledge=fenced_knowledge(
                learnings=learnings_for_prompt(state, learned),
                sources=sources_for_prompt(state, learned),
                gaps=[gap.text for gap in open_gaps(state.memory.values())][: limits.max_elements],
            ),
        )
    except ModelFailed as error:
        if type(error) is not ModelFailed:
            raise
        raise NoPlan(f"{str(error).rstrip('.')}. Resume the run, or set another model.") from None
