"""Every conditional edge, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.types import Send

from deep_research.core.records.research import Plan, Progress, Run, Scope, Task
from deep_research.core.run.branches import ResearcherState, ToolRequest
from deep_research.core.run.conversation import marked
from deep_research.graph import routing
from deep_research.state import ResearchState

PLAN = Plan(text="1. a", steps=("a",))


def run(**changes: Any) -> Run:
    fields: dict[str, Any] = {
        "id": "q",
        "question": "Q?",
        "date": "today",
        "language": "English",
        "is_resumable": True,
        "version": "0",
    }
    return Run(**{**fields, **changes})


def task(name: str) -> Task:
    return Task(
        id=name,
        question_id="q",
        text=name,
        cycle=0,
        position=0,
        turn=1,
        date="today",
        language="English",
        scope=Scope(),
        seconds=1,
        tokens=None,
        searches=None,
        fetches=None,
        usd=None,
    )


@pytest.mark.parametrize(
    ("entry", "plan", "next_node"),
    [
        ("question", None, "clarify"),
        ("question", PLAN, "clarify"),
        ("answer", None, "plan"),
        ("answer", PLAN, "plan"),
        ("follow_up", None, "clarify"),
        ("follow_up", PLAN, "clarify"),
        ("continuation", None, "plan"),
        ("continuation", PLAN, "orchestrate"),
        ("plan_reply", None, "plan"),
        ("plan_reply", PLAN, "plan"),
        ("plan_reply", PLAN.model_copy(update={"review": "rejected"}), "plan"),
        ("plan_reply", PLAN.model_copy(update={"review": "approved"}), "orchestrate"),
        ("continuation", PLAN.model_copy(update={"review": "rejected"}), "orchestrate"),
    ],
)
def test_where_a_message_enters(entry: str, plan: Plan | None, next_node: str) -> None:
    assert routing.route_after_begin(ResearchState(run=run(entry=entry), plan=plan)) == next_node


@pytest.mark.parametrize(("status", "next_node"), [("waiting", "ask_user"), ("running", "plan")])
def test_a_question_back_is_waited_for(status: str, next_node: str) -> None:
    assert routing.route_after_clarify(ResearchState(run=run(status=status))) == next_node


def test_a_plan_that_was_shown_is_waited_for() -> None:
    shown: list[AnyMessage] = [HumanMessage("Q?"), marked("1. a", "plan")]
    assert routing.route_after_plan(ResearchState(messages=shown)) == "review_plan"
    assert routing.route_after_plan(ResearchState(messages=[*shown, HumanMessage("ok")])) == "orchestrate"
    assert routing.route_after_plan(ResearchState(messages=[HumanMessage("Q?")])) == "orchestrate"
    assert routing.route_after_plan(ResearchState(messages=[marked("x", "clarification")])) == "orchestrate"


@pytest.mark.parametrize(("review", "next_node"), [("approved", "orchestrate"), ("rejected", "plan"), ("none", "plan")])
def test_a_rejected_plan_is_written_anew(review: Any, next_node: str) -> None:
    plan = PLAN.model_copy(update={"review": review})
    assert routing.route_after_review_plan(ResearchState(plan=plan)) == next_node


def test_each_task_is_sent_alone_to_a_researcher() -> None:
    tasks = [task("a"), task("b")]
    sent = routing.dispatch_tasks(ResearchState(tasks=tasks, progress=Progress(decision="research")))
    assert sent == [Send("researcher", {"task": tasks[0]}), Send("researcher", {"task": tasks[1]})]
    assert routing.dispatch_tasks(ResearchState(progress=Progress(decision="again"))) == "orchestrate"
    assert routing.dispatch_tasks(ResearchState(tasks=tasks, progress=Progress(decision="report"))) == "write_report"


def test_a_researcher_acts_thinks_on_or_writes() -> None:
    request = ToolRequest(id="x", tool="internal_search", arguments={})
    assert routing.route_after_think_or_act(ResearcherState(task=task("a"), request=request)) == "use_tools"
    assert routing.route_after_think_or_act(ResearcherState(task=task("a"))) == "think_or_act"
    assert routing.route_after_think_or_act(ResearcherState(task=task("a"), ended="done")) == "write_finding"
    ended: Any = "partial"
    assert (
        routing.route_after_think_or_act(ResearcherState(task=task("a"), request=request, ended=ended))
        == "write_finding"
    )
