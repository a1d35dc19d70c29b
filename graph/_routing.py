"""Every conditional edge of the graphs, as pure functions of the state.

They are `async` though they await nothing: LangGraph calls any other function in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langgraph.types import Send

from ..core.dialogue.conversation import Conversation
from ..core.dialogue.plan_text import plan_of_steps
from ..core.evidence.memory.observations import ResearchMemory
from ..core.records.plan import FINAL_CHECK
from ..state import ResearcherState, ResearchState, StepState


async def route_after_begin(
    state: ResearchState,
) -> Literal[
    "clarify", "ask_user", "look_up", "plan", "orchestrate", "write_report", "edit_report"
]:
    """Clarify a new question first; edit a report; continue an earlier question where its run
    stopped."""
    entry = state.run.entry
    if entry == "edit":
        return "edit_report"
    if entry in ("question", "follow_up"):
        return "clarify"
    if state.run.is_quick:
        return _route_quick(state)
    if entry == "answer" and Conversation(state.messages).offers_table:
        return "ask_user"
    if state.plan is None or entry == "answer":
        return "plan"
    if entry == "plan_reply" and state.plan.review != "approved":
        return "plan"
    return "orchestrate"


def _route_quick(state: ResearchState) -> Literal["look_up", "write_report"]:
    """Search for a quick question, or write its report if the search is already done."""
    if state.own_findings:
        return "write_report"
    return "look_up"


async def route_after_clarify(
    state: ResearchState,
) -> Literal["ask_user", "look_up", "plan", "edit_report", "orchestrate"]:
    """Wait for the user's answer, look up a small question, edit a report (after research, if facts
    are missing), or plan."""
    if state.run.status == "waiting":
        return "ask_user"
    if state.run.entry == "edit":
        if _has_tasks(state):
            return "orchestrate"
        return "edit_report"
    if state.run.is_quick:
        return "look_up"
    return "plan"


async def route_after_ask_user(state: ResearchState) -> Literal["look_up", "plan", "__end__"]:
    """Look up a small question, or plan; end if the user stopped the run."""
    if state.run.status == "ended":
        return "__end__"
    if state.run.is_quick:
        return "look_up"
    return "plan"


async def route_after_plan(state: ResearchState) -> Literal["review_plan", "orchestrate"]:
    """Wait for the user's review of the plan if requested, otherwise research."""
    if Conversation(state.messages[-1:]).last_mark == "plan":
        return "review_plan"
    return "orchestrate"


async def route_after_review_plan(
    state: ResearchState,
) -> Literal["plan", "orchestrate", "__end__"]:
    """Plan again after a rejection, end if the user stopped the run, otherwise research."""
    assert state.plan is not None
    if state.run.status == "ended":
        return "__end__"
    if state.plan.review == "approved":
        return "orchestrate"
    return "plan"


async def dispatch_tasks(
    state: ResearchState,
) -> (
    Sequence[Send]
    | Literal[
        "orchestrate",
        "analyze_findings",
        "cross_check",
        "write_report",
        "grade_report",
        "edit_report",
    ]
):
    """Dispatch a researcher per task, or go on to an analysis, the report, or a further turn.

    Before the report, contradictions that researchers have declared, or the orchestrator sees, are
    settled.
    """
    if state.progress.decision == "analyze":
        return "analyze_findings"
    if state.progress.decision == "report":
        found = ResearchMemory(state.own_observations).contradictions()
        is_declared = any(pair.step != FINAL_CHECK for pair in found)
        if is_declared or state.progress.is_disputed:
            return "cross_check"
        return _route_to_report(state)
    if state.tasks:
        return [Send("researcher", {"task": task}) for task in state.tasks]
    return "orchestrate"


async def route_after_think_or_act(
    state: ResearcherState,
) -> Literal["use_tools", "think_or_act", "write_finding"]:
    """Run the requested tool call, write the finding, or ask the model again."""
    if state.ended:
        return "write_finding"
    if state.request:
        return "use_tools"
    return "think_or_act"


async def route_after_begin_planned(
    state: ResearchState,
) -> Literal[
    "orient",
    "clarify",
    "ask_user",
    "look_up",
    "summarize",
    "plan_steps",
    "digest",
    "write_report",
    "edit_report",
]:
    """Search for a new question first, or only clarify it if it is quick; edit a report.

    An earlier question continues where it stopped.
    """
    entry = state.run.entry
    if entry == "edit":
        return "edit_report"
    if entry in ("question", "follow_up"):
        return "clarify" if state.run.is_quick else "orient"
    if state.run.is_quick:
        return _route_quick(state)
    if entry == "answer" and Conversation(state.messages).offers_table:
        return "ask_user"
    if not state.steps:
        return "summarize"
    if entry == "plan_reply" and not _is_settled(state):
        return "plan_steps"
    return "digest"


async def route_after_review_steps(
    state: ResearchState,
) -> Literal["plan_steps", "schedule", "__end__"]:
    """Plan again after a rejection or an edit, end if the user stopped the run, or research."""
    if state.run.status == "ended":
        return "__end__"
    if _is_settled(state):
        return "schedule"
    return "plan_steps"


def _is_settled(state: ResearchState) -> bool:
    """Whether the steps are those of the plan that the user saw last and did not reject."""
    plan = state.plan
    if plan is None or plan.review == "rejected":
        return False
    return plan.text == plan_of_steps(state.steps, plan.title, plan.requirements).text


async def route_after_cross_check(
    state: ResearchState,
) -> Literal["frame_report", "grade_report", "edit_report"]:
    """Write the report, or change an existing draft."""
    following = _route_to_report(state)
    if following == "write_report":
        return "frame_report"
    return following


def _route_to_report(
    state: ResearchState,
) -> Literal["write_report", "grade_report", "edit_report"]:
    """Write the report; after research for an existing draft, have it edited, or change it as the
    user wants."""
    if state.run.entry == "edit":
        return "edit_report"
    if state.draft:
        return "grade_report"
    return "write_report"


async def route_after_grade_report(state: ResearchState) -> Literal["orchestrate", "verify_report"]:
    """Research open requirements if tasks are waiting, otherwise verify the draft."""
    if state.progress.waiting:
        return "orchestrate"
    return "verify_report"


async def route_after_grade_planned_report(
    state: ResearchState,
) -> Literal["schedule", "verify_report"]:
    """Like `route_after_grade_report`, with steps instead of tasks."""
    if all(step.is_over for step in state.steps):
        return "verify_report"
    return "schedule"


async def route_after_edit_report(state: ResearchState) -> Literal["orchestrate", "verify_report"]:
    """Research facts that an edit needs, or verify the edited report."""
    if _has_tasks(state):
        return "orchestrate"
    return "verify_report"


async def route_after_edit_table(
    state: ResearchState,
) -> Literal["plan_table", "orchestrate", "verify_report"]:
    """Like `route_after_edit_report`; what a table is to have in addition is planned first."""
    if state.run.entry == "follow_up":
        return "plan_table"
    return await route_after_edit_report(state)


def _has_tasks(state: ResearchState) -> bool:
    """Whether tasks or steps wait for research."""
    return bool(state.progress.waiting) or not all(step.is_over for step in state.steps)


async def dispatch_steps(
    state: ResearchState,
) -> Sequence[Send] | Literal["schedule", "cross_check"]:
    """Dispatch a branch for each step.

    If there is none, schedule again or go on to the final check.
    """
    if state.tasks:
        return [Send("step", {"task": task}) for task in state.tasks]
    if all(step.is_over for step in state.steps):
        return "cross_check"
    # A step was skipped.
    return "schedule"


async def dispatch_scouts(state: ResearchState) -> Sequence[Send] | Literal["merge_rows"]:
    """Dispatch a scout for each way to look; without any, the search for rows is over."""
    if state.tasks:
        return [Send("scout", {"task": task}) for task in state.tasks]
    return "merge_rows"


async def dispatch_rows(state: ResearchState) -> Sequence[Send] | Literal["write_table"]:
    """Dispatch a researcher for each row or group of rows; without any, write the table."""
    if state.tasks:
        return [Send("fill_row", {"task": task}) for task in state.tasks]
    return "write_table"


async def route_after_collect_table(
    state: ResearchState,
) -> Literal["find_rows", "collect_rows", "orchestrate"]:
    """Go on with the search for rows, put cells into them, or go on with an edit."""
    if state.run.entry == "edit":
        return "orchestrate"
    return "find_rows" if _is_finding_rows(state) else "collect_rows"


def _is_finding_rows(state: ResearchState) -> bool:
    """Whether rows of the table are still searched for."""
    return state.table is None or state.table.phase == "finding"


async def route_after_collect_rows(state: ResearchState) -> Literal["fill_gaps", "write_table"]:
    """Look for the cells that were not found, once; then write the table."""
    assert state.table is not None
    return "fill_gaps" if state.table.phase == "filling" else "write_table"


async def route_into_step(state: StepState) -> Literal["choose_queries", "analyze"]:
    """Search if the step requires it, otherwise analyze what is known."""
    return "choose_queries" if state.task.step.requires_search else "analyze"


async def route_after_choose_queries(state: StepState) -> Literal["search", "evaluate"]:
    """Search, unless there are no queries or no time is left."""
    return "evaluate" if state.is_over else "search"


async def route_after_search(state: StepState) -> Literal["study", "evaluate"]:
    """Study the results, or end the step if no search can succeed any more."""
    return "evaluate" if state.is_over else "study"


async def route_after_study(state: StepState) -> Literal["choose_queries", "evaluate"]:
    """Search again, unless the step is over."""
    return "evaluate" if state.is_over else "choose_queries"
