"""Reads the arguments of streamed tool calls as they were sent, without completing what is missing."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call


def whole_message(chunk: AIMessageChunk) -> AIMessage:
    """The message that the chunks add up to.

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
        content=chunk.content,
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
        value = json.loads(arguments)
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
