"""The rungs of the ladder: three ways of offering tools to a model, the most reliable first."""

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
"""All rungs in the order in which they are tried."""
_PREFIX = re.compile(r"^(?:functions?|tools?|default_api|multi_tool_use)[.:/]", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:<\||:\d+$|\(\)$).*", re.DOTALL)
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
_SHAPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


WordsName = Literal["answer", "question_to_user"]
"""What the words of a message are called in the JSON that holds its calls, too."""


class Tool(NamedTuple):
    """A tool that is offered."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    """JSON schemas by name, without nulls."""
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
    parameters = function.get("parameters", {})
    return Tool(
        function["name"],
        function.get("description", ""),
        parameters.get("properties", {}),
        frozenset(parameters.get("required", ())),
    )


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", _SUFFIX.sub("", _PREFIX.sub("", name.strip()))).casefold()


def described(tools: Iterable[Tool]) -> str:
    """Return the tools, one a line, with their arguments below."""
    return "\n".join(["Tools:", *map(_line, tools)])


def how_to_tag(tools: Iterable[Tool]) -> str:
    """Return how to write calls in tags, by the example of one of these tools."""
    example = as_tags([_example(tools)])
    return (
        f"A call is written like this, its arguments as one JSON object:\n{example}\n"
        "Several calls stand one below the other. Their results come in the next message."
    )


def how_to_call(rung: RungName, tools: Sequence[Tool]) -> str:
    """Return how to write a call, which is the same for all calls of a conversation: servers keep what begins alike."""
    form = (
        how_to_tag(tools)
        if rung == "tags"
        else "Calls are written as one JSON object, with nothing before or after it:\n"
        f"{as_json([_example(tools)])}\n"
        "Several calls stand in one list. Their results come in the next message."
    )
    return f"{form} Every message of yours is such a call and nothing else, unless you are told that it may be words."


def _how_to_say(rung: RungName, tool_choice: str, words_name: WordsName) -> str:
    """Return how words may be written in place of a call."""
    if tool_choice == "none":
        return "Now write text, and no call."
    purpose = "ask" if words_name == "question_to_user" else "answer"
    form = "plain text." if rung == "tags" else f'{{"calls": [], "{words_name}": "…"}}'
    return f"To {purpose} in words instead of calling a tool, write: {form}"


def response_format(tools: Iterable[Tool], *, is_forced: bool, words_name: WordsName = "answer") -> dict[str, Any]:
    """Return the setting that makes a server hold the model to calls of these tools, or to words too if not forced."""
    calls = {"type": "array", "items": {"anyOf": [_call(tool) for tool in tools]}}
    if is_forced:
        schema = _object({"calls": {**calls, "minItems": 1}})
    else:
        schema = _object({"calls": calls, words_name: {"type": "string"}})
    return {"type": "json_schema", "json_schema": {"name": "calls", "strict": True, "schema": schema}}


def _line(tool: Tool) -> str:
    head = f"- {tool.name}: {tool.description}" + ("" if tool.parameters else " It takes no arguments.")
    return "\n".join([head, *_field_lines(tool.parameters, tool.required, "  ")])


def _field_lines(schemas: dict[str, Any], required: Collection[str], indent: str) -> Iterator[str]:
    """Yield the arguments, or the fields of an object, one a line, each with the fields of the objects in it below."""
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


def _example(tools: Iterable[Tool]) -> WrittenCall:
    """Return a call of the first tool that takes arguments; weak models follow examples rather than words."""
    offered = list(tools)
    tool = next((tool for tool in offered if tool.parameters), offered[0])
    return WrittenCall(
        tool.name,
        {
            name: [] if name not in tool.required and _is_plain_list(schema) else _placeholder(schema)
            for name, schema in tool.parameters.items()
        },
    )


def _is_plain_list(schema: dict[str, Any]) -> bool:
    """Whether it holds numbers or words: made-up ones would be taken over, while an empty list is right as well."""
    return schema.get("type") == "array" and schema.get("items", {}).get("type") != "object"


def _placeholder(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_placeholder(schema.get("items", {}))]
    if "properties" in schema:
        # What is optional would be taken over as it stands, too.
        shown = schema.get("required") or schema["properties"]
        return {name: _placeholder(schema["properties"][name]) for name in shown}
    return {"integer": 1, "number": 1, "boolean": True, "object": {}}.get(str(schema.get("type")), "…")


def _call(tool: Tool) -> dict[str, Any]:
    arguments = _object(_strict_fields(tool.parameters, tool.required))
    return _object({"name": {"type": "string", "enum": [tool.name]}, "arguments": arguments})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _strict_fields(schemas: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    """Return an object's fields as strict servers take them: all required, optional ones nullable."""
    return {
        name: _strict(schema) if name in required else {"anyOf": [_strict(schema), {"type": "null"}]}
        for name, schema in schemas.items()
    }


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema in the form that strict servers take."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if "properties" in schema:
        kept |= _object(_strict_fields(schema["properties"], schema.get("required", ())))
    return kept


class WrittenCall(NamedTuple):
    """A call as it is written."""

    name: str
    arguments: dict[str, Any]


Writer = Callable[[Iterable[WrittenCall]], str]


def as_json(calls: Iterable[WrittenCall]) -> str:
    """Return `{"calls": [{"name": …, "arguments": {…}}]}`."""
    return json.dumps({"calls": [call._asdict() for call in calls]}, ensure_ascii=False)


def as_tags(calls: Iterable[WrittenCall]) -> str:
    """Return `<tool name="…">{…}</tool>`, one a line."""
    return "\n".join(
        f'<tool name="{call.name}">{json.dumps(call.arguments, ensure_ascii=False)}</tool>' for call in calls
    )


def flattened(messages: Sequence[AnyMessage], write: Writer) -> list[AnyMessage]:
    """Return the same conversation without tool calls and tool results, user and assistant in turn."""
    labels = _labels(messages)
    plain: Any = merge_message_runs([_plain(message, labels, write) for message in messages], chunk_separator="\n\n")
    return [*plain]


def _labels(messages: Sequence[AnyMessage]) -> dict[str, str]:
    """Return how a result says which call it answers, by the call's id."""
    labels = {}
    for message in messages:
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        for number, call in enumerate(calls, 1):
            labels[call["id"] or ""] = call["name"] if len(calls) == 1 else f"call {number}, {call['name']}"
    return labels


def _plain(message: AnyMessage, labels: dict[str, str], write: Writer) -> AnyMessage:
    if isinstance(message, ToolMessage):
        return HumanMessage(f"Result of {labels.get(message.tool_call_id, 'an earlier call')}:\n{message.text}")
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = write(WrittenCall(call["name"], call["args"]) for call in message.tool_calls)
        return AIMessage(f"{message.text}\n\n{calls}".strip())
    return message


class Ability(NamedTuple):
    """How a model calls tools, and answers."""

    rung: RungName = "native"
    begins_inside: bool = False
    """Whether its answers begin within a thought, without a tag that opens it."""
    reasons: bool = False
    """Whether it showed a thought of its own when it was tried."""
    quirks: tuple[str, ...] = ()
    """What its server takes otherwise than OpenAI; see `models.quirks`."""
    output_tokens: int | None = None
    """The most tokens of an answer that its server takes; none: not known."""
    judges: bool | None = None
    """Whether it tells right from wrong as a verifier; none: not tried."""
    window: int | None = None
    """Input tokens that its server said last that it reads; none: it does not say."""
    calls_tools: bool = True
    """Whether it calls tools in any way; else the rung says how it is shown the results of tools."""


class Prepared(NamedTuple):
    """A request as the model is given it."""

    messages: list[AnyMessage]
    tools: list[dict[str, Any]]
    """Tools to bind; none unless the model calls them by the API's own means."""
    settings: dict[str, Any]
    """What else to bind."""


def prepare(
    rung: RungName,
    messages: Sequence[AnyMessage],
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    words_name: WordsName = "answer",
) -> Prepared:
    """Return the request in the form of this rung; `tool_choice` and `words_name` are those of a `Request`.

    Below `native` the tools are described at the end of the system prompt, which depends on nothing else, and earlier
    calls and results are shown as text. Whether words may be written stands in the last message.
    """
    if rung == "native":
        return Prepared(list(messages), list(tools), {})
    write = as_tags if rung == "tags" else as_json
    plain = flattened(messages, write)
    if not tools:
        return Prepared(plain, [], {})
    offered, is_forced = list(Offer(tools).tools.values()), tool_choice == "any"
    how_to = (described(offered), how_to_call(rung, offered))
    system = "\n\n".join([*(message.text for message in plain[:1] if message.type == "system"), *how_to])
    rest = [message for message in plain if message.type != "system"]
    if not is_forced and rest and rest[-1].type == "human":
        rest[-1] = HumanMessage(f"{_how_to_say(rung, tool_choice, words_name)}\n\n{rest[-1].text}")
    is_held = rung == "schema" and tool_choice != "none"
    held_to = response_format(offered, is_forced=is_forced, words_name=words_name)
    return Prepared([SystemMessage(system), *rest], [], {"response_format": held_to} if is_held else {})
