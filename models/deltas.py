"""Reads what servers stream (words, thoughts, arguments of tool calls) into the form that LangChain understands."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ..run.conversation import clean_nested
from ..run.transcripts import REASONING
from .faults import BROKE_OFF, AnswerBroken, AnswerRefused


def whole_message(chunk: AIMessageChunk, text: str) -> AIMessage:
    """Return the message that the chunks add up to, with `text` as its content.

    LangChain closes open brackets and quotes of arguments that were cut off, so that half a call looks like a whole
    one. Here arguments that are not a JSON object make an invalid call.
    """
    calls: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for part in chunk.tool_call_chunks:
        arguments = _read(part["args"] or "{}")
        if arguments is None:
            broken.append(invalid_tool_call(name=part["name"], args=part["args"], id=part["id"], error="not an object"))
        else:
            calls.append(tool_call(name=part["name"] or "", args=arguments, id=part["id"]))
    return AIMessage(
        content=text,
        additional_kwargs=chunk.additional_kwargs,
        response_metadata=chunk.response_metadata,
        id=chunk.id,
        tool_calls=calls,
        invalid_tool_calls=broken,
        usage_metadata=chunk.usage_metadata,
    )


def _read(arguments: str) -> dict[str, Any] | None:
    """Return the object that the text holds; some servers send it as a JSON string once more."""
    try:
        value = json.loads(arguments, strict=False)
        value = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return clean_nested(value) if isinstance(value, dict) else None


def reasoning_of(message: AIMessage) -> str:
    """Return the thought in a chunk or in a whole message; empty if it has none."""
    kept = message.additional_kwargs.get(REASONING)
    if isinstance(kept, str) and kept:
        return kept
    if isinstance(message.content, str):
        return ""
    return "".join(_words(block) for block in message.content if isinstance(block, dict))


def _words(block: Mapping[str, Any]) -> str:
    if block.get("type") == "thinking":
        return _text(block.get("thinking"))
    if block.get("type") != "reasoning":
        return ""
    return _text(block.get("reasoning")) or _summary(block.get("summary") or [])


def _text(value: Any) -> str:
    """Return a text, or the texts of the blocks that stand for one."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _summary(parts: list[Any]) -> str:
    words = "\n\n".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
    begins_next = bool(parts) and not words and parts[0].get("index", 0) > 0
    return "\n\n" if begins_next else words


CUT = ("max_tokens", "model_length")
"""What some servers call the finish reason `length`."""


END = b"[DONE]"
"""What stands in the last event."""
DRAIN_SECONDS = 0.5


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
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices") or [{}]
        choice = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
        if error := chunk.get("error") or choice.get("error"):
            raise AnswerBroken("an error in the place of an answer", error)
        if not choice:
            return None
        self._has_begun = True
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
        """Raise `AnswerBroken` unless the server said that the answer is complete; `[DONE]` alone does not say so."""
        if not self._finish:
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


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each server-sent event up to the one that says that nothing follows."""
    data: list[bytes] = []
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[len(b"data:") :].strip())
            elif data and not line.strip():
                whole, data = b"\n".join(data), []
                if whole == END:
                    await _drain(pieces)
                    return
                yield whole
    last = [*data, *([rest[len(b"data:") :].strip()] if rest.startswith(b"data:") else [])]
    if last and last != [END]:
        yield b"\n".join(last)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read to the end, so that the connection serves the next call; there are servers that leave it open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass


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
