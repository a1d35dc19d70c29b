"""Reads the tool calls of an assistant message so that each can be run, or answered with what was wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from .conversation import clean_nested

CUT_OFF = frozenset({"length", "max_tokens"})
BROKEN = {"finish_reason": "broken off"}
"""What is added to the metadata of an answer whose stream broke."""
REASONING = "reasoning_content"
"""Where a thought of a compatible server is kept, in `additional_kwargs`."""
MOST_GAPS = 20
GAP_CHARACTERS = 300
"""Of what a call says is missing."""
ACKNOWLEDGED = "Noted."
MERGED = "Run together with the first call of this message; the results stand there."
NOT_RUN = "Not run:"
"""Beginning of the results of calls that were not carried out."""


class Call(NamedTuple):
    """A tool call that can be run."""

    id: str
    name: str
    arguments: dict[str, Any]


class Refusal(NamedTuple):
    """A tool call that cannot be run, and what to tell the model."""

    id: str
    reason: str


class Calls(NamedTuple):
    """The tool calls of an assistant message."""

    message: AIMessage
    """The message with a unique id for every call."""
    accepted: tuple[Call, ...]
    refused: tuple[Refusal, ...]


def read_calls(message: AIMessage, tools: Collection[str], taken: Collection[str]) -> Calls:
    """Split the calls of a message into those that can be run and those that cannot.

    `tools` are the names that were offered; `taken` are ids used before in this thread. A missing or repeated id is
    replaced, so that every call has exactly one result.
    """
    entries = [(call["id"], call["name"], clean_nested(call["args"]), "") for call in message.tool_calls]
    entries += [
        (call["id"], call["name"] or "unknown", {}, "its arguments are not valid JSON")
        for call in message.invalid_tool_calls
    ]
    cut_off = was_cut_off(message)
    used, calls, accepted, refused = set(taken), [], [], []
    for number, (given, name, arguments, fault) in enumerate(entries):
        call_id = _unique(given or f"call-{number}", used)
        used.add(call_id)
        calls.append(tool_call(name=name, args=arguments, id=call_id))
        fault = "the message was cut off at the output limit; write less" if cut_off else fault
        if not fault and name not in tools:
            fault = f"there is no tool {name!r}; the tools are {', '.join(sorted(tools))}"
        if fault:
            refused.append(Refusal(call_id, f"{NOT_RUN} {fault}."))
        else:
            accepted.append(Call(call_id, name, arguments))
    # Only the words are kept of the content: its blocks for tool calls bear the ids as the model gave them.
    thought = {name: clean_nested(value) for name, value in message.additional_kwargs.items() if name == REASONING}
    kept = AIMessage(content=message.text, tool_calls=calls, id=message.id, additional_kwargs=thought)
    return Calls(kept, tuple(accepted), tuple(refused))


def was_cut_off(message: AIMessage) -> bool:
    """Whether the message ended at the output limit."""
    return finish_of(message) in CUT_OFF


def broke_off(message: AIMessage) -> bool:
    """Whether the stream of the message broke."""
    return finish_of(message) == BROKEN["finish_reason"]


def finish_of(message: AIMessage) -> str | None:
    """Return the finish reason of the message; none if its server gave none."""
    metadata = message.response_metadata
    return metadata.get("finish_reason") or metadata.get("stop_reason")


def missing_in(arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what a call for the report declares missing, each once; none if it declares nothing."""
    given = arguments.get("missing")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list):
        return None
    lines = (" ".join(text.split())[:GAP_CHARACTERS] for text in texts if isinstance(text, str))
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST_GAPS]


def is_status_text(result: str) -> bool:
    """Whether a result holds nothing from outside: the call was acknowledged, or not carried out."""
    return result in (ACKNOWLEDGED, MERGED) or result.startswith(NOT_RUN)


def call_ids(messages: Iterable[AnyMessage]) -> set[str]:
    """Return the ids of all calls in these messages."""
    return {call["id"] or "" for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}


def results_for(message: AIMessage, answers: dict[str, str]) -> list[ToolMessage]:
    """Return the tool results of a message in the order of its calls; `answers` by call id."""
    return [
        ToolMessage(answers[call_id], tool_call_id=call_id)
        for call in message.tool_calls
        if (call_id := call["id"] or "") in answers
    ]


def results_in_order(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages, each followed by the results of its calls in their order, as some servers require.

    A later result of a call stands in the place of an earlier one, wherever it came.
    """
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    ordered: list[AnyMessage] = []
    for message in messages:
        if not isinstance(message, ToolMessage):
            ordered.append(message)
        if isinstance(message, AIMessage):
            ids = [call["id"] or "" for call in message.tool_calls]
            ordered += [results[call_id] for call_id in ids if call_id in results]
    return ordered


def _unique(wanted: str, used: Collection[str]) -> str:
    candidate, number = wanted, 2
    while candidate in used:
        candidate, number = f"{wanted}-{number}", number + 1
    return candidate
