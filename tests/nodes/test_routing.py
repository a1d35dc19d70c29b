"""Where each kind of message enters the graph."""

from __future__ import annotations

from typing import Any

import pytest

from deep_research.core.records.research import Plan, Run
from deep_research.graph import routing
from deep_research.state import ResearchState

PLAN = Plan(text="1. a", steps=("a",))


@pytest.mark.parametrize(
    ("entry", "plan", "next_node"),
    [
        ("question", None, "clarify"),
        ("answer", PLAN, "plan"),
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
def test_where_a_message_enters(entry: Any, plan: Plan | None, next_node: str) -> None:
    run = Run(id="q", question="Q?", date="", language="English", is_resumable=True, version="0", entry=entry)
    assert routing.route_after_begin(ResearchState(run=run, plan=plan)) == next_node
