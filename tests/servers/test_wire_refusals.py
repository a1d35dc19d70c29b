"""Whole runs whose models fall silent, refuse, or are sent more than they read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from openai_server import Received, Reply, fail, say, use
from search_api import Answer, found
from wire import (
    END,
    FACTS,
    REPORT,
    Script,
    Wires,
    found_by,
    hand_out,
    is_right,
    noted,
    plain_run,
    search_for,
    searched,
    task_of,
    tool_results,
)
from wire_checks import all_faults

from deep_research.core.run.errors import ContentRefused
from deep_research.core.run.transcripts import WITHHELD

REFUSAL = Reply(refusal="I cannot help with sk-CANARY.")
POISON = "POISON"
BLOCKED = fail(400, "Filtered due to the content management policy", code="content_filter")


@pytest.mark.fault(8, logs="WARNING core.run.concurrency")
async def test_a_researcher_that_says_nothing_brings_what_it_read_and_the_others_go_on(wires: Wires) -> None:
    script: dict[str, Script] = {
        "researcher": lambda request: say("") if task_of(request) == "keeper" else searched(request),
        "finding": lambda request: noted(request) if task_of(request) == "light" else say(""),
    }
    with wires(script, limits={"max_iterations": 2}) as wire:
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
    findings = found_by(state)
    assert {task: finding.ended for task, finding in findings.items()} == {
        "light": "done",
        "keeper": "failed",
        "harbour": "partial",
    }
    assert findings["harbour"].text == f"{FACTS['harbour']} [1]"
    assert state.run and state.run.status == "completed_with_gaps"
    assert (
        "Not researched to the end: keeper: its 2 rounds of tool use were over (max_iterations)."
        in state.messages[-1].text
    )


@pytest.mark.fault(9, 10, logs="WARNING core.models.ask")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (REFUSAL, say("", finish="content_filter")),
        (fail(400, "sk-CANARY was filtered", code="content_filter"), replace(REFUSAL, streams=False)),
    ],
)
async def test_a_model_that_refuses_a_task_leaves_a_gap_with_a_reason(wires: Wires, one: Reply, other: Reply) -> None:
    refusals = {"keeper": one, "harbour": other}
    script: dict[str, Script] = {
        "researcher": lambda request: refusals.get(task_of(request)) or searched(request),
        "finding": lambda request: refusals.get(task_of(request)) or noted(request),
    }
    with wires(script) as wire:
        state = await wire.ask()
        assert "CANARY" not in wire.everything(state)
        assert wire.asked()["researcher"] == 4
        assert wire.requests("writer")[0].prompt.count("declined to answer") == 2
    findings = found_by(state)
    assert [findings[task].ended for task in FACTS] == ["done", "failed", "failed"]
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert state.run and state.run.status == "completed_with_gaps"
    for task in refusals:
        assert "declined to answer" in findings[task].reason
        assert f"Not researched to the end: {task}: The researcher's model 'fake-1'" in state.messages[-1].text


@pytest.mark.fault(10)
async def test_a_result_that_a_filter_stops_at_is_left_out_from_then_on(wires: Wires) -> None:
    """The provider refuses whatever quotes one of the pages; the researcher finds another way."""

    def detour(request: Received) -> Reply:
        if task_of(request) == "keeper" and WITHHELD not in request.prompt:
            twice = ("web_search", {"queries": ["poison"]}), ("web_search", {"queries": ["poison again"]})
            return use(*twice)
        return searched(request)

    script = {"researcher": poisoned(detour), "finding": poisoned(noted)}
    with wires(script) as wire:
        wire.engine.on("poison", Answer([found(wire.web.url("/poison"), "Keeper", POISON)]))
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert sum(POISON in request.prompt for request in wire.requests()) == 1
    assert state.report and state.report.text == REPORT
    assert state.run and state.run.status == "completed_with_gaps"
    assert "Left out: keeper: a result; the provider of the model refuses" in state.messages[-1].text


def poisoned(script: Script) -> Script:
    """A role whose provider refuses every prompt with the poison in it."""
    assert callable(script)
    return lambda request: BLOCKED if POISON in request.prompt else script(request)


def poisoned_finding(request: Received) -> Reply:
    return say(f"Found: {POISON}. [1]") if task_of(request) == "keeper" else noted(request)


def again_and_again(request: Received) -> Reply:
    """An orchestrator that hands out one task a round."""
    rounds = request.prompt.count("Found:") + request.prompt.count(WITHHELD)
    return hand_out(list(FACTS)[rounds]) if rounds < len(FACTS) else END


@pytest.mark.fault(10)
async def test_a_finding_that_the_orchestrator_may_not_read_is_left_out_of_all_later_calls(wires: Wires) -> None:
    script = {
        "orchestrator": poisoned(again_and_again),
        "finding": poisoned_finding,
        "writer": poisoned(plain_run()["writer"]),
    }
    with wires(script) as wire:
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert sum(POISON in request.prompt for request in wire.requests()) == 1
        assert wire.asked()["writer"] == 1
    assert state.report and state.report.text == f"{FACTS['light']} [1] {FACTS['harbour']} [3]"
    assert state.run and state.run.status == "completed_with_gaps"
    assert "Found, but left out: keeper: the provider of the model refuses" in state.messages[-1].text


@pytest.mark.fault(10)
@pytest.mark.parametrize("tasks", [["keeper"], ["light", "keeper"], ["light", "keeper", "harbour"]])
async def test_a_finding_that_the_writer_may_not_read_is_found_and_left_out(wires: Wires, tasks: list[str]) -> None:
    """Also where words of ours come after it, and where others of the same round are longer."""
    script = {
        **plain_run(tasks),
        "orchestrator": lambda r: END if "Found:" in r.prompt else hand_out(*tasks),
        "finding": poisoned_finding,
        "writer": poisoned(plain_run()["writer"]),
    }
    with wires(script) as wire:
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert wire.asked()["writer"] <= 1 + len(tasks)
        last = wire.requests("writer")[-1]
    assert POISON not in last.prompt
    assert WITHHELD in last.prompt
    assert found_by(state)["keeper"].is_withheld
    assert "Found, but left out: keeper" in state.messages[-1].text
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.fault(10)
async def test_what_is_refused_whatever_is_left_out_is_an_error_and_leaves_nothing_out(wires: Wires) -> None:
    with wires({"writer": lambda _: BLOCKED}) as wire:
        await wire.fail(ContentRefused)
        assert wire.asked()["writer"] == 5
        wire.script["writer"] = plain_run()["writer"]
        assert is_right(wire, await wire.ask(None))


WORDINGS = [
    fail(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"),
    fail(400, "the request exceeds the available context size (4096 tokens), try increasing it"),
    fail(500, "Requested tokens (5000) exceed context window of 4096"),
]
"""OpenAI and vLLM, llama.cpp, its Python server."""


@pytest.mark.fault(20)
async def test_a_prompt_that_does_not_fit_shrinks_and_the_run_goes_on(wires: Wires) -> None:
    """Two searches bring more than the server reads."""

    def small(script: Script) -> Script:
        assert callable(script)
        refusals = dict(zip(FACTS, WORDINGS, strict=True))
        return lambda request: refusals[task_of(request)] if _size(request) > 14_000 else script(request)

    def twice(request: Received) -> Reply:
        done = len(tool_results(request))
        return END if done == 2 else search_for(f"{task_of(request)} {done}")

    script = {role: small(each) for role, each in plain_run().items()} | {"researcher": small(twice)}
    with wires(script) as wire:
        for name, fact in FACTS.items():
            for number in range(2):
                pages = [found(wire.web.url(f"/{name}/{number}/{n}"), name, "Wind. " * 300) for n in range(4)]
                best = [] if number else [found(wire.web.url(f"/{name}"), name, fact)]
                wire.engine.on(f"{name} {number}", Answer([*best, *pages]))
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        # Each researcher's last decision and its finding, once each.
        assert sum(_size(request) > 14_000 for request in wire.requests()) == 6
        assert not wire.of_type("call_delayed")
        assert is_right(wire, state)


def _size(request: Received) -> int:
    return len(json.dumps(request.messages))
