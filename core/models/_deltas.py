"""Parses the answers of OpenAI-compatible servers, streamed or not, into the chunks that LangChain
reads."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from ..dialogue.conversation import clean_nested
from ._faults import BROKE_OFF, AnswerBroken, AnswerFiltered, AnswerRefused

_LENGTH_REASONS = ("max_tokens", "model_length")
"""Other names that servers use for the finish reason `length`."""
_REFUSAL_REASONS = re.compile(
    "content_filter|refusal|safety|recitation|prohibited|blocklist|spii|sensitive", re.IGNORECASE
)
"""Matches the finish reasons of answers that a filter or the model itself ended."""
_BAD_CALL = "malformed_function_call"
"""Finish reason of Gemini's servers if they could not read the model's call."""
_MOST_COUNTED = 10**12
"""Token counts and costs above this are implausible."""
_END = b"[DONE]"
"""Data of the event that ends a stream."""
_STOP = b'{"choices": [{"finish_reason": "stop"}]}'
"""Takes the place of that event, in case the server sent no finish reason."""
_DRAIN_SECONDS = 0.5
"""Time limit for reading what a server sends after that event."""
MOST_BYTES = 2_000_000
"""Maximum bytes of an event or an unstreamed answer, because parsing it blocks the event loop."""


class Deltas:
    """Converts the chunks of one answer to OpenAI's exact format.

    Some servers send tool calls without an index or all with the same one, repeat names, send an id
    with every piece or none, count tokens in every chunk, or finish twice. LangChain would merge
    such chunks into garbage.
    """

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        """The token counts in the latest chunk that had plausible ones."""
        self._calls: list[tuple[int | None, str | None]] = []
        """The server's index and id of each tool call so far."""
        self._ids: set[str] = set()
        """The ids given to these calls."""
        self._has_begun = False
        self._finish = ""
        """The finish reason, once the server has sent it."""

    def read(self, chunk: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return a chunk in OpenAI's format (empty if it has no part of the answer), and its
        thought (may be empty).

        Raises `AnswerBroken` if the chunk is an error, `AnswerRefused` if the model or a filter
        declined to answer.
        """
        self.usage = plausible_counts(chunk.get("usage")) or self.usage
        choice = _first_choice(chunk)
        error = chunk.get("error") or choice.get("error")
        if error:
            raise AnswerBroken("an error", error)
        if not choice:
            return {}, ""
        if "delta" in choice:
            self._has_begun = True
        delta = clean_nested(choice.get("delta") or {})
        finish = str(choice.get("finish_reason") or "")
        if delta.get("refusal"):
            raise AnswerRefused
        if _REFUSAL_REASONS.search(finish):
            raise AnswerFiltered
        if finish == "error":
            raise AnswerBroken("an error")
        if _BAD_CALL in finish.lower():
            raise AnswerBroken("a tool call that could not be read", _BAD_CALL)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if not isinstance(thought, str):
            thought = ""
        calls = [self._call(call) for call in delta.get("tool_calls") or ()]
        reason = None
        if not self._finish:
            reason = choice.get("finish_reason") or None
        if reason:
            if reason.lower() in _LENGTH_REASONS:
                reason = "length"
            self._finish = reason
        piece = {
            "delta": {"content": _content(delta), "tool_calls": calls},
            "finish_reason": reason,
        }
        return {"model": chunk.get("model"), "choices": [piece]}, thought

    def close(self) -> None:
        """Raise `AnswerBroken` unless the server marked the answer as complete."""
        if not (self._finish and self._has_begun):
            raise AnswerBroken(BROKE_OFF if self._has_begun else "no answer")

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return a piece of a tool call with the index of the call; the first one also has its name
        and a unique id."""
        function = call.get("function") or {}
        name, arguments = function.get("name"), function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        index, given = call.get("index"), call.get("id") or None
        position = self._latest(index)
        if position is not None:
            _, known = self._calls[position]
            is_other = given != known if given else index is None
            if not (name and is_other):
                # The piece continues a known call.
                continued = {"name": None, "arguments": arguments}
                return {"index": position, "id": None, "function": continued}
        identifier = given
        if not identifier or identifier in self._ids:
            identifier = f"call_{uuid.uuid4().hex}"
        self._ids.add(identifier)
        self._calls.append((index, given))
        begun = {"name": name, "arguments": arguments}
        return {"index": len(self._calls) - 1, "id": identifier, "function": begun}

    def _latest(self, index: int | None) -> int | None:
        """Return the position of the latest call with this index of the server, or of the latest
        call if the server sends none; None if there is none."""
        for position in reversed(range(len(self._calls))):
            number, _ = self._calls[position]
            if index is None or number == index:
                return position
        return None


def _content(delta: Mapping[str, Any]) -> str | list[Any] | None:
    """Return the text of a piece, or its list of content blocks in the form of Chat Completions.

    Some servers send a lone block, or blocks in the form of the Responses API.
    """
    content = delta.get("content")
    if isinstance(content, dict):
        content = [content]
    if isinstance(content, list):
        return [_as_text_block(block) for block in content]
    if content is None or isinstance(content, str):
        return content
    return str(content)


def _as_text_block(block: Any) -> Any:
    """Return a block, as one of Chat Completions if it is text in the form of the Responses API."""
    if isinstance(block, dict) and block.get("type") == "output_text":
        return {"type": "text", "text": block.get("text") or ""}
    return block


def _first_choice(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of the answer in a chunk; empty if it has none."""
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}


def plausible_counts(usage: Any) -> dict[str, Any]:
    """Return a server's token counts and cost; an empty dict if a token count is not a plausible
    number."""
    if not isinstance(usage, dict):
        return {}
    counts: dict[str, Any] = {}
    for name, value in usage.items():
        if isinstance(value, dict):
            counts[name] = plausible_counts(value)
        elif isinstance(value, int | float) and 0 <= value <= _MOST_COUNTED:
            counts[name] = value if name == "cost" else int(value)
        elif value is not None and name.endswith("_tokens"):
            return {}
    return counts


async def sse_data(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each server-sent event of a stream, and empty data for each keep-alive
    comment."""
    data: list[bytes] = []
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b":"):
                yield b""
            elif line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").strip())
            elif data and not line.strip():
                event = b"\n".join(data)
                data = []
                if event == _END:
                    await _drain(pieces)
                    yield _STOP
                    return
                yield event
        if len(rest) + sum(map(len, data)) > MOST_BYTES:
            break
    if rest.startswith(b"data:"):
        data.append(rest.removeprefix(b"data:").strip())
    if data and data != [_END]:
        yield b"\n".join(data)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what a server still sends, for a short time: a connection can only be reused after its
    end was read, but some servers leave it open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


def parse_answer(data: bytes) -> Any:
    """Parse a chunk or answer from JSON; of more than `MOST_BYTES`, parse the beginning, marked as
    cut off."""
    if len(data) <= MOST_BYTES:
        return json.loads(data)
    beginning = data[:MOST_BYTES].decode(errors="ignore")
    answer = from_json(beginning, allow_partial="trailing-strings")
    choices = [{**choice, "finish_reason": "length"} for choice in answer["choices"]]
    return {**answer, "choices": choices}


def as_chunk(answer: Any) -> dict[str, Any]:
    """Return an unstreamed answer in the form of a single chunk; raise `AnswerBroken` if it is not
    a JSON object."""
    if not isinstance(answer, dict):
        raise AnswerBroken("JSON in an unexpected format")
    choices = answer.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict):
                reason = choice.get("finish_reason") or "stop"
                piece = {**choice, "delta": choice.get("message"), "finish_reason": reason}
                return {**answer, "choices": [piece]}
    return {**answer, "choices": []}
