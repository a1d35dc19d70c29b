"""Finds the calls that a model has written into its text instead of calling tools by the API.

Two forms are those that we ask for: `{"calls": [{"name": …, "arguments": {…}}]}` and `<tool name="…">{…}</tool>`. The
others are read because current servers let them through as text:

- JSON that names a tool and its arguments, bare, in a fence or in `<tool_call>` tags: Qwen 2.5 and its coders on Ollama
  0.33 and vLLM (ollama/ollama#12174, vllm-project/vllm#32926), Qwen 3 on MLX (cubist38/mlx-openai-server#83);
- `<function=…><parameter=…>…`: Qwen 3 Coder on Ollama 0.32 and vLLM (continuedev/continue#13057,
  vllm-project/vllm#22975);
- `<|channel|>commentary to=functions.… <|message|>{…}`: gpt-oss on vllm-mlx 0.4 (waybarrios/vllm-mlx#562).

Any other form is recognised by its marks, and the model is told to write the call in tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from ...run import tool_names
from .lenient import object_in, value_at
from .rungs import Offer, Tool, WordsName, coerce

MOST_ATTEMPTS = 200
"""Values in one text that are looked at and hold no call."""
MOST_BROKEN = 10
"""Values in one text that are repaired and hold no call."""
HELD_CHARACTERS = 200
"""Beginning of an answer in prose within which a written call shows itself."""
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
"""Tags and tokens that begin a call in one dialect or another."""
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
    """A tool call that was found in a text."""

    name: str
    """Name of the tool as offered; as written where there is no such tool."""
    arguments: dict[str, Any] | None
    """None if they cannot be read."""
    raw: str
    """The arguments as written."""
    is_form_unread: bool = False
    """Whether it is written in a form that is recognised only."""


class Stretch(NamedTuple):
    """A stretch of a text that consists of calls."""

    start: int
    end: int
    calls: list[CallInText]


def find_calls(text: str, offer: Offer) -> list[Stretch]:
    """Return the calls in a text, all of one kind: tags within the arguments of JSON are words, and the other way."""
    readers = [_in_json, _tagged] if _VALUE.match(unfenced(text)) else [_tagged, _in_json]
    return next((found for read in readers if (found := [*read(text, offer)])), None) or _unread(text, offer)


def answer_in(text: str) -> str | None:
    """Return the words in `{"answer": "…", "calls": […]}`, whatever they are called; None if it is anything else."""
    try:
        value = json.loads(unfenced(text), strict=False)
    except (ValueError, RecursionError):
        return None
    beside = {**value} if isinstance(value, dict) else {}
    beside.pop("calls", None)
    is_answer = len(beside) == 1 and beside.keys() <= {*get_args(WordsName)}
    words = next(iter(beside.values())) if is_answer else None
    return words if isinstance(words, str) else None


def unfenced(text: str) -> str:
    """Return the text without the code fence that may be around all of it."""
    fenced = re.fullmatch(r"\s*```\w*\s(.*)```\s*", text, re.DOTALL)
    return (fenced[1] if fenced else text).strip()


def _tagged(text: str, offer: Offer) -> Iterator[Stretch]:
    """Yield the calls that are a name with an object or with tagged parameters behind it."""
    place = 0
    while head := _HEAD.search(text, place):
        name, place = head["name"], head.end()
        tool = offer.find(name)
        if to_object := _TO_OBJECT.match(text, place):
            value = value_at(text, to_object.end())
            place, raw = value.end, text[to_object.end() : value.end]
            call = CallInText(name, None, raw) if value.is_cut else _written(tool, name, value.value)
        elif to_parameters := _TO_PARAMETERS.match(text, place):
            place, arguments = to_parameters.end(), dict[str, Any]()
            while parameter := _PARAMETER.match(text, place):
                arguments[parameter["name"]] = parameter["value"].strip()
                place = parameter.end()
            call = _written(tool, name, arguments)
        elif nothing := _NO_ARGUMENTS.match(text, place):
            place, call = nothing.end(), _written(tool, name, {})
        else:
            end = text.find("\n", place)
            start, place = place, end if end >= 0 else len(text)
            call = CallInText(name, None, text[start:place])
        yield Stretch(head.start(), place, [call])


def _in_json(text: str, offer: Offer) -> Iterator[Stretch]:
    """Yield the calls that are JSON values."""
    place = attempts = broken = 0
    whole = len(unfenced(text))
    while attempts < MOST_ATTEMPTS and broken < MOST_BROKEN and (start := _VALUE.search(text, place)):
        value = value_at(text, start.start())
        is_all = value.is_sound and value.end - start.start() == whole
        # Elsewhere a tool that was not offered is an example.
        is_marked = is_all or bool(_MARK_BEFORE.search(text, max(0, start.start() - HELD_CHARACTERS), start.start()))
        calls = _calls_of(value.value, offer, is_marked=is_marked, is_all=is_all)
        if calls:
            raw = text[start.start() : value.end]
            is_lost = value.is_cut
            yield Stretch(
                start.start(), value.end, [c._replace(arguments=None, raw=raw) if is_lost else c for c in calls]
            )
        place = value.end if calls else start.end()
        attempts += not calls
        broken += not (calls or value.is_sound)


def _calls_of(value: Any, offer: Offer, *, is_marked: bool, is_all: bool) -> list[CallInText]:
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), value)
    entries = value if isinstance(value, list) else [value]
    calls = (_entry(entry, offer, is_marked, is_all) for entry in entries if isinstance(entry, dict))
    return [call for call in calls if call]


def _entry(entry: dict[str, Any], offer: Offer, is_marked: bool, is_all: bool) -> CallInText | None:
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), "")
    given = next((key for key in _ARGUMENTS if key in entry), "")
    tool = offer.find(name) if name else None
    if "description" in entry and given != "arguments":
        # The schema of a tool.
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
    """Return a call by any name; `arguments` are an object, or a text that should hold one."""
    if isinstance(arguments, str):
        read, raw = object_in(arguments) if arguments.strip() else {}, arguments
    else:
        read = {} if arguments is None else arguments
        raw = json.dumps(read, ensure_ascii=False, default=str)
    return CallInText(tool.name if tool else name, coerce(read, tool) if isinstance(read, dict) else None, raw)


def _unread(text: str, offer: Offer) -> list[Stretch]:
    """Return a call in a form that is not read, as far as marks or the name of a tool show that there is one."""
    names = "|".join(map(re.escape, offer.tools))
    sign = re.compile(
        rf"{_MARKS}"
        # An expression of Python, or a name before its arguments.
        rf"|^[ \t>*`\[-]*+(?:print\()?`?(?:\w+\.)*(?:{names})(?::\d+)?`?(?:\(|\s*+(?:```\w*\s*)?\{{)"
        rf"|^[ \t*]*Action:[ \t*`]*(?:{names})\b"
        # Nothing but the name, or JSON with the name in another place than we read it.
        rf"|\A[\s`]*(?:{names})[\s`()]*\Z|\A\s*(?:```\w*\s*)?[\[{{](?s:.*)\"(?:{names})\"",
        re.MULTILINE,
    )
    if not (found := sign.search(text)):
        return []
    raw = text[found.start() :]
    name = next((name for name in offer.tools if name in raw), "")
    return [Stretch(found.start(), len(text), [CallInText(name, None, raw, is_form_unread=True)])]


class CallGuard:
    """Withholds an answer that should be prose and begins as a call of a tool, in JSON or as an expression."""

    def __init__(self) -> None:
        self._held = ""
        self._is_call: bool | None = None
        """None: not known yet."""

    def feed(self, words: str) -> str:
        """Take the next words and return those that are prose for certain."""
        if self._is_call is None:
            self._held += words
            self._is_call = self._decided()
            words, self._held = (self._held, "") if self._is_call is False else ("", self._held)
        return "" if self._is_call else words

    def finish(self) -> str:
        """Return what is still held back, at the end of the answer."""
        is_call = self._is_call or self._held.strip("`() \n") in _OUR_NAMES
        return "" if is_call else self._held

    def _decided(self) -> bool | None:
        begun = _BEFORE_CALL.match(self._held)
        head = self._held[begun.end() if begun else 0 : HELD_CHARACTERS]
        if _CALL.match(head):
            return True
        may_be_call = _MAY_BE_CALL.match(head) or any(name.startswith(head) for name in (*_OUR_NAMES, *_PREFIXES))
        may_be_call = may_be_call or head.rstrip("` \n") in _OUR_NAMES
        return None if may_be_call and len(self._held) < HELD_CHARACTERS else False
