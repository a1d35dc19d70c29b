"""The shapes in which models put a call into a JSON value."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from .lenient import object_in
from .offer import Offer, Tool, settled

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_LISTS = ("calls", "tool_calls", "function_calls", "actions", "action", "call", "tool_call", "function_call")
_ASIDE = frozenset({"id", "type", "index"})


class Wanted(NamedTuple):
    """A call that a text asks for."""

    name: str
    """Name of the tool as offered; as written where there is no such tool."""
    arguments: dict[str, Any] | None
    """None if they cannot be read."""
    raw: str
    """The arguments as written."""


class Stretch(NamedTuple):
    """A stretch of a text that asks for calls."""

    start: int
    end: int
    wanted: list[Wanted]


def wanted_by(value: Any, offer: Offer, *, is_marked: bool = False) -> list[Wanted]:
    """The calls that a JSON value asks for.

    A tool that was not offered is taken only where the value `is_marked` as a call: elsewhere it is an example of
    something else.
    """
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), value)
    entries = value if isinstance(value, list) else [value]
    return [call for entry in entries if isinstance(entry, dict) for call in _entry(entry, offer, is_marked)]


def wanted(tool: Tool | None, name: str, arguments: Any) -> Wanted:
    """A call of a tool, or of a name that none bears; `arguments` are an object, or a text that holds one."""
    if isinstance(arguments, str):
        read, raw = object_in(arguments) if arguments.strip() else {}, arguments
    else:
        read = {} if arguments is None else arguments
        raw = json.dumps(read, ensure_ascii=False, default=str)
    settled_arguments = settled(read, tool) if isinstance(read, dict) else None
    return Wanted(tool.name if tool else name, settled_arguments, raw)


def _entry(entry: dict[str, Any], offer: Offer, is_marked: bool) -> list[Wanted]:
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    key = next((key for key in _NAMES if isinstance(entry.get(key), str)), None)
    if key is None:
        return _by_name(entry, offer)
    tool = offer.named(entry[key])
    if _describes(entry) or (tool is None and not is_marked):
        return []
    given = next((name for name in _ARGUMENTS if name in entry), None)
    if given is not None:
        return [wanted(tool, entry[key], entry[given])]
    rest = {name: value for name, value in entry.items() if name != key and name not in _ASIDE}
    fits = tool is not None and (is_marked or rest.keys() <= tool.parameters.keys())
    return [wanted(tool, entry[key], rest)] if fits else []


def _by_name(entry: dict[str, Any], offer: Offer) -> list[Wanted]:
    """Calls in the form `{"search": {"queries": […]}}`."""
    tools = [offer.named(name) for name in entry]
    if not all(tools) or not all(isinstance(value, dict) for value in entry.values()):
        return []
    return [wanted(tool, "", value) for tool, value in zip(tools, entry.values(), strict=True)]


def _describes(entry: dict[str, Any]) -> bool:
    """Whether this is the description of a tool, repeated, and no call."""
    parameters = entry.get("parameters")
    is_schema = isinstance(parameters, dict) and "properties" in parameters
    return is_schema or ("description" in entry and "arguments" not in entry)
