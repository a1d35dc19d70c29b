"""Tells a model in words, or by a JSON schema, which tools there are and how to write a call."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from .offer import Tool
from .written import Writer, WrittenCall, as_tags

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "object",
}
_KEPT = ("type", "description", "enum", "items")
"""What is kept of a parameter's schema: servers differ in the rest, and some refuse it."""


def described(tools: Iterable[Tool]) -> str:
    """The tools, one a line, with their arguments below."""
    return "\n".join(["Tools:", *map(_line, tools)])


def instructions(write: Writer, tools: Iterable[Tool], *, is_forced: bool, has_answer: bool) -> str:
    """How to write a call; `is_forced`: each message has to be one; `has_answer`: words go into the JSON as well."""
    example = write([_example(tools)])
    if write is as_tags:
        form = f"A call is written like this, its arguments as one JSON object:\n{example}"
        several = "Several calls stand one below the other. Their results come in the next message."
    else:
        form = f"Calls are written as one JSON object, with nothing before or after it:\n{example}"
        several = "Several calls stand in one list. Their results come in the next message."
    if is_forced:
        return f"{form}\n{several} Every message of yours is such a call and nothing else."
    if has_answer:
        words = json.dumps({"answer": "…", "calls": []}, ensure_ascii=False)
        return f"{form}\nTo answer in words instead of calling a tool, write:\n{words}"
    return f"{form}\nTo answer in words instead of calling a tool, write plain text."


def response_format(tools: Iterable[Tool], *, is_forced: bool) -> dict[str, Any]:
    """The setting that makes a server hold the model to calls of these tools; with words beside them if not forced."""
    calls = {"type": "array", "items": {"anyOf": [_call(tool) for tool in tools]}}
    if is_forced:
        schema = _object({"calls": {**calls, "minItems": 1}})
    else:
        schema = _object({"answer": {"type": "string"}, "calls": calls})
    return {"type": "json_schema", "json_schema": {"name": "calls", "strict": True, "schema": schema}}


def _line(tool: Tool) -> str:
    head = f"- {tool.name}: {tool.description}" + ("" if tool.parameters else " It takes no arguments.")
    return "\n".join([head, *_fields(tool.parameters, tool.required, "  ")])


def _fields(schemas: dict[str, Any], required: Collection[str], indent: str) -> Iterator[str]:
    """The arguments, or the fields of an object, one a line, each with the fields of the objects in it below."""
    for name, schema in schemas.items():
        kind = _type(schema) + ("" if name in required else ", optional")
        yield f"{indent}{name} ({kind}): {schema.get('description', '')}".rstrip(": ")
        inner = schema
        while "items" in inner:
            inner = inner["items"]
        yield from _fields(inner.get("properties", {}), inner.get("required", ()), f"{indent}  ")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _TYPES.get(str(schema.get("type")), "any value")


def _example(tools: Iterable[Tool]) -> WrittenCall:
    """A call of the first tool that takes arguments; weak models follow what they see, not what they are told."""
    offered = list(tools)
    tool = next((tool for tool in offered if tool.parameters), offered[0])
    return WrittenCall(
        tool.name,
        {
            name: [] if name not in tool.required and _is_plain_list(schema) else _value(schema)
            for name, schema in tool.parameters.items()
        },
    )


def _is_plain_list(schema: dict[str, Any]) -> bool:
    """Whether it holds numbers or words: made-up ones would be taken over, while an empty list is right as well."""
    return schema.get("type") == "array" and schema.get("items", {}).get("type") != "object"


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_value(schema.get("items", {}))]
    if "properties" in schema:
        # What is optional would be taken over as it stands, too.
        shown = schema.get("required") or schema["properties"]
        return {name: _value(schema["properties"][name]) for name in shown}
    return {"integer": 1, "number": 1, "boolean": True, "object": {}}.get(str(schema.get("type")), "…")


def _call(tool: Tool) -> dict[str, Any]:
    arguments = _object(_strict_fields(tool.parameters, tool.required))
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _strict_fields(schemas: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    """All have to be there; what is optional may be null."""
    return {
        name: _strict(schema) if name in required else {"anyOf": [_strict(schema), {"type": "null"}]}
        for name, schema in schemas.items()
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in the form that strict servers take."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if "properties" in schema:
        kept |= _object(_strict_fields(schema["properties"], schema.get("required", ())))
    return kept
