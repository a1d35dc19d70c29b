"""How servers differ from OpenAI: learned from their error messages, and applied to later requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ..run.transcripts import REASONING
from .faults import fault_kind, message_of

Payload = dict[str, Any]
WireMessage = dict[str, Any]

_OUTPUT_NAME = "output_name"
_TURNS = "turns"
_SINGLE_CALLS = "single_calls"
_NO_SYSTEM = "no_system"
_CALL_IDS = "call_ids"
_UNKNOWN = r"(unsupported|not supported|unknown|unrecognized|unexpected|extra|not permitted|not allowed)"
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
"""Request features that a server may reject or require, with the wording of its refusal."""
_WISHES = {
    _OUTPUT_NAME: "the other name of the output limit",
    REASONING: "earlier thoughts sent back",
    _TURNS: "roles that alternate",
    _SINGLE_CALLS: "one tool call a message",
    _NO_SYSTEM: "no system message",
    _CALL_IDS: "ids of tool calls of nine letters and digits",
}
"""What a server with the quirk requires, as shown to the user; the other quirks are rejected fields."""
_SHORT_ID = 9
"""Length of tool call ids that Mistral requires."""
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
_ABOUT_OUTPUT = re.compile("max_(?:completion_|output_)?tokens|(?:output|completion) tokens", re.IGNORECASE)
_OF_WINDOW = re.compile(r"maximum context length is (\d+) tokens.{0,60}?(\d+) input tokens", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d.])|(?<![\d.])\d{3,7}(?!\d|\.\d)")


class ModelTraits(NamedTuple):
    """What was learned about one model at one server."""

    quirks: frozenset[str] = frozenset()
    output_tokens: int | None = None
    """Maximum output tokens that a request may ask for; None: not known."""

    def __or__(self, other: ModelTraits) -> ModelTraits:
        """Return both combined; `other.output_tokens` wins if known."""
        return ModelTraits(self.quirks | other.quirks, other.output_tokens or self.output_tokens)


def wishes(quirks: Iterable[str], output_tokens: int | None) -> str:
    """Describe a server's quirks for the user; empty if it has none."""
    wanted = [_WISHES.get(name, f"no {name}") for name in quirks]
    wanted += [f"at most {output_tokens} tokens an answer"] if output_tokens else []
    return ", ".join(wanted)


def learn(error: Exception, sent: int | None) -> ModelTraits:
    """Return the traits that a refusal reveals; `sent` is the output limit of the refused request."""
    words = message_of(error)
    limit = None
    body = getattr(error, "body", None)
    stated = str(body.get("message") or "") if isinstance(body, dict) else str(error)
    if sent and _ABOUT_OUTPUT.search(stated) and not _OF_WINDOW.search(words):
        # The largest stated number below the refused limit.
        numbers = (int(found.replace(",", "")) for found in _NUMBER.findall(stated))
        limit = max((number for number in numbers if number < sent), default=None)
    if fault_kind(error) not in ("rejected", "model", "down"):
        return ModelTraits(output_tokens=limit)
    found = (name for name, pattern in _QUIRKS.items() if re.search(pattern, words, re.IGNORECASE | re.DOTALL))
    return ModelTraits(frozenset(found) - {_OUTPUT_NAME if limit else ""}, limit)


def room_in(error: Exception) -> int | None:
    """Return the tokens left in the window for an answer, if the refusal states window and input; else None."""
    found = _OF_WINDOW.search(message_of(error))
    return max(1, int(found[1]) - int(found[2])) if found else None


def adapt(payload: Payload, learned: ModelTraits) -> Payload:
    """Change a request in place to suit its server."""
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
            payload[other if _OUTPUT_NAME in quirks else name] = min(limit, learned.output_tokens or limit)
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
    def short(identifier: str) -> str:
        return sha256(identifier.encode()).hexdigest()[:_SHORT_ID]

    calls = [{**call, "id": short(call["id"])} for call in message.get("tool_calls") or ()]
    answered = {"tool_call_id": short(message["tool_call_id"])} if message["role"] == "tool" else {}
    return {**message, **answered, **({"tool_calls": calls} if calls else {})}


def _by_call(messages: Sequence[WireMessage]) -> Iterator[WireMessage]:
    """Yield the messages split so that each has one call and is followed by its result."""
    results = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
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
    """Return messages with alternating roles: join equal roles, append user text to the preceding tool result."""
    turns = list[WireMessage]()
    for message in messages:
        before, role = turns[-1] if turns else {"role": ""}, message["role"]
        has_calls = message.get("tool_calls") or before.get("tool_calls")
        pairs = (("tool", "user"), ("user", "user"), ("assistant", "assistant"))
        if (before["role"], role) in pairs and not has_calls:
            contents = before["content"], message["content"]
            joined: Any = []
            if all(isinstance(content, str) for content in contents):
                joined = "\n\n".join(contents)
            else:
                for content in contents:
                    joined += [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            turns[-1] = {**before, "content": joined}
        else:
            turns.append(message)
    return turns
