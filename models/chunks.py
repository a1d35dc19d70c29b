"""A finished answer as the pieces in which a model would stream it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk

from ..run.transcripts import CHARACTERS_PER_TOKEN


def complete(message: AIMessage, prompt: Sequence[BaseMessage]) -> AIMessage:
    """The answer with the finish reason and the token counts that a provider would add; its own ones win."""
    reason = "tool_calls" if message.tool_calls or message.invalid_tool_calls else "stop"
    return message.model_copy(
        update={
            "response_metadata": {"finish_reason": reason, **message.response_metadata},
            "usage_metadata": message.usage_metadata or _usage(message, prompt),
        }
    )


def in_chunks(message: AIMessage, size: int) -> Iterator[AIMessageChunk]:
    """The answer in pieces of `size` characters that add up to it; counts and finish reason come with the last."""
    if message.additional_kwargs:
        yield AIMessageChunk(content="", additional_kwargs=message.additional_kwargs)
    if isinstance(message.content, str):
        yield from (AIMessageChunk(content=piece) for piece in _cut(message.content, size))
    else:
        yield from (AIMessageChunk(content=[block]) for block in message.content)
    for index, (name, arguments, identifier) in enumerate(_raw_calls(message)):
        yield _call_chunk(index, name=name, identifier=identifier)
        yield from (_call_chunk(index, arguments=piece) for piece in _cut(arguments, size))
    yield AIMessageChunk(
        content="",
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )


def _usage(message: AIMessage, prompt: Sequence[BaseMessage]) -> UsageMetadata:
    read = sum(len(part.text) + _call_characters(part) for part in prompt) // CHARACTERS_PER_TOKEN
    written = (len(message.text) + _call_characters(message)) // CHARACTERS_PER_TOKEN
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _call_characters(message: BaseMessage) -> int:
    return sum(len(arguments) for _, arguments, _ in _raw_calls(message)) if isinstance(message, AIMessage) else 0


def _raw_calls(message: AIMessage) -> list[tuple[str | None, str, str | None]]:
    calls = [(call["name"], json.dumps(call["args"], ensure_ascii=False), call["id"]) for call in message.tool_calls]
    return [*calls, *((call["name"], call["args"] or "", call["id"]) for call in message.invalid_tool_calls)]


def _call_chunk(
    index: int, *, name: str | None = None, identifier: str | None = None, arguments: str = ""
) -> AIMessageChunk:
    chunk = tool_call_chunk(name=name, args=arguments, id=identifier, index=index)
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
