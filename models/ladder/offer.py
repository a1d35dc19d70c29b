"""The tools that a model may call: their names as models write them, their arguments as models send them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

_PREFIX = re.compile(r"^(?:functions?|tools?|default_api|multi_tool_use)[.:/]", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:<\||:\d+$|\(\)$).*", re.DOTALL)
_SHAPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


class Tool(NamedTuple):
    """A tool that is offered."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    """JSON schemas by name; that of a value or null is the value's."""
    required: frozenset[str]


class Offer:
    """All tools of one request, from their schemas in the form of the OpenAI API."""

    def __init__(self, schemas: Sequence[dict[str, Any]]) -> None:
        self.tools = {tool.name: tool for tool in map(_tool, schemas)}
        """In the order in which they were offered, by name."""
        keys = Counter(map(_key, self.tools))
        self._names = {_key(name): name for name in self.tools if keys[_key(name)] == 1}

    def named(self, written: str) -> Tool | None:
        """The tool that is meant by a name with other case, hyphens, a prefix such as `functions.`, or spaces."""
        return self.tools.get(written) or self.tools.get(self._names.get(_key(written), ""))


def settled(arguments: dict[str, Any], tool: Tool | None) -> dict[str, Any]:
    """The arguments with lists, objects and numbers that came as text, and without nulls that mean nothing."""
    if tool is None:
        return arguments
    return {
        name: _typed(value, tool.parameters.get(name, {}))
        for name, value in arguments.items()
        if value is not None or name in tool.required
    }


def _typed(value: Any, schema: dict[str, Any]) -> Any:
    shape = _SHAPES.get(str(schema.get("type")))
    if shape is None or not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, shape) else value


def _tool(schema: dict[str, Any]) -> Tool:
    function = schema["function"]
    parameters = function.get("parameters", {})
    return Tool(
        function["name"],
        function.get("description", ""),
        {name: _without_null(value) for name, value in parameters.get("properties", {}).items()},
        frozenset(parameters.get("required", ())),
    )


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return {**schema, **options[0]} if len(options) == 1 else schema


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", _SUFFIX.sub("", _PREFIX.sub("", name.strip()))).casefold()
