"""Every conditional edge of the graphs, as pure functions of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langgraph.types import Send

from ..core.run.branches import ResearcherState, StepState
from ..core.run.conversation import last_mark
from ..core.run.plan_text import plan_text
from ..state import ResearchState


def route_after_begin(state: ResearchState) -> Literal["clarify", "look_up", "plan", "orchestrate", "write_report"]:
    """Look at a new question first; anything else enters where the run stands."""
    entry = state.run.entry
    if entry in ("question", "follow_up"):
        return "clarify"
    if state.run.is_quick:
        return _route_quick(state)
    if state.plan is None or entry == "answer":
        return "plan"
    return "plan" if entry == "plan_reply" and state.plan.review != "approved" else "orchestrate"


def _route_quick(state: ResearchState) -> Literal["look_up", "write_report"]:
    """Search, unless that was done."""
    has_looked = any(finding.question_id == state.run.id for finding in state.findings.values())
    return "write_report" if has_looked else "look_up"


def route_after_clarify(state: ResearchState) -> Literal["ask_user", "look_up", "plan"]:
    """Wait for the user if a question was put to them; a small question is looked up."""
    if state.run.status == "waiting":
        return "ask_user"
    return "look_up" if state.run.is_quick else "plan"


def route_after_ask_user(state: ResearchState) -> Literal["look_up", "plan", "__end__"]:
    """Look a small question up, and plan any other, unless the user has ended it."""
    if state.run.status == "ended":
        return "__end__"
    return "look_up" if state.run.is_quick else "plan"


def route_after_plan(state: ResearchState) -> Literal["review_plan", "orchestrate"]:
    """Wait for the user if the plan was put before them."""
    return "review_plan" if last_mark(state.messages[-1:]) == "plan" else "orchestrate"


def route_after_review_plan(state: ResearchState) -> Literal["plan", "orchestrate", "__end__"]:
    """Have a rejected plan written anew, unless the user has ended the question."""
    assert state.plan is not None
    if state.run.status == "ended":
        return "__end__"
    return "orchestrate" if state.plan.review == "approved" else "plan"


def dispatch_tasks(
    state: ResearchState,
) -> Sequence[Send] | Literal["orchestrate", "analyze_findings", "write_report", "add_to_report"]:
    """Send one researcher for each task, or go on to an analysis, the report, or another turn of the orchestrator."""
    if state.progress.decision == "analyze":
        return "analyze_findings"
    if state.progress.decision == "report":
        return "add_to_report" if state.draft else "write_report"
    if state.tasks:
        return [Send("researcher", {"task": task}) for task in state.tasks]
    return "orchestrate"


def route_after_think_or_act(state: ResearcherState) -> Literal["use_tools", "think_or_act", "write_finding"]:
    """Carry out the requested call, write down what was found, or think on."""
    if state.ended:
        return "write_finding"
    return "use_tools" if state.request else "think_or_act"


def route_after_begin_planned(
    state: ResearchState,
) -> Literal["orient", "clarify", "look_up", "summarize", "plan_steps", "digest", "write_report"]:
    """Look at a new question first; anything else enters where the run stands."""
    entry = state.run.entry
    if entry in ("question", "follow_up"):
        return "clarify" if state.run.is_quick else "orient"
    if state.run.is_quick:
        return _route_quick(state)
    if not state.steps:
        return "summarize"
    return "plan_steps" if entry == "plan_reply" and not _is_settled(state) else "digest"


def route_after_review_steps(state: ResearchState) -> Literal["plan_steps", "schedule", "__end__"]:
    """Have a plan that was rejected or edited typed anew, unless the user has ended the question."""
    if state.run.status == "ended":
        return "__end__"
    return "schedule" if _is_settled(state) else "plan_steps"


def _is_settled(state: ResearchState) -> bool:
    """Whether the steps are those of the plan that the user has seen last."""
    return state.plan is not None and state.plan.review != "rejected" and state.plan.text == _text_of(state)


def route_after_cross_check(state: ResearchState) -> Literal["frame_report", "add_to_report"]:
    """Write the report, or add to the one that is there."""
    return "add_to_report" if state.draft else "frame_report"


def route_after_grade_report(state: ResearchState) -> Literal["orchestrate", "add_to_report", "verify_report"]:
    """Research what the draft leaves open if that was prepared, add what is known already, or else check it."""
    return "orchestrate" if state.progress.waiting else _add_or_verify(state)


def route_after_grade_planned_report(state: ResearchState) -> Literal["schedule", "add_to_report", "verify_report"]:
    """Do as `route_after_grade_report`, where research is a matter of steps."""
    return _add_or_verify(state) if all(step.is_over for step in state.steps) else "schedule"


def _add_or_verify(state: ResearchState) -> Literal["add_to_report", "verify_report"]:
    return "add_to_report" if state.draft and state.draft.is_lacking else "verify_report"


def _text_of(state: ResearchState) -> str:
    plan = state.plan
    return plan_text(state.steps, plan.title, plan.requirements) if plan else ""


def dispatch_steps(state: ResearchState) -> Sequence[Send] | Literal["schedule", "cross_check"]:
    """Send one branch for each step, look again if a step was skipped, or go on to the final check."""
    if state.tasks:
        return [Send("step", {"task": task}) for task in state.tasks]
    return "cross_check" if all(step.is_over for step in state.steps) else "schedule"


def route_into_step(state: StepState) -> Literal["choose_queries", "analyze"]:
    """Enter a step where it searches, or where it thinks."""
    return "choose_queries" if state.task.step.requires_search else "analyze"


def route_after_choose_queries(state: StepState) -> Literal["search", "evaluate"]:
    """Search, unless there is nothing to ask or no time."""
    return "evaluate" if state.is_over else "search"


def route_after_search(state: StepState) -> Literal["study", "evaluate"]:
    """Read what was found, unless nothing can be searched."""
    return "evaluate" if state.is_over else "study"


def route_after_study(state: StepState) -> Literal["choose_queries", "evaluate"]:
    """Search on, unless the step is over."""
    return "evaluate" if state.is_over else "choose_queries"
