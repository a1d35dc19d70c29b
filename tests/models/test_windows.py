"""A self-hosted server is asked for the window of its model, in the way of its kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import OpenAIServer, openai_server, use

from deep_research.core.models.abilities import ability_of
from deep_research.core.models.caller import Caller
from deep_research.core.models.resolve import (
    check_models,
    load_models,
    profile_of,
    resolve_model,
    windows_at_servers,
)
from deep_research.core.models.retries import retry_budget_of
from deep_research.core.run.context import Context
from deep_research.core.run.errors import WindowTooSmall
from deep_research.core.run.events.call import CallEvents

Paths = Mapping[str, Any]

LISTED = {"id": "fake-1", "object": "model", "created": 1, "owned_by": "somebody"}
UNKNOWN = ["/v1/models", "/props?model=fake-1", "/api/ps"]
SHOWN = {"parameters": "", "details": {"family": "qwen3"}, "model_info": {"qwen3.context_length": 40_960}}
VLLM = {"/v1/models": {"object": "list", "data": [{**LISTED, "root": "fake-1", "max_model_len": 131_072}]}}
OPENROUTER = {"/v1/models": {"data": [{"id": "other", "context_length": 7}, {**LISTED, "context_length": 163_840}]}}
LLAMA_CPP = {
    "/v1/models": {"object": "list", "data": [{**LISTED, "meta": {"n_ctx_train": 32_768}}], "models": []},
    "/props": {"default_generation_settings": {"params": {"n_predict": -1}, "n_ctx": 16_384}, "total_slots": 2},
}


def ollama(*loaded: dict[str, Any], parameters: str = "") -> Paths:
    """Ollama with these models in memory."""
    running = [*loaded]

    def load(asked: dict[str, Any]) -> dict[str, Any]:
        running.append({"name": f"{asked['model']}:latest", "context_length": 4096})
        return {"model": asked["model"], "response": "", "done": True}

    return {
        "/v1/models": {"object": "list", "data": [LISTED]},
        "/api/ps": lambda _: {"models": running},
        "/api/show": lambda asked: {**SHOWN, "parameters": parameters} if asked["model"] == "fake-1" else {},
        "/api/generate": load,
    }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with openai_server([use(("save_word", {"word": "amber"}))]) as server:
        server.paths = {}
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def settings(folder: Path, **given: Any) -> Context:
    return Context(**{"models": "openai:fake-1", "data_dir": folder, **given})


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
            ollama({"name": "other", "context_length": 9}, parameters='stop   "</s>"\nnum_ctx   65536'),
            40_960,
            [*UNKNOWN, "/api/show"],
        ),
        (ollama(), 4_096, [*UNKNOWN, "/api/show", "/api/generate", "/api/ps"]),
        ({}, None, UNKNOWN),
        ({"/v1/models": [1], "/props": "no", "/api/ps": {"models": 1}}, None, None),
        ({"/v1/models": {"data": [LISTED]}, "/props": {"error": "?"}, "/api/ps": {"error": "?"}}, None, UNKNOWN),
    ],
)
async def test_the_window_is_what_the_server_says(
    server: OpenAIServer, tmp_path: Path, paths: Paths, tokens: int | None, asked: list[str] | None
) -> None:
    server.paths, context = paths, settings(tmp_path)
    await load_models(context)
    assert window(context) == tokens
    assert asked in (None, server.asked)
    assert server.requests == [], "no answer of a model is paid for it"


async def test_a_window_that_is_set_wins_and_nothing_is_asked(server: OpenAIServer, tmp_path: Path) -> None:
    server.paths, context = LLAMA_CPP, settings(tmp_path, window=60_000)
    await load_models(context)
    assert (window(context), server.asked) == (60_000, [])


async def test_a_small_window_is_refused_with_the_setting_of_its_server(server: OpenAIServer, tmp_path: Path) -> None:
    server.paths, context = ollama(), settings(tmp_path)
    await load_models(context)
    with pytest.raises(WindowTooSmall, match=r"'fake-1' reads 4096 tokens; 50000 are needed.*OLLAMA_CONTEXT_LENGTH"):
        check_models(("planner",), context)


async def test_the_window_is_kept_with_the_ability_and_holds_where_the_server_says_nothing(
    server: OpenAIServer, tmp_path: Path, events: CallEvents
) -> None:
    server.paths, context = LLAMA_CPP, settings(tmp_path)
    await load_models(context)
    await load_models(context)
    assert len(server.asked) == 2, "a process asks once"
    caller = Caller("researcher", context, retry_budget_of("q", context.limits), events)
    await ability_of(caller, may_try=True, has_tools=True)
    assert [kept["window"] for kept in json.loads((tmp_path / "models.json").read_text("utf-8")).values()] == [16_384]
    (name,) = [name for name, tokens in windows_at_servers.items() if tokens and server.url[7:-3] in name]
    windows_at_servers[name] = None
    assert window(context) is None
    await ability_of(caller, may_try=True, has_tools=True)
    assert window(context) == 16_384


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://me.openai.azure.com/openai/v1/"])
async def test_openai_is_never_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    model: Any = resolve_model("writer", settings(tmp_path))
    assert model.is_at_openai
    assert await model.read_window() is None


async def test_a_server_that_cannot_be_reached_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    context = settings(tmp_path)
    await load_models(context)
    assert window(context) is None
