"""Whole runs whose model's server is busy, down, or breaks off: what is waited for, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from openai_server import Received, Reply, fail, say, send
from wire import (
    FACTS,
    REPORT,
    Script,
    Wires,
    found_by,
    is_right,
    noted,
    plain_run,
    searched,
    task_of,
    written,
)
from wire_checks import all_faults

from deep_research.core.run.errors import RateLimited

pytestmark = pytest.mark.slow

HTML = send("<html>Sign in</html>", content_type="text/html")
AN_HOUR = fail(429, "Slow down.", retry_after=3600)


def first_time(bad: Callable[[Received, Reply], Reply | None], script: Script) -> Script:
    """A role that answers badly the first time that it is asked for something."""
    seen = set[str]()

    def answer(request: Received) -> Reply:
        assert callable(script)
        good = script(request)
        is_first = task_of(request) not in seen
        seen.add(task_of(request))
        return (is_first and bad(request, good)) or good

    return answer


@pytest.mark.fault(2)
@pytest.mark.parametrize("role", ["clarifier", "researcher", "finding", "writer"])
async def test_a_long_wait_is_told_at_once_and_what_was_done_is_not_done_again(wires: Wires, role: str) -> None:
    """One researcher, or the only model of another role, is told to come back in an hour."""
    plain = plain_run()[role]
    assert callable(plain)
    late = {"researcher": "harbour", "finding": "harbour"}.get(role)

    def busy(request: Received) -> Reply:
        return AN_HOUR if late in (None, task_of(request)) else plain(request)

    with wires({role: busy}) as wire:
        assert "retry after 60 min" in await wire.fail(RateLimited)
        assert not wire.of_type("call_delayed")
        stop = wire.packets[-1]
        assert (stop["type"], stop["stop_reason"], stop["is_resumable"]) == ("stop", "failed", True)
        if late:
            assert set(found_by(await wire.state())) == {"light", "keeper"}, "the others' findings are kept"
        asked = wire.asked()
        wire.script[role] = plain
        assert is_right(wire, await wire.ask(None))
        again = wire.asked() - asked
        assert again[role] == {"researcher": 2, "finding": 1}.get(role, 1)
        assert wire.asked() == {
            "clarifier": 1, "planner": 1, "orchestrator": 2, "researcher": 6, "finding": 3, "writer": 1
        } | {role: wire.asked()[role]}  # fmt: skip
        assert asked[role] - {"researcher": 4, "finding": 2}.get(role, 0) == 1
        assert len(wire.engine.requests) == 3


@pytest.mark.fault(3)
async def test_parallel_researchers_share_the_wait_for_a_busy_server(wires: Wires) -> None:
    """For a while, the server takes nothing."""
    refused = list[Received]()

    def busy(request: Received) -> Reply:
        if refused and request.at > refused[0].at + 0.4:
            return searched(request)
        refused.append(request)
        return fail(429, "Slow down.")

    script = plain_run([*FACTS, "tides", "storms"]) | {"researcher": busy}
    with wires(script, limits={"max_parallel_researchers": 5}) as wire:
        state = await wire.ask()
        assert state.report and state.report.text == REPORT
        assert len(refused) <= 5, "each is told once"
        assert len(wire.of_type("call_delayed")) == 1, "and one waits for all of them"


@pytest.mark.fault(4)
async def test_a_server_that_fails_one_researcher_for_good_costs_only_its_finding(wires: Wires) -> None:
    def down(script: Callable[[Received], Reply]) -> Script:
        return lambda request: fail(503) if task_of(request) == "keeper" else script(request)

    script = {"researcher": down(searched), "finding": down(noted)}
    with wires(script, limits={"max_retries": 1}) as wire:
        state = await wire.ask()
        asked = wire.asked()
    assert (asked["researcher"], asked["finding"]) == (4 + 2, 2)
    assert [found_by(state)[task].ended for task in FACTS] == ["done", "failed", "done"]
    assert state.report and state.report.text == f"{FACTS['light']} [1] {FACTS['harbour']} [2]"
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.fault(5, 6, 22, logs="INFO core.models.retries")
@pytest.mark.behaviour("O-83")
async def test_broken_answers_are_asked_for_again_and_nothing_of_them_is_used(wires: Wires) -> None:
    endings: dict[str, Any] = {"light": "reset", "keeper": "cut", "harbour": "broken"}
    bodies = {"light": send({"choices": []}), "keeper": send({"error": {"message": "boom"}}), "harbour": HTML}

    def half(request: Received, good: Reply) -> Reply:
        return replace(good, text="HALF of it. ", ending=endings[task_of(request)], after=5)

    script = {
        "researcher": first_time(half, searched),
        "finding": first_time(lambda request, _: bodies[task_of(request)], noted),
    }
    with wires(script, limits={"retry_seconds": 10}) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert all_faults(wire.requests()) == []
        assert len(wire.of_type("call_delayed")) == 6
        assert wire.asked() == {
            "clarifier": 1, "planner": 1, "orchestrator": 2, "researcher": 9, "finding": 6, "writer": 1
        }  # fmt: skip
    assert "HALF" not in f"{state.report!r} {[f.numbered for f in state.findings.values()]!r}"


PLAN = "1. The light\n2. Its keeper\n3. The harbour"


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83", "O-86")
async def test_prose_that_breaks_off_is_not_begun_again_behind_the_readers_back(wires: Wires) -> None:
    def breaks_off(_: Received, good: Reply) -> Reply:
        return replace(good, ending="cut", after=7)

    # All begin from the start again, though they are asked to go on.
    script = {
        "planner": first_time(lambda _, good: replace(good, ending="cut", after=4), lambda _: say(PLAN)),
        "finding": first_time(lambda r, good: breaks_off(r, good) if task_of(r) == "keeper" else None, noted),
        "writer": first_time(breaks_off, written),
    }
    with wires(script) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert [wire.asked()[role] for role in ("planner", "finding", "writer")] == [2, 4, 2]
        assert "".join(packet["content"] for packet in wire.of_type("deep_research_plan_delta")) == PLAN
        assert "".join(packet["content"] for packet in wire.of_type("message_delta")) == REPORT
        # Researchers write at the same time.
        shown = sum(len(packet["content"]) for packet in wire.of_type("intermediate_report_delta"))
    assert shown == sum(len(finding.text) for finding in state.findings.values())
