"""Whole runs over real wires: what the models are asked, in each form of the API."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from kit.openai_server import Received, Reply, use
from kit.wire import (
    END,
    FACTS,
    QUESTION,
    Habit,
    Script,
    Wires,
    all_faults,
    extends,
    hand_out,
    is_right,
    open_pages,
    role_of,
    task_of,
    tool_results,
)

from deep_research.app.embed import thread_config
from deep_research.core.records.research import total
from deep_research.core.settings.context import Price

CONTROL = {
    "clarifier": ["generate_plan"],
    "orchestrator": ["research_agent", "analyze_findings", "generate_report"],
    "writer": ["calculate"],
}
CONTROL["researcher"] = CONTROL["finding"] = [
    "web_search",
    "open_url",
    "calculate",
    "generate_report",
]
CHOICES = {
    "clarifier": "auto",
    "orchestrator": "required",
    "researcher": "required",
    "finding": "none",
    "writer": "auto",
}
CAPS = {"orchestrator": 1024, "researcher": 1024, "finding": 10_000, "writer": 20_000}
ROLES = ("clarifier", "planner", "orchestrator", "researcher", "finding", "writer")
THOUGHT = "The light comes first. "


def thorough(request: Received) -> Reply:
    """A researcher that does everything: it thinks, searches twice in a message, and one opens what
    it found."""
    results, task = tool_results(request), task_of(request)
    if not results and '"reasoning' not in str(request.messages) and "think_tool" in request.tools:
        return use(("think_tool", {"reasoning": f"What is known of the {task}?"}))
    if not results:
        queries = (
            ("web_search", {"queries": [task]}),
            ("web_search", {"queries": [f"{task} history"]}),
        )
        return use(*queries, ids=("c1", "c1"))
    if len(results) == 1 and task == "light":
        return open_pages(*(result["address"] for result in results[0]["results"]))
    return END


def thinking(reply: Reply, _: Received) -> Reply:
    return replace(reply, reasoning=THOUGHT)


@pytest.mark.sweep
@pytest.mark.behaviour("O-13", "O-25", "O-33", "O-56", "O-64", "O-90")
@pytest.mark.parametrize(
    ("settings", "habit"),
    [
        pytest.param({}, None, id="streamed"),
        pytest.param({"reasoning": True}, thinking, id="reasoning"),
        pytest.param(
            {"responses_api": True, "reasoning": True}, thinking, id="responses, reasoning"
        ),
    ],
)
async def test_three_parallel_researchers_find_everything(
    wires: Wires, settings: dict[str, Any], habit: Habit | None
) -> None:
    reasons = "reasoning" in settings
    cap = "max_output_tokens" if "responses_api" in settings else "max_tokens"
    with wires({"researcher": thorough}, habit=habit, **settings) as wire:
        assert is_right(wire, await wire.ask())
        assert all_faults(wire.requests()) == []
        assert set(wire.asked()) == set(ROLES)
        for request in wire.requests():
            check_offer(request, reasons=reasons, cap=cap)
        if reasons:
            # Each call brings one; the clarifier's are not shown, for the plan takes their place.
            assert wire.thoughts() == [THOUGHT] * (
                len(wire.requests()) - len(wire.requests("clarifier"))
            )
        else:
            assert sorted(wire.thoughts()) == sorted(
                f"What is known of the {task}?" for task in FACTS
            )
        for task in FACTS:
            # What a researcher was told is told again in the same bytes, so that a provider's cache
            # can serve it.
            own = [
                request
                for request in wire.requests("researcher", "finding")
                if task_of(request) == task
            ]
            assert len(own) >= 3
            assert all(extends(earlier, later) for earlier, later in pairwise(own))
        assert [
            packet["num_parallel_branches"] for packet in wire.of_type("top_level_branching")
        ] == [3]
        assert wire.web.asked("/light") == 1


def check_offer(request: Received, *, reasons: bool, cap: str) -> None:
    role = role_of(request)
    tools = CONTROL.get(role, [])
    choice, most = CHOICES.get(role), CAPS.get(role)
    if role == "researcher" and tool_results(request):
        # It may write its finding beside the call that ends its research.
        choice, most = "auto", CAPS["finding"]
    may_think = bool(tools) and role not in ("clarifier", "writer")
    thinks = ["think_tool"] if may_think and not reasons else []
    assert request.tools == [*tools, *thinks]
    assert request.tool_choice == choice
    thoughts = 8192 if reasons else 0
    assert request.json.get(cap) == (most + thoughts if most else None)
    assert ("tools" in request.json) is bool(tools)
    effort = request.json.get("reasoning_effort") or request.json.get("reasoning", {}).get("effort")
    assert effort == ("low" if reasons and role in ("researcher", "finding") else None)


TOKENS = {"prompt_tokens": 2000, "completion_tokens": 100, "total_tokens": 2100}
USED = {**TOKENS, "prompt_tokens_details": {"cached_tokens": 600}}
PRICES = {"fake-1": Price(input=1, output=10, cached=0.5)}
USD = (1400 * 1 + 600 * 0.5 + 100 * 10) / 1_000_000
"""What one call costs."""


def counted(reply: Reply, _: Received) -> Reply:
    return replace(reply, usage=USED)


@pytest.mark.fault(18, "R13")
async def test_tokens_and_money_of_every_call_are_counted_and_money_ends_the_research(
    wires: Wires,
) -> None:
    """A model that would go on for ever."""
    script: dict[str, Script] = {"orchestrator": lambda _: hand_out("light")}
    limits = {"max_usd": USD * 15}
    with wires(script, habit=counted, limits=limits, prices=PRICES) as wire:
        state = await wire.ask()
        calls = len(wire.requests()) + len(wire.models.asides)
        searches = len(wire.engine.requests)
        assert wire.asked()["writer"] == 1
        assert "max_usd" in wire.requests("writer")[0].prompt
    spent = total(state.spending)
    assert (spent.calls, spent.input_tokens, spent.cached_tokens) == (
        calls,
        2000 * calls,
        600 * calls,
    )
    assert (spent.output_tokens, spent.searches) == (100 * calls, searches)
    assert spent.usd == pytest.approx(USD * calls)
    assert len(wire.requests()) <= 15
    finished = wire.of_type("call_finished")
    assert sum(packet["usd"] for packet in finished) == pytest.approx(USD * calls)
    assert sum(packet["cached_tokens"] for packet in finished) == 600 * calls
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert "Research ended early: the limit max_usd was reached" in state.messages[-1].text


async def test_only_watched_and_long_answers_are_streamed(wires: Wires) -> None:
    with wires() as wire:
        await wire.ask()
        watched = {
            role_of(request) for request in wire.models.requests if request.json.get("stream")
        }
        assert watched == {*map(role_of, wire.models.requests)} - {"clarifier", "verifier"}
        wire.models.requests.clear()
        await wire.graph.ainvoke(
            {"messages": [("user", QUESTION)]}, thread_config("other"), context=wire.settings
        )
        streamed = {
            role_of(request) for request in wire.models.requests if request.json.get("stream")
        }
        assert streamed == {"finding", "writer"}
