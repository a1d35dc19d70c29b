"""Whole runs that a wrong key, model or address stops: one line, nothing more spent, and a way on."""

from __future__ import annotations

import pytest
from openai_server import Received, Reply, fail
from wire import Wires, is_right, plain_run, searched

from deep_research.core.run.errors import KeyRefused

Patch = pytest.MonkeyPatch
CANARY = "sk-live-CANARY-0123456789"


def echoing(request: Received) -> Reply:
    """As OpenAI answers a wrong key: it repeats it."""
    return fail(401, f"Incorrect API key provided: {request.key}. Bearer {request.key}", code="invalid_api_key")


@pytest.mark.fault(24)
@pytest.mark.parametrize("responses_api", [False, True])
async def test_a_wrong_key_stops_the_run_with_one_line_that_names_its_setting(
    wires: Wires, monkeypatch: Patch, responses_api: bool
) -> None:
    with wires({"clarifier": echoing}, responses_api=responses_api) as wire:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        line = await wire.fail(KeyRefused)
        state = await wire.state()
        assert "OPENAI_API_KEY" in line
        assert len(wire.requests()) == 1
        assert CANARY in wire.requests()[0].key
        assert "CANARY" not in line + wire.everything(state)
        assert wire.packets[-1]["message"] == line
        wire.script["clarifier"] = plain_run()["clarifier"]
        assert is_right(wire, await wire.ask(None))


def only_others(request: Received) -> Reply:
    return echoing(request) if request.json["model"] == "other" else searched(request)


@pytest.mark.fault(24)
async def test_a_wrong_model_of_one_role_stops_the_whole_run_and_nothing_is_done_twice(
    wires: Wires, monkeypatch: Patch
) -> None:
    names = {"researcher": "openai:other"}
    models = dict.fromkeys(("clarifier", "planner", "orchestrator", "writer"), "openai:fake-1") | names
    with wires({"researcher": only_others}, models=models) as wire:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        line = await wire.fail(KeyRefused)
        assert "The researcher's model 'other'" in line and "OPENAI_API_KEY" in line
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
