"""The conversation with the user: kinds of messages, the question, attachments, and what models are
shown.

Assistant messages have their kind (a "mark": `clarification`, `plan`, `draft`, `report`, `ended`,
...) in `additional_kwargs`, and user messages the list of their attachments.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata
import uuid
from collections.abc import Sequence
from contextlib import suppress
from textwrap import shorten
from typing import Any, Literal, NamedTuple, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)
from pydantic import TypeAdapter, ValidationError

from ..errors import QuestionRefused
from ..records.research import Entry, Run
from ..records.sources import Attached, NotRead

_MARK = "deep_research"
"""Key in `additional_kwargs` of assistant messages for their kind."""
Mark = Literal["", "clarification", "plan", "draft", "report", "ended"]
"""Kind of a stored message; a `draft` is an unchecked report, which the checked report replaces."""
_REPLACES = "deep_research_replaces"
"""Key in `additional_kwargs` of a report's message: whether it is a changed version of the report
before."""
_OF_TABLE = "deep_research_table"
"""Key in `additional_kwargs` of a clarifying question that offers a table, and of the end of a run
whose user took the offer."""
_REPLACED = "(A version of the report that the user has had changed since.)"
_PROGRESS = "progress"
"""Kind of a streamed message with a line of progress; never stored in the state."""
Value = TypeVar("Value")
_ATTACHED = "deep_research_attached"
"""Key in `additional_kwargs` of user messages for their attachments: a list of `Attached` as
JSON."""
_LATEST = 5
"""Number of the user's latest messages that the clarifier, the planner and the orchestrator are
shown beside the first one and those that led to changed versions of a report."""
_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters except tabs and line feeds, and surrogates."""
_FILES = TypeAdapter(list[Attached])
_LONG = 200
"""Length in characters above which a question is shortened to its first sentence in titles."""
_TITLE_CHARACTERS = 100
"""Length to which a question is shortened as the title of its report."""
_END = re.compile(r"(?<=\w{3})[.?!:;]\s|[。？！：]|\n")
"""End of the first sentence of a question."""
QUERY_CHARACTERS = 4_000
"""Maximum length of a query to documents and to stored runs, in characters; longer ones are
refused, or cut if a model has sent them."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
"""Unicode categories of characters that show nothing."""


def mark_of(message: BaseMessage) -> Mark:
    """Return the kind of an assistant message; empty if it has none, and for other messages."""
    if not isinstance(message, AIMessage):
        return ""
    return cast(Mark, str(message.additional_kwargs.get(_MARK, "")))


def marked(text: str, mark: Mark, *, replaces: bool = False, **more: Any) -> AIMessage:
    """Return an assistant message of this kind; `more` is added to its `additional_kwargs`.

    `replaces`: whether it is a report that takes the place of the one before.
    """
    fields: dict[str, Any] = {_MARK: mark, **more}
    if replaces:
        fields[_REPLACES] = True
    return AIMessage(content=text, additional_kwargs=fields)


def marked_for_table(text: str, mark: Mark) -> AIMessage:
    """Return an assistant message of this kind that offers a table, or ends a run for one."""
    return marked(text, mark, **{_OF_TABLE: True})


def is_for_table(message: BaseMessage, mark: Mark) -> bool:
    """Whether a message is one of this kind that `marked_for_table` has made."""
    return mark_of(message) == mark and _OF_TABLE in message.additional_kwargs


def progress_chunk(text: str) -> AIMessageChunk:
    """Return a streamed message with a line of progress, which is never stored."""
    return AIMessageChunk(content=text, id=str(uuid.uuid4()), additional_kwargs={_MARK: _PROGRESS})


class Conversation(NamedTuple):
    """The messages of a thread, or the first or last of them."""

    messages: Sequence[AnyMessage]

    @property
    def last_mark(self) -> Mark:
        """Kind of the latest assistant message; empty if there is none."""
        for message in reversed(self.messages):
            if isinstance(message, AIMessage):
                return mark_of(message)
        return ""

    def entry(self, run: Run) -> Entry:
        """Return what the user's latest message is, by the latest assistant message and the status
        of the run."""
        if not run.id:
            return "answer" if self.last_mark == "clarification" else "question"
        if run.status in ("completed", "completed_with_gaps", "ended"):
            return "follow_up"
        if run.status == "waiting":
            return "plan_reply" if self.last_mark == "plan" else "answer"
        return "continuation"

    @property
    def clarification(self) -> BaseMessage | None:
        """The latest clarifying question; None if there is none."""
        for message in reversed(self.messages):
            if mark_of(message) == "clarification":
                return message
        return None

    @property
    def offers_table(self) -> bool:
        """Whether the latest clarifying question offers a table."""
        asked = self.clarification
        return asked is not None and is_for_table(asked, "clarification")

    @property
    def question(self) -> str:
        """Text of the user's messages since the last report or stopped question."""
        return "\n".join(self.question_texts)

    @property
    def question_texts(self) -> list[str]:
        """Texts of the user's messages since the last report or the last run that the user ended,
        in order."""
        return [safe_text(message.text) for message in self._since_report()]

    def _since_report(self) -> list[HumanMessage]:
        said: list[HumanMessage] = []
        for message in self.messages:
            if mark_of(message) in ("report", "ended"):
                said = []
            elif isinstance(message, HumanMessage):
                said.append(message)
        return said

    @property
    def texts_of_user(self) -> list[str]:
        """Text of each of the user's messages, oldest first, without lines that were copied from an
        earlier plan; messages without other lines are left out."""
        texts: list[str] = []
        planned: list[str] = []
        for message in self.messages:
            if isinstance(message, HumanMessage):
                lines = safe_text(message.text).splitlines()
                text = "\n".join(line for line in lines if line.strip() not in planned)
                if text.strip():
                    texts.append(text)
            elif mark_of(message) == "plan":
                planned += map(str.strip, message.text.splitlines())
        return texts

    def latest_for_models(self) -> list[AnyMessage]:
        """Return the user's first message, the changes of a report that the user has asked for, and
        the end of the conversation, with the user's last five messages, as models see it: what
        follows a report often makes no sense without the requests that led to it."""
        asked: list[int] = []
        edits: list[int] = []
        for index, message in enumerate(self.messages):
            if isinstance(message, HumanMessage):
                asked.append(index)
            elif asked and message.additional_kwargs.get(_REPLACES):
                edits.append(asked[-1])
        latest = self
        if len(asked) > _LATEST:
            start = asked[-_LATEST]
            earlier = [index for index in (asked[0], *edits) if index < start]
            shown = [self.messages[index] for index in dict.fromkeys(earlier)]
            latest = Conversation([*shown, *self.messages[start:]])
        return latest.for_models()

    def for_models(self) -> list[AnyMessage]:
        """Return the conversation as models see it: texts of user and assistant, with the names of
        attached files.

        System messages are left out; they are in `house_rules`.
        """
        shown: list[AnyMessage] = []
        report: int | None = None
        for message in self.messages:
            if isinstance(message, HumanMessage):
                shown.append(_shown_to_models(message))
            elif isinstance(message, AIMessage) and message.text:
                kept = {}
                if _MARK in message.additional_kwargs:
                    kept[_MARK] = message.additional_kwargs[_MARK]
                if report is not None and message.additional_kwargs.get(_REPLACES):
                    # Each version of a report repeats most of the one before.
                    shown[report] = AIMessage(
                        _REPLACED, additional_kwargs=shown[report].additional_kwargs
                    )
                if mark_of(message) == "report":
                    report = len(shown)
                shown.append(AIMessage(message.text, additional_kwargs=kept))
        return shown

    @property
    def house_rules(self) -> str:
        """Text of the system messages: an app's instructions for the plan and the report."""
        rules: list[str] = []
        for message in self.messages:
            if isinstance(message, SystemMessage):
                rules.append(safe_text(message.text))
        return "\n".join(rules).strip()

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """The files attached since the last report that cannot be searched, with the reasons."""
        unread: list[NotRead] = []
        for message in self._since_report():
            for file in attached_to(message):
                if file.reason:
                    unread.append(NotRead(path=file.name, reason=file.reason, code=file.code))
        return tuple(unread)

    def refused(self, max_characters: int) -> list[AnyMessage]:
        """Return the user's messages before the last that were refused as questions, but are still
        in the thread."""
        refused: list[AnyMessage] = []
        for message in self.messages[:-1]:
            if isinstance(message, HumanMessage) and _fault_of(message, max_characters):
                refused.append(message)
        return refused

    def check(self, max_characters: int) -> None:
        """Raise `QuestionRefused` if the last message, system messages aside, is empty, too long or
        not the user's."""
        last: AnyMessage = HumanMessage("")
        for message in self.messages:
            if not isinstance(message, SystemMessage):
                last = message
        if not isinstance(last, HumanMessage):
            last = HumanMessage("")
        fault = _fault_of(last, max_characters)
        if fault:
            raise QuestionRefused(fault)


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


def attached_to(message: AnyMessage) -> list[Attached]:
    """Return the attachments listed in a user's message (see `with_attached`)."""
    if not isinstance(message, HumanMessage):
        return []
    listed: Any = message.additional_kwargs.get(_ATTACHED) or []
    # Clients may send anything here.
    with suppress(ValidationError):
        return _FILES.validate_python(clean_nested(listed))
    return []


def with_attached(message: AnyMessage, text: str, attached: Sequence[Attached]) -> AnyMessage:
    """Return a user's message whose content is only this text, with `attached` in
    `additional_kwargs`."""
    kept = {**message.additional_kwargs, _ATTACHED: [file.model_dump() for file in attached]}
    return message.model_copy(update={"content": text, "additional_kwargs": kept})


def _fault_of(message: HumanMessage, max_characters: int) -> str:
    """Return why a message is refused as a question, worded for the user; empty if it is
    accepted."""
    files = attached_to(message)
    if files and not message.text.strip():
        names = ", ".join(file.name for file in files)
        return f"The message has no text besides {names}: write what you want to find out."
    return _fault_of_text(message.text, max_characters)


def check_question(text: str, max_characters: int) -> None:
    """Raise `QuestionRefused` if a text cannot be a question: if it is empty or too long."""
    fault = _fault_of_text(text, max_characters)
    if fault:
        raise QuestionRefused(fault)


def check_query(query: str) -> None:
    """Raise `QuestionRefused` if the words to search for are too long."""
    if len(query) > QUERY_CHARACTERS:
        raise QuestionRefused(
            f"The query has {len(query)} characters; at most {QUERY_CHARACTERS} are accepted. Use "
            "a question or a few characteristic words."
        )


def _fault_of_text(text: str, max_characters: int) -> str:
    """Return why a text is refused as a question, worded for the user; empty if it is accepted."""
    if all(unicodedata.category(character) in _INVISIBLE for character in text):
        return "The question is empty: write what you want to find out."
    if len(text) > max_characters:
        return (
            f"The question has {len(text)} characters; at most {max_characters} are accepted "
            "(limit question_characters)."
        )
    return ""


def question_line(question: str) -> str:
    """Return the question in one line, as a title; only the first sentence of a long question."""
    line = " ".join(question.split())
    if len(line) > _LONG:
        sentence = _END.split(question.strip(), maxsplit=1)[0]
        line = " ".join(sentence.split())
    return line


def title_or_question(title: str, question: str) -> str:
    """Return the title of a report; if it has none, the beginning of the question."""
    if not title:
        title = shorten(question_line(question), _TITLE_CHARACTERS, placeholder="…")
    return safe_text(title)


def read_messages(sent: Any) -> list[AnyMessage]:
    """Return what a client sent as one message or as a list of messages, in any of LangChain's
    forms; raises `ValueError` for anything else."""
    try:
        messages: list[Any] = convert_to_messages(sent if isinstance(sent, list) else [sent])
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise ValueError(
            f'messages are {{"role": "user", "content": "..."}}, not {reprlib.repr(sent)}'
        ) from error
    return messages


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
