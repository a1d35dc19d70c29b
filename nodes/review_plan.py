"""Waits for the user's decision on the plan."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage

from ..core.models.resolve import RoleModels, settings_of
from ..state import ResearchState, StateUpdate
from ._answers import NO_COMMENT, end_run, most_steps, pause_for_answer, request, reviewed
from .turn import NodeRuntime

_ONLY_LISTS = (
    "Is this plan good? Write yes, or the whole plan as a numbered list; change requests need a "
    "language model."
)
_QUESTION = "Is this plan good? Approve it, edit it, or say what should be different."


async def review_plan(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Pause until the plan is approved, edited or rejected, or the user stops the run."""
    assert state.plan is not None
    plan, context = state.plan, settings_of(runtime)
    limits = context.limits
    asked: dict[str, Any] = {"type": "plan", "plan": plan.text, "steps": list(plan.steps)}
    if RoleModels(context).is_extractive("planner"):
        asked["note"] = _ONLY_LISTS
    if state.run.usual_cost:
        asked["estimate"] = state.run.usual_cost.model_dump()
    asked |= request(
        "research_plan", {"plan": plan.text}, _QUESTION, ("approve", "edit", "reject", "respond")
    )
    answer = pause_for_answer(asked, limits.question_characters)
    if answer.decision == "end":
        return await end_run(state, runtime)
    run = state.run.model_copy(update={"status": "running"})
    plan = reviewed(plan, answer, most_steps(run, limits))
    return {"messages": [HumanMessage(answer.text or NO_COMMENT)], "plan": plan, "run": run}
