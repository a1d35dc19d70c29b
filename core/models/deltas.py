"""Reads what servers stream (words, thoughts, arguments of tool calls) into the form that LangChain understands."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic_core import from_json

from ..run.conversation import clean_nested
from .faults import BROKE_OFF, AnswerBroken, AnswerRefused

CUT = ("max_tokens", "model_length")
"""What some servers call the finish reason `length`."""

MOST_COUNTED = 10**12
"""A larger number is no count of tokens, and no price of an answer."""
END = b"[DONE]"
COMPLETE = b'{"choices": [{"finish_reason": "stop"}]}'
"""What the end of a stream says where no finish reason came before it."""
"""What stands in the last event."""
DRAIN_SECONDS = 0.5
MOST_BYTES = 2_000_000
"""Of one event, or of an answer that comes whole: what is read at a time keeps all others waiting."""


class Delta(NamedTuple):
    """One piece of an answer."""

    chunk: dict[str, Any]
    """As OpenAI streams it."""
    reasoning: str
    """Words of the thought in it, which OpenAI's form has no place for."""


class _Call(NamedTuple):
    place: int | None
    """Its index, as the server counts."""
    id: str | None
    """As the server named it."""


class Deltas:
    """Follows one answer to its end.

    Servers give calls no index or all the same, repeat names, send ids for each piece or none, count tokens with every
    chunk, and say twice that they are done. Added up as they are, such pieces would give garbage.
    """

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        """The latest token counts; whoever sends several means the last."""
        self._calls: list[_Call] = []
        self._ids: set[str] = set()
        self._has_begun = False
        self._finish = ""

    def read(self, chunk: Mapping[str, Any]) -> Delta | None:
        """Return the piece of the answer in a chunk; none if there is none.

        Raises `AnswerBroken` for an error in its place and `AnswerRefused` for a refusal.
        """
        self.usage = counts(chunk.get("usage")) or self.usage
        choices = chunk.get("choices") or [{}]
        choice = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
        if error := chunk.get("error") or choice.get("error"):
            raise AnswerBroken("an error in the place of an answer", error)
        if not choice:
            return None
        self._has_begun |= "delta" in choice
        delta = clean_nested(choice.get("delta") or {})
        if delta.get("refusal") or choice.get("finish_reason") == "content_filter":
            raise AnswerRefused
        if choice.get("finish_reason") == "error":
            raise AnswerBroken("an error in the place of an answer")
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        plain = {
            "content": delta.get("content"),
            "tool_calls": [self._call(call) for call in delta.get("tool_calls") or ()],
        }
        piece = {"delta": plain, "finish_reason": self._finished(choice.get("finish_reason"))}
        return Delta({"model": chunk.get("model"), "choices": [piece]}, reasoning if isinstance(reasoning, str) else "")

    def close(self) -> None:
        """Raise `AnswerBroken` unless there is an answer that the server called complete."""
        if not (self._finish and self._has_begun):
            raise AnswerBroken(BROKE_OFF if self._has_begun else "no answer at all")

    def _finished(self, reason: str | None) -> str | None:
        if not reason or self._finish:
            return None
        self._finish = "length" if reason.lower() in CUT else reason
        return self._finish

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = call.get("function") or {}
        name, arguments = function.get("name"), function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        position, is_new = self._place(call.get("index"), call.get("id") or None, bool(name))
        return {
            "index": position,
            "id": self._fresh_id(call.get("id")) if is_new else None,
            "function": {"name": name if is_new else None, "arguments": arguments},
        }

    def _place(self, index: int | None, identifier: str | None, has_name: bool) -> tuple[int, bool]:
        """Return which call a piece belongs to, and whether it begins that call."""
        known = [position for position, call in enumerate(self._calls) if index is None or call.place == index]
        if known:
            last = self._calls[known[-1]]
            is_other = identifier != last.id if identifier else index is None
            if not (has_name and is_other):
                return known[-1], False
        self._calls.append(_Call(index, identifier))
        return len(self._calls) - 1, True

    def _fresh_id(self, given: str | None) -> str:
        identifier = given if given and given not in self._ids else f"call_{uuid.uuid4().hex}"
        self._ids.add(identifier)
        return identifier


def counts(usage: Any) -> dict[str, Any]:
    """Return what a usage counts; nothing if one of the counts is no finite number from 0 on."""
    known = dict[str, Any]()
    for name, value in usage.items() if isinstance(usage, dict) else ():
        if isinstance(value, dict):
            known[name] = counts(value)
        elif isinstance(value, int | float) and 0 <= value <= MOST_COUNTED:
            known[name] = value if name == "cost" else int(value)
        elif value is not None and name.endswith("_tokens"):
            return {}
    return known


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each server-sent event up to the one that says that nothing follows; of a comment, nothing.

    Servers send comments to say that they are at work.
    """
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
                if whole == END:
                    await _drain(pieces)
                    yield COMPLETE
                    return
                yield whole
        if len(rest) + sum(map(len, data)) > MOST_BYTES:
            break
    last = [*data, *([rest[len(b"data:") :].strip()] if rest.startswith(b"data:") else [])]
    if last and last != [END]:
        yield b"\n".join(last)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read to the end, so that the connection serves the next call; there are servers that leave it open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass


def parsed(data: bytes) -> Any:
    """Parse JSON; text longer than `MOST_BYTES` is cut there, and the answer counts as cut off."""
    if len(data) <= MOST_BYTES:
        return json.loads(data)
    begun = from_json(data[:MOST_BYTES].decode(errors="ignore"), allow_partial="trailing-strings")
    return {**begun, "choices": [{**choice, "finish_reason": "length"} for choice in begun["choices"]]}


def as_chunk(answer: Any) -> dict[str, Any]:
    """Return a whole answer of a server that does not stream, as one chunk; raises `AnswerBroken` if it is none."""
    if not isinstance(answer, dict):
        raise AnswerBroken("JSON that is no answer")
    choices = answer.get("choices")
    plain = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return {
        **answer,
        "choices": [
            {**choice, "delta": choice.get("message"), "finish_reason": choice.get("finish_reason") or "stop"}
            for choice in plain[:1]
        ],
    }
