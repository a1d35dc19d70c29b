"""Takes in what a round has brought: where the steps stand, what follows them up, and whether the plan still fits."""

from __future__ import annotations

from itertools import pairwise

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from ..core.evidence.memory.learned import fitting_learnings, is_confident, own_learnings, own_observations
from ..core.evidence.memory.observations import insights, open_gaps
from ..core.records.plan import PlanStep
from ..core.run.context import Context
from ..core.run.conversation import clean, mark_of, text_only
from ..core.run.schedule import revise_steps, set_status, with_follow_up
from ..core.writing.facts import facts_of_run
from ..core.writing.forms import UpdatePlan
from ..core.writing.steps import ended_step, with_numbers
from ..core.writing.turn import Turn, begin_turn
from ..prompts import as_plan, fenced_knowledge
from ..state import ResearchState, StateUpdate
from ..tools.addresses import Addresses, addresses_in


async def digest(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Set the statuses, add follow-up steps, and have the plan adapted where something new was said."""
    turn = await begin_turn(state, runtime)
    ended = _ended(state)
    steps = set_status(state.steps, {**_abandoned(state), **ended})
    for step_id in ended:
        outcome = state.outcomes.get(step_id)
        if outcome and outcome.follow_up:
            steps = with_follow_up(steps, step_id, outcome.follow_up, turn.context.limits)
    steering = _steering(state)
    named = [address for message in steering for address in addresses_in(clean(message.text))]
    await Addresses(turn.pages, state.run.id).allow(named)
    seen = {"seen_messages": len(state.messages)}
    searches_on = any(step.status == "pending" and step.requires_search for step in steps)
    outcomes = [state.outcomes[one] for one in ended if one in state.outcomes]
    # Something was learned that is certain enough to change the plan.
    is_news = any(is_confident(one.confidence) and one.learnings for each in outcomes for one in each.iterations)
    if not steering and not (searches_on and is_news):
        return {"steps": steps, "progress": state.progress.model_copy(update=seen), "transcript": [steering]}
    turn.announce("adapt")
    async with turn.paid():
        steps = await _adapt(state, steps, steering, turn)
    return {**turn.costs(), "steps": steps, "progress": turn.advanced(**seen), "transcript": [steering]}


def _ended(state: ResearchState) -> dict[str, PlanStep]:
    """Return the steps in progress that have a finding now, by id."""
    found = {step.id: state.findings.get(f"{state.run.id[:8]}-{step.id}") for step in state.steps}
    return {
        step.id: ended_step(step, finding)
        for step in state.steps
        if step.status == "in_progress" and (finding := found[step.id])
    }


def _abandoned(state: ResearchState) -> dict[str, PlanStep]:
    """Return the steps in progress without a finding, as after a stop with a new message: they start again."""
    return {
        step.id: step.model_copy(update={"status": "pending"}) for step in state.steps if step.status == "in_progress"
    }


def _steering(state: ResearchState) -> list[AnyMessage]:
    """Return the user's messages since the plan was last revised, without replies to the plan itself."""
    new = state.messages[state.progress.seen_messages :]
    pairs = pairwise([HumanMessage(""), *new])
    return text_only([one for last, one in pairs if isinstance(one, HumanMessage) and mark_of(last) != "plan"])


async def _adapt(state: ResearchState, steps: list[PlanStep], steering: list[AnyMessage], turn: Turn) -> list[PlanStep]:
    """Return the steps as the planner revises them; unchanged if it gives no answer."""
    limits, own = turn.context.limits, own_observations(state)
    knowledge = fenced_knowledge(
        plan=as_plan(steps),
        learnings=with_numbers(
            state, fitting_learnings([own_learnings(state)], state.brief.summary, limits.memory_tokens)
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
        facts=facts_of_run(state, turn.context),
        knowledge=knowledge,
        has_steering=bool(steering),
    )
    if form is None:
        return steps
    needless = {one.step: one.reason for one in form.needless}
    reworded = {one.step: one.task.strip() for one in form.reworded}
    added = [(one.title.strip(), one.task.strip(), one.requires_search) for one in form.added]
    return revise_steps(steps, needless, reworded, added, limits.max_plan_steps)
