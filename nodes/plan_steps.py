"""Writes the typed plan: steps with their dependencies, and the checklist of the report."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import Field, field_validator

from ..core.dialogue.plan_text import MOST_REQUIREMENTS, PlanText, plan_of_steps
from ..core.errors import ModelFailed
from ..core.events.blocks import PlanPackets
from ..core.evidence.memory.learned import fitting_learnings
from ..core.evidence.memory.observations import ResearchMemory
from ..core.records.plan import PlanStep
from ..core.writing.forms import Form
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._answers import offer_plan, without_plan
from .turn import NodeRuntime, Turn, begin_turn


class PlannedStep(Form):
    """A step of the plan."""

    title: str
    """A few words."""
    description: str = ""
    """What the step is for, in one sentence."""
    task: str
    """One or two sentences: what to find out; understandable without the other steps."""
    requires_search: bool
    """True: it searches. False: it only reasons about what other steps found."""
    requires_previous: bool = False
    """Whether it can only be done once earlier steps are done."""
    depends_on: list[int] = Field(default_factory=list)
    """Numbers of those earlier steps; empty: all earlier steps."""


class MakePlan(Form):
    """Hand in the plan."""

    title: str = ""
    """Title of the report, ten words at most."""
    steps: list[PlannedStep]
    """The steps in their order; the first has the number 1."""
    requirements: list[str] = Field(default_factory=list)
    """The checklist: what the report must say to answer the request, one thing per item."""

    @field_validator("steps")
    @classmethod
    def _say_something(cls, steps: list[PlannedStep]) -> list[PlannedStep]:
        if not any(step.title.strip() or step.task.strip() for step in steps):
            raise ValueError("a plan has at least one step with words")
        return steps


async def plan_steps(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the planner's model for the plan and offer it to the user.

    If the user has approved a plan, take the steps from that.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    max_steps = turn.context.limits.max_plan_steps
    if state.plan and state.plan.review == "approved":
        return {"steps": PlanText.read(state.plan.text).typed_steps(max_steps)}
    turn.announce("plan")
    async with turn.paid():
        form = await _ask(turn)
    question = state.run.question
    if state.learnings:
        # With learnings from earlier questions, a plan may consist of analysis alone.
        question = ""
    steps = typed_steps(form.steps, max_steps, question)
    kinds = ", ".join(f"{step.id} {step.kind}" for step in steps)
    logging.getLogger(__name__).info(
        "The plan of %s has %d steps: %s", state.run.id, len(steps), kinds
    )
    named = 0
    for step in form.steps:
        if step.title.strip() or step.task.strip():
            named += 1
    left_out = max(0, named - len(steps))
    requirements = list(filter(str.strip, form.requirements))[:MOST_REQUIREMENTS]
    outline = turn.basis.outline(turn.context)
    if outline:
        requirements += outline.requirements
    written = plan_of_steps(steps, form.title, requirements, left_out)
    packets = PlanPackets(turn.placement)
    turn.emit(packets.start(), packets.piece(written.text), packets.end())
    update = await offer_plan(turn, written)
    progress = turn.advanced(opening=len(state.messages), seen_messages=len(state.messages))
    return {**update, "steps": steps, "progress": progress}


def typed_steps(planned: Sequence[PlannedStep], most: int, question: str) -> list[PlanStep]:
    """Return the first `most` steps of a plan as the model wrote it, skipping empty ones.

    A step may only depend on earlier steps, which rules out cycles; other dependencies are dropped.
    A step that needs earlier steps but names none depends on all of them. If no step searches, one
    that searches for `question` is added, unless `question` is empty.
    """
    steps: list[PlanStep] = []
    ids: dict[int, str] = {}
    for number, step in enumerate(planned, 1):
        title = " ".join(step.title.split())
        task = step.task.strip()
        if not (title or task) or len(steps) == most:
            continue
        parents = list[str]()
        for parent in dict.fromkeys(step.depends_on):
            if parent in ids:
                parents.append(ids[parent])
        if step.requires_previous and not parents:
            parents = list(ids.values())
        ids[number] = str(len(steps) + 1)
        typed = PlanStep(
            id=ids[number],
            title=title or " ".join(task.split())[:80],
            description=step.description.strip(),
            task=task or title,
            requires_search=step.requires_search,
            depends_on=tuple(parents),
        )
        steps.append(typed)
    if question and not any(step.requires_search for step in steps):
        # It replaces the last step if the plan is full.
        steps = steps[: most - 1]
        search_id = str(len(steps) + 1)
        search = PlanStep(id=search_id, title=question[:80], task=question, requires_search=True)
        steps.append(search)
    return steps


async def _ask(turn: Turn) -> MakePlan:
    """Return the planner's form.

    Raises `NoPlan` if the model does not fill it in, or the error of a failed call.
    """
    state = turn.state
    run = state.run
    brief = state.brief
    context = turn.context
    limits = context.limits
    own = state.own_learnings
    earlier = [learning for learning in state.learnings.values() if learning not in own]
    learned = fitting_learnings([own, earlier], brief.summary, limits.memory_tokens)
    memory = ResearchMemory(state.memory.values())
    gaps = [gap.text for gap in memory.open_gaps()]
    orientation = await turn.orientation()
    outline = turn.basis.outline(turn.context)
    try:
        return await turn.filler.ask(
            MakePlan,
            "planner",
            "plan_steps",
            turn.conversation,
            max_steps=limits.max_plan_steps,
            instructions=context.instructions,
            outline=outline.whole_text if outline else "",
            assumptions=run.assumptions,
            documents=run.scope.documents,
            reads_all=run.scope.reads_all,
            has_web=bool(run.scope.engines),
            summary=brief.summary,
            orientation=orientation,
            knowledge=fenced_knowledge(
                learnings=turn.learnings_for_prompt(learned),
                sources=turn.sources_for_prompt(learned),
                gaps=gaps[: limits.max_elements],
            ),
        )
    except ModelFailed as error:
        raise without_plan(error) from None
