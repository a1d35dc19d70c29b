"""Quirks: ways in which servers differ from OpenAI, learned from their error messages and respected
from then on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ..dialogue.transcripts import REASONING
from ._faults import fault_kind, message_of

Payload = dict[str, Any]
"""The body of a request."""
WireMessage = dict[str, Any]
"""A message in the body of a request."""

_OUTPUT_NAME = "output_name"
_TURNS = "turns"
_SINGLE_CALLS = "single_calls"
_NO_SYSTEM = "no_system"
_CALL_IDS = "call_ids"
PLAIN_HISTORY = "plain_history"
"""Needs earlier calls and results as text if a request has no tools; kept by `Ability`."""
_CHOICE = "tool_choice"
_FORCED_CALLS = "forced_calls"
_BARRED_CALLS = "barred_calls"
_CHOICES = {"required": _FORCED_CALLS, "none": _BARRED_CALLS}
"""The quirk that a refusal of the field `tool_choice` reveals, by its refused value; with any other
value, the field itself is refused."""
_UNKNOWN = (
    r"(unsupported|not supported|unknown|unrecognized|unexpected|extra|not permitted|not allowed)"
)
_QUIRKS = {
    "stream_options": "stream_options|include_usage",
    "parallel_tool_calls": "parallel.tool",
    _CHOICE: "tool.?choice|forc(es?|ed|ing) (tool|function)",
    _OUTPUT_NAME: rf"{_UNKNOWN}.*max_(completion_)?tokens|max_(completion_)?tokens.*{_UNKNOWN}",
    "effort": "reasoning.?effort",
    "summary": "reasoning.{0,20}summar",
    "store": r"\bstore\b",
    REASONING: REASONING,
    _TURNS: (
        r"unexpected role|roles? must alternate|message_order|expected last role"
        r"|system message must be at the"
    ),
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
    _FORCED_CALLS: 'no tool_choice "required"',
    _BARRED_CALLS: 'no tool_choice "none"',
    PLAIN_HISTORY: "earlier tool calls as text",
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
    requirements = [_REQUIREMENTS.get(name, f"no {name}") for name in quirks]
    if output_tokens:
        requirements.append(f"at most {output_tokens} tokens an answer")
    return ", ".join(requirements)


def traits_in(error: Exception, sent: int | None, tool_choice: object = None) -> ModelTraits:
    """Return the traits that the refusal of a request reveals.

    `sent` is the request's output limit, `tool_choice` its field of this name.
    """
    words = message_of(error)
    limit = _output_limit_in(error, sent) if sent else None
    if fault_kind(error) not in ("rejected", "model", "down"):
        return ModelTraits(output_tokens=limit)
    quirks = set[str]()
    for name, pattern in _QUIRKS.items():
        if re.search(pattern, words, re.IGNORECASE | re.DOTALL):
            quirks.add(name)
    if limit:
        quirks.discard(_OUTPUT_NAME)
    if _CHOICE in quirks and tool_choice in _CHOICES:
        # A server that refuses one value may accept the others.
        quirks.remove(_CHOICE)
        quirks.add(_CHOICES[tool_choice])
    return ModelTraits(frozenset(quirks), limit)


def _output_limit_in(error: Exception, sent: int) -> int | None:
    """Return the output limit that a refusal states; None if it states none. `sent`: the refused
    limit."""
    body = getattr(error, "body", None)
    stated = str(body.get("message") or "") if isinstance(body, dict) else str(error)
    if not _ABOUT_OUTPUT.search(stated) or _OF_WINDOW.search(message_of(error)):
        return None
    # The limit is the largest number in the message that is below the refused one.
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(stated)]
    return max([number for number in numbers if number < sent], default=None)


def room_in(error: Exception) -> int | None:
    """Return the tokens that a prompt leaves for the answer, if the refusal states window and
    prompt; else None."""
    stated = _OF_WINDOW.search(message_of(error))
    if not stated:
        return None
    window, prompt = map(int, stated.groups())
    return max(1, window - prompt)


def adapt(payload: Payload, learned: ModelTraits) -> Payload:
    """Change a request in place so that a server with these traits accepts it, and return it."""
    quirks = learned.quirks
    for name in quirks & {"stream_options", "parallel_tool_calls", "store"}:
        payload.pop(name, None)
    if payload.get(_CHOICE) == "required" and _FORCED_CALLS in quirks:
        payload[_CHOICE] = "auto"
    if payload.get(_CHOICE) == "none" and quirks & {_BARRED_CALLS, _CHOICE}:
        for name in ("tools", "parallel_tool_calls"):
            payload.pop(name, None)
        payload.pop(_CHOICE)
    if _CHOICE in quirks:
        payload.pop(_CHOICE, None)
    if "effort" in quirks:
        payload.pop("reasoning_effort", None)
    reasoning = payload.pop("reasoning", {})
    accepted = {key: value for key, value in reasoning.items() if key not in quirks}
    if accepted:
        payload["reasoning"] = accepted
    for name, other_name in (OUTPUT_LIMITS, OUTPUT_LIMITS[::-1]):
        if name in payload:
            limit = payload.pop(name)
            sent_name = other_name if _OUTPUT_NAME in quirks else name
            payload[sent_name] = min(limit, learned.output_tokens or limit)
            break
    if "messages" in payload:
        payload["messages"] = _adapted_messages(payload["messages"], quirks)
    return payload


def _adapted_messages(messages: Sequence[WireMessage], quirks: frozenset[str]) -> list[WireMessage]:
    """Return messages that a server with these quirks accepts."""
    adapted = list(messages)
    if _CALL_IDS in quirks:
        adapted = [_with_short_ids(message) for message in adapted]
    if _SINGLE_CALLS in quirks:
        adapted = _by_call(adapted)
    if _NO_SYSTEM in quirks or _TURNS in quirks:
        for number, message in enumerate(adapted):
            if message["role"] == "system" and (number > 0 or _NO_SYSTEM in quirks):
                adapted[number] = {**message, "role": "user"}
        adapted = _in_turns(adapted)
    return adapted


def _with_short_ids(message: WireMessage) -> WireMessage:
    """Return the message with hashes as tool call ids."""
    changed = dict(message)
    if message["role"] == "tool":
        changed["tool_call_id"] = _short_id(message["tool_call_id"])
    calls = message.get("tool_calls")
    if calls:
        changed["tool_calls"] = [{**call, "id": _short_id(call["id"])} for call in calls]
    return changed


def _short_id(identifier: str) -> str:
    return sha256(identifier.encode()).hexdigest()[:_SHORT_ID]


def _by_call(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages with those that have several calls split: each call is followed by its
    result."""
    results: dict[str, WireMessage] = {}
    for message in messages:
        if message["role"] == "tool":
            results[message["tool_call_id"]] = message
    split: list[WireMessage] = []
    for message in messages:
        calls = message.get("tool_calls") or ()
        if len(calls) > 1:
            for number, call in enumerate(calls):
                with_call = {**message, "tool_calls": [call]}
                if number > 0:
                    with_call["content"] = None
                split.append(with_call)
                if call["id"] in results:
                    split.append(results.pop(call["id"]))
        elif message["role"] != "tool" or results.get(message["tool_call_id"]) is message:
            split.append(message)
    return split


def _in_turns(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages with alternating roles: equal ones joined, user text added to the tool
    result before it."""
    joinable = (("tool", "user"), ("user", "user"), ("assistant", "assistant"))
    turns: list[WireMessage] = []
    for message in messages:
        if turns:
            before = turns[-1]
            has_calls = message.get("tool_calls") or before.get("tool_calls")
            if (before["role"], message["role"]) in joinable and not has_calls:
                content = _joined(before["content"], message["content"])
                turns[-1] = {**before, "content": content}
                continue
        turns.append(message)
    return turns


def _joined(*contents: Any) -> Any:
    """Return the contents of messages as one: a text if all are texts, else a list of content
    blocks."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    blocks: list[Any] = []
    for content in contents:
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        else:
            blocks += content or []
    return blocks
