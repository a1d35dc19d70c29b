"""Waits for the user's decision on the plan."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage

from ..core.models.resolve import RoleModels, settings_of
from ..core.tables.design import plan_fault
from ..state import ResearchState, StateUpdate
from ._answers import (
    NO_COMMENT,
    UserDecision,
    end_run,
    most_steps,
    pause_for_answer,
    request,
    reviewed,
)
from .turn import NodeRuntime

_ONLY_LISTS = (
    "Is this plan good? Write yes, or the whole plan as a numbered list; change requests need a "
    "language model."
)
_NO_COMMENTS = (
    "A change in words needs a language model (models): edit the lines of the plan instead, or "
    "approve it."
)
_QUESTION = "Is this plan good? Approve it, edit it, or say what should be different."


async def review_plan(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Pause until the plan is approved, edited or rejected, or the user stops the run."""
    assert state.plan is not None
    plan, context = state.plan, settings_of(runtime)
    limits = context.limits
    asked: dict[str, Any] = {"type": "plan", "plan": plan.text, "steps": list(plan.steps)}
    roles = RoleModels(context)
    if roles.is_extractive("planner"):
        asked["note"] = _ONLY_LISTS
    if state.run.usual_cost:
        asked["estimate"] = state.run.usual_cost.model_dump()
    asked |= request(
        "research_plan", {"plan": plan.text}, _QUESTION, ("approve", "edit", "reject", "respond")
    )

    def fault_of(answer: UserDecision) -> str:
        """Return why a table cannot be made as the user answered; empty if it can."""
        if state.run.strategy != "table" or answer.decision == "end":
            return ""
        changed = reviewed(plan, answer, most_steps(state.run, limits))
        if changed.review == "approved":
            return plan_fault(changed, plan)
        return _NO_COMMENTS if roles.only_quotes_rows else ""

    answer = pause_for_answer(asked, limits.question_characters, fault_of)
    if answer.decision == "end":
        return await end_run(state, runtime)
    run = state.run.model_copy(update={"status": "running"})
    plan = reviewed(plan, answer, most_steps(run, limits))
    return {"messages": [HumanMessage(answer.text or NO_COMMENT)], "plan": plan, "run": run}
