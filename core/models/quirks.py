"""Quirks: ways in which servers differ from OpenAI, learned from their error messages and respected
from then on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ..run.transcripts import REASONING
from .faults import fault_kind, message_of

Payload = dict[str, Any]
"""The body of a request."""
WireMessage = dict[str, Any]
"""A message in the body of a request."""

_OUTPUT_NAME = "output_name"
_TURNS = "turns"
_SINGLE_CALLS = "single_calls"
_NO_SYSTEM = "no_system"
_CALL_IDS = "call_ids"
_UNKNOWN = (
    r"(unsupported|not supported|unknown|unrecognized|unexpected|extra|not permitted|not allowed)"
)
_QUIRKS = {
    "stream_options": "stream_options|include_usage",
    "parallel_tool_calls": "parallel.tool",
    "tool_choice": "tool.choice|forces? tool use",
    _OUTPUT_NAME: rf"{_UNKNOWN}.*max_(completion_)?tokens|max_(completion_)?tokens.*{_UNKNOWN}",
    "effort": "reasoning.?effort",
    "summary": "reasoning.{0,20}summar",
    "store": r"\bstore\b",
    REASONING: REASONING,
    _TURNS: r"unexpected role|roles? must alternate|message_order|expected last role|system message must be at the",
    _SINGLE_CALLS: "single tool.?call",
    _CALL_IDS: "tool call id (was|must)",
    _NO_SYSTEM: "system role (is )?not supported|(does|do)(n't| not) support (the )?system",
}
"""Patterns of the error messages that reveal a quirk, by its name; most names are the request field
that is refused."""
_REQUIREMENTS = {
    _OUTPUT_NAME: "the other name of the output limit",
    REASONING: "earlier thoughts sent back",
    _TURNS: "roles that alternate",
    _SINGLE_CALLS: "one tool call a message",
    _NO_SYSTEM: "no system message",
    _CALL_IDS: "ids of tool calls of nine letters and digits",
}
"""What a server with the quirk requires, as shown to the user; with any other quirk it refuses a
field."""
_SHORT_ID = 9
"""Length of tool call ids that Mistral requires."""
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the request field for the output limit: in general, and at OpenAI."""
_ABOUT_OUTPUT = re.compile(
    "max_(?:completion_|output_)?tokens|(?:output|completion) tokens", re.IGNORECASE
)
"""Matches errors about the output limit."""
_OF_WINDOW = re.compile(
    r"maximum context length is (\d+) tokens.{0,60}?(\d+) input tokens", re.IGNORECASE | re.DOTALL
)
"""Matches errors that state the window and the tokens of the prompt."""
_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d.])|(?<![\d.])\d{3,7}(?!\d|\.\d)")


class ModelTraits(NamedTuple):
    """What was learned about one model at one server."""

    quirks: frozenset[str] = frozenset()
    """Names of its server's quirks."""
    output_tokens: int | None = None
    """Largest output limit that the server accepts, in tokens; None: not known."""

    def __or__(self, other: ModelTraits) -> ModelTraits:
        """Return both combined; `other` has the output limit if it knows one."""
        return ModelTraits(self.quirks | other.quirks, other.output_tokens or self.output_tokens)


def describe_traits(quirks: Iterable[str], output_tokens: int | None) -> str:
    """Return what a server requires, for the user; empty if it has no quirks and no output limit is
    known."""
    wanted = [_REQUIREMENTS.get(name, f"no {name}") for name in quirks]
    wanted += [f"at most {output_tokens} tokens an answer"] if output_tokens else []
    return ", ".join(wanted)


def traits_in(error: Exception, sent: int | None) -> ModelTraits:
    """Return the traits that the refusal of a request reveals; `sent` is the request's output
    limit."""
    words = message_of(error)
    limit = None
    body = getattr(error, "body", None)
    stated = str(body.get("message") or "") if isinstance(body, dict) else str(error)
    if sent and _ABOUT_OUTPUT.search(stated) and not _OF_WINDOW.search(words):
        # The limit is the largest number in the message that is below the refused one.
        numbers = (int(found.replace(",", "")) for found in _NUMBER.findall(stated))
        limit = max((number for number in numbers if number < sent), default=None)
    if fault_kind(error) not in ("rejected", "model", "down"):
        return ModelTraits(output_tokens=limit)
    found = (
        name
        for name, pattern in _QUIRKS.items()
        if re.search(pattern, words, re.IGNORECASE | re.DOTALL)
    )
    return ModelTraits(frozenset(found) - {_OUTPUT_NAME if limit else ""}, limit)


def room_in(error: Exception) -> int | None:
    """Return the tokens that a prompt leaves for the answer, if the refusal states window and
    prompt; else None."""
    found = _OF_WINDOW.search(message_of(error))
    return max(1, int(found[1]) - int(found[2])) if found else None


def adapt(payload: Payload, learned: ModelTraits) -> Payload:
    """Change a request in place so that a server with these traits accepts it, and return it."""
    quirks = learned.quirks
    for name in quirks & {"stream_options", "parallel_tool_calls", "store"}:
        payload.pop(name, None)
    if "tool_choice" in quirks & payload.keys():
        payload["tool_choice"] = "auto"
    if "effort" in quirks:
        payload.pop("reasoning_effort", None)
    reasoning = payload.pop("reasoning", {})
    if left := {key: value for key, value in reasoning.items() if key not in quirks}:
        payload["reasoning"] = left
    for name, other in (OUTPUT_LIMITS, OUTPUT_LIMITS[::-1]):
        if name in payload:
            limit = payload.pop(name)
            payload[other if _OUTPUT_NAME in quirks else name] = min(
                limit, learned.output_tokens or limit
            )
            break
    if "messages" in payload:
        messages = [*payload["messages"]]
        if _CALL_IDS in quirks:
            messages = list(map(_with_short_ids, messages))
        if _SINGLE_CALLS in quirks:
            messages = list(_by_call(messages))
        if _NO_SYSTEM in quirks or _TURNS in quirks:
            for number, message in enumerate(messages):
                if message["role"] == "system" and (number or _NO_SYSTEM in quirks):
                    messages[number] = {**message, "role": "user"}
            messages = _in_turns(messages)
        payload["messages"] = messages
    return payload


def _with_short_ids(message: WireMessage) -> WireMessage:
    """Return the message with hashes as tool call ids."""

    def short(identifier: str) -> str:
        return sha256(identifier.encode()).hexdigest()[:_SHORT_ID]

    calls = [{**call, "id": short(call["id"])} for call in message.get("tool_calls") or ()]
    answered = {"tool_call_id": short(message["tool_call_id"])} if message["role"] == "tool" else {}
    return {**message, **answered, **({"tool_calls": calls} if calls else {})}


def _by_call(messages: Sequence[WireMessage]) -> Iterator[WireMessage]:
    """Yield the messages with those that have several calls split: each call is followed by its
    result."""
    results = {
        message["tool_call_id"]: message for message in messages if message["role"] == "tool"
    }
    for message in messages:
        calls = message.get("tool_calls") or ()
        if len(calls) > 1:
            for number, call in enumerate(calls):
                yield {**message, **({"content": None} if number else {}), "tool_calls": [call]}
                if call["id"] in results:
                    yield results.pop(call["id"])
        elif message["role"] != "tool" or results.get(message["tool_call_id"]) is message:
            yield message


def _in_turns(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages with alternating roles: equal ones joined, user text added to the tool
    result before it."""
    turns = list[WireMessage]()
    for message in messages:
        before, role = turns[-1] if turns else {"role": ""}, message["role"]
        has_calls = message.get("tool_calls") or before.get("tool_calls")
        pairs = (("tool", "user"), ("user", "user"), ("assistant", "assistant"))
        if (before["role"], role) in pairs and not has_calls:
            turns[-1] = {**before, "content": _joined(before["content"], message["content"])}
        else:
            turns.append(message)
    return turns


def _joined(*contents: Any) -> Any:
    """Return the contents of messages as one: a text if all are texts, else a list of content
    blocks."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    blocks = list[Any]()
    for content in contents:
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return blocks
