"""The rungs of the ladder: three ways to offer tools to a model, most reliable first."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import merge_message_runs

from .lenient import value_in

RungName = Literal["native", "schema", "tags"]
LADDER: tuple[RungName, ...] = get_args(RungName)
"""The rungs in the order of trial."""
_PREFIX = re.compile(r"^(?:functions?|tools?|default_api|multi_tool_use)[.:/]", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:<\||:\d+$|\(\)$).*", re.DOTALL)
_TYPES = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list",
    "object": "object",
}  # fmt: skip
_KEPT = ("type", "description", "enum", "items")
"""Schema keywords to keep: servers treat others differently, and some reject them."""
_SHAPES: dict[str, type | tuple[type, ...]] = {
    "array": list, "object": dict, "integer": int, "number": (int, float), "boolean": bool,
}  # fmt: skip
WordsName = Literal["answer", "question_to_user"]
"""Key of the message's text in the JSON that also contains its calls."""


class Tool(NamedTuple):
    """An offered tool."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    """JSON schemas by parameter name, without nulls."""
    required: frozenset[str]


class Offer:
    """The tools of one request, from schemas in OpenAI's format."""

    def __init__(self, schemas: Sequence[dict[str, Any]]) -> None:
        self.tools = dict[str, Tool]()
        """Tools by name, in the order of the schemas."""
        for function in (schema["function"] for schema in schemas):
            fields = function.get("parameters", {})
            required = frozenset(fields.get("required", ()))
            name, description = function["name"], function.get("description", "")
            self.tools[name] = Tool(name, description, fields.get("properties", {}), required)
        keys = Counter(map(_key, self.tools))
        self._names = {_key(name): name for name in self.tools if keys[_key(name)] == 1}

    def find(self, written: str) -> Tool | None:
        """Find a tool by name, ignoring case, hyphens, spaces, and a prefix like `functions.`."""
        return self.tools.get(written) or self.tools.get(self._names.get(_key(written), ""))


def coerce(arguments: dict[str, Any], tool: Tool | None) -> dict[str, Any]:
    """Convert arguments from text to the schema's types, and drop nulls of optional ones."""
    schema = {"properties": tool.parameters, "required": tool.required} if tool else {}
    converted: dict[str, Any] = _value(arguments, schema)
    return converted


def _value(value: Any, schema: dict[str, Any]) -> Any:
    """Convert a value to its schema's type; a single object becomes a list if the schema asks for one."""
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
        fields, required = schema["properties"], schema.get("required", ())
        given = {name: entry for name, entry in value.items() if entry is not None or name in required}
        return {name: _value(entry, fields.get(name, {})) for name, entry in given.items()}
    return value


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", _SUFFIX.sub("", _PREFIX.sub("", name.strip()))).casefold()


def how_to_tag(tools: Iterable[Tool]) -> str:
    """Return the instructions for calls in tags, with an example."""
    example = as_tags([_example(tools)])
    return (
        f"A call is written like this, its arguments as one JSON object:\n{example}\n"
        "Several calls stand one below the other. Their results come in the next message."
    )


def _instructions(rung: RungName, tools: Sequence[Tool]) -> str:
    """Describe the tools and how to call them; constant within a conversation so that servers can cache the prompt."""
    lines = ["Tools:"]
    for tool in tools:
        lines.append(f"- {tool.name}: {tool.description}" + ("" if tool.parameters else " It takes no arguments."))
        lines += _field_lines(tool.parameters, tool.required, "  ")
    form = (
        how_to_tag(tools)
        if rung == "tags"
        else "Calls are written as one JSON object, with nothing before or after it:\n"
        f"{as_json([_example(tools)])}\n"
        "Several calls stand in one list. Their results come in the next message."
    )
    only = "Every message of yours is such a call and nothing else, unless you are told that it may be words."
    return "\n".join(lines) + f"\n\n{form} {only}"


def _response_format(tools: Iterable[Tool], words_name: WordsName | None) -> dict[str, Any]:
    """Return the setting that limits the output to calls of these tools and, with `words_name`, text."""
    arguments = {tool.name: _object(_strict_fields(tool.parameters, tool.required)) for tool in tools}
    forms = [
        _object({"name": {"type": "string", "enum": [name]}, "arguments": fields}) for name, fields in arguments.items()
    ]
    calls: dict[str, Any] = {"type": "array", "items": {"anyOf": forms}}
    if words_name:
        schema = _object({"calls": calls, words_name: {"type": "string"}})
    else:
        schema = _object({"calls": {**calls, "minItems": 1}})
    return {"type": "json_schema", "json_schema": {"name": "calls", "strict": True, "schema": schema}}


def _field_lines(schemas: dict[str, Any], required: Collection[str], indent: str) -> Iterator[str]:
    """Yield the fields of an object, one per line, each with its nested fields below."""
    for name, schema in schemas.items():
        kind = _type(schema) + ("" if name in required else ", optional")
        yield f"{indent}{name} ({kind}): {schema.get('description', '')}".rstrip(": ")
        inner = schema
        while "items" in inner:
            inner = inner["items"]
        yield from _field_lines(inner.get("properties", {}), inner.get("required", ()), f"{indent}  ")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _TYPES.get(str(schema.get("type")), "any value")


def _example(tools: Iterable[Tool]) -> dict[str, Any]:
    """Return an example call of the first tool with arguments; weak models follow examples better than rules."""
    offered = list(tools)
    tool = next((tool for tool in offered if tool.parameters), offered[0])
    arguments = {}
    for name, schema in tool.parameters.items():
        # Models copy invented numbers and words, while an empty list is valid.
        is_plain_list = schema.get("type") == "array" and schema.get("items", {}).get("type") != "object"
        arguments[name] = [] if is_plain_list and name not in tool.required else _placeholder(schema)
    return {"name": tool.name, "arguments": arguments}


def _placeholder(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_placeholder(schema.get("items", {}))]
    if "properties" in schema:
        # Models would copy optional fields too.
        shown = schema.get("required") or schema["properties"]
        return {name: _placeholder(schema["properties"][name]) for name in shown}
    return {"integer": 1, "number": 1, "boolean": True, "object": {}}.get(str(schema.get("type")), "…")


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _strict_fields(schemas: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    """Return an object's fields for strict servers: all are required, and optional ones are nullable."""
    return {
        name: _strict(schema) if name in required else {"anyOf": [_strict(schema), {"type": "null"}]}
        for name, schema in schemas.items()
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert a schema to the form that strict servers accept."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if "properties" in schema:
        kept |= _object(_strict_fields(schema["properties"], schema.get("required", ())))
    return kept


def as_json(calls: Iterable[dict[str, Any]]) -> str:
    """Return `{"calls": [{"name": …, "arguments": {…}}]}`."""
    return json.dumps({"calls": [*calls]}, ensure_ascii=False)


def as_tags(calls: Iterable[dict[str, Any]]) -> str:
    """Return `<tool name="…">{…}</tool>`, one per line."""
    return "\n".join(
        f'<tool name="{call["name"]}">{json.dumps(call["arguments"], ensure_ascii=False)}</tool>' for call in calls
    )


def flattened(messages: Sequence[AnyMessage], write: Callable[[Iterable[dict[str, Any]]], str]) -> list[AnyMessage]:
    """Return the conversation with tool calls and results as text, and with alternating user and assistant."""
    labels, plain = dict[str, str](), list[AnyMessage]()
    for message in messages:
        if isinstance(message, ToolMessage):
            label = labels.get(message.tool_call_id, "an earlier call")
            plain.append(HumanMessage(f"Result of {label}:\n{message.text}"))
        elif isinstance(message, AIMessage) and message.tool_calls:
            calls = message.tool_calls
            for number, call in enumerate(calls, 1):
                labels[call["id"] or ""] = call["name"] if len(calls) == 1 else f"call {number}, {call['name']}"
            written = write({"name": call["name"], "arguments": call["args"]} for call in calls)
            plain.append(AIMessage(f"{message.text}\n\n{written}".strip()))
        else:
            plain.append(message)
    merged: Any = merge_message_runs(plain, chunk_separator="\n\n")
    return [*merged]


class Ability(NamedTuple):
    """How a model calls tools and answers, learned from trial calls and use."""

    rung: RungName = "native"
    begins_inside: bool = False
    """Whether its answers begin within a thought without an opening tag."""
    reasons: bool = False
    """Whether it showed a thought in its trial."""
    quirks: tuple[str, ...] = ()
    """How its server differs from OpenAI; see `models.quirks`."""
    output_tokens: int | None = None
    """The largest output limit that its server accepts; None: not known."""
    judges: bool | None = None
    """Whether it passed its trial as a verifier; None: not tried."""
    window: int | None = None
    """Window in tokens that its server last stated; None: not stated."""
    calls_tools: bool = True
    """Whether it can call tools at all; if not, the rung only decides how it is shown results."""


class Prepared(NamedTuple):
    """A request converted to the form of a rung."""

    messages: list[AnyMessage]
    tools: list[dict[str, Any]]
    """Tools to bind; empty below the rung `native`."""
    settings: dict[str, Any]
    """Other settings to bind."""


def prepare(
    rung: RungName,
    messages: Sequence[AnyMessage],
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    words_name: WordsName = "answer",
) -> Prepared:
    """Convert a request to the form of this rung; for `tool_choice` and `words_name`, see `Request`.

    Below `native`, the system prompt ends with a description of the tools, and earlier calls and results become text.
    The last message says whether the model may write text instead of a call.
    """
    if rung == "native":
        return Prepared(list(messages), list(tools), {})
    write = as_tags if rung == "tags" else as_json
    plain = flattened(messages, write)
    if not tools:
        return Prepared(plain, [], {})
    offered, is_forced = list(Offer(tools).tools.values()), tool_choice == "any"
    first = [message.text for message in plain[:1] if message.type == "system"]
    system = "\n\n".join([*first, _instructions(rung, offered)])
    rest = [message for message in plain if message.type != "system"]
    if not is_forced and rest and rest[-1].type == "human":
        purpose = "ask" if words_name == "question_to_user" else "answer"
        form = "plain text." if rung == "tags" else f'{{"calls": [], "{words_name}": "…"}}'
        how_to_say = f"To {purpose} in words instead of calling a tool, write: {form}"
        how_to_say = "Now write text, and no call." if tool_choice == "none" else how_to_say
        rest[-1] = HumanMessage(f"{how_to_say}\n\n{rest[-1].text}")
    settings = dict[str, Any]()
    if rung == "schema" and tool_choice != "none":
        settings["response_format"] = _response_format(offered, None if is_forced else words_name)
    return Prepared([SystemMessage(system), *rest], [], settings)
