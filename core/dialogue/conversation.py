"""The conversation with the user: kinds of messages, the question, attachments, and what models are
shown.

Assistant messages have their kind (a "mark": `clarification`, `plan`, `draft`, `report`, `ended`,
...) in `additional_kwargs`, and user messages the list of their attachments.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic import TypeAdapter, ValidationError

from ..errors import QuestionRefused
from ..records.research import Entry, Run, Value
from ..records.sources import Attached, NotRead

MESSAGE_MARK = "deep_research"
"""Key in `additional_kwargs` of assistant messages for their kind."""
_ATTACHED = "deep_research_attached"
"""Key in `additional_kwargs` of user messages for their attachments: a list of `Attached` as
JSON."""
DRAFT = "draft"
"""Kind of a message with an unchecked report, which the checked report replaces."""
PROGRESS = "progress"
"""Kind of a streamed message with a line of progress; never stored in the state."""
_LATEST = 5
"""Number of the user's latest messages that the clarifier, the planner and the orchestrator are
shown."""
_MEDIA = {
    "image": "picture",
    "image_url": "picture",
    "input_image": "picture",
    "input_audio": "recording",
}
"""Default names of unnamed attachments by block type; others are called `file`."""
_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters except tabs and line feeds, and surrogates."""
_FILES = TypeAdapter(list[Attached])
_LONG = 200
"""Length in characters above which a question is shortened to its first sentence in titles."""
_END = re.compile(r"(?<=\w{3})[.?!:;]\s|[。？！：]|\n")
"""End of the first sentence of a question."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
"""Unicode categories of characters that show nothing."""


def mark_of(message: AnyMessage) -> str:
    """Return the kind of an assistant message; empty if it has none, and for other messages."""
    if not isinstance(message, AIMessage):
        return ""
    return str(message.additional_kwargs.get(MESSAGE_MARK, ""))


def marked(text: str, mark: str, **more: Any) -> AIMessage:
    """Return an assistant message of this kind; `more` is added to its `additional_kwargs`."""
    return AIMessage(content=text, additional_kwargs={MESSAGE_MARK: mark, **more})


def last_mark(messages: Sequence[AnyMessage]) -> str:
    """Return the kind of the latest assistant message; empty if there is none."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return mark_of(message)
    return ""


def entry_of(messages: Sequence[AnyMessage], run: Run) -> Entry:
    """Return what the user's latest message is, by the latest assistant message and the status of
    the run."""
    mark = last_mark(messages)
    if not run.id:
        return "answer" if mark == "clarification" else "question"
    if run.status in ("completed", "completed_with_gaps", "ended"):
        return "follow_up"
    if run.status == "waiting":
        return "plan_reply" if mark == "plan" else "answer"
    return "continuation"


def question_of(messages: Sequence[AnyMessage]) -> str:
    """Return the text of the user's messages since the last report or stopped question."""
    return "\n".join(words_since_report(messages))


def words_since_report(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the texts of the user's messages since the last report or the last run that the user
    ended, in order."""
    return [safe_text(message.text) for message in _said_since_report(messages)]


def _said_since_report(messages: Sequence[AnyMessage]) -> list[HumanMessage]:
    said: list[HumanMessage] = []
    for message in messages:
        if mark_of(message) in ("report", "ended"):
            said = []
        elif isinstance(message, HumanMessage):
            said.append(message)
    return said


def words_of_user(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the text of each of the user's messages, without lines that were copied from an
    earlier plan."""
    texts: list[str] = []
    planned: list[str] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            lines = safe_text(message.text).splitlines()
            texts.append("\n".join(line for line in lines if line.strip() not in planned))
        elif mark_of(message) == "plan":
            planned += map(str.strip, message.text.splitlines())
    return texts


def question_line(question: str) -> str:
    """Return the question in one line, as a title; only the first sentence of a long question."""
    line = " ".join(question.split())
    if len(line) > _LONG:
        sentence = _END.split(question.strip(), maxsplit=1)[0]
        line = " ".join(sentence.split())
    return line


def latest_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the end of the conversation, with the user's last five messages, as text only (see
    `text_only`)."""
    asked = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if len(asked) > _LATEST:
        messages = messages[asked[-_LATEST] :]
    return text_only(messages)


def text_only(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the conversation as models see it: texts of user and assistant, with the names of
    attached files.

    System messages are left out; `house_rules` returns them.
    """
    shown: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            shown.append(_shown_to_models(message))
        elif isinstance(message, AIMessage) and message.text:
            kept = {}
            if MESSAGE_MARK in message.additional_kwargs:
                kept[MESSAGE_MARK] = message.additional_kwargs[MESSAGE_MARK]
            shown.append(AIMessage(message.text, additional_kwargs=kept))
    return shown


def _shown_to_models(message: HumanMessage) -> HumanMessage:
    """Return a user's message as text, with the names of its attached files."""
    names: list[str] = []
    for file in attached_to(message):
        names.append(f"{file.name} (not read)" if file.reason else file.name)
    if names:
        return HumanMessage(f"{message.text}\n\n(Attached: {', '.join(names)}.)".strip())
    if isinstance(message.content, str):
        return message
    return HumanMessage(message.text.strip())


def house_rules(messages: Sequence[AnyMessage]) -> str:
    """Return the text of system messages in the input: an app's instructions for the plan and the
    report."""
    rules = [safe_text(message.text) for message in messages if isinstance(message, SystemMessage)]
    return "\n".join(rules).strip()


class FileBlock(NamedTuple):
    """A content block other than text: a file, or a link to one."""

    name: str
    mime_type: str
    """Empty if the client did not send it."""
    data: str
    """Content in base64; empty if there is only a link."""
    link: str
    """Web address; empty if the content was sent."""


def file_blocks(message: AnyMessage) -> list[FileBlock]:
    """Return the files and links in a user's message; formats of LangChain, OpenAI and chat clients
    are accepted."""
    if not isinstance(message, HumanMessage) or not isinstance(message.content, list):
        return []
    files: list[FileBlock] = []
    for block in message.content:
        if isinstance(block, dict) and block.get("type") != "text":
            files.append(_block_of(block))
    return files


def _block_of(block: dict[str, Any]) -> FileBlock:
    """Convert a content block; its values are in the block itself or in a dict inside it."""
    kind = str(block.get("type"))
    holders = [block]
    for key in ("metadata", "extras", "source", kind):
        inner = block.get(key)
        if isinstance(inner, dict):
            holders.append(inner)

    def first(*keys: str) -> str:
        for key in keys:
            for holder in holders:
                value = holder.get(key)
                if isinstance(value, str) and value:
                    return value
        return ""

    mime_type = first("mime_type", "mimeType", "media_type")
    data = first("base64", "data", "file_data")
    address = first("url", "file_url", "image_url")
    data_url = data or address
    if data_url.startswith("data:"):
        header, _, data = data_url.partition(",")
        mime_type = mime_type or header.removeprefix("data:").partition(";")[0]
    link = ""
    if not data and address.startswith(("http://", "https://")):
        link = safe_text(address).strip()
    if not data:
        data = base64.b64encode(safe_text(first("text")).encode()).decode()
    name = first("filename", "name", "title")
    if not name:
        name = _MEDIA.get(kind, "file")
        suffix = first("format")
        if suffix:
            name += f".{suffix}"
    return FileBlock(name, mime_type, data, link)


def attached_to(message: AnyMessage) -> list[Attached]:
    """Return the attachments listed in a user's message (see `with_attached`)."""
    if not isinstance(message, HumanMessage):
        return []
    listed: Any = message.additional_kwargs.get(_ATTACHED) or []
    # Clients may send anything here.
    with suppress(ValidationError):
        return _FILES.validate_python(clean_nested(listed))
    return []


def message_words(message: AnyMessage) -> str:
    """Return the text of a message, followed by the links in its other blocks, one per line."""
    lines: list[str] = [message.text]
    lines += [block.link for block in file_blocks(message)]
    return "\n".join(filter(None, lines))


def with_attached(message: AnyMessage, attached: Sequence[Attached]) -> AnyMessage:
    """Return a user's message whose content is only its text and links, with `attached` in
    `additional_kwargs`."""
    kept = {**message.additional_kwargs, _ATTACHED: [file.model_dump() for file in attached]}
    return message.model_copy(update={"content": message_words(message), "additional_kwargs": kept})


def attached_to_question(messages: Sequence[AnyMessage]) -> tuple[NotRead, ...]:
    """Return the files attached since the last report that cannot be searched, with the reasons."""
    unread: list[NotRead] = []
    for message in _said_since_report(messages):
        for file in attached_to(message):
            if file.reason:
                unread.append(NotRead(path=file.name, reason=file.reason, code=file.code))
    return tuple(unread)


def refused_messages(messages: Sequence[AnyMessage], max_characters: int) -> list[AnyMessage]:
    """Return the user's messages before the last that were refused as questions, but are still in
    the thread."""
    refused: list[AnyMessage] = []
    for message in messages[:-1]:
        if isinstance(message, HumanMessage) and _fault_of(message, max_characters):
            refused.append(message)
    return refused


def check_question(messages: Sequence[AnyMessage], max_characters: int) -> None:
    """Raise `QuestionRefused` if the last message, system messages aside, is empty, too long or not
    the user's."""
    others = (message for message in reversed(messages) if not isinstance(message, SystemMessage))
    last = next(others, None)
    if not isinstance(last, HumanMessage):
        last = HumanMessage("")
    fault = _fault_of(last, max_characters)
    if fault:
        raise QuestionRefused(fault)


def _fault_of(message: HumanMessage, max_characters: int) -> str:
    """Return why a message is refused as a question, worded for the user; empty if it is
    accepted."""
    files = attached_to(message)
    if files and not message.text.strip():
        names = ", ".join(file.name for file in files)
        return f"The message has no text besides {names}: write what you want to find out."
    return question_fault(message.text, max_characters)


def question_fault(text: str, max_characters: int) -> str:
    """Return why a text is refused as a question, worded for the user; empty if it is accepted."""
    if all(unicodedata.category(character) in _INVISIBLE for character in text):
        return "The question is empty: write what you want to find out."
    if len(text) > max_characters:
        return (
            f"The question has {len(text)} characters; at most {max_characters} are accepted "
            "(limit question_characters)."
        )
    return ""


def safe_text(text: str) -> str:
    """Return the text without control characters and lone surrogates; line feeds and tabs stay."""
    return _UNCLEAN.sub("", text)


def clean_nested(value: Value) -> Value:
    """Return a JSON value as every store accepts it: texts like `safe_text`, integers beyond 64
    bits as text."""
    copy: object = value
    if isinstance(value, str):
        copy = safe_text(value)
    elif isinstance(value, dict):
        copy = {name: clean_nested(part) for name, part in value.items()}
    elif isinstance(value, list):
        copy = [clean_nested(part) for part in value]
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        copy = str(value)
    return copy  # type: ignore[return-value]  # the type stays, except for an integer that is too long
