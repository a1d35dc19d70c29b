"""Every conditional edge of the graphs, as pure functions of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langgraph.types import Send

from deep_research.run.branch import ResearcherState
from deep_research.run.conversation import last_mark
from deep_research.state import ResearchState


def route_after_begin(state: ResearchState) -> Literal["clarify", "plan", "orchestrate"]:
    """A new question is looked at first; anything else enters where the run stands."""
    assert state.run is not None
    entry = state.run.entry
    if entry == "question":
        return "clarify"
    if state.plan is None or entry in ("answer", "follow_up"):
        return "plan"
    return "plan" if entry == "plan_reply" and state.plan.review != "approved" else "orchestrate"


def route_after_clarify(state: ResearchState) -> Literal["ask_user", "plan"]:
    """Wait for the user if a question was put to them."""
    assert state.run is not None
    return "ask_user" if state.run.status == "waiting" else "plan"


def route_after_plan(state: ResearchState) -> Literal["review_plan", "orchestrate"]:
    """Wait for the user if the plan was put before them."""
    return "review_plan" if last_mark(state.messages[-1:]) == "plan" else "orchestrate"


def route_after_review_plan(state: ResearchState) -> Literal["plan", "orchestrate"]:
    """A rejected plan is written anew."""
    assert state.plan is not None
    return "orchestrate" if state.plan.review == "approved" else "plan"


def dispatch_tasks(state: ResearchState) -> Sequence[Send] | Literal["orchestrate", "write_report"]:
    """One researcher a task; the report; or another turn of the orchestrator."""
    if state.progress.decision == "report":
        return "write_report"
    if state.tasks:
        return [Send("researcher", {"task": task}) for task in state.tasks]
    return "orchestrate"


def route_after_think_or_act(state: ResearcherState) -> Literal["use_tools", "think_or_act", "write_finding"]:
    """Carry out the requested call, write down what was found, or think on."""
    if state.ended:
        return "write_finding"
    return "use_tools" if state.request else "think_or_act"
