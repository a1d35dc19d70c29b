"""Calls that stand between tags or after special tokens, as models write them where no server reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .lenient import Value, value_at
from .offer import Offer
from .pythonic import expression_calls
from .shapes import Stretch, Wanted, wanted, wanted_by

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
