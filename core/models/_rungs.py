"""The three ways ("rungs") to offer tools to a model, from the most to the least reliable.

`native`: the API's tool calls. `schema`: the model writes calls as JSON, and the server enforces a
schema. `tags`: the model writes calls as tagged text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import merge_message_runs
from langchain_core.runnables import Runnable

from ._lenient_json import json_in

RungName = Literal["native", "schema", "tags"]
LADDER: tuple[RungName, ...] = get_args(RungName)
"""The rungs in the order in which they are tried."""
_PREFIX = re.compile(r"^(?:functions?|tools?|default_api|multi_tool_use)[.:/]", re.IGNORECASE)
"""Namespace that models put before a tool's name."""
_SUFFIX = re.compile(r"(?:<\||:\d+$|\(\)$).*", re.DOTALL)
"""Control token, call number or brackets that models put behind a tool's name."""
_TYPE_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "object",
}
"""Names of JSON types in the instructions to the model."""
_KEPT = ("type", "description", "enum", "items")
"""Schema keywords that are sent; servers treat others differently, and some reject them."""
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
"""Python types of JSON types, except of strings."""
TextKey = Literal["answer", "question_to_user"]
"""Key of the answer's text in the JSON that also contains its calls; small models take it
literally."""


class Tool(NamedTuple):
    """A tool offered to a model."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    """JSON schema of each parameter, by name."""
    required: frozenset[str]
    """Names of the required parameters."""


class Offer:
    """The tools offered in one request."""

    def __init__(self, schemas: Sequence[dict[str, Any]]) -> None:
        """`schemas` are in OpenAI's format."""
        self.tools: dict[str, Tool] = {}
        """Tools by name, in the order of the schemas."""
        for schema in schemas:
            function = schema["function"]
            parameters = function.get("parameters", {})
            tool = Tool(
                function["name"],
                function.get("description", ""),
                parameters.get("properties", {}),
                frozenset(parameters.get("required", ())),
            )
            self.tools[tool.name] = tool
        keys = Counter(map(_key, self.tools))
        self._by_key: dict[str, Tool] = {}
        for name, tool in self.tools.items():
            key = _key(name)
            if keys[key] == 1:
                self._by_key[key] = tool

    def find(self, written: str) -> Tool | None:
        """Return the tool of this name, ignoring case, punctuation and a prefix like `functions.`,
        or None."""
        return self.tools.get(written) or self._by_key.get(_key(written))


def coerce(arguments: dict[str, Any], tool: Tool | None) -> dict[str, Any]:
    """Convert arguments written as text to the types in the tool's schema; drop optional arguments
    that are null."""
    schema: dict[str, Any] = {}
    if tool:
        schema = {"properties": tool.parameters, "required": tool.required}
    converted: dict[str, Any] = _coerced(arguments, schema)
    return converted


def _coerced(value: Any, schema: dict[str, Any]) -> Any:
    """Return a value, converted to its schema's type if possible; an object in place of a list
    becomes its entry."""
    items = schema.get("items", {})
    expected = _PYTHON_TYPES.get(str(schema.get("type")))
    if expected and isinstance(value, str):
        parsed = json_in(value)
        if isinstance(parsed, expected) or ("properties" in items and isinstance(parsed, dict)):
            value = parsed
    if isinstance(value, dict) and "properties" in items:
        value = [value]
    if isinstance(value, list) and items:
        return [_coerced(entry, items) for entry in value]
    if isinstance(value, dict) and "properties" in schema:
        fields = schema["properties"]
        required = schema.get("required", ())
        converted: dict[str, Any] = {}
        for name, entry in value.items():
            if entry is not None or name in required:
                converted[name] = _coerced(entry, fields.get(name, {}))
        return converted
    return value


def _key(name: str) -> str:
    """Return a tool's name in a form that does not depend on how a model spells it."""
    name = _PREFIX.sub("", name.strip())
    name = _SUFFIX.sub("", name)
    return re.sub(r"[\W_]+", "", name).casefold()


def how_to_tag(tools: Iterable[Tool]) -> str:
    """Return the instructions to the model for writing calls in tags, with an example."""
    example = as_tags([_example(tools)])
    return (
        f"A call is written like this, its arguments as one JSON object:\n{example}\n"
        "Several calls stand one below the other. Their results come in the next message."
    )


def _instructions(rung: RungName, tools: Sequence[Tool]) -> str:
    """Return the description of the tools and of how to call them, for the system prompt.

    It is the same throughout a conversation, so that servers can cache the prompt.
    """
    lines = ["Tools:"]
    for tool in tools:
        line = f"- {tool.name}: {tool.description}"
        if not tool.parameters:
            line += " It takes no arguments."
        lines.append(line)
        lines += _field_lines(tool.parameters, tool.required, "  ")
    if rung == "tags":
        form = how_to_tag(tools)
    else:
        form = (
            "Calls are written as one JSON object, with nothing before or after it:\n"
            f"{as_json([_example(tools)])}\n"
            "Several calls stand in one list. Their results come in the next message."
        )
    only = (
        "Every message of yours is such a call and nothing else, unless you are told that it may "
        "be words."
    )
    return "\n".join(lines) + f"\n\n{form} {only}"


def _response_format(tools: Iterable[Tool], text_key: TextKey | None) -> dict[str, Any]:
    """Return the API setting `response_format` that allows only calls of these tools and, with
    `text_key`, text."""
    forms: list[dict[str, Any]] = []
    for tool in tools:
        name = {"type": "string", "enum": [tool.name]}
        arguments = _object(_strict_fields(tool.parameters, tool.required))
        forms.append(_object({"name": name, "arguments": arguments}))
    calls: dict[str, Any] = {"type": "array", "items": {"anyOf": forms}}
    if text_key:
        schema = _object({"calls": calls, text_key: {"type": "string"}})
    else:
        schema = _object({"calls": {**calls, "minItems": 1}})
    return {
        "type": "json_schema",
        "json_schema": {"name": "calls", "strict": True, "schema": schema},
    }


def _field_lines(schemas: dict[str, Any], required: Collection[str], indent: str) -> Iterator[str]:
    """Yield a line for each field of an object, followed by those of its nested fields; for the
    system prompt."""
    for name, schema in schemas.items():
        kind = _type(schema)
        if name not in required:
            kind += ", optional"
        yield f"{indent}{name} ({kind}): {schema.get('description', '')}".rstrip(": ")
        inner = schema
        while "items" in inner:
            inner = inner["items"]
        yield from _field_lines(
            inner.get("properties", {}), inner.get("required", ()), f"{indent}  "
        )


def _type(schema: dict[str, Any]) -> str:
    """Return the type of a field in words."""
    if "enum" in schema:
        values = [json.dumps(value, ensure_ascii=False) for value in schema["enum"]]
        return f"one of {', '.join(values)}"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _TYPE_WORDS.get(str(schema.get("type")), "any value")


def _example(tools: Iterable[Tool]) -> dict[str, Any]:
    """Return an example call of the first tool that has parameters; weak models follow examples
    better than rules."""
    offered = list(tools)
    tool = next((tool for tool in offered if tool.parameters), offered[0])
    arguments: dict[str, Any] = {}
    for name, schema in tool.parameters.items():
        has_plain_items = schema.get("items", {}).get("type") != "object"
        if schema.get("type") == "array" and has_plain_items and name not in tool.required:
            # Models copy whatever an example contains, and an empty list does no harm.
            arguments[name] = []
        else:
            arguments[name] = _placeholder(schema)
    return {"name": tool.name, "arguments": arguments}


def _placeholder(schema: dict[str, Any]) -> Any:
    """Return an example value of this schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_placeholder(schema.get("items", {}))]
    if "properties" in schema:
        # Models would also copy optional fields.
        shown = schema.get("required") or schema["properties"]
        return {name: _placeholder(schema["properties"][name]) for name in shown}
    values = {"integer": 1, "number": 1, "boolean": True, "object": {}}
    return values.get(str(schema.get("type")), "…")


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strict_fields(schemas: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    """Return the schemas of an object's fields in strict form: optional ones may be null, since all
    must be present."""
    fields: dict[str, Any] = {}
    for name, schema in schemas.items():
        fields[name] = _strict(schema)
        if name not in required:
            fields[name] = {"anyOf": [fields[name], {"type": "null"}]}
    return fields


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in the form that servers accept in strict mode."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if "properties" in schema:
        kept |= _object(_strict_fields(schema["properties"], schema.get("required", ())))
    return kept


def as_json(calls: Iterable[dict[str, Any]]) -> str:
    """Write calls as `{"calls": [{"name": …, "arguments": {…}}]}`."""
    return json.dumps({"calls": [*calls]}, ensure_ascii=False)


def as_tags(calls: Iterable[dict[str, Any]]) -> str:
    """Write calls as `<tool name="…">{…}</tool>`, one per line."""
    lines: list[str] = []
    for call in calls:
        arguments = json.dumps(call["arguments"], ensure_ascii=False)
        lines.append(f'<tool name="{call["name"]}">{arguments}</tool>')
    return "\n".join(lines)


def flattened(
    messages: Sequence[AnyMessage], write: Callable[[Iterable[dict[str, Any]]], str]
) -> list[AnyMessage]:
    """Return the conversation with tool calls (in the form of `write`) and their results as text.

    User and assistant alternate.
    """
    labels: dict[str, str] = {}
    plain: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            label = labels.get(message.tool_call_id, "an earlier call")
            plain.append(HumanMessage(f"Result of {label}:\n{message.text}"))
        elif isinstance(message, AIMessage) and message.tool_calls:
            calls: list[dict[str, Any]] = []
            for number, call in enumerate(message.tool_calls, 1):
                calls.append({"name": call["name"], "arguments": call["args"]})
                label = call["name"]
                if len(message.tool_calls) > 1:
                    label = f"call {number}, {label}"
                labels[call["id"] or ""] = label
            plain.append(AIMessage(f"{message.text}\n\n{write(calls)}".strip()))
        else:
            plain.append(message)
    merged: Any = merge_message_runs(plain, chunk_separator="\n\n")
    return [*merged]


class Prepared(NamedTuple):
    """A request converted to the form of a rung."""

    messages: list[AnyMessage]
    tools: list[dict[str, Any]]
    """Schemas of the tools to bind; empty except on the rung `native`."""
    settings: dict[str, Any]
    """Other API settings to bind."""

    def bind(
        self, model: BaseChatModel, tool_choice: str, **settings: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with the tools and settings of this request, and with `settings`.

        Raises `NotImplementedError` if the model's class cannot bind tools.
        """
        bound = {**self.settings, **settings}
        if not self.tools:
            return model.bind(**bound)
        return model.bind_tools(self.tools, tool_choice=tool_choice, **bound)


def prepare(
    rung: RungName,
    messages: Sequence[AnyMessage],
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    text_key: TextKey = "answer",
) -> Prepared:
    """Convert a request to the form of this rung; for `tool_choice`, see `Request`.

    On `schema` and `tags`, the system prompt ends with a description of the tools, earlier calls
    and results become text, and the last message says whether the model may write text instead of a
    call.
    """
    if rung == "native":
        return Prepared(list(messages), list(tools), {})
    plain = flattened(messages, as_tags if rung == "tags" else as_json)
    if not tools:
        return Prepared(plain, [], {})
    offered = list(Offer(tools).tools.values())
    system = _instructions(rung, offered)
    if plain and plain[0].type == "system":
        system = f"{plain[0].text}\n\n{system}"
    rest = [message for message in plain if message.type != "system"]
    is_forced = tool_choice == "any"
    if not is_forced and rest and rest[-1].type == "human":
        hint = "Now write text, and no call."
        if tool_choice != "none":
            hint = _how_to_answer(rung, text_key)
        rest[-1] = HumanMessage(f"{hint}\n\n{rest[-1].text}")
    settings: dict[str, Any] = {}
    if rung == "schema" and tool_choice != "none":
        settings["response_format"] = _response_format(offered, None if is_forced else text_key)
    return Prepared([SystemMessage(system), *rest], [], settings)


def _how_to_answer(rung: RungName, text_key: TextKey) -> str:
    """Return the instruction to the model for writing text instead of a call."""
    purpose = "ask" if text_key == "question_to_user" else "answer"
    form = "plain text." if rung == "tags" else f'{{"calls": [], "{text_key}": "…"}}'
    return f"To {purpose} in words instead of calling a tool, write: {form}"
