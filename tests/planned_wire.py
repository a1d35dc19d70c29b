"""An OpenAI-compatible server that fills in the forms of a planned run by rules."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from openai_server import OpenAIServer, Received, Reply, openai_server, say, use
from planned_lab import RULES, Asked, Rule, handed_in, is_last, parts_of

from deep_research.tools.internal_search import OPENING

HELD_SECONDS = 600.0
"""Longer than any test: what is held is let go when the server closes."""
_TAG = re.compile(r"data-[0-9a-f]{8}")
Point = tuple[str, str]
"""A call: the form, and the task for which it is filled in."""


@dataclass
class Forms:
    """Answers by rules; some calls are held, each once."""

    rules: Mapping[str, Rule]
    points: set[Point] = field(default_factory=set)
    """Where the next call is held."""
    held: list[Point] = field(default_factory=list)
    paid: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How often each call was made: form, task, and what it was shown."""
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, request: Received) -> Reply:
        asked, answers = self._asked(request), list[Any]()
        for part in parts_of(asked.form, asked.reminder):
            answers.append(self.rules[part](asked._replace(form=part)))
            if is_last(part, answers[-1]):
                break
        answer = handed_in(answers)
        if isinstance(answer, Reply):
            return answer
        reply = use((asked.form, answer)) if isinstance(answer, dict) else say(answer)
        point = (asked.form, asked.task)
        with self.lock:
            if point not in self.points:
                return reply
            self.points.remove(point)
            self.held.append(point)
        return replace(reply, wait=HELD_SECONDS)

    def _asked(self, request: Received) -> Asked:
        messages = [_message(message) for message in request.messages]
        said = (message.text for message in messages if isinstance(message, HumanMessage))
        # Some forms are asked for by a reminder alone.
        task = next((text for text in said if text != OPENING and not text.startswith("<reminder>")), "")
        form = request.tools[0] if request.tools else "report"
        with self.lock:
            same = [key for key in self.paid.elements() if key[:2] == (form, task)]
            shown = "\n".join(message.text for message in messages if isinstance(message, ToolMessage))
            asked = Asked(form, task, messages, 1)
            key = (form, task, str(len(shown)), _TAG.sub("", asked.reminder))
            self.paid[key] += 1
        return asked._replace(number=len({*same} - {key}) + 1)


def _message(message: Mapping[str, Any]) -> BaseMessage:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    match message["role"]:
        case "system" | "developer":
            return SystemMessage(text)
        case "tool":
            return ToolMessage(text, tool_call_id=message["tool_call_id"])
        case "assistant":
            return AIMessage(text)
    return HumanMessage(text)


@contextmanager
def form_server(rules: Mapping[str, Rule] | None = None) -> Iterator[tuple[OpenAIServer, Forms]]:
    """The server, and what it was asked."""
    forms = Forms({**RULES, **(rules or {})})
    with openai_server(forms) as server:
        yield server, forms
