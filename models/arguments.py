"""Reads the arguments of streamed tool calls as they were sent, without completing what is missing."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ..run.conversation import cleaned


def whole_message(chunk: AIMessageChunk, text: str) -> AIMessage:
    """The message that the chunks add up to, with `text` as its content.

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
    """The object that the text holds; some servers send it as a JSON string once more."""
    try:
        value = json.loads(arguments, strict=False)
        value = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return cleaned(value) if isinstance(value, dict) else None
