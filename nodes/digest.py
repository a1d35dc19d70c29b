"""Processes the results of a round: updates step statuses, adds follow-up steps and revises the plan."""

from __future__ import annotations

from itertools import pairwise

from langchain_core.messages import AnyMessage, HumanMessage

from ..core.evidence.memory.learned import fitting_learnings, is_confident
from ..core.evidence.memory.observations import insights, open_gaps
from ..core.records.plan import PlanStep
from ..core.run.conversation import mark_of, text_only
from ..core.run.schedule import replace_steps, revise_steps, with_follow_up
from ..core.writing.forms import UpdatePlan
from ..core.writing.steps import ended_step, learnings_for_prompt
from ..core.writing.turn import NodeRuntime, Turn, begin_turn
from ..prompts import fenced_knowledge
from ..state import ResearchState, StateUpdate

_SHOWN_FIELDS = {"id", "title", "description", "task", "status", "requires_search"}
"""Fields of a step that the planner sees."""


async def digest(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Set the steps' statuses, add follow-up steps, and have the plan revised after new learnings or user messages."""
    turn = await begin_turn(state, runtime)
    running = [step for step in state.steps if step.status == "in_progress"]
    found = {step.id: state.findings.get(f"{state.run.id[:8]}-{step.id}") for step in running}
    ended = {step.id: ended_step(step, finding) for step in running if (finding := found[step.id])}
    # Steps without a finding (the user stopped the run and sent a new message) start again.
    abandoned = {step.id: step.model_copy(update={"status": "pending"}) for step in running}
    steps = replace_steps(state.steps, {**abandoned, **ended})
    for step_id in ended:
        outcome = state.outcomes.get(step_id)
        if outcome and outcome.follow_up:
            steps = with_follow_up(steps, step_id, outcome.follow_up, turn.context.limits)
    # The user's messages since the last revision of the plan, except replies to the plan itself.
    new = pairwise([HumanMessage(""), *state.messages[state.progress.seen_messages :]])
    steering = text_only(
        [after for before, after in new if isinstance(after, HumanMessage) and mark_of(before) != "plan"]
    )
    seen = {"seen_messages": len(state.messages)}
    has_searches_left = any(step.status == "pending" and step.requires_search for step in steps)
    iterations = [each for step_id in ended if step_id in state.outcomes for each in state.outcomes[step_id].iterations]
    # Only confident learnings may change the plan.
    is_news = any(is_confident(iteration.confidence) and iteration.learnings for iteration in iterations)
    if not steering and not (has_searches_left and is_news):
        return {"steps": steps, "progress": state.progress.model_copy(update=seen), "transcript": [steering]}
    turn.announce("adapt")
    async with turn.paid():
        steps = await _adapt(state, steps, steering, turn)
    return {**turn.costs(), "steps": steps, "progress": turn.advanced(**seen), "transcript": [steering]}


async def _adapt(state: ResearchState, steps: list[PlanStep], steering: list[AnyMessage], turn: Turn) -> list[PlanStep]:
    """Return the steps as revised by the planner; unchanged if it gives no answer."""
    limits, own = turn.context.limits, state.own_observations
    knowledge = fenced_knowledge(
        plan=[step.model_dump(include=_SHOWN_FIELDS) for step in steps],
        learnings=learnings_for_prompt(
            state, fitting_learnings([state.own_learnings], state.brief.summary, limits.memory_tokens)
        ),
        insights=[insight.text for insight in insights(own)][: limits.max_elements],
        gaps=[gap.text for gap in open_gaps(own)][: limits.max_elements],
    )
    said = [HumanMessage(state.brief.summary), *steering]
    form = await turn.filler.ask_if_possible(
        UpdatePlan,
        "planner",
        "digest",
        said,
        knowledge=knowledge,
        has_steering=bool(steering),
    )
    if form is None:
        return steps
    needless = {step.step: step.reason for step in form.needless}
    reworded = {step.step: step.task.strip() for step in form.reworded}
    added = [(step.title.strip(), step.task.strip(), step.requires_search) for step in form.added]
    return revise_steps(steps, needless, reworded, added, limits.max_plan_steps)
