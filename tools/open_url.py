"""The tool that reads what a search has found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from deep_research.run.context import Context
from deep_research.tools.arguments import Lines, distinct
from deep_research.tools.library import Library
from deep_research.tools.outcome import Hit, Outcome, ToolFailed
from deep_research.tools.window import window

LEAST_CHARACTERS = 200


class OpenUrlArguments(BaseModel):
    """Read documents in full that a search has found."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    urls: Lines
    """Addresses exactly as a search result states them."""


class OpenUrl:
    """Opens the documents of a library."""

    name = "open_url"
    arguments: type[BaseModel] = OpenUrlArguments

    def __init__(self, library: Library, context: Context, excerpts: Mapping[str, str]) -> None:
        """Remember what searches showed of each address: long documents are opened at that place."""
        self._library = library
        self._limits = context.limits
        self._excerpts = excerpts

    async def run(self, arguments: BaseModel) -> Outcome:
        """Open each address; raises `ToolFailed` if none could be read."""
        asked = distinct(OpenUrlArguments.model_validate(arguments, from_attributes=True).urls, str)
        if not asked:
            raise ToolFailed("open_url needs at least one address, exactly as a search result states it.")
        addresses = asked[: self._limits.max_open]
        read = [await self._open(address) for address in addresses]
        hits = distinct([one for one in read if isinstance(one, Hit)], lambda hit: hit.source.key)
        shown, dropped = _fitting(hits, self._limits.pages_characters)
        problems = [one for one in read if isinstance(one, str)] + dropped
        if len(asked) > len(addresses):
            problems.append(f"Only the first {len(addresses)} of {len(asked)} addresses were opened.")
        if not shown:
            raise ToolFailed(" ".join(problems))
        return Outcome(shown, tuple(problems), fetches=len(addresses))

    async def _open(self, address: str) -> Hit | str:
        """What was read at this address, or why nothing was."""
        # The library blocks on SQLite, which the server's event loop refuses.
        document = await asyncio.to_thread(self._library.read, address)
        if document is None:
            return f"No document has the address {address!r}; use addresses exactly as a search result states them."
        excerpt = self._excerpts.get(address, "") or self._excerpts.get(document.source.address, "")
        shown = window(document.text, excerpt, self._limits.page_characters)
        return Hit(document.source, shown, document.text, document.date)


def _fitting(hits: list[Hit], characters: int) -> tuple[tuple[Hit, ...], list[str]]:
    """The hits that fit into this many characters, the last one shortened, and a word on those that do not."""
    shown: list[Hit] = []
    for number, hit in enumerate(hits):
        if characters < LEAST_CHARACTERS:
            return tuple(shown), [
                f"{left.source.address!r} was not shown, because the pages before it are too long; open it alone."
                for left in hits[number:]
            ]
        fitting = hit if len(hit.excerpt) <= characters else hit._replace(excerpt=_shortened(hit, characters))
        shown.append(fitting)
        characters -= len(fitting.excerpt)
    return tuple(shown), []


def _shortened(hit: Hit, characters: int) -> str:
    return window(hit.text, hit.excerpt, characters)
