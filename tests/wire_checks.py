"""What holds of every request that a run makes of its models, whichever API it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from openai_server import Received
from wire import role_of

REMINDED = ("planner", "orchestrator", "researcher", "finding", "writer", "verifier")
"""Who gets a reminder as the last message."""


class Said(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    """Ids of the tool calls in it."""
    answers: str = ""
    """Id of the call whose result it is."""


def conversation(request: Received) -> list[Said]:
    """The messages of a prompt; calls that follow one another are one message of the assistant."""
    said: list[Said] = []
    for message in request.messages:
        if message.get("type") == "reasoning":
            continue
        if message.get("type") == "function_call":
            last = said.pop() if said[-1].role == "assistant" else Said("assistant", "")
            said.append(last._replace(calls=(*last.calls, message["call_id"])))
        elif message.get("type") == "function_call_output":
            said.append(Said("tool", message["output"], answers=message["call_id"]))
        else:
            calls = tuple(call["id"] for call in message.get("tool_calls") or ())
            role = message["role"].replace("developer", "system")
            said.append(Said(role, _text(message["content"]), calls, message.get("tool_call_id", "")))
    return said


def faults(request: Received) -> list[str]:
    """What is wrong with a request in itself."""
    said, asked, role = conversation(request), request.json, role_of(request)
    wrong = {
        "the system prompt is not first, or not alone": [m.role for m in said].index("system") != 0
        or sum(m.role == "system" for m in said) > 1,
        "the reminder is not last": (role in REMINDED) != said[-1].text.endswith("</reminder>"),
        "the last message is not the user's": said[-1].role != "user",
        "a message without words and calls": any(not m.text and not m.calls for m in said if m.role != "tool"),
        "calls and results do not match": not _is_answered(said),
        "an empty list of tools": asked.get("tools") == [],
        "a tool choice without tools": "tool_choice" in asked and "tools" not in asked,
        "a temperature beside tools, which reasoning models refuse": "temperature" in asked and "tools" in asked,
        "a null": any(value is None for value in asked.values()),
    }
    return [f"{role}: {fault}" for fault, is_so in wrong.items() if is_so]


def all_faults(requests: Sequence[Received]) -> list[str]:
    """What is wrong with the requests of a run, one by one and in comparison."""
    found = [fault for request in requests for fault in faults(request)]
    for role in {role_of(request) for request in requests}:
        of_role = [request for request in requests if role_of(request) == role]
        for name, values in {
            "system prompts": {request.system for request in of_role},
            "tools": {repr(request.json.get("tools")) for request in of_role},
        }.items():
            if len(values) > 1:
                found.append(f"{role}: {len(values)} different {name}")
    return found


def extends(earlier: Received, later: Received) -> bool:
    """Whether a prompt begins as an earlier one did, but for the reminder, so that a cache can serve it."""
    kept = earlier.messages[:-1]
    return later.messages[: len(kept)] == kept


def _is_answered(said: Sequence[Said]) -> bool:
    """Whether each call has its own id and one result, right after its message and in the order of the calls."""
    ids = [identifier for message in said for identifier in message.calls]
    expected: list[str] = []
    for message in said:
        if message.role == "tool":
            if not expected or expected.pop(0) != message.answers:
                return False
        elif expected:
            return False
        expected += message.calls
    return len(set(ids)) == len(ids) and all(ids) and not expected


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content or ())
