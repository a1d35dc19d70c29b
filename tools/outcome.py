"""What a research tool is and what it brings back."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pydantic import BaseModel

from ..audit import NotRead
from ..knowledge import Source


class Hit(NamedTuple):
    """One thing that a tool found."""

    source: Source
    """Where it comes from; with `content_hash` if the whole text was read."""
    excerpt: str
    """What the model is shown of it."""
    text: str
    """The whole text that `source.content_hash` names; empty if only the excerpt is known."""
    links: tuple[tuple[str, str], ...] = ()
    """Where the text leads: the words of each link and its address."""
    score: float = 0.0
    """How well it matches what was searched for, from 0 to 1, as a search engine has it; 0 if none says so."""
    is_kept: bool = False
    """Whether the text lies in the thread's store already."""


class Outcome(NamedTuple):
    """The result of one tool call."""

    hits: tuple[Hit, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be searched or read and why, one sentence each."""
    broken: tuple[str, ...] = ()
    """Those of the problems that are failures: something could not be asked, as opposed to asked in vain."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and documents among the problems."""
    redacted: tuple[str, ...] = ()
    """Words that were left out of queries because they stand in the user's documents only."""
    fault: str = ""
    """Why asking again is of no use, in one line that names the setting or the cause; empty unless nothing at all could
    be searched, and nothing will be."""


class ResearchTool(Protocol):
    """Something a researcher may call."""

    name: str
    """Name by which the model calls it."""
    arguments: type[BaseModel]
    """Its arguments; the class's docstring and field descriptions are what the model reads."""

    async def run(self, arguments: BaseModel) -> Outcome:
        """Carry out one call; raises `ToolFailed` if nothing at all could be done."""


class ToolFailed(Exception):
    """A tool call came to nothing; the text says why and becomes the call's result."""

    def __init__(self, words: str, not_read: tuple[NotRead, ...] = (), redacted: tuple[str, ...] = ()) -> None:
        """`not_read`, `redacted`: as in `Outcome`."""
        super().__init__(words)
        self.not_read, self.redacted = not_read, redacted


def unread_words(not_read: NotRead) -> str:
    """What a model is told of something that could not be read."""
    return f"{not_read.path!r} could not be read: {not_read.reason} ({not_read.code})."
