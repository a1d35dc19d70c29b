"""The web addresses of a thread: which may be opened, and what came of those that were."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, WeakValueDictionary

from deep_research.evidence.sources import source_key
from deep_research.run.limits import Limits
from deep_research.run.pages import Pages

_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\\]\[{}|^]+", re.IGNORECASE)
_TRAILING = ".,;:!?*_…"

_Locks = WeakValueDictionary[tuple[tuple[str, str], str], asyncio.Lock]
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, _Locks] = WeakKeyDictionary()


class Addresses:
    """A model may open an address only as the user, a search result or a page that was read has given it.

    An address that a model composes could carry what it knows to a stranger's server.
    """

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages = pages
        self._question_id = question_id

    async def allow(self, addresses: Iterable[str]) -> None:
        """Note addresses that were given."""
        await self._pages.note({f"given {source_key(address)}": {"address": address} for address in addresses})

    async def given(self, address: str) -> str:
        """The address as it was given, whatever a model has made of its fragment; empty if nobody gave it."""
        noted = await self._pages.noted(f"given {source_key(address)}")
        return str(noted["address"]) if noted else ""

    async def opened(self, address: str) -> dict[str, Any] | None:
        """What came of opening an address in this thread; a failure counts for its own question only."""
        noted = await self._pages.noted(f"opened {source_key(address)}")
        return noted if noted and noted.get("question_id") in (None, self._question_id) else None

    async def remember(self, addresses: Iterable[str], record: dict[str, Any]) -> None:
        """Keep the record of a page that was read, under each of its addresses."""
        await self._pages.note({f"opened {source_key(address)}": record for address in addresses})

    async def remember_failure(self, address: str, words: str) -> None:
        """Keep why a page could not be read."""
        record = {"failure": words, "question_id": self._question_id}
        await self._pages.note({f"opened {source_key(address)}": record})

    async def count(self, address: str, limits: Limits) -> str:
        """Count a page that is about to be fetched; returns which limit forbids it, empty if none does."""
        host, key = urlsplit(address).hostname or "", f"fetched {self._question_id}"
        async with self.alone(key):
            counts = await self._pages.noted(key) or {}
            if sum(counts.values()) >= limits.max_pages:
                return f"{limits.max_pages} web pages were fetched already (max_pages)"
            if counts.get(host, 0) >= limits.max_host_pages:
                return f"{limits.max_host_pages} pages of {host} were fetched already (max_host_pages)"
            await self._pages.note({key: {**counts, host: counts.get(host, 0) + 1}})
        return ""

    @asynccontextmanager
    async def alone(self, address: str) -> AsyncIterator[None]:
        """Nobody else in this process works on this address of the thread meanwhile."""
        locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        place = (self._pages.place, source_key(address))
        lock = locks.get(place)
        if lock is None:
            lock = locks[place] = asyncio.Lock()
        async with lock:
            yield


def addresses_in(text: str) -> list[str]:
    """The web addresses in a text, without the punctuation that follows them."""
    return list(dict.fromkeys(_without_trail(found) for found in _ADDRESS.findall(text)))


def _without_trail(address: str) -> str:
    # A closing bracket belongs to the address if it was opened in it, as in the names of encyclopedia articles.
    while address[-1] in _TRAILING or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address
