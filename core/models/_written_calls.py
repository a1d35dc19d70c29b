"""Finds tool calls that a model wrote as text instead of using the API.

Models are told to write `{"calls": [{"name": …, "arguments": {…}}]}` or
`<tool name="…">{…}</tool>`. Three other forms are parsed, because current servers pass them through
as text:

- JSON that names a tool and its arguments, bare, in a fence or in `<tool_call>` tags: Qwen 2.5 and
  its Coder models on Ollama 0.33 and vLLM (ollama/ollama#12174, vllm-project/vllm#32926), Qwen 3 on
  MLX (cubist38/mlx-openai-server#83);
- `<function=…><parameter=…>…`: Qwen 3 Coder on Ollama 0.32 and vLLM (continuedev/continue#13057,
  vllm-project/vllm#22975);
- `<|channel|>commentary to=functions.… <|message|>{…}`: gpt-oss on vllm-mlx 0.4
  (waybarrios/vllm-mlx#562).

Any other form is recognised but not parsed, and the model is told to write the call in tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from ..records import tool_names
from ._lenient_json import json_at, object_in
from ._rungs import Offer, TextKey, Tool, coerce

_MOST_ATTEMPTS = 200
"""Number of JSON values without a call after which the search stops."""
_MOST_BROKEN = 10
"""Number of broken JSON values without a call after which the search stops, because repairing takes
long."""
_HELD_CHARACTERS = 200
"""Number of characters at the beginning of a prose answer within which a written call must be
recognisable."""
_NAME_KEYS = ("name", "tool", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_LIST_KEYS = ("calls", "tool_calls")
"""Keys in JSON under which models put a tool's name, its arguments, and a list of calls."""
_KEYS_WITHOUT_ARGUMENTS = frozenset({*_NAME_KEYS, "id", "type", "index"})
"""Keys that a call without arguments may have."""

_HEAD = re.compile(
    r"(?:<tool\s+name\s*=\s*|<function\s*=\s*|(?:<\|channel\|>\w*\s+)?\bto=functions\.)[\"']?(?P<name>[\w.-]+)[\"']?"
)
"""Matches the beginning of a call with the tool's name."""
_TO_OBJECT = re.compile(r"(?:[\s>]|<\|\w+\|>|commentary|code|json|```)*+(?=\{)")
"""Matches what may stand between the name and a JSON object with the arguments."""
_TO_PARAMETERS = re.compile(r"[\s>]*(?=<parameter\s*=)")
_PARAMETER = re.compile(
    r"\s*<parameter\s*=\s*[\"']?(?P<name>[\w.-]+)[\"']?\s*>(?P<value>.*?)(?:</parameter>|(?=<parameter\b|</function>)|\Z)",
    re.DOTALL,
)
_NO_ARGUMENTS = re.compile(r"\s*(?:/>|>\s*</(?:tool|function)>)")
_VALUE = re.compile(r"[\[{]")
"""Matches the beginning of a JSON object or list."""
_MARK_BEFORE = re.compile(r"(?:<tool_calls?>|\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?:```\w*\s*)?\Z")
"""Matches a tag or token directly before JSON that marks it as a call."""
_MARKS = (
    r"(?<!`)<[|｜][^<>\n]{0,40}?(?:tool|function|python|plugin)[^<>\n]*>"
    r"|(?:^[ \t>]*|(?<=>)\s*)<(?:\w+:)?"
    r"(?:tools?|tool_calls?|tool_use|function|function_calls?|invoke)[\s=>:_]"
    r"|(?<!`)\[TOOL_CALLS\](?=[\w\[{])|^\s*\[TOOL_CALLS\]"
    r"|(?<!`)<\|channel\|>\w*\s+to="
)
"""Pattern of the tags and tokens that begin a call in the formats of various models."""
_OUR_NAMES = tuple(
    name for key, name in vars(tool_names).items() if key.isupper() and isinstance(name, str)
)
"""Names of this package's tools."""
_ANY_OF_OURS = "|".join(_OUR_NAMES)
_PREFIXES = ("print(", "default_api.", "functions.")
"""What models put before the name in a call written as a Python expression."""
_BEFORE_CALL = re.compile(rf"\s*(?:```\w*\s+|`(?=\w))?(?:{'|'.join(map(re.escape, _PREFIXES))})*")
_OBJECT = r"[\[\s]*\{"
_CALL = re.compile(
    rf"(?:{_ANY_OF_OURS})\s*\(|{_OBJECT}.*?\"(?:{_ANY_OF_OURS})\""
    rf"|{_OBJECT}.*?\"name\"\s*:\s*\"[\w.-]+\"\s*,\s*\"(?:arguments|parameters)\"\s*:",
    re.DOTALL,
)
"""Matches the beginning of a call as a Python expression or as JSON."""
_MAY_BE_CALL = re.compile(rf"{_OBJECT}|\[?\s*\Z|`{{1,3}}\w*\Z")


class CallInText(NamedTuple):
    """A tool call found in a text."""

    name: str
    """Name of the offered tool that is meant; as written by the model if there is none."""
    arguments: dict[str, Any] | None
    """None if they cannot be parsed."""
    raw: str
    """The arguments as written."""
    is_form_unknown: bool = False
    """Whether the text is recognised as a call in a form that is not parsed."""


class CallSpan(NamedTuple):
    """A part of a text that consists of calls; `start` and `end` are offsets."""

    start: int
    end: int
    calls: list[CallInText]


def find_calls(text: str, offer: Offer) -> list[CallSpan]:
    """Return the calls in a text: only those in JSON or only those in tags, since one may contain
    the other.

    If there are neither, return the call in a form that is not parsed, if there is one.
    """
    readers = [_tagged, _in_json]
    if _VALUE.match(unfenced(text)):
        readers.reverse()
    for read in readers:
        spans = list(read(text, offer))
        if spans:
            return spans
    return _in_unknown_form(text, offer)


def answer_in(text: str) -> str | None:
    """Return the value of the `TextKey` in JSON such as `{"answer": "…", "calls": […]}`; None for
    any other text."""
    try:
        value = json.loads(unfenced(text), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    keys = value.keys() - {"calls"}
    if len(keys) != 1 or not keys <= {*get_args(TextKey)}:
        return None
    words = value[keys.pop()]
    return words if isinstance(words, str) else None


def unfenced(text: str) -> str:
    """Return the text, without the code fence if one encloses all of it."""
    fenced = re.fullmatch(r"\s*```\w*\s(.*)```\s*", text, re.DOTALL)
    if fenced:
        text = fenced[1]
    return text.strip()


def _tagged(text: str, offer: Offer) -> Iterator[CallSpan]:
    """Yield the calls that consist of a tag with the name, and then a JSON object or a tag for each
    parameter."""
    end = 0
    while head := _HEAD.search(text, end):
        call, end = _tagged_call(text, head["name"], head.end(), offer)
        yield CallSpan(head.start(), end, [call])


def _tagged_call(text: str, name: str, start: int, offer: Offer) -> tuple[CallInText, int]:
    """Return the call of this name whose arguments are at offset `start`, and the offset behind
    it."""
    tool = offer.find(name)
    to_object = _TO_OBJECT.match(text, start)
    if to_object:
        parsed = json_at(text, to_object.end())
        if parsed.is_cut:
            return CallInText(name, None, text[to_object.end() : parsed.end]), parsed.end
        return _call_of(tool, name, parsed.value), parsed.end
    to_parameters = _TO_PARAMETERS.match(text, start)
    if to_parameters:
        end = to_parameters.end()
        arguments: dict[str, Any] = {}
        while parameter := _PARAMETER.match(text, end):
            arguments[parameter["name"]] = parameter["value"].strip()
            end = parameter.end()
        return _call_of(tool, name, arguments), end
    no_arguments = _NO_ARGUMENTS.match(text, start)
    if no_arguments:
        return _call_of(tool, name, {}), no_arguments.end()
    end = text.find("\n", start)
    if end < 0:
        end = len(text)
    return CallInText(name, None, text[start:end]), end


def _in_json(text: str, offer: Offer) -> Iterator[CallSpan]:
    """Yield the calls in the JSON objects and lists of a text."""
    position = attempts = broken = 0
    whole = len(unfenced(text))
    while attempts < _MOST_ATTEMPTS and broken < _MOST_BROKEN:
        opening = _VALUE.search(text, position)
        if not opening:
            return
        start = opening.start()
        parsed = json_at(text, start)
        is_all = parsed.is_sound and parsed.end - start == whole
        # JSON within other text that names a tool which was not offered is only an example.
        earliest = max(0, start - _HELD_CHARACTERS)
        is_marked = is_all or bool(_MARK_BEFORE.search(text, earliest, start))
        calls: list[CallInText] = []
        for entry in _entries(parsed.value):
            call = _call_in(entry, offer, is_marked, is_all)
            if call and parsed.is_cut:
                call = call._replace(arguments=None, raw=text[start : parsed.end])
            if call:
                calls.append(call)
        if calls:
            yield CallSpan(start, parsed.end, calls)
            position = parsed.end
            continue
        position = opening.end()
        attempts += 1
        if not parsed.is_sound:
            broken += 1


def _entries(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a JSON value that may be calls."""
    if isinstance(value, dict):
        for key in _LIST_KEYS:
            if isinstance(value.get(key), list | dict):
                value = value[key]
                break
    if not isinstance(value, list):
        value = [value]
    return [entry for entry in value if isinstance(entry, dict)]


def _call_in(
    entry: dict[str, Any], offer: Offer, is_marked: bool, is_all: bool
) -> CallInText | None:
    """Return the call that a JSON object represents; None if it represents none.

    `is_marked`: it is the whole answer or stands behind a tag, so it is a call even if the tool is
    unknown. `is_all`: it is the whole answer, so an empty object is a call of the only tool.
    """
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = next((entry[key] for key in _NAME_KEYS if isinstance(entry.get(key), str)), "")
    arguments_key = next((key for key in _ARGUMENT_KEYS if key in entry), "")
    if "description" in entry and arguments_key != "arguments":
        # A tool's schema, not a call.
        return None
    tool = offer.find(name) if name else None
    if tool and (arguments_key or entry.keys() <= _KEYS_WITHOUT_ARGUMENTS):
        return _call_of(tool, name, entry.get(arguments_key))
    if name and arguments_key and is_marked:
        return _call_of(None, name, entry[arguments_key])
    if len(offer.tools) > 1 or not (entry or is_all):
        return None
    # The object may consist of the arguments of the only tool.
    [only] = offer.tools.values()
    if only.required <= entry.keys() <= only.parameters.keys():
        return _call_of(only, only.name, entry)
    return None


def _call_of(tool: Tool | None, name: str, arguments: Any) -> CallInText:
    """Return a call of this tool (None: not offered); `arguments` is an object, an object as text,
    or None."""
    if isinstance(arguments, str):
        raw = arguments
        value = object_in(arguments) if arguments.strip() else {}
    else:
        value = {} if arguments is None else arguments
        raw = json.dumps(value, ensure_ascii=False, default=str)
    if tool:
        name = tool.name
    if not isinstance(value, dict):
        return CallInText(name, None, raw)
    return CallInText(name, coerce(value, tool), raw)


def _in_unknown_form(text: str, offer: Offer) -> list[CallSpan]:
    """Return the first call in a form that is not parsed, recognised by tags or a tool's name: one
    span or none."""
    names = "|".join(map(re.escape, offer.tools))
    sign = re.compile(
        rf"{_MARKS}"
        # A Python expression, or a name before its arguments.
        rf"|^[ \t>*`\[-]*+(?:print\()?`?(?:\w+\.)*(?:{names})(?::\d+)?`?"
        r"(?:\(|\s*+(?:```\w*\s*)?\{)"
        rf"|^[ \t*]*Action:[ \t*`]*(?:{names})\b"
        # The name alone, or JSON with the name in an unsupported field.
        rf"|\A[\s`]*(?:{names})[\s`()]*\Z|\A\s*(?:```\w*\s*)?[\[{{](?s:.*)\"(?:{names})\"",
        re.MULTILINE,
    )
    match = sign.search(text)
    if not match:
        return []
    raw = text[match.start() :]
    name = next((name for name in offer.tools if name in raw), "")
    call = CallInText(name, None, raw, is_form_unknown=True)
    return [CallSpan(match.start(), len(text), [call])]


class CallGuard:
    """Filters a streamed answer that should be prose: drops it if it begins with a tool call as
    JSON or expression."""

    def __init__(self) -> None:
        self._held = ""
        """Text that is withheld until it is clear whether it begins a call."""
        self._is_call: bool | None = None
        """None: not yet known."""

    def feed(self, words: str) -> str:
        """Add the next piece of the answer; return the text that is now certain to be prose."""
        if self._is_call:
            return ""
        if self._is_call is False:
            return words
        self._held += words
        begun = _BEFORE_CALL.match(self._held)
        start = begun.end() if begun else 0
        head = self._held[start:_HELD_CHARACTERS]
        if _CALL.match(head):
            self._is_call = True
            return ""
        if len(self._held) < _HELD_CHARACTERS and _may_be_call(head):
            return ""
        self._is_call = False
        prose = self._held
        self._held = ""
        return prose

    def finish(self) -> str:
        """Return the text that is still withheld at the end of the answer, unless it is a call."""
        if self._is_call or self._held.strip("`() \n") in _OUR_NAMES:
            return ""
        return self._held


def _may_be_call(head: str) -> bool:
    """Whether an answer that begins like this may continue as a tool call."""
    if _MAY_BE_CALL.match(head) or head.rstrip("` \n") in _OUR_NAMES:
        return True
    return any(name.startswith(head) for name in (*_OUR_NAMES, *_PREFIXES))
