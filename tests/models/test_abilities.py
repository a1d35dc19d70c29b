"""How a model calls tools, and its window, are found out once per server and stored in a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.model_calls import TOOL, Wire, compatible
from kit.models import ScriptedChatModel
from kit.openai_server import OpenAIServer, Received, Reply, fail, openai_server, say

from deep_research.core.errors import WindowTooSmall
from deep_research.core.models._compatible import CompatibleChatModel
from deep_research.core.models._known_abilities import Ability, ModelMemory
from deep_research.core.models._quirks import ModelTraits
from deep_research.core.models.resolve import (
    RoleModels,
    notes,
    profile_of,
    resolve_model,
)
from deep_research.core.settings.context import Context

Patch = pytest.MonkeyPatch

NOTHING_LEARNED: dict[str, Any] = {**Ability()._asdict(), "quirks": []}
TEXT = say('<tool name="save_word">{"word": "amber"}</tool>')


def settings(folder: Path, **given: Any) -> Context:
    return Context(**{"models": "openai:fake-1", "data_dir": folder, **given})


def chat(folder: Path, *, tools: Any = (TOOL,), **given: Any) -> CompatibleChatModel:
    return compatible("researcher", settings(folder, **given)).bind_tools(tools)


def only_text(request: Received) -> Reply:
    """A server without tool calls and schemas, whose model writes tags."""
    if request.json.get("tools"):
        return fail(400, "fake-1 does not support tools")
    return (
        fail(400, "response_format is not supported") if "response_format" in request.json else TEXT
    )


async def test_parallel_calls_test_a_model_only_once(tmp_path: Path, wire: Wire) -> None:
    with openai_server(only_text) as server:
        wire(server)
        found = await asyncio.gather(*(chat(tmp_path).get_ready([]) for _ in range(3)))
        assert [ability.rung for ability in found] == ["tags"] * 3
        assert len(server.requests) == 3, "one for each of the rungs native, schema, tags"
        assert await chat(tmp_path / "elsewhere").get_ready([]) == found[0]
        assert len(server.requests) == 6, "another folder knows nothing"


@pytest.fixture
def server(wire: Wire) -> Iterator[OpenAIServer]:
    with openai_server([]) as server:
        server.paths = {}
        wire(server)
        yield server


@pytest.mark.usefixtures("server")
async def test_no_trial_is_made_if_no_tools_are_offered_or_the_ability_is_known(
    tmp_path: Path,
) -> None:
    async def rung(chat: CompatibleChatModel) -> str:
        return (await chat.get_ready([])).rung

    # The server has no answer to any trial.
    assert await rung(chat(tmp_path, tools=())) == "native"
    assert await rung(chat(tmp_path, tool_calls="tags")) == "tags"
    assert await rung(chat(tmp_path, models="openai:gpt-5-mini")) == "native"
    assert await rung(chat(tmp_path, models=ScriptedChatModel(replies=[]))) == "native"


async def test_an_ability_is_stored_by_model_server_and_tool_calls_setting(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret@local.example:8000/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    inside = Ability("schema", begins_inside=True, reasons=True)
    await chat(tmp_path).memory.save(inside)
    await chat(tmp_path, tool_calls="tags").memory.save(Ability("tags", begins_inside=True))
    assert json.loads((tmp_path / "models.json").read_text("utf-8")) == {
        "fake-1 at local.example:8000": {
            **NOTHING_LEARNED,
            "rung": "schema",
            "begins_inside": True,
            "reasons": True,
        },
        "fake-1 at local.example:8000 by tags": {
            **NOTHING_LEARNED,
            "rung": "tags",
            "begins_inside": True,
        },
    }
    assert await chat(tmp_path).get_ready([]) == inside
    assert await chat(tmp_path, tool_calls="schema").get_ready([]) == Ability("schema")


async def test_abilities_saved_at_the_same_time_are_all_stored(tmp_path: Path) -> None:
    memories = [ModelMemory(tmp_path, f"model {number}") for number in range(20)]
    await asyncio.gather(*(memory.save(Ability("tags")) for memory in memories))
    kept = json.loads((tmp_path / "models.json").read_text("utf-8"))
    assert kept == {memory.at_server: {**NOTHING_LEARNED, "rung": "tags"} for memory in memories}
    assert [path.name for path in tmp_path.iterdir()] == ["models.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[1]",
        '{"m": 1}',
        '{"m": {"rung": "gone"}}',
        '{"m": {}}',
    ],
)
async def test_an_unreadable_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "models.json").write_text(text, "utf-8")
    assert await ModelMemory(tmp_path, "m").load() is None


@pytest.mark.usefixtures("server")
async def test_stored_traits_of_a_server_are_known_before_the_first_call(tmp_path: Path) -> None:
    asked = chat(tmp_path)
    model: Any = resolve_model("researcher", settings(tmp_path))
    kept = Ability(quirks=("single_calls", "turns"), output_tokens=8192)
    await asked.memory.save(kept)
    assert await asked.get_ready([]) == kept
    assert model.learned == ModelTraits(frozenset(kept.quirks), 8192)


LISTED = {"id": "fake-1", "object": "model", "created": 1, "owned_by": "somebody"}
UNKNOWN = ["/v1/models", "/props?model=fake-1", "/api/ps"]
SHOWN = {
    "parameters": "",
    "details": {"family": "qwen3"},
    "model_info": {"qwen3.context_length": 40_960},
}
VLLM = {
    "/v1/models": {
        "object": "list",
        "data": [{**LISTED, "root": "fake-1", "max_model_len": 131_072}],
    }
}
OPENROUTER = {
    "/v1/models": {
        "data": [{"id": "other", "context_length": 7}, {**LISTED, "context_length": 163_840}]
    }
}
LLAMA_CPP = {
    "/v1/models": {
        "object": "list",
        "data": [{**LISTED, "meta": {"n_ctx_train": 32_768}}],
        "models": [],
    },
    "/props": {
        "default_generation_settings": {"params": {"n_predict": -1}, "n_ctx": 16_384},
        "total_slots": 2,
    },
}


def ollama(*loaded: dict[str, Any], parameters: str = "") -> dict[str, Any]:
    """The answers of Ollama, by path, with these models loaded."""
    running = [*loaded]

    def load(asked: dict[str, Any]) -> dict[str, Any]:
        running.append({"name": f"{asked['model']}:latest", "context_length": 4096})
        return {"model": asked["model"], "response": "", "done": True}

    return {
        "/v1/models": {"object": "list", "data": [LISTED]},
        "/api/ps": lambda _: {"models": running},
        "/api/show": lambda asked: (
            {**SHOWN, "parameters": parameters} if asked["model"] == "fake-1" else {}
        ),
        "/api/generate": load,
    }


def window(context: Context) -> int | None:
    profile = profile_of("writer", context)
    return profile.window if profile.is_window_known else None


@pytest.mark.parametrize(
    ("paths", "tokens", "asked"),
    [
        (VLLM, 131_072, ["/v1/models"]),
        (OPENROUTER, 163_840, ["/v1/models"]),
        (LLAMA_CPP, 16_384, ["/v1/models", "/props?model=fake-1"]),
        ({**LLAMA_CPP, "/props": {"default_generation_settings": {"n_ctx": 0}}}, None, UNKNOWN),
        (ollama({"name": "fake-1:latest", "context_length": 65_536}), 65_536, UNKNOWN),
        (
            ollama({"name": "no", "context_length": 9}, parameters="x\nnum_ctx   65536"),
            40_960,
            [*UNKNOWN, "/api/show"],
        ),
        (ollama(), 4_096, [*UNKNOWN, "/api/show", "/api/generate", "/api/ps"]),
        ({}, None, UNKNOWN),
        ({"/v1/models": [1], "/props": "no", "/api/ps": {"models": 1}}, None, None),
        (
            {"/v1/models": {"data": [LISTED]}, "/props": {"error": "?"}, "/api/ps": {"error": "?"}},
            None,
            UNKNOWN,
        ),
    ],
)
async def test_the_window_is_read_from_the_server(
    server: OpenAIServer,
    tmp_path: Path,
    paths: dict[str, Any],
    tokens: int | None,
    asked: list[str] | None,
) -> None:
    server.paths, context = paths, settings(tmp_path)
    await RoleModels(context).load()
    assert window(context) == tokens
    assert asked in (None, server.asked)
    assert server.requests == [], "no answer of a model is paid for it"


async def test_a_set_window_wins_and_a_small_one_names_its_setting(
    server: OpenAIServer, tmp_path: Path
) -> None:
    server.paths, context = ollama(), settings(tmp_path, window=60_000)
    await RoleModels(context).load()
    assert (window(context), server.asked) == (60_000, [])
    context = settings(tmp_path)
    await RoleModels(context).load()
    with pytest.raises(
        WindowTooSmall, match=r"'fake-1' reads 4096 tokens; 50000 are needed.*OLLAMA_CONTEXT_LENGTH"
    ):
        RoleModels(context).check(("planner",))


@pytest.mark.parametrize("tool_calls", ["auto", "tags"])
async def test_a_stored_window_is_used_if_none_is_stated(
    server: OpenAIServer, tmp_path: Path, tool_calls: str
) -> None:
    server.paths, context = LLAMA_CPP, settings(tmp_path, tool_calls=tool_calls)
    await RoleModels(context).load()
    await RoleModels(context).load()
    assert len(server.asked) == 2, "a process asks once"
    asked = chat(tmp_path, tool_calls=tool_calls)
    await asked.memory.save(Ability(rung="native" if tool_calls == "auto" else "tags"))
    assert [
        kept["window"]
        for kept in json.loads((tmp_path / "models.json").read_text("utf-8")).values()
    ] == [16_384]
    (name,) = [
        name for name, tokens in notes.windows.items() if tokens and server.url[7:-3] in name
    ]
    notes.windows[name] = None
    assert window(context) is None
    await asked.get_ready([])
    assert window(context) == 16_384


async def test_openai_is_asked_for_no_window_and_silence_is_no_error(
    monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    for url in ("https://api.openai.com/v1", "https://me.openai.azure.com/openai/v1/"):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        model: Any = resolve_model("writer", settings(tmp_path))
        assert model.is_at_openai
        assert await model.read_window() is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    context = settings(tmp_path)
    await RoleModels(context).load()
    assert window(context) is None
