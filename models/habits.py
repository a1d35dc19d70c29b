"""What a server does not take of a request, learned from its refusals, so that it is asked once only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..run.calls import REASONING
from .faults import kind_of, words_of

Payload = dict[str, Any]


class Lesson(NamedTuple):
    """One thing to do otherwise."""

    name: str
    words: re.Pattern[str]
    """What a refusal says that teaches it."""
    change: Callable[[Payload], None] | None
    """Changes a request in place; none where the request alone does not hold what is missing."""


class Habits:
    """The lessons of one model at one server."""

    def __init__(self) -> None:
        self.learned: frozenset[str] = frozenset()
        """Names of the lessons so far."""

    @property
    def wants_thoughts(self) -> bool:
        """Whether the server wants back the thoughts of earlier answers."""
        return REASONING in self.learned

    def apply(self, payload: Payload) -> Payload:
        """The request, changed in place by all lessons that are about it alone."""
        for lesson in LESSONS:
            if lesson.change and lesson.name in self.learned:
                lesson.change(payload)
        return payload

    def learn(self, error: Exception, known: frozenset[str]) -> bool:
        """Whether the refusal teaches something that was not `known` when the request was made."""
        if kind_of(error) not in ("rejected", "model", "down"):
            return False
        words = words_of(error)
        lessons = {lesson.name for lesson in LESSONS if lesson.words.search(words)} - known
        self.learned |= lessons
        return bool(lessons)


def _drop(name: str) -> Callable[[Payload], None]:
    def change(payload: Payload) -> None:
        payload.pop(name, None)

    return change


def _drop_from_reasoning(name: str) -> Callable[[Payload], None]:
    def change(payload: Payload) -> None:
        left = {key: value for key, value in payload.pop("reasoning", {}).items() if key != name}
        if left:
            payload["reasoning"] = left

    return change


def _drop_effort(payload: Payload) -> None:
    payload.pop("reasoning_effort", None)
    _drop_from_reasoning("effort")(payload)


def _swap_output_limit(payload: Payload) -> None:
    for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if name in payload:
            payload[other] = payload.pop(name)
            return


def _leave_choice(payload: Payload) -> None:
    if "tool_choice" in payload:
        payload["tool_choice"] = "auto"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_UNKNOWN = r"(unsupported|not supported|unknown|unrecognized|unexpected|extra|not permitted|not allowed)"

LESSONS = (
    Lesson("stream_options", _words(r"stream_options|include_usage"), _drop("stream_options")),
    Lesson("parallel_tool_calls", _words("parallel_tool_calls|parallel tool"), _drop("parallel_tool_calls")),
    Lesson("tool_choice", _words("tool_choice|tool choice|forces? tool use"), _leave_choice),
    Lesson(
        "output_limit",
        _words(rf"{_UNKNOWN}.*max_(completion_)?tokens|max_(completion_)?tokens.*{_UNKNOWN}"),
        _swap_output_limit,
    ),
    Lesson("effort", _words(r"reasoning.?effort"), _drop_effort),
    Lesson("summary", _words(r"reasoning.{0,20}summar"), _drop_from_reasoning("summary")),
    Lesson("store", _words(r"\bstore\b"), _drop("store")),
    Lesson(REASONING, _words(REASONING), None),
)
