"""What a search engine is, what it finds, and how it says that it cannot search."""

from __future__ import annotations

from typing import NamedTuple, Protocol

USER_AGENT = "deep-research (research assistant, run by its user)"


class Found(NamedTuple):
    """One result as the engine gives it."""

    title: str
    """Title of the page; may be empty."""
    address: str
    """Where the page is, unchecked."""
    excerpt: str
    """A piece of its text; may be empty."""
    date: str = ""
    """Day of publication (ISO 8601); empty if the engine does not tell."""
    score: float = 0.0
    """How well it matches the query as the engine has it, from 0 to 1; 0 if it does not tell."""


class SearchEngine(Protocol):
    """Something that searches the web."""

    name: str
    """As `Context.engines` names it."""
    title: str
    """As messages name it."""
    parallel: int
    """Requests that it may be sent at once by all researchers of the process."""
    gap: float
    """Seconds that it wants between an answer and the next request."""

    async def search(self, query: str, count: int) -> list[Found]:
        """At most about `count` results, the best first; raises `EngineFailed`."""


class EngineFailed(Exception):
    """An engine could not search; its text is one sentence for the user, without keys or foreign words."""

    def __init__(self, words: str, *, is_lasting: bool = False) -> None:
        """`is_lasting` says that asking again would not help."""
        super().__init__(words)
        self.words, self.is_lasting = words, is_lasting


class EngineBusy(EngineFailed):
    """An engine could not search just now, and is worth asking once more after `seconds`."""

    def __init__(self, words: str, seconds: float, *, is_lasting: bool = False) -> None:
        """`is_lasting` holds for the second failure in a row."""
        super().__init__(words, is_lasting=is_lasting)
        self.seconds = seconds
