"""The conversation with the user: what was asked, what may be asked, what a model is shown of it."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic import TypeAdapter, ValidationError

from ..records.research import Entry, Run, Value
from ..records.sources import Attached, NotRead
from .errors import QuestionRefused

MARK = "deep_research"
"""Key in `additional_kwargs` under which the assistant's messages say what they are."""

ATTACHED = "deep_research_attached"
"""Key under which a user's message says what was attached to it: a list of `Attached` as JSON."""
DRAFT = "draft"
"""Mark of a report that is not checked yet; the checked one takes its place."""
PROGRESS = "progress"
"""Mark of a streamed line that says what is under way; no state holds it."""

_MEDIA = {"image": "picture", "image_url": "picture", "input_image": "picture", "input_audio": "recording"}
"""Default names of unnamed attachments by block type; any other is a `file`."""
_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FILES = TypeAdapter(list[Attached])
LONG = 200
"""Characters from which on a question is named by its first sentence."""
_END = re.compile(r"(?<=\w{3})[.?!:;]\s|[。？！：]|\n")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


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
    return [clean(message.text) for message in _said_since_report(messages)]


def _said_since_report(messages: Sequence[AnyMessage]) -> list[HumanMessage]:
    ends = [place for place, message in enumerate(messages, 1) if mark_of(message) in ("report", "ended")]
    return [message for message in messages[max(ends, default=0) :] if isinstance(message, HumanMessage)]


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
    """Return the conversation from the user's n-th last message on, as models are shown it."""
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return text_only(messages[places[-user_messages] :] if len(places) > user_messages else messages)


def text_only(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the words of user and assistant, which is all that models are shown of a conversation.

    Files of the user are named. System messages count as `house_rules`.
    """
    shown: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            names = [f"{one.name} (not read)" if one.reason else one.name for one in attached_to(message)]
            note = f"\n\n(Attached: {', '.join(names)}.)" if names else ""
            is_plain = isinstance(message.content, str) and not names
            shown.append(message if is_plain else HumanMessage(f"{message.text}{note}".strip()))
        elif isinstance(message, AIMessage) and message.text:
            kept = {key: value for key, value in message.additional_kwargs.items() if key == MARK}
            shown.append(AIMessage(message.text, additional_kwargs=kept))
    return shown


def house_rules(messages: Sequence[AnyMessage]) -> str:
    """Return the text of the system messages in the input."""
    return "\n".join(clean(message.text) for message in messages if isinstance(message, SystemMessage)).strip()


class FileBlock(NamedTuple):
    """A content block beside text: a file in base64, or a link in its place."""

    name: str
    mime_type: str
    data: str
    link: str


def blocks_of(message: AnyMessage) -> list[FileBlock]:
    """Return what a user's message holds beside text, in the shapes of LangChain, OpenAI and chat clients."""
    content = message.content if isinstance(message, HumanMessage) else ""
    blocks = content if isinstance(content, list) else []
    return [_block_of(one) for one in blocks if isinstance(one, dict) and one.get("type") != "text"]


def _block_of(block: dict[str, Any]) -> FileBlock:
    kind = str(block.get("type"))
    inner = (block.get(key) for key in ("metadata", "extras", "source", kind))
    holders = [block, *(holder for holder in inner if isinstance(holder, dict))]

    def first(*keys: str) -> str:
        values = (holder.get(key) for key in keys for holder in holders)
        return next((value for value in values if isinstance(value, str) and value), "")

    name, mime_type = first("filename", "name", "title"), first("mime_type", "mimeType", "media_type")
    data, address = first("base64", "data", "file_data"), first("url", "file_url", "image_url")
    if (packed := data or address).startswith("data:"):
        head, _, data = packed.partition(",")
        mime_type = mime_type or head.removeprefix("data:").partition(";")[0]
    link = clean(address).strip() if address.startswith(("http://", "https://")) and not data else ""
    name = name or ".".join(filter(None, (_MEDIA.get(kind, "file"), first("format"))))
    return FileBlock(name, mime_type, data or base64.b64encode(clean(first("text")).encode()).decode(), link)


def attached_to(message: AnyMessage) -> list[Attached]:
    """Return what was attached to a message, and has been taken out of it."""
    known: Any = message.additional_kwargs.get(ATTACHED) if isinstance(message, HumanMessage) else None
    # Clients may send anything here.
    with suppress(ValidationError):
        return _FILES.validate_python(clean_nested(known or []))
    return []


def words_of(message: AnyMessage) -> str:
    """Return the text of a message, and the links in its other blocks as further lines."""
    return "\n".join(filter(None, (message.text, *(block.link for block in blocks_of(message)))))


def with_attached(message: AnyMessage, attached: Sequence[Attached]) -> AnyMessage:
    """Return a user's message reduced to its text, with its attachments listed in `additional_kwargs`."""
    kept = {**message.additional_kwargs, ATTACHED: [one.model_dump() for one in attached]}
    return message.model_copy(update={"content": words_of(message), "additional_kwargs": kept})


def attached_to_question(messages: Sequence[AnyMessage]) -> tuple[NotRead, ...]:
    """Return what the user attached since the last report and is not searched."""
    every = [one for message in _said_since_report(messages) for one in attached_to(message)]
    return tuple(NotRead(path=one.name, reason=one.reason, code=one.code) for one in every if one.reason)


def refused(messages: Sequence[AnyMessage], max_characters: int) -> list[AnyMessage]:
    """Return the user's earlier messages that were refused when they came in; a thread keeps its input even then."""
    return [m for m in messages[:-1] if isinstance(m, HumanMessage) and _fault_of(m, max_characters)]


def check_question(messages: Sequence[AnyMessage], max_characters: int) -> None:
    """Refuse a message that says nothing or too much."""
    last = next((message for message in reversed(messages) if not isinstance(message, SystemMessage)), None)
    if fault := _fault_of(last if isinstance(last, HumanMessage) else HumanMessage(""), max_characters):
        raise QuestionRefused(fault)


def _fault_of(message: HumanMessage, max_characters: int) -> str:
    if (files := attached_to(message)) and not message.text.strip():
        names = ", ".join(one.name for one in files)
        return f"The message has no words beside {names}: say in words what is to be found out."
    return fault_in(message.text, max_characters)


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
