"""Whole runs that a wrong key, model or address stops: one line, nothing more spent, and a way on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from openai_server import Received, Reply, fail
from search_api import closed_port
from wire import FACTS, QUESTION, Script, WireLab, found_by, is_right, plain_run, searched, task_of, wire_lab

from deep_research.app.embed import thread_config
from deep_research.core.run.context import Context
from deep_research.core.run.errors import DeepResearchError, KeyRefused, ModelFailed, ModelMissing

Patch = pytest.MonkeyPatch
CANARY = "sk-live-CANARY-0123456789"


def echoing(request: Received) -> Reply:
    """As OpenAI answers a wrong key: it repeats it."""
    return fail(401, f"Incorrect API key provided: {request.key}. Bearer {request.key}", code="invalid_api_key")


@pytest.mark.fault(24)
@pytest.mark.parametrize("responses_api", [False, True])
async def test_a_wrong_key_stops_the_run_with_one_line_that_names_its_setting(
    tmp_path: Path, monkeypatch: Patch, responses_api: bool
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"clarifier": echoing}, responses_api=responses_api) as wire:
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


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    ("reply", "kind", "names"),
    [
        (fail(404, f"The model `{CANARY}` does not exist", code="model_not_found"), ModelMissing, "setting models"),
        (fail(403, "No access"), KeyRefused, "OPENAI_API_KEY"),
        (fail(429, "You exceeded your quota", code="insufficient_quota"), KeyRefused, "credit"),
    ],
)
async def test_a_mistake_in_the_settings_is_not_tried_again(
    tmp_path: Path, monkeypatch: Patch, reply: Reply, kind: type[DeepResearchError], names: str
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"clarifier": lambda _: reply}) as wire:
        line = await wire.fail(kind)
        assert names in line and "CANARY" not in line + wire.everything(await wire.state())
        assert len(wire.requests()) == 1


@pytest.mark.fault(24)
async def test_a_server_that_is_not_there_is_named(tmp_path: Path, monkeypatch: Patch) -> None:
    with wire_lab(tmp_path, monkeypatch, limits={"max_retries": 0}) as wire:
        nowhere = closed_port()
        monkeypatch.setenv("OPENAI_BASE_URL", f"{nowhere}/v1")
        line = await wire.fail(ModelFailed)
        assert "OPENAI_BASE_URL" in line and nowhere.removeprefix("http://") in line
        monkeypatch.setenv("OPENAI_BASE_URL", wire.models.url)
        assert is_right(wire, await wire.ask(None))


def only_others(request: Received) -> Reply:
    return echoing(request) if request.json["model"] == "other" else searched(request)


@pytest.mark.fault(24)
async def test_a_wrong_model_of_one_role_stops_the_whole_run_and_nothing_is_done_twice(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    names = {"researcher": "openai:other"}
    models = dict.fromkeys(("clarifier", "planner", "orchestrator", "writer"), "openai:fake-1") | names
    with wire_lab(tmp_path, monkeypatch, {"researcher": only_others}, models=models) as wire:
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


@pytest.mark.fault(24)
@pytest.mark.parametrize("late", [0, 1, 2], ids=["first decision", "second decision", "finding"])
async def test_a_key_that_is_withdrawn_in_research_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: Patch, late: int
) -> None:
    """One researcher is refused at one of its calls; the others are through or get through."""

    def withdrawn(script: Script) -> Script:
        def answer(request: Received) -> Reply:
            assert callable(script)
            is_refused = task_of(request) == "keeper" and calls_of(wire, "keeper") == late + 1
            return echoing(request) if is_refused else script(request)

        return answer

    plain = plain_run()
    roles = ("researcher", "finding")
    with wire_lab(tmp_path, monkeypatch, {role: withdrawn(plain[role]) for role in roles}) as wire:
        await wire.fail(KeyRefused)
        assert set(found_by(await wire.state())) == {"light", "harbour"}
        assert wire.asked()["orchestrator"] == 1, "the run does not go on without the third"
        assert is_right(wire, await wire.ask(None))
        # Each of three calls once, and the refused one twice.
        assert [calls_of(wire, task) for task in FACTS] == [3, 4, 3]
        assert len(wire.engine.requests) == 3


def calls_of(wire: WireLab, task: str) -> int:
    return sum(task_of(request) == task for request in wire.requests("researcher", "finding"))


async def test_callers_of_the_plain_graph_get_the_same_error(tmp_path: Path, monkeypatch: Patch) -> None:
    with wire_lab(tmp_path, monkeypatch, {"finding": echoing}) as wire:
        question = {"messages": [HumanMessage(QUESTION)]}
        context = Context(**wire.settings)
        with pytest.raises(KeyRefused):
            await wire.graph.ainvoke(question, thread_config("wire"), context=context)
        with pytest.raises(KeyRefused):
            await asyncio.to_thread(wire.graph.invoke, None, thread_config("wire"), context=context)
        wire.script["finding"] = plain_run()["finding"]
        answered = await asyncio.to_thread(wire.graph.invoke, None, thread_config("wire"), context=context)
        assert answered["report"].text
        assert wire.asked()["finding"] == 9
