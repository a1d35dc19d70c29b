"""Whole runs whose models fall silent, refuse, ask to wait or break off, or whose key, model or
address is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kit.openai_server import Received, Reply, fail, say, send
from kit.wire import (
    END,
    FACTS,
    Script,
    Wires,
    all_faults,
    found_by,
    hand_out,
    is_right,
    noted,
    plain_run,
    searched,
    task_of,
)
from test_wire_habits import first

from deep_research.core.dialogue.transcripts import withheld_result
from deep_research.core.errors import ContentRefused, KeyRefused

POISON = "POISON"
BLOCKED = fail(400, "Filtered due to the content management policy", code="content_filter")


@pytest.mark.fault(8, logs="WARNING nodes.turn")
@pytest.mark.fault(9, 10, logs="WARNING core.models.ask")
async def test_researchers_that_fall_silent_or_refuse_leave_gaps_with_reasons_and_the_others_go_on(
    wires: Wires,
) -> None:
    refusals = {
        "tower": Reply(refusal="I cannot help with sk-CANARY."),
        "pier": fail(400, "sk-CANARY was filtered", code="content_filter"),
    }
    decisions = {"keeper": say(""), **refusals}
    findings_said = {"harbour": say(""), **refusals}
    script: dict[str, Script] = {
        **plain_run([*FACTS, *refusals]),
        "researcher": lambda request: decisions.get(task_of(request)) or searched(request),
        "finding": lambda request: findings_said.get(task_of(request)) or noted(request),
    }
    with wires(script, limits={"max_iterations": 2}) as wire:
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert "CANARY" not in wire.everything(state)
        asked = [task_of(request) for request in wire.requests("researcher")]
        assert [asked.count(task) for task in refusals] == [1, 2], (
            "no model that refuses is asked again; a filter may decide otherwise the next time"
        )
        assert wire.requests("writer")[0].prompt.count("declined to answer") == 2
    findings = found_by(state)
    assert [findings[task].ended for task in FACTS] == ["done", "failed", "partial"]
    assert findings["harbour"].text == f"{FACTS['harbour']} [1]", (
        "what it has read stands in for its words"
    )
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert state.run and state.run.status == "completed_with_gaps"
    left = state.messages[-1].text
    assert (
        "Not researched to the end: keeper: its 2 rounds of tool use were used up (max_iterations)."
        in left
    )
    for task in refusals:
        assert findings[task].ended == "failed" and "declined to answer" in findings[task].reason
        assert f"Not researched to the end: {task}: The model 'fake-1'" in left


def poisoned(script: Script) -> Script:
    """A role whose provider refuses every prompt with the poison in it."""
    assert callable(script)
    return lambda request: BLOCKED if POISON in request.prompt else script(request)


def poisoned_finding(request: Received) -> Reply:
    return say(f"Found: {POISON}. [1]") if task_of(request) == "keeper" else noted(request)


def again_and_again(request: Received) -> Reply:
    """An orchestrator that hands out one task a round."""
    rounds = request.prompt.count("Found:") + request.prompt.count(withheld_result("").text)
    return hand_out(list(FACTS)[rounds]) if rounds < len(FACTS) else END


@pytest.mark.sweep
@pytest.mark.fault(10)
@pytest.mark.parametrize("orchestrator", [None, again_and_again], ids=["writer", "orchestrator"])
async def test_a_refused_finding_is_identified_and_left_out_of_later_calls(
    wires: Wires, orchestrator: Script | None
) -> None:
    """The provider of the writer, or that of the orchestrator, refuses whatever quotes one of the
    findings."""
    plain = plain_run()
    script = {
        "orchestrator": poisoned(orchestrator) if orchestrator else plain["orchestrator"],
        "finding": poisoned_finding,
        "writer": poisoned(plain["writer"]),
    }
    with wires(script) as wire:
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert wire.asked()["writer"] <= (1 if orchestrator else 1 + len(FACTS))
        refused = wire.requests("orchestrator" if orchestrator else "writer")
        assert not orchestrator or sum(POISON in request.prompt for request in wire.requests()) == 1
    assert POISON not in refused[-1].prompt
    assert withheld_result("").text in refused[-1].prompt
    assert found_by(state)["keeper"].is_withheld
    assert (
        "Found, but left out: keeper: the provider of the model refuses" in state.messages[-1].text
    )
    assert state.run.status == "completed_with_gaps"
    assert state.report and state.report.text == f"{FACTS['light']} [1] {FACTS['harbour']} [3]"


@pytest.mark.fault(10)
async def test_a_prompt_refused_without_any_finding_is_an_error_and_withholds_nothing(
    wires: Wires,
) -> None:
    with wires({"writer": lambda _: BLOCKED}) as wire:
        await wire.fail(ContentRefused)
        assert wire.asked()["writer"] == 5
        wire.script["writer"] = plain_run()["writer"]
        assert is_right(wire, await wire.ask(None))


Patch = pytest.MonkeyPatch
CANARY = "sk-live-CANARY-0123456789"


def echoing(request: Received) -> Reply:
    """As OpenAI answers a wrong key: it repeats it."""
    return fail(
        401,
        f"Incorrect API key provided: {request.key}. Bearer {request.key}",
        code="invalid_api_key",
    )


def only_others(request: Received) -> Reply:
    return echoing(request) if request.json["model"] == "other" else searched(request)


@pytest.mark.slow
@pytest.mark.fault(24)
async def test_a_wrong_key_for_one_role_stops_the_run_with_one_line_and_nothing_is_repeated(
    wires: Wires, monkeypatch: Patch
) -> None:
    models = dict.fromkeys(("clarifier", "planner", "orchestrator", "writer"), "openai:fake-1")
    models["researcher"] = "openai:other"
    with wires({"researcher": only_others}, models=models) as wire:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        line = await wire.fail(KeyRefused)
        assert "The model 'other' (role researcher)" in line and "OPENAI_API_KEY" in line
        assert wire.packets[-1]["message"] == line
        assert CANARY in wire.requests("researcher")[0].key
        assert "CANARY" not in line + wire.everything(await wire.state())
        assert wire.asked() == {"clarifier": 1, "planner": 1, "orchestrator": 1, "researcher": 3}
        assert wire.engine.requests == []
        # Not even once more in words of its own.
        assert wire.types().count("error") == 0
        wire.script["researcher"] = searched
        assert is_right(wire, await wire.ask(None))
        assert wire.asked() == {
            "clarifier": 1, "planner": 1, "orchestrator": 2, "researcher": 9, "finding": 3, "writer": 1
        }  # fmt: skip


HTML = send("<html>Sign in</html>", content_type="text/html")


@pytest.mark.slow
@pytest.mark.fault(5, 6, 22, logs="INFO core.models._retries")
@pytest.mark.behaviour("O-83")
async def test_broken_answers_are_requested_again_and_never_used(wires: Wires) -> None:
    endings: dict[str, Any] = {"light": "reset", "keeper": "cut", "harbour": "broken"}
    bodies = {
        "light": send({"choices": []}),
        "keeper": send({"error": {"message": "boom"}}),
        "harbour": HTML,
    }

    def half(good: Reply, request: Received) -> Reply:
        return replace(good, text="HALF of it. ", ending=endings[task_of(request)], after=5)

    script = {
        "researcher": first(searched, half),
        "finding": first(noted, lambda _, request: bodies[task_of(request)]),
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
