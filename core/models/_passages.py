"""The passages in a tool result, and a result without one that a content filter refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.messages import ToolMessage

_LEFT_OUT = "Left out: the provider of the model refuses to have this text read."
_SOURCE = re.compile(r"^Source \[(?P<number>\d+)\]:\n\n", re.MULTILINE)
"""Matches the heading of a source in the results of a quick run."""
_END = re.compile(r"\s*^(?:Source \[\d+\]:|</data-[0-9a-f]+>)$|\Z", re.MULTILINE)


class ShownPassage(NamedTuple):
    """A document or page in a tool result, as a model is shown it."""

    call_id: str
    """Id of the tool call."""
    position: int
    """Index among the results of the call."""
    characters: int
    """Length of its text."""

    @classmethod
    def all_in(cls, message: ToolMessage) -> list[ShownPassage]:
        """Return the passages in a tool result, without those that were left out; empty if it is
        not a list of results."""
        passages: list[ShownPassage] = []
        for position, (_, text) in enumerate(_titles_and_texts(message, {})):
            if text and text != _LEFT_OUT:
                passages.append(cls(message.tool_call_id, position, len(text)))
        return passages

    def taken_out(self, message: ToolMessage) -> ToolMessage:
        """Return its tool result with a notice in place of its text."""
        text = str(message.text)
        content = _content(message)
        if content:
            result = _results(content)[self.position]
            result["text"] = _LEFT_OUT
            result.pop("links", None)
            before, after = text[: text.index("{")], text[text.rindex("}") + 1 :]
            changed = f"{before}{json.dumps(content, ensure_ascii=False)}{after}"
        else:
            start, end = _spans(text)[self.position]
            changed = f"{text[:start]}{_LEFT_OUT}{text[end:]}"
        return message.model_copy(update={"content": changed})


def titles_left_out(message: ToolMessage, titles_by_number: Mapping[int, str]) -> list[str]:
    """Return the titles of the passages whose text was left out of a tool result.

    `titles_by_number`: those of the sources, which the results of a quick run do not contain.
    """
    if _LEFT_OUT not in message.text:
        return []
    shown = _titles_and_texts(message, titles_by_number)
    return [title for title, text in shown if text == _LEFT_OUT]


def _titles_and_texts(
    message: ToolMessage, titles_by_number: Mapping[int, str]
) -> list[tuple[str, str]]:
    """Return the title and the text of each passage in a tool result."""
    shown: list[tuple[str, str]] = []
    for result in _results(_content(message)):
        title = str(result.get("title") or result.get("address") or "a passage")
        shown.append((title, str(result.get("text") or "")))
    if not shown:
        text = str(message.text)
        headings = _SOURCE.finditer(text)
        for heading, (start, end) in zip(headings, _spans(text), strict=True):
            number = int(heading["number"])
            title = titles_by_number.get(number, f"source {number}")
            shown.append((title, text[start:end]))
    return shown


def _spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of the text below each source's heading."""
    spans: list[tuple[int, int]] = []
    for heading in _SOURCE.finditer(text):
        end = _END.search(text, heading.end())
        spans.append((heading.end(), end.start() if end else len(text)))
    return spans


def _content(message: ToolMessage) -> dict[str, Any]:
    """Return the JSON object in a tool result; empty if there is none."""
    text = str(message.text)
    try:
        content = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _results(content: dict[str, Any]) -> list[dict[str, Any]]:
    results = content.get("results")
    if not isinstance(results, list):
        return []
    return [result for result in results if isinstance(result, dict)]
