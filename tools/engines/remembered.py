"""An engine whose answers are kept with the thread: a search that was paid for is not made again for one question."""

from __future__ import annotations

from deep_research.run.pages import Pages
from deep_research.tools.engines.engine import Found, SearchEngine


class Remembered:
    """An engine as it is, but for the queries that it has answered."""

    def __init__(self, engine: SearchEngine, pages: Pages, question_id: str) -> None:
        """`pages` are those of the thread; an answer counts for its own question, as the web changes."""
        self.name, self.title = engine.name, engine.title
        self.parallel, self.gap = engine.parallel, engine.gap
        self._engine, self._pages, self._question_id = engine, pages, question_id

    async def search(self, query: str, count: int) -> list[Found]:
        """The engine's answer, or the one that it gave before; an answer without results is not kept."""
        name = f"searched {self._question_id} {self.name} {count} {query.casefold()}"
        if noted := await self._pages.noted(name):
            return [Found(**found) for found in noted["found"]]
        found = await self._engine.search(query, count)
        if found:
            await self._pages.note({name: {"found": [one._asdict() for one in found]}})
        return found
