"""The tools that a model may call: their names as models write them, their arguments as models send them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from .lenient import value_in

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
        """By name, in the order in which they were offered."""
        keys = Counter(map(_key, self.tools))
        self._names = {_key(name): name for name in self.tools if keys[_key(name)] == 1}

    def find(self, written: str) -> Tool | None:
        """Return the tool that is meant by a name with other case, hyphens, spaces, or a prefix like `functions.`."""
        return self.tools.get(written) or self.tools.get(self._names.get(_key(written), ""))


def coerce(arguments: dict[str, Any], tool: Tool | None) -> dict[str, Any]:
    """Return the arguments in the types of the schema where they came as text, without nulls that mean nothing."""
    return arguments if tool is None else _fields(arguments, tool.parameters, tool.required)


def _fields(values: dict[str, Any], schemas: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    return {
        name: _value(value, schemas.get(name, {}))
        for name, value in values.items()
        if value is not None or name in required
    }


def _value(value: Any, schema: dict[str, Any]) -> Any:
    """Return the value in the type of its schema; an object in place of a list of objects is its only entry."""
    items = schema.get("items", {})
    shape = _SHAPES.get(str(schema.get("type")))
    if shape and isinstance(value, str):
        read = value_in(value)
        if isinstance(read, shape) or ("properties" in items and isinstance(read, dict)):
            value = read
    if isinstance(value, dict) and "properties" in items:
        value = [value]
    if isinstance(value, list) and items:
        return [_value(entry, items) for entry in value]
    if isinstance(value, dict) and "properties" in schema:
        return _fields(value, schema["properties"], schema.get("required", ()))
    return value


def _tool(schema: dict[str, Any]) -> Tool:
    function = schema["function"]
    parameters = _without_null(function.get("parameters", {}))
    return Tool(
        function["name"],
        function.get("description", ""),
        parameters.get("properties", {}),
        frozenset(parameters.get("required", ())),
    )


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with that of the value in place of a value or null, at any depth."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    plain = {**schema, **options[0]} if len(options) == 1 else dict(schema)
    if "items" in plain:
        plain["items"] = _without_null(plain["items"])
    if "properties" in plain:
        plain["properties"] = {name: _without_null(field) for name, field in plain["properties"].items()}
    return plain


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", _SUFFIX.sub("", _PREFIX.sub("", name.strip()))).casefold()
