"""Finds tool calls that a model wrote as text instead of using the API.

We ask models for two forms: `{"calls": [{"name": …, "arguments": {…}}]}` and `<tool name="…">{…}</tool>`. Other forms
are parsed because current servers pass them through as text:

- JSON that names a tool and its arguments, bare, in a fence or in `<tool_call>` tags: Qwen 2.5 and its Coder models on
  Ollama 0.33 and vLLM (ollama/ollama#12174, vllm-project/vllm#32926), Qwen 3 on MLX (cubist38/mlx-openai-server#83);
- `<function=…><parameter=…>…`: Qwen 3 Coder on Ollama 0.32 and vLLM (continuedev/continue#13057,
  vllm-project/vllm#22975);
- `<|channel|>commentary to=functions.… <|message|>{…}`: gpt-oss on vllm-mlx 0.4 (waybarrios/vllm-mlx#562).

All other forms are only recognised, not parsed, and the model is asked to write the call in tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from ...run import tool_names
from .lenient import object_in, value_at
from .rungs import Offer, Tool, WordsName, coerce

_MOST_ATTEMPTS = 200
"""Number of JSON values without a call after which the search stops."""
_MOST_BROKEN = 10
"""Number of repaired JSON values without a call after which the search stops."""
_HELD_CHARACTERS = 200
"""Number of characters at the beginning of a prose answer within which a written call must be recognisable."""
_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_LISTS = ("calls", "tool_calls")
_BESIDE_NAME = frozenset({*_NAMES, "id", "type", "index"})

_HEAD = re.compile(
    r"(?:<tool\s+name\s*=\s*|<function\s*=\s*|(?:<\|channel\|>\w*\s+)?\bto=functions\.)[\"']?(?P<name>[\w.-]+)[\"']?"
)
_TO_OBJECT = re.compile(r"(?:[\s>]|<\|\w+\|>|commentary|code|json|```)*+(?=\{)")
_TO_PARAMETERS = re.compile(r"[\s>]*(?=<parameter\s*=)")
_PARAMETER = re.compile(
    r"\s*<parameter\s*=\s*[\"']?(?P<name>[\w.-]+)[\"']?\s*>(?P<value>.*?)(?:</parameter>|(?=<parameter\b|</function>)|\Z)",
    re.DOTALL,
)
_NO_ARGUMENTS = re.compile(r"\s*(?:/>|>\s*</(?:tool|function)>)")
_VALUE = re.compile(r"[\[{]")
_MARK_BEFORE = re.compile(r"(?:<tool_calls?>|\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?:```\w*\s*)?\Z")
_MARKS = (
    r"(?<!`)<[|｜][^<>\n]{0,40}?(?:tool|function|python|plugin)[^<>\n]*>"
    r"|(?:^[ \t>]*|(?<=>)\s*)<(?:\w+:)?(?:tools?|tool_calls?|tool_use|function|function_calls?|invoke)[\s=>:_]"
    r"|(?<!`)\[TOOL_CALLS\](?=[\w\[{])|^\s*\[TOOL_CALLS\]"
    r"|(?<!`)<\|channel\|>\w*\s+to="
)
"""Matches tags and tokens that start a call in the formats of various models."""
_OUR_NAMES = tuple(name for key, name in vars(tool_names).items() if key.isupper() and isinstance(name, str))
_ANY_OF_OURS = "|".join(_OUR_NAMES)
_PREFIXES = ("print(", "default_api.", "functions.")
_BEFORE_CALL = re.compile(rf"\s*(?:```\w*\s+|`(?=\w))?(?:{'|'.join(map(re.escape, _PREFIXES))})*")
_OBJECT = r"[\[\s]*\{"
_CALL = re.compile(
    rf"(?:{_ANY_OF_OURS})\s*\(|{_OBJECT}.*?\"(?:{_ANY_OF_OURS})\""
    rf"|{_OBJECT}.*?\"name\"\s*:\s*\"[\w.-]+\"\s*,\s*\"(?:arguments|parameters)\"\s*:",
    re.DOTALL,
)
_MAY_BE_CALL = re.compile(rf"{_OBJECT}|\[?\s*\Z|`{{1,3}}\w*\Z")


class CallInText(NamedTuple):
    """A tool call found in a text."""

    name: str
    """Name of the offered tool; as written by the model if there is no such tool."""
    arguments: dict[str, Any] | None
    """None if they cannot be parsed."""
    raw: str
    """The arguments as written."""
    is_form_unread: bool = False
    """Whether its form is recognised but cannot be parsed."""


class Stretch(NamedTuple):
    """A part of a text that consists of calls."""

    start: int
    end: int
    calls: list[CallInText]


def find_calls(text: str, offer: Offer) -> list[Stretch]:
    """Return the calls in a text: only those in JSON or only those in tags, since one may contain the other."""
    readers = [_in_json, _tagged] if _VALUE.match(unfenced(text)) else [_tagged, _in_json]
    return next((found for read in readers if (found := [*read(text, offer)])), None) or _unread(text, offer)


def answer_in(text: str) -> str | None:
    """Return the text in `{"answer": "…", "calls": […]}` under any `WordsName`; None for any other text."""
    try:
        value = json.loads(unfenced(text), strict=False)
    except (ValueError, RecursionError):
        return None
    beside = value.keys() - {"calls"} if isinstance(value, dict) else set()
    words = value[beside.pop()] if len(beside) == 1 and beside <= {*get_args(WordsName)} else None
    return words if isinstance(words, str) else None


def unfenced(text: str) -> str:
    """Return the text without a code fence that encloses all of it."""
    fenced = re.fullmatch(r"\s*```\w*\s(.*)```\s*", text, re.DOTALL)
    return (fenced[1] if fenced else text).strip()


def _tagged(text: str, offer: Offer) -> Iterator[Stretch]:
    """Yield calls in the form of a name followed by an object or tagged parameters."""
    end = 0
    while head := _HEAD.search(text, end):
        name, end = head["name"], head.end()
        tool = offer.find(name)
        if to_object := _TO_OBJECT.match(text, end):
            value = value_at(text, to_object.end())
            end, raw = value.end, text[to_object.end() : value.end]
            call = CallInText(name, None, raw) if value.is_cut else _written(tool, name, value.value)
        elif to_parameters := _TO_PARAMETERS.match(text, end):
            end, arguments = to_parameters.end(), dict[str, Any]()
            while parameter := _PARAMETER.match(text, end):
                arguments[parameter["name"]] = parameter["value"].strip()
                end = parameter.end()
            call = _written(tool, name, arguments)
        elif no_arguments := _NO_ARGUMENTS.match(text, end):
            end, call = no_arguments.end(), _written(tool, name, {})
        else:
            start, newline = end, text.find("\n", end)
            end = newline if newline >= 0 else len(text)
            call = CallInText(name, None, text[start:end])
        yield Stretch(head.start(), end, [call])


def _in_json(text: str, offer: Offer) -> Iterator[Stretch]:
    position = attempts = broken = 0
    whole = len(unfenced(text))
    while attempts < _MOST_ATTEMPTS and broken < _MOST_BROKEN and (opening := _VALUE.search(text, position)):
        start = opening.start()
        value = value_at(text, start)
        is_all = value.is_sound and value.end - start == whole
        # Elsewhere, a tool that was not offered is only an example.
        is_marked = is_all or bool(_MARK_BEFORE.search(text, max(0, start - _HELD_CHARACTERS), start))
        found = value.value
        if isinstance(found, dict):
            found = next((found[key] for key in _LISTS if isinstance(found.get(key), list | dict)), found)
        entries = [entry for entry in (found if isinstance(found, list) else [found]) if isinstance(entry, dict)]
        calls = [call for entry in entries if (call := _entry(entry, offer, is_marked, is_all))]
        if calls:
            if value.is_cut:
                calls = [call._replace(arguments=None, raw=text[start : value.end]) for call in calls]
            yield Stretch(start, value.end, calls)
        position = value.end if calls else opening.end()
        attempts += not calls
        broken += not (calls or value.is_sound)


def _entry(entry: dict[str, Any], offer: Offer, is_marked: bool, is_all: bool) -> CallInText | None:
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
    given = next((key for key in _ARGUMENTS if key in entry), "")
    tool = offer.find(name) if name else None
    if "description" in entry and given != "arguments":
        # A tool's schema, not a call.
        return None
    if tool and (given or entry.keys() <= _BESIDE_NAME):
        return _written(tool, name, entry.get(given))
    if name and given and is_marked:
        return _written(None, name, entry[given])
    # Bare arguments of the only tool.
    only = next(iter(offer.tools.values()))
    fits = len(offer.tools) == 1 and only.required <= entry.keys() <= only.parameters.keys()
    return _written(only, only.name, entry) if fits and (entry or is_all) else None


def _written(tool: Tool | None, name: str, arguments: Any) -> CallInText:
    """Return a call; `arguments` is an object, or a text that should contain one."""
    if isinstance(arguments, str):
        read, raw = object_in(arguments) if arguments.strip() else {}, arguments
    else:
        read = {} if arguments is None else arguments
        raw = json.dumps(read, ensure_ascii=False, default=str)
    return CallInText(tool.name if tool else name, coerce(read, tool) if isinstance(read, dict) else None, raw)


def _unread(text: str, offer: Offer) -> list[Stretch]:
    """Return a list with the call in an unsupported form, recognised by tags or a tool's name; else empty."""
    names = "|".join(map(re.escape, offer.tools))
    sign = re.compile(
        rf"{_MARKS}"
        # A Python expression, or a name before its arguments.
        rf"|^[ \t>*`\[-]*+(?:print\()?`?(?:\w+\.)*(?:{names})(?::\d+)?`?(?:\(|\s*+(?:```\w*\s*)?\{{)"
        rf"|^[ \t*]*Action:[ \t*`]*(?:{names})\b"
        # The name alone, or JSON with the name in an unsupported field.
        rf"|\A[\s`]*(?:{names})[\s`()]*\Z|\A\s*(?:```\w*\s*)?[\[{{](?s:.*)\"(?:{names})\"",
        re.MULTILINE,
    )
    if not (found := sign.search(text)):
        return []
    raw = text[found.start() :]
    name = next((name for name in offer.tools if name in raw), "")
    return [Stretch(found.start(), len(text), [CallInText(name, None, raw, is_form_unread=True)])]


class CallGuard:
    """Withholds an answer that should be prose but begins like a tool call (JSON or an expression)."""

    def __init__(self) -> None:
        self._held = ""
        self._is_call: bool | None = None
        """None: undecided."""

    def feed(self, words: str) -> str:
        """Read the next words and return those that are certain to be prose."""
        if self._is_call is None:
            self._held += words
            begun = _BEFORE_CALL.match(self._held)
            head = self._held[begun.end() if begun else 0 : _HELD_CHARACTERS]
            may_be_call = _MAY_BE_CALL.match(head) or any(name.startswith(head) for name in (*_OUR_NAMES, *_PREFIXES))
            may_be_call = may_be_call or head.rstrip("` \n") in _OUR_NAMES
            if _CALL.match(head):
                self._is_call = True
            elif not may_be_call or len(self._held) >= _HELD_CHARACTERS:
                self._is_call = False
            words, self._held = (self._held, "") if self._is_call is False else ("", self._held)
        return "" if self._is_call else words

    def finish(self) -> str:
        """Return the text that is still buffered at the end of the answer."""
        is_call = self._is_call or self._held.strip("`() \n") in _OUR_NAMES
        return "" if is_call else self._held
