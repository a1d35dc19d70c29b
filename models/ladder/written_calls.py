"""Calls that a model writes into its text: as JSON, between tags, after special tokens, as in a program."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from .lenient import MOST_CHARACTERS, Value, extent_at, object_in, value_at
from .offer import Offer, Tool, settled

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_LISTS = ("calls", "tool_calls", "function_calls", "actions", "action", "call", "tool_call", "function_call")
_ASIDE = frozenset({"id", "type", "index"})


class Wanted(NamedTuple):
    """A call that a text asks for."""

    name: str
    """Name of the tool as offered; as written where there is no such tool."""
    arguments: dict[str, Any] | None
    """None if they cannot be read."""
    raw: str
    """The arguments as written."""


class Stretch(NamedTuple):
    """A stretch of a text that asks for calls."""

    start: int
    end: int
    wanted: list[Wanted]


def wanted_by(value: Any, offer: Offer, *, is_marked: bool = False) -> list[Wanted]:
    """The calls that a JSON value asks for.

    A tool that was not offered is taken only where the value `is_marked` as a call: elsewhere it is an example of
    something else.
    """
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), value)
    entries = value if isinstance(value, list) else [value]
    return [call for entry in entries if isinstance(entry, dict) for call in _entry(entry, offer, is_marked)]


def wanted(tool: Tool | None, name: str, arguments: Any) -> Wanted:
    """A call of a tool, or of a name that none bears; `arguments` are an object, or a text that holds one."""
    if isinstance(arguments, str):
        read, raw = object_in(arguments) if arguments.strip() else {}, arguments
    else:
        read = {} if arguments is None else arguments
        raw = json.dumps(read, ensure_ascii=False, default=str)
    settled_arguments = settled(read, tool) if isinstance(read, dict) else None
    return Wanted(tool.name if tool else name, settled_arguments, raw)


def _entry(entry: dict[str, Any], offer: Offer, is_marked: bool) -> list[Wanted]:
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    key = next((key for key in _NAMES if isinstance(entry.get(key), str)), None)
    if key is None:
        return _by_name(entry, offer)
    tool = offer.named(entry[key])
    if _describes(entry) or (tool is None and not is_marked):
        return []
    given = next((name for name in _ARGUMENTS if name in entry), None)
    if given is not None:
        return [wanted(tool, entry[key], entry[given])]
    rest = {name: value for name, value in entry.items() if name != key and name not in _ASIDE}
    fits = tool is not None and (is_marked or rest.keys() <= tool.parameters.keys())
    return [wanted(tool, entry[key], rest)] if fits else []


def _by_name(entry: dict[str, Any], offer: Offer) -> list[Wanted]:
    """Calls in the form `{"search": {"queries": […]}}`."""
    tools = [offer.named(name) for name in entry]
    if not all(tools) or not all(isinstance(value, dict) for value in entry.values()):
        return []
    return [wanted(tool, "", value) for tool, value in zip(tools, entry.values(), strict=True)]


def _describes(entry: dict[str, Any]) -> bool:
    """Whether this is the description of a tool, repeated, and no call."""
    parameters = entry.get("parameters")
    is_schema = isinstance(parameters, dict) and "properties" in parameters
    return is_schema or ("description" in entry and "arguments" not in entry)


MOST_BROKEN = 40
"""Broken values that are looked at in one text."""

_OPENING = re.compile(r"[\[{]")
_LANGUAGE = re.compile(r"\w*")


def json_calls(text: str, offer: Offer) -> Iterator[Stretch]:
    """Calls of offered tools in the objects and lists of the text, wherever they stand."""
    place = broken = 0
    length = len(_unfenced(text))
    while broken < MOST_BROKEN and (opening := _OPENING.search(text, place)):
        start = opening.start()
        value = value_at(text, start)
        # A whole answer that has the form of a call is one, whatever the name.
        is_all = value.is_sound and value.end - start == length
        calls = _readable(value, wanted_by(value.value, offer, is_marked=is_all), text[start : value.end])
        if calls:
            yield Stretch(start, value.end, calls)
        broken += not value.is_sound
        place = value.end if calls or value.is_sound else opening.end()


def named_calls(text: str, offer: Offer) -> Iterator[Stretch]:
    """The name of a tool at the start of a line and an object of its arguments: `functions.search:0{"queries": …}`."""
    names = "|".join(map(re.escape, offer.tools))
    opening = re.compile(
        rf"(?:^[ \t>*`-]*+(?:(?:Action|Tool|Call):\s*+)?[`*]*+|\bfunctions\.)(?P<name>{names})[`*]*+(?::\d+)?:?\s*+"
        r"(?:(?:Action )?(?:Input|Arguments|Args|Parameters):\s*+)?(?:```\w*+\s*+)?(?=\{)",
        re.MULTILINE | re.IGNORECASE,
    )
    place = 0
    while found := opening.search(text, place):
        place = found.end()
        tool, value = offer.named(found["name"]), value_at(text, place)
        arguments = value.value
        if tool and isinstance(arguments, dict) and arguments.keys() <= tool.parameters.keys():
            raw = text[place : value.end]
            place = value.end
            yield Stretch(found.start(), place, _readable(value, [wanted(tool, tool.name, arguments)], raw))


def only_call(text: str, offer: Offer) -> Iterator[Stretch]:
    """A text that is nothing but the name of a tool; or the arguments of the only tool that was offered."""
    content = _unfenced(text).strip("`")
    tool = offer.named(content)
    if tool and not tool.required:
        yield Stretch(0, len(text), [wanted(tool, tool.name, {})])
    only = next(iter(offer.tools.values()))
    start = text.find("{")
    if len(offer.tools) > 1 or start < 0:
        return
    value = value_at(text, start)
    keys = set(value.value) if isinstance(value.value, dict) else {""}
    if only.required <= keys <= set(only.parameters) and (keys or content == "{}"):
        calls = _readable(value, [wanted(only, only.name, value.value)], text[start : value.end])
        yield Stretch(start, value.end, calls)


def answer_in(text: str) -> str | None:
    """The words in `{"answer": "…", "calls": […]}`; None if the text is anything else."""
    try:
        value = json.loads(_unfenced(text), strict=False)
    except (ValueError, RecursionError):
        return None
    is_answer = isinstance(value, dict) and "answer" in value and value.keys() <= {"answer", "calls"}
    return value["answer"] if is_answer and isinstance(value["answer"], str) else None


def _unfenced(text: str) -> str:
    """The text without the code fence that may be around all of it."""
    bare = text.strip()
    is_fenced = len(bare) >= 6 and bare.startswith("```") and bare.endswith("```")
    return _LANGUAGE.sub("", bare[3:-3], count=1).strip() if is_fenced else bare


def _readable(value: Value, calls: list[Wanted], raw: str) -> list[Wanted]:
    """The calls, without arguments if the text broke off within them."""
    return [call._replace(arguments=None, raw=raw) for call in calls] if value.is_cut else calls


_NAME = r"[\w.:-]+"
_WRAPPERS = {
    **{f"<{name}>": f"</{name}>" for name in ("tool_call", "tool_calls", "function_call", "tool_use")},
    "[TOOL_CALLS]": "[/TOOL_CALLS]",
    "<|python_tag|>": "<|eom_id|>",
    "<|tool_call_begin|>": "<|tool_call_end|>",
    "<｜tool▁call▁begin｜>": "<｜tool▁call▁end｜>",
}
_NAMED = (
    rf"<(?P<tag>tool|function|invoke)(?:=|\s+name\s*=\s*)[\"']?(?P<name>{_NAME})[\"']?\s*(?P<empty>/?)>"
    rf"|<\|channel\|>[^<]*?\bto=(?P<recipient>{_NAME})[^{{]{{0,80}}?<\|message\|>"
)
_OPENER = re.compile(rf"(?P<wrapper>{'|'.join(map(re.escape, _WRAPPERS))})|{_NAMED}")
_INNER = re.compile(r"\s*(?:<(?:tool_call|tool|function|invoke)\b|<\|tool_call_begin)")
_SPACE = re.compile(r"\s*(?:```\w*\s*)?")
_BETWEEN = re.compile(r"[\s,;]*")
_NAME_FIRST = re.compile(
    rf"(?:function(?:<[^<>]*>))?(?P<name>{_NAME}?)(?::\d+)?\s*(?:(?:<[|｜][^<>]*>|\[ARGS\]|```\w*)\s*)*(?=\{{|<arg_key>)"
)
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w.-]+)[\"']?[^>]*>(?P<value>.*?)(?:</parameter>|(?=<parameter\b)|\Z)"
    r"|<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<given>.*?)(?:</arg_value>|\Z)",
    re.DOTALL,
)


MOST_MARKS = 200
"""Tags that are looked at in one text."""


def marked_calls(text: str, offer: Offer) -> Iterator[Stretch]:
    """Each stretch of the text that is marked as calls; one that cannot be read wants a call without arguments."""
    place = marks = 0
    while marks < MOST_MARKS and (opener := _OPENER.search(text, place)):
        marks += 1
        place = opener.end()
        if opener["wrapper"]:
            if _INNER.match(text, place):
                continue
            calls, end = _wrapped(text, place, _WRAPPERS[opener["wrapper"]], offer)
        else:
            calls, end = _named(text, opener, offer)
        if calls:
            place = end
            yield Stretch(opener.start(), end, calls)


def _wrapped(text: str, place: int, closer: str, offer: Offer) -> tuple[list[Wanted], int]:
    start = _skip(_SPACE, text, place)
    values, end = _values(text, start)
    calls = [call for value in values for call in wanted_by(value.value, offer, is_marked=True)]
    if calls:
        return calls, _past(text, end, closer)
    name_first = _NAME_FIRST.match(text, start)
    if name_first:
        call, end = _arguments(text, name_first.end(), closer, name_first["name"], offer)
        return [call], end
    stop, end = _bounds(text, start, closer)
    content = text[start:stop]
    return _from_broken(content, offer) or expression_calls(content, offer) or _unreadable(content), end


def _named(text: str, opener: re.Match[str], offer: Offer) -> tuple[list[Wanted], int]:
    """`<tool name="search">{…}</tool>`, `<function=search><parameter=queries>…`, `to=functions.search`."""
    name = opener["name"] or opener["recipient"]
    if opener["empty"]:
        return [wanted(offer.named(name), name, {})], opener.end()
    closer = f"</{opener['tag']}>" if opener["tag"] else "<|call|>"
    call, end = _arguments(text, opener.end(), closer, name, offer)
    return [call], end


def _arguments(text: str, place: int, closer: str, name: str, offer: Offer) -> tuple[Wanted, int]:
    """The call whose arguments begin at `place`, and where it ends: as an object, as parameters, or nothing."""
    tool = offer.named(name)
    start = _skip(_SPACE, text, place)
    value = value_at(text, start) if text.startswith("{", start) else None
    if value and value.is_sound:
        return wanted(tool, name, value.value), _past(text, value.end, closer)
    stop, end = _bounds(text, start, closer)
    content = text[start:stop]
    parameters: dict[str, Any] = {}
    for found in _PARAMETER.finditer(content):
        key = found["name"] or found["key"].strip()
        given = (found["value"] if found["name"] else found["given"]).strip("\n")
        parameters[key] = [*_as_list(parameters[key]), given] if key in parameters else given
    return wanted(tool, name, parameters or content), end


def _from_broken(content: str, offer: Offer) -> list[Wanted]:
    if not content.startswith(("{", "[")):
        return []
    value = value_at(content, 0)
    calls = wanted_by(value.value, offer)
    return [call._replace(arguments=None, raw=content) for call in calls] if value.is_cut else calls


def _unreadable(content: str) -> list[Wanted]:
    """A call that says nothing, unless the tag was only mentioned."""
    return [Wanted("", None, content)] if content.lstrip().startswith(("{", "[")) else []


def _values(text: str, place: int) -> tuple[list[Value], int]:
    """The sound JSON values that follow one another from `place` on."""
    values: list[Value] = []
    start = place
    while text.startswith(("{", "["), start):
        value = value_at(text, start)
        if not value.is_sound:
            break
        values.append(value)
        place = value.end
        start = _skip(_BETWEEN, text, place)
    return values, place


def _bounds(text: str, start: int, closer: str) -> tuple[int, int]:
    """Where the content ends that began at `start`, and where what closes it ends."""
    stop = text.find(closer, start)
    if stop >= 0:
        return stop, stop + len(closer)
    following = _OPENER.search(text, start)
    end = following.start() if following else len(text)
    return end, end


def _past(text: str, place: int, closer: str) -> int:
    """The place after the closer, if it comes next."""
    closing = re.compile(rf"[\s`]*{re.escape(closer)}").match(text, place)
    return closing.end() if closing else place


def _skip(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_ALONE = re.compile(r"[ \t`\];)]*(?:\n|$)")
_CONSTANTS = {"true": True, "false": False, "null": None}


def python_calls(text: str, offer: Offer) -> Iterator[Stretch]:
    """Calls, or lists of calls, that fill whole lines of a text; within a sentence they are only mentioned."""
    names = "|".join(map(re.escape, offer.tools))
    opening = re.compile(
        rf"^[ \t`]*+(?:Action:[ \t]*+)?(?P<expression>(?:\[\s*+)?(?:print\(\s*+)?(?:\w+\.)*(?:{names})\()",
        re.MULTILINE | re.IGNORECASE,
    )
    place = 0
    while found := opening.search(text, place):
        place = found.end()
        start = found.start("expression")
        end = extent_at(text, text.index("[" if text[start] == "[" else "(", start)).end
        wanted = expression_calls(text[start:end], offer) if _ALONE.match(text, end) else []
        if wanted:
            place = end
            yield Stretch(found.start(), end, wanted)


def expression_calls(expression: str, offer: Offer) -> list[Wanted]:
    """The calls that an expression of Python consists of; none if anything else is in it."""
    tree = _parsed(expression.strip()) or _parsed(expression.strip().replace("\n", "\\n"))
    if tree is None:
        return []
    wanted = [_call(node, offer) for node in (tree.elts if isinstance(tree, ast.List) else [tree])]
    return [call for call in wanted if call] if all(wanted) else []


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


def _call(node: ast.expr, offer: Offer) -> Wanted | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        return _call(node.args[0], offer)
    tool = offer.named(ast.unparse(node.func).rpartition(".")[2])
    arguments = _call_arguments(node, tool) if tool else None
    if tool is None or arguments is None:
        return None
    return Wanted(tool.name, settled(arguments, tool), json.dumps(arguments, ensure_ascii=False))


def _call_arguments(node: ast.Call, tool: Tool) -> dict[str, Any] | None:
    """The arguments by name; none if they are no constants, or more than the tool takes."""
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
