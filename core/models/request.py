"""A request to a model: messages, tools and limits, plus the run's data (`Facts`) from which the
prompt was built.

The extractive model reads only the `Facts`, so it does not depend on prompt wording.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage

from ..settings.context import Role


class ShownDocument(NamedTuple):
    """A document or web page as the model sees it: its metadata and the excerpts found in it."""

    number: int
    """Its citation number."""
    title: str
    address: str = ""
    """Its URL, or the name of its library, a colon and its path; the tool `open_url` accepts both
    forms."""
    date: str = ""
    """ISO date, possibly only the month or year (`2024-06`, `2024`); empty if not known."""
    texts: tuple[str, ...] = ()
    """The excerpts, without duplicates."""
    is_in_force: bool = True
    """False if the document calls itself a draft, superseded, or not yet in force."""
    is_whole: bool = False
    """Whether the excerpts cover the whole text."""


class TaskFinding(NamedTuple):
    """A researcher's task and the finding that answers it."""

    task: str
    text: str
    """The finding, with citations such as `[2]`; empty if the task failed."""


class ShownLearning(NamedTuple):
    """A statement that a step of the planned strategy has learned."""

    text: str
    document: int | None
    """Citation number of the document that states it; None if it has none, such as an inference."""


class Facts(NamedTuple):
    """The run's data at the time of the call, as far as the turn that makes it knows them."""

    request: str = ""
    """The user's messages since the last report, except approvals of a plan."""
    earlier: str = ""
    """The previous question, if this is a follow-up."""
    language: str = ""
    """English name of the output language."""
    task: str = ""
    """Task of the researcher or step that makes the call."""
    steps: tuple[str, ...] = ()
    """Texts of the plan's steps."""
    most_steps: int = 1
    """Maximum number of steps of a plan."""
    tried: tuple[str, ...] = ()
    """Tasks that were assigned to researchers so far; a task that was assigned twice occurs
    twice."""
    used: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The researcher's tool calls so far: name of the tool, and its queries or addresses."""
    documents: tuple[ShownDocument, ...] = ()
    """What the researcher's tools returned; for the report of a quick run, the results of its only
    search."""
    findings: tuple[TaskFinding, ...] = ()
    learnings: tuple[ShownLearning, ...] = ()


class Request(NamedTuple):
    """What to ask a role's model, and how."""

    role: Role
    question_id: str
    """Id of the run's question; all its calls share one retry budget."""
    messages: Sequence[AnyMessage]
    shorten: Callable[[str, float], str] | None = None
    """Shortens tool results if the messages do not fit the model's window."""
    tools: Sequence[dict[str, Any]] = ()
    """Tool schemas in OpenAI's format; if empty, no tool settings are sent."""
    tool_choice: str = "any"
    """`any`: the model must call a tool; `auto`: it may answer in text; `none`: it must answer in
    text (the tools are sent only so that the prompt begins as in earlier calls and the provider's
    prompt cache applies)."""
    asks_user: bool = False
    """Whether text instead of a call is a question to the user; small models are told so."""
    hides_tools: bool = False
    """With the choice `none`: whether a model that reads of its tools in the prompt no longer does,
    since it has called one instead of writing text."""
    shows_text: bool = False
    """With the choice `auto`: whether text is shown as it arrives, since it is a text for readers,
    and calls count only as the API's own, not where they are written into the text."""
    max_tokens: int | None = None
    """Maximum output tokens, excluding thoughts."""
    facts: Facts = Facts()
    """The data from which the messages were built; read only by the extractive model."""
    is_long: bool = False
    """Whether the answer is a finding or a report, which may be silent for longer
    (`report_idle_seconds`)."""
    shared_prefix: str = ""
    """Name of the long beginning that it shares with requests sent at the same time. These begin
    one after the other, each when the one before it is being answered, so that the provider's
    prompt cache can serve them; empty if it shares none."""
    keeps_broken: bool = False
    """If an answer breaks off after text was shown: return that part instead of raising."""


pending_calls = dict[object, str]()
"""Descriptions of the model calls in progress in this process, for the progress display; one key a
call."""
