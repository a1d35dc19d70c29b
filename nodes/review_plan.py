"""Waits for the user's word on the plan."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from deep_research.run.context import Context, context_of
from deep_research.run.plans import Review, read_review
from deep_research.state import Plan, ResearchState, Run


class ReviewPlanUpdate(TypedDict):
    """What `review_plan` writes."""

    messages: list[AnyMessage]
    plan: Plan
    run: Run


async def review_plan(state: ResearchState, runtime: Runtime[Context]) -> ReviewPlanUpdate:
    """Pause until the plan is approved, edited or rejected; a reply that says nothing is asked for again."""
    assert state.plan is not None
    review: Review | None = None
    while review is None:
        reply = interrupt({"type": "plan", "plan": state.plan.text, "steps": list(state.plan.steps)})
        review = read_review(state.plan, reply, context_of(runtime).limits.max_plan_steps)
    assert state.run is not None
    run = state.run.model_copy(update={"status": "running"})
    return {"messages": [HumanMessage(review.text)], "plan": review.plan, "run": run}
