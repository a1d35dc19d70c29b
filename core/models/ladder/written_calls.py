"""Finds the calls that a model has written into its text, in whichever format.

A call is one of four things: a JSON value that names a tool, a name with an object of arguments behind it, a name with
tagged parameters, or an expression of Python. Whatever stands around and between name and arguments is passed over.
Marks such as `<tool_call>` say that a call follows, even of an unknown tool.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, NamedTuple

from .lenient import MOST_CHARACTERS, extent_at, object_in, value_at
from .rungs import Offer, Tool, coerce

MOST_ATTEMPTS = 200
"""Places in one text at which a call that does not follow is looked for."""
MOST_BROKEN = 40
"""Broken values that are looked at in one text."""
_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "action_input", "tool_input")
_ASIDE = frozenset({"id", "type", "index"})
_LISTS = ("calls", "tool_calls", "function_calls", "actions", "tool_call", "function_call")

_MARK = (
    r"<(?:tool_calls?|function_calls?|tool_use)>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call_begin\|>"
    r"|<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|(?P<tag><(?:tool|function|invoke)(?:=|\s+name\s*=)\s*)"
    r"|(?:<\|channel\|>\w*\s+)?\bto=(?=functions\.)"
)
_SKIPPED = re.compile(r"\s*(?:```\w*\s*)?")
_BETWEEN = re.compile(r"[\s,;]*")
_NAME = re.compile(r"[\"']?([\w.-]+)")
_TO_OBJECT = re.compile(
    r"(?::\d+|[\s:\"'>*`(]|<[|｜][^<>\n]*[|｜]>|\[ARGS\]|json|commentary|action|input|arguments|args|parameters)*+(?=\{)",
    re.IGNORECASE,
)
_TO_PARAMETERS = re.compile(r"[\"'>\s]*(?=<parameter\b|<arg_key>)")
_NO_ARGUMENTS = re.compile(r"[\"'\s]*(?:/>|>\s*</(?:tool|function|invoke)>)")
_PARAMETER = re.compile(
    r"\s*<parameter(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w.-]+)[\"']?[^>]*>(?P<value>.*?)(?:</parameter>|(?=<parameter\b)|\Z)"
    r"|\s*<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<given>.*?)(?:</arg_value>|\Z)",
    re.DOTALL,
)
_LINE_ENDS = re.compile(r"[ \t`\];)]*(?:\n|$)")
_CONSTANTS = {"true": True, "false": False, "null": None}


class Written(NamedTuple):
    """A call as a text holds it."""

    name: str
    """Name of the tool as offered; as written where there is no such tool."""
    arguments: dict[str, Any] | None
    """None if they cannot be read."""
    raw: str
    """The arguments as written."""


class Stretch(NamedTuple):
    """A stretch of a text that consists of calls."""

    start: int
    end: int
    calls: list[Written]


def find_calls(text: str, offer: Offer) -> list[Stretch]:
    """Return the calls in a text; where some are marked as calls, only these."""
    names = "|".join(map(re.escape, offer.tools))
    starts = re.compile(
        rf"(?P<mark>{_MARK})|(?P<value>[\[{{])|\b(?=functions\.(?:{names})\b)"
        rf"|(?P<line>^[ \t>*`-]*+(?:(?:Action|Tool|Call):[ \t]*+)?[`*]*+)(?=(?:print\()?(?:\w+\.)*(?:{names})\b)",
        re.MULTILINE | re.IGNORECASE,
    )
    found: list[tuple[bool, Stretch]] = []
    reader = _Reader(text, offer)
    place = attempts = 0
    while attempts < MOST_ATTEMPTS and (start := starts.search(text, place)):
        is_marked = start["mark"] is not None
        calls, end = reader.read(start, is_marked=is_marked)
        if calls:
            found.append((is_marked, Stretch(start.start(), end, calls)))
        attempts += not calls
        place = max(end, start.end(), start.start() + 1)
    has_marks = any(is_marked for is_marked, _ in found)
    return [stretch for is_marked, stretch in found if is_marked or not has_marks] or _name_alone(text, offer)


def _name_alone(text: str, offer: Offer) -> list[Stretch]:
    """Return a text that is nothing but the name of a tool that needs no arguments."""
    tool = offer.find(_unfenced(text).strip("`"))
    return [Stretch(0, len(text), [_written(tool, tool.name, {})])] if tool and not tool.required else []


class _Reader:
    """Reads the call that begins at a place of the text."""

    def __init__(self, text: str, offer: Offer) -> None:
        self._text, self._offer = text, offer
        self._names = "|".join(map(re.escape, offer.tools))
        self._expression = re.compile(rf"(?:\[\s*+)?(?:print\(\s*+)?(?:\w+\.)*(?:{self._names})\(", re.IGNORECASE)
        self._broken = 0

    def read(self, start: re.Match[str], *, is_marked: bool) -> tuple[list[Written], int]:
        """Return the calls behind a mark or at the beginning of one, and where the last one ends."""
        place = start.start("value") if start["value"] else _SKIPPED.match(self._text, start.end()).end()  # type: ignore[union-attr]  # it may be empty
        if is_marked or start["value"] or start["line"] is not None:
            calls, end = self._in_python(place, must_fill_line=not is_marked)
            if calls:
                return calls, end
        if self._text.startswith(("{", "["), place):
            return self._values(place, is_marked=is_marked)
        return self._named(place, is_marked=is_marked, is_tag=bool(start["tag"]))

    def _values(self, place: int, *, is_marked: bool) -> tuple[list[Written], int]:
        """Return the calls in the JSON values that follow one another."""
        calls: list[Written] = []
        end = 0
        start = place
        while self._text.startswith(("{", "["), place) and self._broken < MOST_BROKEN:
            value = value_at(self._text, place)
            self._broken += not value.is_sound
            # A whole answer that has the form of a call is one, whatever the name.
            is_all = value.is_sound and value.end - place == len(_unfenced(self._text))
            read = self._calls_of(value.value, is_marked=is_marked or is_all, is_all=is_all)
            if value.is_cut:
                read = [call._replace(arguments=None, raw=self._text[place : value.end]) for call in read]
            if not read:
                break
            calls += read
            end = value.end
            place = _end(_BETWEEN, self._text, end)
        if is_marked and not calls:
            # The model has to hear that its call was not understood.
            end = _closed(self._text, start)
            return [Written("", None, self._text[start:end])], end
        return calls, end

    def _named(self, place: int, *, is_marked: bool, is_tag: bool) -> tuple[list[Written], int]:
        """Return the call by a name, and an object, parameters or nothing behind it."""
        name = _NAME.match(self._text, place)
        tool = self._offer.find(name[1]) if name else None
        if not name or (tool is None and not is_marked):
            return [], 0
        end = name.end()
        if to_object := _TO_OBJECT.match(self._text, end):
            value = value_at(self._text, to_object.end())
            raw = self._text[to_object.end() : value.end]
            is_meant = is_marked or (
                tool and isinstance(value.value, dict) and value.value.keys() <= tool.parameters.keys()
            )
            arguments = raw if value.is_cut else value.value
            return ([_written(tool, name[1], arguments)] if is_meant else []), value.end
        if _TO_PARAMETERS.match(self._text, end):
            return self._parameters(tool, name[1], _end(_TO_PARAMETERS, self._text, end))
        if is_tag and (nothing := _NO_ARGUMENTS.match(self._text, end)):
            return [_written(tool, name[1], {})], nothing.end()
        closed = _closed(self._text, end)
        return ([Written(name[1], None, self._text[end:closed])] if is_tag else []), closed if is_tag else 0

    def _parameters(self, tool: Tool | None, name: str, place: int) -> tuple[list[Written], int]:
        """Return the arguments written as `<parameter=name>…` or `<arg_key>name</arg_key><arg_value>…`."""
        arguments: dict[str, Any] = {}
        while found := _PARAMETER.match(self._text, place):
            key, value = (found["name"], found["value"]) if found["name"] else (found["key"].strip(), found["given"])
            arguments[key] = value.strip("\n")
            place = found.end()
        return [_written(tool, name, arguments)], place

    def _in_python(self, place: int, *, must_fill_line: bool) -> tuple[list[Written], int]:
        """Return the call or calls that a Python expression is; one within a sentence is only mentioned."""
        opening = self._expression.match(self._text, place)
        if not opening:
            return [], 0
        end = extent_at(self._text, self._text.index("[" if opening[0][0] == "[" else "(", place)).end
        if must_fill_line and not _LINE_ENDS.match(self._text, end):
            return [], 0
        tree = _parsed(self._text[place:end])
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        calls = [self._call(node) for node in nodes]
        return ([call for call in calls if call], end) if all(calls) else ([], 0)

    def _call(self, node: ast.expr | None) -> Written | None:
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
            return self._call(node.args[0])
        tool = self._offer.find(ast.unparse(node.func).rpartition(".")[2])
        arguments = _call_arguments(node, tool) if tool else None
        return None if tool is None or arguments is None else _written(tool, tool.name, arguments)

    def _calls_of(self, value: Any, *, is_marked: bool, is_all: bool) -> list[Written]:
        """Return the calls that a JSON value asks for.

        A tool that was not offered counts only where the value `is_marked` as a call: elsewhere it is an example.
        """
        if isinstance(value, dict):
            value = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), value)
        entries = value if isinstance(value, list) else [value]
        return [call for one in entries if isinstance(one, dict) for call in self._entry(one, is_marked, is_all)]

    def _entry(self, entry: dict[str, Any], is_marked: bool, is_all: bool) -> list[Written]:
        if isinstance(entry.get("function"), dict):
            entry = entry["function"]
        key = next((key for key in _NAMES if isinstance(entry.get(key), str)), "")
        given = next((name for name in _ARGUMENTS if name in entry), None)
        tool = self._offer.find(entry[key]) if key else None
        if tool is None and not (key and given and is_marked):
            return self._without_name(entry, is_all)
        if "description" in entry and given != "arguments":
            return []
        if given:
            return [_written(tool, entry[key], entry[given])]
        rest = {name: value for name, value in entry.items() if name != key and name not in _ASIDE}
        fits = tool is not None and (is_marked or rest.keys() <= tool.parameters.keys())
        return [_written(tool, entry[key], rest)] if fits else []

    def _without_name(self, entry: dict[str, Any], is_all: bool) -> list[Written]:
        """Return the call in `{"search": {"queries": […]}}`, or in bare arguments of the only tool offered."""
        tools = [self._offer.find(name) for name in entry]
        if tools and all(tools) and all(isinstance(value, dict) for value in entry.values()):
            return [_written(tool, "", value) for tool, value in zip(tools, entry.values(), strict=True)]
        only = next(iter(self._offer.tools.values()))
        fits = len(self._offer.tools) == 1 and only.required <= entry.keys() <= only.parameters.keys()
        return [_written(only, only.name, entry)] if fits and (entry or is_all) else []


def answer_in(text: str) -> str | None:
    """Return the words in `{"answer": "…", "calls": […]}`; None if the text is anything else."""
    try:
        value = json.loads(_unfenced(text), strict=False)
    except (ValueError, RecursionError):
        return None
    is_answer = isinstance(value, dict) and "answer" in value and value.keys() <= {"answer", "calls"}
    return value["answer"] if is_answer and isinstance(value["answer"], str) else None


def _written(tool: Tool | None, name: str, arguments: Any) -> Written:
    """Return a call by any name; `arguments` are an object, or a text that should hold one."""
    if isinstance(arguments, str):
        read, raw = object_in(arguments) if arguments.strip() else {}, arguments
    else:
        read = {} if arguments is None else arguments
        raw = json.dumps(read, ensure_ascii=False, default=str)
    return Written(tool.name if tool else name, coerce(read, tool) if isinstance(read, dict) else None, raw)


def _unfenced(text: str) -> str:
    """Return the text without the code fence that may be around all of it."""
    fenced = re.fullmatch(r"\s*```\w*\s(.*)```\s*", text, re.DOTALL)
    return (fenced[1] if fenced else text).strip()


def _closed(text: str, start: int) -> int:
    """Return where what began at `start` ends at the latest: before the next tag."""
    closing = re.compile(r"</\w|<[|｜]|\[/?TOOL_CALLS|\n\n").search(text, start)
    return closing.start() if closing else len(text)


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _parsed(expression: str) -> ast.expr | None:
    if len(expression) > MOST_CHARACTERS:
        return None
    with warnings.catch_warnings():
        # The words of a model may hold what looks like a wrong escape sequence.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(expression, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _call_arguments(node: ast.Call, tool: Tool) -> dict[str, Any] | None:
    """Return the arguments by name; None if they are not constants, or more than the tool takes."""
    try:
        given = [_constant(value) for value in node.args]
        named = {keyword.arg: _constant(keyword.value) for keyword in node.keywords if keyword.arg}
    except (ValueError, TypeError, RecursionError):
        return None
    if len(given) == 1 and not named and isinstance(given[0], dict):
        return given[0]
    if len(given) > len(tool.parameters) or len(named) < len(node.keywords):
        return None
    return dict(zip(tool.parameters, given, strict=False)) | named


def _constant(node: ast.expr) -> Any:
    return ast.literal_eval(_JsonConstants().visit(node))


class _JsonConstants(ast.NodeTransformer):
    """Takes `true`, `false` and `null` for the values that they have in JSON."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_CONSTANTS[node.id]) if node.id in _CONSTANTS else node
