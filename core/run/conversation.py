"""The conversation with the user: what was asked, what may be asked, what a model is shown of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from ..records.research import Entry, Plan, Run, Value
from .errors import QuestionRefused

MARK = "deep_research"
"""Key in `additional_kwargs` under which the assistant's messages say what they are."""
NUMBERS = "deep_research_sources"
"""The same for the thread's numbers of the sources of a report, in the order of its own."""

_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LONG = 200
"""Characters from which on a question is named by its first sentence."""
_END = re.compile(r"(?<=\w{3})[.?!:;]\s|[。？！：]|\n")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_NUMBERED = re.compile(r"^\s*(?:\*\*)?\d{1,2}[.)、．](?:\*\*)?\s*(?=\S)")
_BULLET = re.compile(r"^\s*[-*•]\s+(?=\S)")


def mark_of(message: AnyMessage) -> str:
    """Return what an assistant's message is: clarification, plan, report, ended, or nothing of these."""
    return str(message.additional_kwargs.get(MARK, "")) if isinstance(message, AIMessage) else ""


def marked(text: str, mark: str, **more: Any) -> AIMessage:
    """Return an assistant's message that says what it is, and `more` about it."""
    return AIMessage(content=text, additional_kwargs={MARK: mark, **more})


def last_mark(messages: Sequence[AnyMessage]) -> str:
    """Return what the assistant's latest message is; empty if there is none."""
    return next((mark_of(message) for message in reversed(messages) if isinstance(message, AIMessage)), "")


def latest_of(mark: str, messages: Sequence[AnyMessage]) -> str:
    """Return the words of the assistant's latest message of this kind."""
    return next((message.text for message in reversed(messages) if mark_of(message) == mark), "")


def entry_of(messages: Sequence[AnyMessage], run: Run) -> Entry:
    """Return how the latest message comes in, told by the assistant's message before it and by the run so far."""
    mark = last_mark(messages)
    if not run.id:
        return "answer" if mark == "clarification" else "question"
    if run.status in ("completed", "completed_with_gaps", "ended"):
        return "follow_up"
    if run.status == "waiting":
        return "plan_reply" if mark == "plan" else "answer"
    return "continuation"


def question_of(messages: Sequence[AnyMessage]) -> str:
    """Return the user's words since the last report."""
    return "\n".join(words_since_report(messages))


def words_since_report(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the user's messages since the last report or ended question, in their order."""
    words: list[str] = []
    for message in reversed(messages):
        if mark_of(message) in ("report", "ended"):
            break
        if isinstance(message, HumanMessage):
            words.append(clean(message.text))
    return words[::-1]


def words_of_user(messages: Sequence[AnyMessage]) -> list[str]:
    """Return all that the user has said; of an edited plan only the lines that are not the planner's."""
    said: list[str] = []
    planned: list[str] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            said.append("\n".join(line for line in clean(message.text).splitlines() if line.strip() not in planned))
        elif mark_of(message) == "plan":
            planned += [line.strip() for line in message.text.splitlines()]
    return said


def subject_of(question: str) -> str:
    """Return the question in one line; a long one says first what it is about."""
    line = " ".join(question.split())
    return line if len(line) <= LONG else " ".join(_END.split(question.strip(), maxsplit=1)[0].split())


def latest_messages(messages: Sequence[AnyMessage], user_messages: int) -> list[AnyMessage]:
    """Return the conversation from the user's n-th last message on."""
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return list(messages[places[-user_messages] :]) if len(places) > user_messages else list(messages)


def refused(messages: Sequence[AnyMessage], max_characters: int) -> list[AnyMessage]:
    """Return the user's earlier messages that were refused when they came in; a thread keeps its input even then."""
    return [m for m in messages[:-1] if isinstance(m, HumanMessage) and fault_in(m.text, max_characters)]


def check_question(messages: Sequence[AnyMessage], max_characters: int) -> None:
    """Refuse a message that says nothing or too much."""
    last = messages[-1] if messages else None
    if fault := fault_in(last.text if isinstance(last, HumanMessage) else "", max_characters):
        raise QuestionRefused(fault)


def fault_in(text: str, max_characters: int) -> str:
    """Return what is wrong with words that say nothing or too much; empty if nothing is."""
    if not any(unicodedata.category(character) not in _INVISIBLE for character in text):
        return "The question is empty: say in words what is meant."
    if len(text) > max_characters:
        return (
            f"The question has {len(text)} characters; at most {max_characters} are accepted "
            "(limit question_characters)."
        )
    return ""


def clean(text: str) -> str:
    """Return the text without control characters and lone surrogates; line breaks and tabs stay."""
    return _UNCLEAN.sub("", text)


def clean_nested(value: Value) -> Value:
    """Return a JSON value that can be kept anywhere, at any depth: clean texts, whole numbers of 64 bits."""
    copy: object = value
    if isinstance(value, str):
        copy = clean(value)
    elif isinstance(value, dict):
        copy = {name: clean_nested(part) for name, part in value.items()}
    elif isinstance(value, list):
        copy = [clean_nested(part) for part in value]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        copy = str(value)
    return copy  # type: ignore[return-value]  # a number that is too long aside, each gives back what it got


def read_plan(text: str, max_steps: int) -> Plan:
    """Parse a plan; the text stays as written unless it has more than `max_steps` steps."""
    steps = _items(text, _NUMBERED) or _items(text, _BULLET) or [" ".join(text.split())]
    left_out = max(0, len(steps) - max_steps)
    if left_out:
        steps = steps[:max_steps]
        text = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return Plan(text=text.strip(), steps=tuple(steps), left_out=left_out)


def _items(text: str, mark: re.Pattern[str]) -> list[str]:
    items: list[str] = []
    for line in text.splitlines():
        if mark.match(line):
            items.append(mark.sub("", line).strip().strip("*").strip())
        elif items and line.strip():
            items[-1] = f"{items[-1]} {line.strip()}"
    return items
