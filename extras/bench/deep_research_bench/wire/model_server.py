"""A fake server of OpenAI's chat completions: `python -m deep_research_bench.wire.model_server PORT
FOLDER JSON`.

It listens locally, answers as `policy` decides after the time that a model would take, and writes a
line per request into `model.jsonl` in the folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from deep_research_bench.wire.policy import (
    CHARACTERS_A_TOKEN,
    MARKER,
    Answer,
    Json,
    Load,
    answer,
    text_of,
)

LEAST_CACHED = 1024
"""Minimum tokens of a prefix that providers cache."""


class Cache:
    """The cached prefixes of earlier prompts."""

    def __init__(self) -> None:
        self._seen = set[str]()

    def cached(self, tools: list[Json], messages: list[Json]) -> int:
        """Return the tokens of the longest cached prefix of this request."""
        digest, characters, cached, is_known = hashlib.sha256(), 0, 0, True
        for index, part in enumerate([tools, *messages]):
            digest.update(json.dumps(part, sort_keys=True).encode())
            characters += len(text_of(messages[index - 1])) if index else _size_of(tools)
            is_known = is_known and digest.hexdigest() in self._seen
            cached = characters if is_known else cached
            self._seen.add(digest.hexdigest())
        tokens = cached // CHARACTERS_A_TOKEN
        return tokens if tokens >= LEAST_CACHED else 0


def _size_of(tools: list[Json]) -> int:
    """Return the size of the tools in characters, which count as part of the prompt."""
    return len(json.dumps(tools)) if tools else 0


class ModelServer:
    """Answers requests."""

    def __init__(self, folder: Path, load: Load, first_token: float, per_token: float) -> None:
        """`first_token` and `per_token`: seconds."""
        self._load, self._first, self._each = load, first_token, per_token
        self._log = (folder / "model.jsonl").open("a", buffering=1)
        self._calls = 0
        self._cache = Cache()

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions, streamed or whole."""
        arrived, body = time.time(), await request.json()
        self._calls += 1
        prompt = "\n".join(map(text_of, body["messages"]))
        given = answer(self._load, self._calls, body)
        tokens = max(1, given.characters // CHARACTERS_A_TOKEN)
        entry: Json = {
            "call": self._calls,
            "arrived": arrived,
            "request": hashlib.sha256(
                json.dumps(body["messages"], sort_keys=True).encode()
            ).hexdigest(),
            "prompt_tokens": (_size_of(body.get("tools") or []) + len(prompt))
            // CHARACTERS_A_TOKEN,
            "cached_tokens": self._cache.cached(body.get("tools") or [], body["messages"]),
            "output_tokens": tokens,
            "nominal": self._first + self._each * tokens,
            "depends_on": sorted(set(MARKER.findall(prompt))),
            "makes": [f"mk-c{self._calls:06d}"],
            "kind": given.kind,
            "is_complete": False,
        }
        try:
            if body.get("stream"):
                response = await self._stream(request, body, entry, given)
            else:
                await _until(entry["arrived"] + entry["nominal"])
                response = web.json_response(_whole(body, entry, given))
            entry["is_complete"] = True
            return response
        finally:
            self._log.write(json.dumps({**entry, "finished": time.time()}) + "\n")

    async def _stream(
        self, request: web.Request, body: Json, entry: Json, given: Answer
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        await response.prepare(request)
        head, sent = _head(entry, body, "chat.completion.chunk"), 0
        for delta, characters in _deltas(entry, given):
            sent += characters
            await _until(entry["arrived"] + self._first + self._each * sent / CHARACTERS_A_TOKEN)
            await response.write(
                _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            )
        await response.write(
            _event(
                {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(given)}]}
            )
        )
        if (body.get("stream_options") or {}).get("include_usage"):
            await response.write(_event({**head, "choices": [], "usage": _usage(entry)}))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _whole(body: Json, entry: Json, given: Answer) -> Json:
    calls = [
        {
            "id": f"call_{entry['call']}_{n}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for n, (name, arguments) in enumerate(given.tool_calls)
    ]
    message = {
        "role": "assistant",
        "content": given.text,
        **({"tool_calls": calls} if calls else {}),
    }
    choice = {"index": 0, "message": message, "finish_reason": _reason(given)}
    return {**_head(entry, body, "chat.completion"), "choices": [choice], "usage": _usage(entry)}


def _deltas(entry: Json, given: Answer) -> Iterator[tuple[Json, int]]:
    """Yield the delta of each event, a token each, with its number of characters."""
    yield {"role": "assistant", "content": "" if given.text is not None else None}, 0
    for piece in _tokens(given.text or ""):
        yield {"content": piece}, len(piece)
    for index, (name, arguments) in enumerate(given.tool_calls):
        begun = {
            "id": f"call_{entry['call']}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        yield {"tool_calls": [{"index": index, **begun}]}, len(name)
        for piece in _tokens(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, len(piece)


def _tokens(text: str) -> Iterator[str]:
    return (
        text[start : start + CHARACTERS_A_TOKEN]
        for start in range(0, len(text), CHARACTERS_A_TOKEN)
    )


def _head(entry: Json, body: Json, kind: str) -> Json:
    head = {
        "id": f"chatcmpl-{entry['call']}",
        "created": int(entry["arrived"]),
        "model": body.get("model"),
    }
    return {**head, "object": kind}


def _usage(entry: Json) -> Json:
    used = {"prompt_tokens": entry["prompt_tokens"], "completion_tokens": entry["output_tokens"]}
    details = {"prompt_tokens_details": {"cached_tokens": entry["cached_tokens"]}}
    return {**used, "total_tokens": sum(used.values()), **details}


def _reason(given: Answer) -> str:
    return "tool_calls" if given.tool_calls else "stop"


def _event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


async def _until(moment: float) -> None:
    if (left := moment - time.time()) > 0:
        await asyncio.sleep(left)


def main(port: str, folder: str, settings: str) -> None:
    """Serve until the process is ended."""
    given = json.loads(settings)
    server = ModelServer(
        Path(folder), Load(*given["load"]), given["first_token_ms"] / 1000, given["token_ms"] / 1000
    )
    app = web.Application(client_max_size=2**30)
    app.add_routes([web.post("/v1/chat/completions", server.complete)])
    web.run_app(
        app,
        host="127.0.0.1",
        port=int(port),
        print=None,
        access_log=None,
        handler_cancellation=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
