"""What a tool call may use up, and what it has used up so far."""

from __future__ import annotations

from dataclasses import dataclass

from ..state import Spent


@dataclass
class Meter:
    """Counts while a tool works, so that what was sent counts also where the tool is cut."""

    most_searches: int | None = None
    """Searches that the call may make; none: unlimited."""
    most_fetches: int | None = None
    """Pages and documents that it may open; none: unlimited."""
    most_calls: int | None = None
    """Calls of tools that may be carried out; none: unlimited."""
    searches: int = 0
    """Queries that were sent, each once for every engine; an answer that is known already is no search, and a second
    try is none either."""
    fetches: int = 0
    """Pages that were fetched and documents that were opened; a page that the thread has already is not fetched."""
    calls: int = 0
    """Calls that were carried out."""

    def spent(self, tool: str) -> Spent:
        """What a call of this tool has cost."""
        return Spent(role=tool, searches=self.searches, fetches=self.fetches, tool_calls=self.calls)
