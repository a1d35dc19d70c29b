"""Parses streamed answers (text, thoughts, tool calls) into the chunks that LangChain reads."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from ..run.conversation import clean_nested
from .faults import BROKE_OFF, AnswerBroken, AnswerRefused

_CUT = ("max_tokens", "model_length")
"""Other names of the finish reason `length`."""
_MOST_COUNTED = 10**12
"""Larger numbers are not plausible as token counts or prices."""
_END = b"[DONE]"
"""Data of the last event."""
_COMPLETE = b'{"choices": [{"finish_reason": "stop"}]}'
"""Replaces the last event, in case the server sent no finish reason."""
_DRAIN_SECONDS = 0.5
MOST_BYTES = 2_000_000
"""Maximum size of an event or an unstreamed answer, because parsing it blocks the event loop."""


class Deltas:
    """Normalizes the chunks of one streamed answer.

    Some servers send tool calls without an index or all with the same one, repeat names, send an id with every piece or
    none, count tokens in every chunk, or finish twice. Merging such pieces unchanged would produce garbage.
    """

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        """The latest token counts."""
        self._calls: list[tuple[int | None, str | None]] = []
        """The server's index and id of each tool call."""
        self._ids: set[str] = set()
        self._has_begun = False
        self._finish = ""

    def read(self, chunk: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
        """Return a chunk's piece of the answer in OpenAI's format, and its thought; None if it has no piece.

        Raises `AnswerBroken` if the chunk is an error, or `AnswerRefused`.
        """
        self.usage = counts(chunk.get("usage")) or self.usage
        choices = chunk.get("choices") or [{}]
        choice = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
        if error := chunk.get("error") or choice.get("error"):
            raise AnswerBroken("an error", error)
        if not choice:
            return None
        self._has_begun |= "delta" in choice
        delta = clean_nested(choice.get("delta") or {})
        if delta.get("refusal") or choice.get("finish_reason") == "content_filter":
            raise AnswerRefused
        if choice.get("finish_reason") == "error":
            raise AnswerBroken("an error")
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        calls = [self._call(call) for call in delta.get("tool_calls") or ()]
        reason = None if self._finish else choice.get("finish_reason") or None
        if reason:
            self._finish = reason = "length" if reason.lower() in _CUT else reason
        piece = {"delta": {"content": delta.get("content"), "tool_calls": calls}, "finish_reason": reason}
        return {"model": chunk.get("model"), "choices": [piece]}, reasoning if isinstance(reasoning, str) else ""

    def close(self) -> None:
        """Raise `AnswerBroken` unless the server marked the answer as complete."""
        if not (self._finish and self._has_begun):
            raise AnswerBroken(BROKE_OFF if self._has_begun else "no answer")

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = call.get("function") or {}
        name, arguments = function.get("name"), function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        index, given = call.get("index"), call.get("id") or None
        known = [position for position, (number, _) in enumerate(self._calls) if index is None or number == index]
        if known:
            is_other = given != self._calls[known[-1]][1] if given else index is None
            if not (name and is_other):
                # The piece continues a call.
                return {"index": known[-1], "id": None, "function": {"name": None, "arguments": arguments}}
        identifier = given if given and given not in self._ids else f"call_{uuid.uuid4().hex}"
        self._ids.add(identifier)
        self._calls.append((index, given))
        return {"index": len(self._calls) - 1, "id": identifier, "function": {"name": name, "arguments": arguments}}


def counts(usage: Any) -> dict[str, Any]:
    """Return the counts in a usage record; an empty dict if a token count is not a plausible number."""
    known = dict[str, Any]()
    for name, value in usage.items() if isinstance(usage, dict) else ():
        if isinstance(value, dict):
            known[name] = counts(value)
        elif isinstance(value, int | float) and 0 <= value <= _MOST_COUNTED:
            known[name] = value if name == "cost" else int(value)
        elif value is not None and name.endswith("_tokens"):
            return {}
    return known


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each server-sent event up to the last; empty data for a keep-alive comment."""
    data: list[bytes] = []
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b":"):
                yield b""
            elif line.startswith(b"data:"):
                data.append(line[len(b"data:") :].strip())
            elif data and not line.strip():
                whole, data = b"\n".join(data), []
                if whole == _END:
                    # Read to the end so that the connection can be reused; some servers leave the stream open.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_DRAIN_SECONDS):
                            async for _ in pieces:
                                pass
                    yield _COMPLETE
                    return
                yield whole
        if len(rest) + sum(map(len, data)) > MOST_BYTES:
            break
    last = [*data, *([rest[len(b"data:") :].strip()] if rest.startswith(b"data:") else [])]
    if last and last != [_END]:
        yield b"\n".join(last)


def parsed(data: bytes) -> Any:
    """Parse JSON; if it is longer than `MOST_BYTES`, cut it there and mark the answer as cut off."""
    if len(data) <= MOST_BYTES:
        return json.loads(data)
    begun = from_json(data[:MOST_BYTES].decode(errors="ignore"), allow_partial="trailing-strings")
    return {**begun, "choices": [{**choice, "finish_reason": "length"} for choice in begun["choices"]]}


def as_chunk(answer: Any) -> dict[str, Any]:
    """Return an unstreamed answer as one chunk; raise `AnswerBroken` if it is not an answer."""
    if not isinstance(answer, dict):
        raise AnswerBroken("JSON in an unexpected format")
    choices = answer.get("choices")
    plain = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    changed = [
        {**choice, "delta": choice.get("message"), "finish_reason": choice.get("finish_reason") or "stop"}
        for choice in plain[:1]
    ]
    return {**answer, "choices": changed}
