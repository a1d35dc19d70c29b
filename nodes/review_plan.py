"""Waits for the user's word on the plan."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from ..core.models.resolve import settings_of
from ..core.run.context import Context
from ..core.run.conversation import fault_in, read_review
from ..state import ResearchState, StateUpdate


async def review_plan(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Pause until the plan is approved, edited or rejected; a reply that says nothing is asked for again."""
    assert state.plan is not None
    limits = settings_of(runtime).limits
    asked: dict[str, Any] = {"type": "plan", "plan": state.plan.text, "steps": list(state.plan.steps)}
    if state.run.estimate:
        asked["estimate"] = state.run.estimate.model_dump()
    review = read_review(state.plan, interrupt(asked), limits.max_plan_steps)
    # An error would not do: LangGraph keeps the refused reply and would give it again.
    while fault := fault_in(review.text if review else "", limits.question_characters):
        review = read_review(state.plan, interrupt({**asked, "refused": fault}), limits.max_plan_steps)
    assert review is not None
    run = state.run.model_copy(update={"status": "running"})
    return {"messages": [HumanMessage(review.text)], "plan": review.plan, "run": run}
