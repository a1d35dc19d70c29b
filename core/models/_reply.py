"""Parses a model's answer: finds tool calls wherever the model wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from ..dialogue.conversation import clean_nested
from ..dialogue.transcripts import UNREAD_FORM, Finish
from ._lenient_json import object_in
from ._rungs import Offer, coerce, how_to_tag
from ._thoughts import split_thoughts
from ._written_calls import CallInText, CallSpan, answer_in, find_calls

_WRAPPING = re.compile(
    r"```\w*\s*(?:```|\Z)|<[|｜][^<>|｜]*[|｜]>|\[/?TOOL_CALLS\]|</?(?:tool_calls?|tool|function|parameter)>"
)
"""Matches tags and empty fences that remain where a call was removed from a text."""
_BEGINS_AS_CALL = re.compile(
    r"\s*(?:```\w*\s*)?(?:[{\[]|<(?!/?think|/?reason|/?thought|\|channel\|>analysis))"
)
"""Matches the beginning of a text that starts with JSON or a tag other than that of a thought."""
_NOT_AN_OBJECT = "not an object"
_CUT = "cut off at the output limit"


def read_reply(message: AIMessage, tools: Sequence[dict[str, Any]]) -> AIMessage:
    """Return the message with tool calls parsed, and with calls and thoughts removed from its text.

    `tools` are the offered schemas; without any, the message is returned unchanged. The text is
    searched for calls unless the API returned some. A call that cannot be parsed, or was cut off at
    the output limit, becomes an invalid call; if it is written in an unknown form, its error says
    how to write it.
    """
    offer = Offer(tools)
    if not offer.tools:
        return message
    if message.tool_calls or message.invalid_tool_calls:
        return _read_native(message, offer)
    return _read_written(message, offer)


def _read_native(message: AIMessage, offer: Offer) -> AIMessage:
    """Return the message with the calls of the API, as far as they can be repaired."""
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        tool = offer.find(call["name"])
        name = tool.name if tool else call["name"]
        calls.append(tool_call(name=name, args=coerce(call["args"], tool), id=call["id"]))
    broken: list[InvalidToolCall] = []
    for invalid in message.invalid_tool_calls:
        tool = offer.find(invalid["name"] or "")
        arguments = None
        if tool and not Finish.of(message).was_cut_off:
            arguments = object_in(invalid["args"] or "")
        if tool and arguments is not None:
            arguments = coerce(arguments, tool)
            calls.append(tool_call(name=tool.name, args=arguments, id=invalid["id"]))
        else:
            broken.append(invalid)
    text = split_thoughts(message.text).text
    return message.model_copy(
        update={"content": text, "tool_calls": calls, "invalid_tool_calls": broken}
    )


def _read_written(message: AIMessage, offer: Offer) -> AIMessage:
    """Return the message with the calls in its text parsed."""
    text: str = message.text
    # Tags within the arguments of a call are text.
    if not _BEGINS_AS_CALL.match(text):
        text = split_thoughts(text).text
    spans = find_calls(text, offer)
    calls: list[CallInText] = []
    for span in spans:
        calls += span.calls
    is_cut = Finish.of(message).was_cut_off
    if not calls and is_cut and _BEGINS_AS_CALL.match(text):
        return message.model_copy(
            update={"content": "", "invalid_tool_calls": [_invalid("", text, 1, _CUT)]}
        )
    valid: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for number, call in enumerate(calls, 1):
        if is_cut:
            broken.append(_invalid(call.name, call.raw, number, _CUT))
        elif call.arguments is not None:
            arguments = clean_nested(call.arguments)
            valid.append(tool_call(name=call.name, args=arguments, id=f"call-{number}"))
        else:
            broken.append(_invalid(call.name, call.raw, number, _fault_of(call, offer)))
    return message.model_copy(
        update={
            "content": _words_beside(text, spans),
            "tool_calls": valid,
            "invalid_tool_calls": broken,
        }
    )


def _fault_of(call: CallInText, offer: Offer) -> str:
    """Return what the model is told about a call that cannot be parsed."""
    if not call.is_form_unknown:
        return _NOT_AN_OBJECT
    meant = offer.find(call.name)
    return f"{UNREAD_FORM}\n{how_to_tag([meant] if meant else offer.tools.values())}"


def _words_beside(text: str, spans: Sequence[CallSpan]) -> str:
    """Return the text of an answer without its calls and thoughts."""
    answer = answer_in(text)
    if answer is not None:
        return answer.strip()
    if not spans:
        return split_thoughts(text).text
    beside = ""
    end = 0
    for span in spans:
        beside += text[end : span.start]
        end = span.end
    beside += text[end:]
    words = split_thoughts(_WRAPPING.sub("", beside)).text.strip()
    # Brackets and punctuation around the calls are no text.
    return words if re.search(r"\w", words) else ""


def _invalid(name: str, raw: str, number: int, fault: str) -> InvalidToolCall:
    return invalid_tool_call(name=name or None, args=raw, id=f"call-{number}", error=fault)
