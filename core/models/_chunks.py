"""Converts the chunks of a streamed answer to a message."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ..dialogue.conversation import clean_nested


def message_from_chunks(chunk: AIMessageChunk, text: str) -> AIMessage:
    """Convert the merged chunks of a streamed answer to a message with this text.

    LangChain would complete truncated JSON arguments, so that half a call looks whole. Here, a call
    is invalid if its arguments are not a JSON object.
    """
    calls: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for part in chunk.tool_call_chunks:
        arguments = _json_object(part["args"] or "{}")
        if arguments is None:
            broken.append(
                invalid_tool_call(
                    name=part["name"], args=part["args"], id=part["id"], error="not an object"
                )
            )
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


def _json_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object, which some servers encode a second time as a JSON string; None for any
    other text."""
    try:
        value = json.loads(text, strict=False)
        if isinstance(value, str):
            value = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return clean_nested(value)
