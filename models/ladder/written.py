"""Calls and their results as text, for models that are not to know of tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage


class WrittenCall(NamedTuple):
    """A call as it is written."""

    name: str
    arguments: dict[str, Any]


Writer = Callable[[Iterable[WrittenCall]], str]


def as_json(calls: Iterable[WrittenCall]) -> str:
    """`{"calls": [{"name": …, "arguments": {…}}]}`."""
    return json.dumps({"calls": [call._asdict() for call in calls]}, ensure_ascii=False)


def as_tags(calls: Iterable[WrittenCall]) -> str:
    """`<tool name="…">{…}</tool>`, one a line."""
    return "\n".join(
        f'<tool name="{call.name}">{json.dumps(call.arguments, ensure_ascii=False)}</tool>' for call in calls
    )


def flattened(messages: Sequence[AnyMessage], write: Writer) -> list[AnyMessage]:
    """The same conversation without tool calls and tool results, user and assistant in turn."""
    labels = _labels(messages)
    plain = [_plain(message, labels, write) for message in messages]
    return [_merged(list(group)) for _, group in groupby(plain, key=lambda message: message.type)]


def _labels(messages: Sequence[AnyMessage]) -> dict[str, str]:
    """How a result says which call it answers, by the call's id."""
    labels = {}
    for message in messages:
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        for number, call in enumerate(calls, 1):
            labels[call["id"] or ""] = call["name"] if len(calls) == 1 else f"call {number}, {call['name']}"
    return labels


def _plain(message: AnyMessage, labels: dict[str, str], write: Writer) -> AnyMessage:
    if isinstance(message, ToolMessage):
        return HumanMessage(f"Result of {labels.get(message.tool_call_id, 'an earlier call')}:\n{message.text}")
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = write(WrittenCall(call["name"], call["args"]) for call in message.tool_calls)
        return AIMessage(f"{message.text}\n\n{calls}".strip())
    return message


def _merged(group: list[AnyMessage]) -> AnyMessage:
    if len(group) == 1:
        return group[0]
    text = "\n\n".join(message.text for message in group)
    kinds: dict[str, type[SystemMessage] | type[HumanMessage]] = {"system": SystemMessage, "human": HumanMessage}
    return kinds.get(group[0].type, AIMessage)(text)
