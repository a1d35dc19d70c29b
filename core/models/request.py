"""What a model is asked: messages, tools and limits, and the same as data.

A model that reads instead of writing goes by the data alone, so that no prompt's wording is an interface. Nodes fill in
what they know; whatever is left out is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..run.context import Role
from ..run.transcripts import Shorten
from .ladder.rungs import WordsName


class ShownDocument(NamedTuple):
    """A document or page, with the excerpts that a model is shown."""

    number: int
    """The number by which it is cited."""
    title: str
    address: str = ""
    """What `open_url` takes: a web address, or the path of a document behind a colon."""
    date: str = ""
    """The beginning of an ISO date; may be empty."""
    texts: tuple[str, ...] = ()
    """Its excerpts, each once."""
    is_in_force: bool = True
    """Whether it does not say of itself that it is a draft, was superseded or is still to come."""
    is_whole: bool = False
    """Whether the excerpts are all that it says."""


class TaskFinding(NamedTuple):
    """The finding for a task."""

    task: str
    text: str
    """The finding, with the numbers of documents in brackets; empty if nothing has come back."""


class ShownLearning(NamedTuple):
    """A learning of a step, as a model is shown it."""

    text: str
    document: int | None
    """Number of the document that says so; none for a thought."""


class Facts(NamedTuple):
    """What is known when a model is asked."""

    request: str = ""
    """The user's words for the present question, a reply to a question of ours among them."""
    earlier: str = ""
    """The question before it, where it goes on from one."""
    language: str = ""
    """English name of the language to write in."""
    task: str = ""
    """What a researcher or a step is to find out."""
    steps: tuple[str, ...] = ()
    """The plan, as it stands."""
    most_steps: int = 1
    """How many steps a plan may have."""
    tried: tuple[str, ...] = ()
    """The tasks that were asked for, each as often as it was."""
    used: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The tools that a researcher has called so far, with the queries or addresses of each call."""
    documents: tuple[ShownDocument, ...] = ()
    """What tools have shown; for a report, what the one search has shown that it rests on."""
    findings: tuple[TaskFinding, ...] = ()
    learnings: tuple[ShownLearning, ...] = ()
    gaps: tuple[str, ...] = ()
    """Open questions; the first has the number 1."""


class Request(NamedTuple):
    """One call of a role's model."""

    role: Role
    question_id: str
    """The question for which it is asked; all its calls share one budget of waiting."""
    messages: Sequence[AnyMessage]
    shorten: Shorten | None = None
    """How results shrink when the messages do not fit the model's window."""
    tools: Sequence[dict[str, Any]] = ()
    """Tool schemas; without any, the call carries no tool setting at all."""
    tool_choice: str = "any"
    """`any`: a tool has to be called; `auto`: the model may answer in words; `none`: it has to, and the tools are shown
    only because the calls before were made with them, and a provider keeps what begins alike."""
    words_name: WordsName = "answer"
    """What words are called where a model writes its calls in JSON; small models do what the name says."""
    max_tokens: int | None = None
    """Output tokens."""
    facts: Facts = Facts()
    """What the messages rest on, as data."""
    is_long: bool = False
    """Whether the answer is a finding or a report, which may take its time."""
    keeps_broken: bool = False
    """Whether of an answer that breaks off what was heard is taken, instead of raising what broke it."""
