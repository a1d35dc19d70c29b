"""Whole runs with models and servers that know no tool calls: the ladder is found and remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import Received, Reply, fail, say
from kit.wire import Habit, Wires, is_right, role_of, wire_lab

from deep_research.core.errors import ModelFailed, ToolsMissing
from deep_research.core.records.research import total

Patch = pytest.MonkeyPatch
KNOWN = "openai:gpt-4.1-mini"
"""A model whose profile says that it calls tools."""


def as_json(calls: Sequence[tuple[str, Any]]) -> str:
    return json.dumps(
        {"calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}
    )


def as_tags(calls: Sequence[tuple[str, Any]]) -> str:
    return "\n".join(
        f'<tool name="{name}">{json.dumps(arguments)}</tool>' for name, arguments in calls
    )


def server(*refused: str) -> Habit:
    """A server that takes no `tools`, or no `response_format`, and a model that writes what it is
    told to write."""

    def habit(reply: Reply, request: Received) -> Reply:
        asked = [name for name in refused if name in request.json]
        if asked:
            words = (
                "this model does not support tools"
                if asked == ["tools"]
                else f"{asked[0]} is not supported"
            )
            return fail(400, words, param=asked[0])
        if request.tools or not reply.calls:
            return reply
        write = as_tags if "<tool name=" in request.system else as_json
        return replace(reply, calls=(), text=write(reply.calls))

    return habit


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("habit", "trials", "way"),
    [
        (server(), 1, "tools"),
        (server("tools"), 2, "schema"),
        (server("tools", "response_format"), 3, "tags"),
    ],
    ids=["tools", "schema", "tags"],
)
@pytest.mark.fault(21)
async def test_an_unknown_model_is_tried_once_and_remembered(
    tmp_path: Path, monkeypatch: Patch, habit: Habit, trials: int, way: str
) -> None:
    with wire_lab(tmp_path / "first", monkeypatch, habit=habit, tool_calls="auto") as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked()["trial"] == trials
        requests = [*wire.requests(), *wire.models.asides]
        assert total(state.spending).calls == len(requests) - _refused(requests, habit)
        await again_elsewhere(wire, tmp_path)
        assert wire.asked()["trial"] == trials
        later = wire.requests("orchestrator", "researcher")
        assert all(bool(request.tools) is (way == "tools") for request in later)
        assert any("response_format" in request.json for request in later) is (way == "schema")
        for request in later:
            assert ("temperature" in request.json) is (way != "tools"), (
                "reasoning models refuse it beside tools"
            )
            if way != "tools":
                assert not {"tools", "tool_choice", "parallel_tool_calls"} & request.json.keys()
                assert {message["role"] for message in request.messages} <= {
                    "system",
                    "user",
                    "assistant",
                }
                assert not any("tool_calls" in message for message in request.messages)
                assert request.json["temperature"] < 0.8


@pytest.mark.sweep
@pytest.mark.parametrize(
    "served", [server("tools"), server("tools", "response_format")], ids=["schema", "tags"]
)
@pytest.mark.fault(21)
async def test_a_model_that_calls_a_tool_as_long_as_it_reads_of_one_still_writes_its_finding(
    wires: Wires, served: Habit
) -> None:
    def habit(reply: Reply, request: Received) -> Reply:
        if role_of(request) == "finding" and "\nTools:\n" in request.system:
            write = as_tags if "<tool name=" in request.system else as_json
            return replace(reply, text=write([("generate_report", {"missing": []})]))
        return served(reply, request)

    with wires(habit=habit, tool_calls="auto") as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert {finding.ended for finding in state.findings.values()} == {"done"}


def _refused(requests: Sequence[Received], habit: Habit) -> int:
    return sum(habit(say(""), request).status == 400 for request in requests)


async def again_elsewhere(wire: Any, folder: Path) -> None:
    """One more run, as a new process would make it: with nothing but what is kept in the data
    folder."""
    kept = (folder / "first" / "models.json").read_text("utf-8")
    (folder / "second").mkdir()
    (folder / "second" / "models.json").write_text(kept, "utf-8")
    wire.settings["data_dir"] = folder / "second"
    assert (await wire.ask("And who kept it?")).report


def strict(reply: Reply, request: Received) -> Reply:
    """Takes no word of the user after a result, one call a message, and short answers only."""
    roles = [message["role"] for message in request.messages]
    if ("tool", "user") in pairwise(roles):
        return fail(400, "Unexpected role 'user' after role 'tool'")
    if any(len(message.get("tool_calls") or ()) > 1 for message in request.messages):
        return fail(400, "This model only supports single tool-calls at once!")
    if request.json.get("max_tokens", 0) > 8192:
        return fail(400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]")
    return reply


async def test_a_refusal_of_a_model_server_is_learned_once_and_remembered(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with wire_lab(tmp_path / "first", monkeypatch, habit=strict) as wire:
        assert is_right(wire, await wire.ask())
        refusals = _refused(wire.models.requests, strict)
        # Three habits, and three researchers that may meet one at the same time.
        assert 1 <= refusals <= 9
        [kept] = json.loads((tmp_path / "first" / "models.json").read_text("utf-8")).values()
        assert {*kept["quirks"]} <= {"turns", "single_calls"} and kept["output_tokens"] in (
            8192,
            None,
        )
        await again_elsewhere(wire, tmp_path)
        assert _refused(wire.models.requests, strict) == refusals


@pytest.mark.fault(21, logs="WARNING core.models._compatible")
async def test_a_servers_refusal_of_tools_wins_over_the_profile_of_the_model(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    settings: dict[str, Any] = {"models": KNOWN, "tool_calls": "auto"}
    with wire_lab(
        tmp_path / "first", monkeypatch, habit=server("tools", "response_format"), **settings
    ) as wire:
        assert is_right(wire, await wire.ask())
        refused = [request for request in wire.requests() if request.tools]
        assert len(refused) <= 2, "one call of the run, and one that tries it"
        before = len(wire.requests())
        await again_elsewhere(wire, tmp_path)
        assert not any(request.tools for request in wire.requests()[before:])
        assert wire.asked()["trial"] == 3


@pytest.mark.sweep
@pytest.mark.fault(21)
@pytest.mark.parametrize(
    ("way", "by_schema"), [("schema", {"clarifier", "orchestrator", "researcher"}), ("tags", set())]
)
async def test_a_tool_calling_mode_set_by_the_user_is_kept_without_a_trial_and_the_error_names_the_setting(
    wires: Wires, way: str, by_schema: set[str]
) -> None:
    with wires(habit=server("tools")) as wire:
        assert "set tool_calls to schema or tags" in await wire.fail(ModelFailed)
        assert len(wire.requests()) == 1
        wire.settings["tool_calls"] = way
        assert is_right(wire, await wire.ask(None))
        assert "trial" not in wire.asked()
        later = wire.requests()[1:]
        assert not any(
            {"tools", "tool_choice", "parallel_tool_calls"} & request.json.keys()
            for request in later
        )
        assert {
            role_of(request) for request in later if "response_format" in request.json
        } == by_schema


@pytest.mark.slow
@pytest.mark.fault(21)
async def test_a_model_that_cannot_call_tools_gets_small_tasks_from_its_trial_on(
    wires: Wires,
) -> None:
    def prose(reply: Reply, _: Received) -> Reply:
        return replace(reply, calls=(), text="I would rather talk about the weather.")

    with wires(habit=prose, tool_calls="auto") as wire:
        wire.settings["small"] = "off"
        line = await wire.fail(ToolsMissing)
        assert "'fake-1'" in line and "models" in line and "set small to auto" in line
        assert set(wire.asked()) == {"trial"}
        assert wire.engine.requests == []
        wire.settings["small"] = "auto"
        assert (await wire.ask(None)).report
        assert wire.asked()["trial"] == 3, "it is not tried again"
        assert wire.engine.requests
