"""How many tokens a model reads, as its server tells it: vLLM, OpenRouter, llama.cpp or Ollama."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import quote

from openai import APIConnectionError, APIStatusError, AsyncOpenAI

ASK_SECONDS, LOAD_SECONDS = 5.0, 120.0
"""Seconds to tell it, and to load a model: before that, Ollama does not say how much of its window it uses."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def read_window(client: AsyncOpenAI, model: str) -> int | None:
    """Return how many tokens the server says that the model reads; none if it does not say, or not in time."""
    base, named = str(client.base_url).rstrip("/"), {"model": model, "stream": False}
    root = base.removesuffix("/v1")
    asked_by_get = [f"{base}/models", f"{root}/props?model={quote(model)}", f"{root}/api/ps"]
    for url in (*asked_by_get, f"{root}/api/show", f"{root}/api/generate", asked_by_get[-1]):
        body = None if url in asked_by_get else named
        try:
            async with asyncio.timeout(LOAD_SECONDS if body else ASK_SECONDS):
                asked = client.post(url, cast_to=object, body=body) if body else client.get(url, cast_to=object)
                answer: Any = await asked
        except (APIStatusError, ValueError):
            answer = {}
        except (APIConnectionError, TimeoutError):
            return None
        is_ollama = isinstance(answer, dict) and answer.keys() & {"models", "model_info", "done"}
        if (window := _window_in(answer, model)) or ("/api/" in url.removeprefix(root) and not is_ollama):
            return window
    return None


def _window_in(answer: Any, model: str) -> int | None:
    match answer:
        case {"default_generation_settings": {"n_ctx": int(window)}}:
            return window
        case {"parameters": str(given), "model_info": dict(info)} if num_ctx := _NUM_CTX.search(given):
            most = [int(tokens) for name, tokens in info.items() if name.endswith(".context_length")]
            return min([int(num_ctx[1]), *most])
        case {"data": [*listed]} | {"models": [*listed]}:
            entries = (entry for entry in listed if isinstance(entry, dict))
            named = (entry for entry in entries if entry.get("id", entry.get("name")) in (model, f"{model}:latest"))
            windows = (entry.get("max_model_len") or entry.get("context_length") for entry in named)
            return next((window for window in windows if isinstance(window, int)), None)
    return None
