"""Reads the tool calls of a model's message wherever the model has put them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ...run.conversation import clean_nested
from ...run.transcripts import was_cut_off
from .lenient import object_in
from .rungs import Offer, coerce
from .thoughts import split
from .written_calls import Stretch, Written, answer_in, find_calls

_WRAPPING = re.compile(
    r"```\w*\s*(?:```|\Z)|<[|｜][^<>|｜]*[|｜]>|\[/?TOOL_CALLS\]|\[ARGS\]"
    r"|</?(?:tool_calls?|function_calls?|tool_use|tools?|function|invoke|parameters?|arg_\w+)>"
)
_BEGINS_AS_CALL = re.compile(r"\s*(?:```\w*\s*)?(?:[{\[]|<(?!/?think|/?reason|/?thought|\|channel\|>analysis))")
_MARK = r"<(?:tool|function|invoke)[\s=_]|\[TOOL_CALLS\]|<\|(?:python_tag|tool_call)"
NOT_AN_OBJECT = "not an object"
CUT = "cut off at the output limit"


def read_reply(message: AIMessage, tools: Sequence[dict[str, Any]]) -> AIMessage:
    """Return the message with its calls as calls and its other words as content, without thoughts.

    `tools` are the schemas that were offered. Calls are looked for in the text where the message has none of its own.
    What cannot be read, and what was cut off at the output limit, becomes an invalid call; it is never completed.
    """
    offer = Offer(tools)
    if not offer.tools:
        return message
    if message.tool_calls or message.invalid_tool_calls:
        return _native(message, offer)
    # Tags within the arguments of a call are words.
    text = message.text if _BEGINS_AS_CALL.match(message.text) else split(message.text).text
    stretches = find_calls(text, offer)
    is_cut = was_cut_off(message)
    calls = [call for stretch in stretches for call in stretch.calls]
    if not calls and is_cut and _begins_call(text, offer):
        return message.model_copy(update={"content": "", "invalid_tool_calls": [_invalid("", text, 1, CUT)]})
    return message.model_copy(
        update={
            "content": _words(text, stretches),
            "tool_calls": [] if is_cut else _valid(calls),
            "invalid_tool_calls": _broken(calls, is_cut),
        }
    )


def _begins_call(text: str, offer: Offer) -> bool:
    """Whether there is a sign of a call in a text that was cut off before it could be read."""
    names = "|".join(map(re.escape, offer.tools))
    sign = re.compile(rf"{_MARK}|^[ \t`\[]*+(?:functions\.)?(?:{names})[:\d\s]*+[({{]", re.MULTILINE)
    return bool(_BEGINS_AS_CALL.match(text) or sign.search(text))


def _native(message: AIMessage, offer: Offer) -> AIMessage:
    calls = [_renamed(call, offer) for call in message.tool_calls]
    broken: list[InvalidToolCall] = []
    for call in message.invalid_tool_calls:
        tool = offer.find(call["name"] or "")
        arguments = object_in(call["args"] or "") if tool and not was_cut_off(message) else None
        if tool and arguments is not None:
            calls.append(tool_call(name=tool.name, args=coerce(arguments, tool), id=call["id"]))
        else:
            broken.append(call)
    words = split(message.text).text
    return message.model_copy(update={"content": words, "tool_calls": calls, "invalid_tool_calls": broken})


def _renamed(call: ToolCall, offer: Offer) -> ToolCall:
    tool = offer.find(call["name"])
    return tool_call(name=tool.name if tool else call["name"], args=coerce(call["args"], tool), id=call["id"])


def _valid(calls: list[Written]) -> list[ToolCall]:
    return [
        tool_call(name=call.name, args=clean_nested(call.arguments), id=f"call-{number}")
        for number, call in enumerate(calls, 1)
        if call.arguments is not None
    ]


def _broken(calls: list[Written], is_cut: bool) -> list[InvalidToolCall]:
    return [
        _invalid(call.name, call.raw, number, CUT if is_cut else NOT_AN_OBJECT)
        for number, call in enumerate(calls, 1)
        if is_cut or call.arguments is None
    ]


def _invalid(name: str, raw: str, number: int, fault: str) -> InvalidToolCall:
    return invalid_tool_call(name=name or None, args=raw, id=f"call-{number}", error=fault)


def _words(text: str, stretches: list[Stretch]) -> str:
    """Return what the text says beside its calls; nothing if only their wrapping is left."""
    answer = answer_in(text)
    if answer is not None:
        return answer.strip()
    if not stretches:
        return split(text).text
    starts, ends = [stretch.start for stretch in stretches], [0, *(stretch.end for stretch in stretches)]
    rest = "".join(text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=True))
    words = split(_WRAPPING.sub("", rest)).text.strip()
    return words if re.search(r"\w", words) else ""
