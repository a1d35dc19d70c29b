"""The request to a model: messages, tools and limits, plus the facts behind the messages as data.

The extractive model reads only the facts, so it does not depend on prompt wording. Each node fills in what it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..run.context import Role
from ..run.transcripts import Shorten
from .ladder.rungs import WordsName


class ShownDocument(NamedTuple):
    """A document or page with its excerpts."""

    number: int
    """The citation number."""
    title: str
    address: str = ""
    """In the form that `open_url` takes: a URL, or a colon and a document's path."""
    date: str = ""
    """An ISO date or a prefix of one; may be empty."""
    texts: tuple[str, ...] = ()
    """Its distinct excerpts."""
    is_in_force: bool = True
    """False if it says that it is a draft, superseded, or not yet in force."""
    is_whole: bool = False
    """Whether the excerpts cover the whole text."""


class TaskFinding(NamedTuple):
    """The finding for a task."""

    task: str
    text: str
    """The finding with citation numbers in brackets; may be empty."""


class ShownLearning(NamedTuple):
    """A learning of a step."""

    text: str
    document: int | None
    """Number of its document; None for an inference."""


class Facts(NamedTuple):
    """The run's data when the model is called."""

    request: str = ""
    """The user's current question, with the reply to a clarifying question."""
    earlier: str = ""
    """The previous question, if this is a follow-up."""
    language: str = ""
    """English name of the output language."""
    task: str = ""
    """The task of a researcher or a step."""
    steps: tuple[str, ...] = ()
    """The current plan."""
    most_steps: int = 1
    """Maximum steps of a plan."""
    tried: tuple[str, ...] = ()
    """Tasks assigned so far, including repeated ones."""
    used: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The researcher's tool calls so far: name, and queries or addresses."""
    documents: tuple[ShownDocument, ...] = ()
    """Tool results; for a report, the results of its only search."""
    findings: tuple[TaskFinding, ...] = ()
    learnings: tuple[ShownLearning, ...] = ()
    gaps: tuple[str, ...] = ()
    """Open questions, numbered from 1."""


class Request(NamedTuple):
    """A call to a role's model."""

    role: Role
    question_id: str
    """Id of the run's question; all its calls share one retry budget."""
    messages: Sequence[AnyMessage]
    shorten: Shorten | None = None
    """Shortens results if the messages do not fit the model's window."""
    tools: Sequence[dict[str, Any]] = ()
    """Tool schemas; if empty, the call has no tool settings."""
    tool_choice: str = "any"
    """`any`: the model must call a tool; `auto`: it may answer in text; `none`: it must answer in text, and tools are
    sent only to keep the prompt's prefix in the provider's cache."""
    words_name: WordsName = "answer"
    """JSON key for text instead of a call, if calls are written as JSON; small models take its name literally."""
    max_tokens: int | None = None
    """Maximum output tokens, excluding thoughts."""
    facts: Facts = Facts()
    """The data behind the messages."""
    is_long: bool = False
    """Whether the answer is a finding or a report, which gets a longer idle limit."""
    keeps_broken: bool = False
    """Whether to return the shown part of an answer that breaks off, instead of raising."""
