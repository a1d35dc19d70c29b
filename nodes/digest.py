"""Processes the results of a round: step statuses, follow-up steps, a revised plan."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage
from pydantic import Field

from ..core.dialogue.conversation import Conversation, mark_of
from ..core.evidence.memory.learned import fitting_learnings, is_confident
from ..core.evidence.memory.observations import ResearchMemory
from ..core.records.plan import PlanStep
from ..core.writing.forms import Form
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._steps import (
    ANALYSIS_SHARE,
    replace_steps,
    revise_steps,
    with_follow_up,
    with_missing_facts,
)
from .step_turn import ended_step
from .turn import NodeRuntime, Turn, begin_turn

_SHOWN_FIELDS = {"id", "title", "description", "task", "status", "requires_search"}
"""Fields of a step that the planner sees."""


class NeedlessStep(Form):
    """A step that is no longer needed."""

    step: str
    """Its id."""
    reason: str
    """Why, in one sentence."""


class RewordedStep(Form):
    """A step that should ask for something else."""

    step: str
    """Its id."""
    task: str
    """What to find out now; understandable on its own."""


class AddedStep(Form):
    """A step that the user asked for after the plan was made."""

    title: str
    """A few words."""
    task: str
    """What to find out; understandable on its own."""
    requires_search: bool = True
    """Whether it searches or only thinks."""


class UpdatePlan(Form):
    """Adapt the rest of the plan to the findings; leave all lists empty if it is right as it is."""

    needless: list[NeedlessStep] = Field(default_factory=list)
    """Pending steps whose answer is already known."""
    reworded: list[RewordedStep] = Field(default_factory=list)
    """Pending steps that should ask for something else, given the findings."""
    added: list[AddedStep] = Field(default_factory=list)
    """Steps that the user asked for after the plan was made; they come last."""


async def digest(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Set the steps' statuses, add follow-up steps, and have the plan revised if there is news.

    News are learnings or messages of the user.
    """
    turn = await begin_turn(state, runtime)
    is_edit = turn.state.run.entry == "edit"
    # Messages to research that is over are left to the writer.
    heard = [] if is_edit or turn.sent.is_finishing else turn.hear()
    state = turn.state
    ended = list[str]()
    changed = dict[str, PlanStep]()
    for step in state.steps:
        if step.status != "in_progress":
            continue
        finding = state.findings.get(f"{state.run.id[:8]}-{step.id}")
        if finding:
            ended.append(step.id)
            changed[step.id] = ended_step(step, finding)
        else:
            # The user stopped the run and sent a new message: the step starts again.
            changed[step.id] = step.model_copy(update={"status": "pending"})
    steps = replace_steps(state.steps, changed)
    # Only confident learnings may change the plan.
    has_news = False
    for step_id in ended:
        outcome = state.outcomes.get(step_id)
        if outcome is None:
            continue
        if outcome.follow_up:
            steps = with_follow_up(steps, step_id, outcome.follow_up, turn.context.limits)
        for iteration in outcome.iterations:
            if iteration.learnings and is_confident(iteration.confidence):
                has_news = True
    # An edit has no plan; its model reads the user's messages itself.
    steering = [] if is_edit else _steering(turn)
    seen = {"seen_messages": len(state.messages)}
    has_searches_left = any(step.status == "pending" and step.requires_search for step in steps)
    has_reason = bool(steering) or (has_searches_left and has_news)
    if is_edit or not has_reason or turn.sent.is_finishing:
        steps = _with_missing_facts(steps, ended, turn)
        progress = state.progress.model_copy(update=seen)
        return {"steps": steps, "progress": progress, "transcript": [steering]}
    turn.announce("adapt")
    turn.note_read(heard, "planner", turn.placement)
    async with turn.paid():
        steps = await _adapt(steps, steering, turn)
    steps = _with_missing_facts(steps, ended, turn)
    progress = turn.advanced(**seen)
    update = turn.costs()
    if heard:
        update["messages"] = heard
    return {**update, "steps": steps, "progress": progress, "transcript": [steering]}


def _with_missing_facts(steps: list[PlanStep], ended: Sequence[str], turn: Turn) -> list[PlanStep]:
    """Return the steps with searches for what the analyses among those that have `ended` miss,
    unless no limit leaves room for them or nothing can be searched.
    """
    limits = turn.context.limits
    is_late = turn.plan_seconds_left <= ANALYSIS_SHARE * limits.max_seconds_planned
    if not limits.max_follow_ups or not turn.branch_tools or turn.limit or is_late:
        return steps
    missing = list[str]()
    for step_id in ended:
        outcome = turn.state.outcomes.get(step_id)
        if outcome:
            missing += outcome.missing
    return with_missing_facts(steps, missing, limits)


def _steering(turn: Turn) -> list[AnyMessage]:
    """Return the user's messages since the last revision of the plan, as text.

    Replies to the plan itself are left out.
    """
    state = turn.state
    messages = list[AnyMessage]()
    is_reply = False
    for message in state.messages[state.progress.seen_messages :]:
        if isinstance(message, HumanMessage) and not is_reply:
            messages.append(message)
        is_reply = mark_of(message) == "plan"
    return Conversation(messages).for_models()


async def _adapt(steps: list[PlanStep], steering: list[AnyMessage], turn: Turn) -> list[PlanStep]:
    """Return the steps as revised by the planner; unchanged if it gives no answer."""
    limits = turn.context.limits
    state = turn.state
    memory = ResearchMemory(state.own_observations)
    summary = state.brief.summary
    learnings = fitting_learnings([state.own_learnings], summary, limits.memory_tokens)
    noticed = [insight.text for insight in memory.insights()]
    gaps = [gap.text for gap in memory.open_gaps()]
    form = await turn.filler.ask_if_possible(
        UpdatePlan,
        "planner",
        "digest",
        [HumanMessage(summary), *steering],
        knowledge=fenced_knowledge(
            plan=[step.model_dump(include=_SHOWN_FIELDS) for step in steps],
            learnings=turn.learnings_for_prompt(learnings),
            insights=noticed[: limits.max_elements],
            gaps=gaps[: limits.max_elements],
        ),
        has_steering=bool(steering),
    )
    if form is None:
        return steps
    needless = {step.step: step.reason for step in form.needless}
    reworded = dict[str, str]()
    for change in form.reworded:
        reworded[change.step] = change.task.strip()
    added = list[tuple[str, str, bool]]()
    for new in form.added:
        added.append((new.title.strip(), new.task.strip(), new.requires_search))
    return revise_steps(steps, needless, reworded, added, limits.max_plan_steps)
