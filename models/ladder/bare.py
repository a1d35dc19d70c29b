"""Calls that a model writes into its text as they come: as JSON, or as a name and its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .lenient import Value, value_at
from .offer import Offer
from .shapes import Stretch, Wanted, wanted, wanted_by

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
