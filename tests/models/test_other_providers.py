"""Models of other providers take each call as it is bound, and try it once only; each needs its provider's package."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from openai_server import Reply, fail, openai_server, say, send
from wired import PROMPT, TOOL

from deep_research.core.models.caller import bind_call
from deep_research.core.models.faults import is_transient
from deep_research.core.models.resolve import host_of, resolve_model
from deep_research.core.run.context import Context


def lines(*objects: dict[str, Any]) -> Reply:
    return send("\n".join(map(json.dumps, objects)), content_type="application/x-ndjson")


def events(*objects: dict[str, Any]) -> Reply:
    names = [f"event: {each['type']}\n" if "type" in each else "" for each in objects]
    told = [f"{name}data: {json.dumps(each)}\n\n" for name, each in zip(names, objects, strict=True)]
    return send("".join(told), content_type="text/event-stream")


OLLAMA = lines({"model": "m", "message": {"role": "assistant", "content": "Yes."}, "done": True, "done_reason": "stop"})
GOOGLE = events({"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]})
ANTHROPIC = events(
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)


class Provider(NamedTuple):
    """How a provider's class is led to the fake server."""

    packages: str
    """What has to be installed."""
    name: str
    address: str
    """The variable with the address of its server."""
    key: str
    reply: Reply
    limit: tuple[str, ...]
    """Where the request says how many tokens the answer may have."""
    has_host: bool = True
    """Whether the class keeps the address."""


PROVIDERS = [
    Provider("langchain_anthropic", "anthropic:claude-sonnet-4-5", "ANTHROPIC_API_URL", "ANTHROPIC_API_KEY", ANTHROPIC,
             ("max_tokens",)),
    # Without Google's newer package the calls go by gRPC, which no variable leads elsewhere.
    Provider("langchain_google_genai google.genai", "google_genai:gemini-2.5-pro", "GOOGLE_GEMINI_BASE_URL",
             "GOOGLE_API_KEY", GOOGLE, ("generationConfig", "maxOutputTokens"), has_host=False),
    Provider("langchain_groq", "groq:openai/gpt-oss-120b", "GROQ_API_BASE", "GROQ_API_KEY", say("Yes."),
             ("max_tokens",)),
    Provider("langchain_mistralai", "mistralai:mistral-large-latest", "MISTRAL_BASE_URL", "MISTRAL_API_KEY",
             say("Yes."), ("max_tokens",)),
    Provider("langchain_ollama", "ollama:qwen3:8b", "OLLAMA_HOST", "OLLAMA_API_KEY", OLLAMA,
             ("options", "num_predict"), has_host=False),
]  # fmt: skip


# What the packages of others warn of is theirs: Google's even forgets a coroutine where a call fails.
@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
async def test_a_call_of_another_provider_is_taken_and_made_once(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("langchain", *provider.packages.split()):
        pytest.importorskip(package)
    # The clients are not ours to close: the server does it with its last answer.
    failure = replace(fail(500), headers={"Connection": "close"})
    with openai_server([provider.reply, failure]) as server:
        address = server.url.removesuffix("/v1")
        monkeypatch.setenv(provider.address, address)
        monkeypatch.setenv(provider.key, "k")
        model = resolve_model("researcher", Context(models=provider.name))
        bound = bind_call(model, [TOOL], "any", 50, "low", {})
        answer = "".join([part.text async for part in bound.astream(PROMPT)])
        with pytest.raises(Exception) as caught:
            async for _ in bound.astream(PROMPT):
                pass
    assert answer == "Yes."
    assert is_transient(caught.value)
    assert len(server.requests) == 2
    told: Any = server.requests[0].json
    for name in provider.limit:
        told = told[name]
    assert told == 50
    assert host_of(model) == (address.removeprefix("http://") if provider.has_host else "")
