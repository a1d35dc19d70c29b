"""The web addresses of a thread: which of them models may open, and the results of opening them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ..core.evidence.citations.citing import source_key
from ..core.reading.addresses import Unread, parse_address
from ..core.records.sources import NotRead
from ..core.settings.limits import Limits
from ..core.store.pages import Pages

_ALL = "all pages"
"""Key of the total among the numbers of fetched pages by host."""


class Addresses:
    """The addresses that models may open: those that the user, a search result or a page read
    before has named.

    An address composed by a model could send private content to a stranger's server.
    """

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages = pages
        self._question_id = question_id

    async def allow(
        self,
        addresses: Iterable[str],
        texts: Mapping[str, str] | None = None,
        records: Mapping[str, dict[str, Any]] | None = None,
        notes: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        """Allow models to open these addresses; malformed ones are ignored.

        Of several addresses of one source, the first is opened for variants composed by a model;
        see `known`. The same write also stores `texts` by hash, `records` of read pages by address,
        and other `notes`.
        """
        written: dict[str, dict[str, Any]] = {}
        for address, record in (records or {}).items():
            written[opened_note(exact_address(address) or address)] = record
        written |= notes or {}
        given: dict[str, dict[str, Any]] = {}
        for address in addresses:
            exact = exact_address(address)
            if exact:
                given.setdefault(f"given {exact}", {"address": address})
                given.setdefault(f"given first {source_key(address)}", {"address": address})
        async with self._pages.lock("given"):
            known = await self._pages.read_notes([*given]) if given else []
            new: dict[str, dict[str, Any]] = {}
            for name, noted in zip(given, known, strict=True):
                if noted is None:
                    new[name] = given[name]
            await self._pages.write(texts or {}, new | written)

    async def opened(self, address: str) -> dict[str, Any] | None:
        """Return the record of an opened address: `source` and `links`, or a `failure` of this
        question; else None."""
        return self._if_current(await self._pages.read_note(opened_note(exact_address(address))))

    async def known(self, address: str) -> tuple[str, dict[str, Any] | None]:
        """Return the address to open, empty if it is not allowed, and the record of opening it, as
        in `opened`.

        If this exact address was never allowed, the first allowed one of the same source is opened,
        since models change fragments. Raises `Unread` if it is not a web address.
        """
        exact = str(parse_address(address))
        names = [f"given {exact}", f"given first {source_key(address)}", opened_note(exact)]
        noted, first, opened = await self._pages.read_notes(names)
        given = noted or first or {"address": ""}
        return str(given["address"]), self._if_current(opened)

    def _if_current(self, record: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the record of opening a page; None if it is a failure of another question."""
        if record and record.get("question_id") in (None, self._question_id):
            return record
        return None

    async def key(self, address: str) -> str:
        """Return the key of the source at an address; if it was opened, that of the page it
        redirected to."""
        record = await self.opened(address)
        if record and "source" in record:
            return str(record["source"]["key"])
        return source_key(address)

    async def remember_failure(self, address: str, failure: NotRead) -> None:
        """Record why a page could not be read; it is not requested again for this question."""
        record = {"failure": failure.model_dump(), "question_id": self._question_id}
        await self._pages.note({opened_note(exact_address(address)): record})

    async def count(self, address: str, limits: Limits) -> str:
        """Count a page before it is fetched; return the limit that forbids fetching it, or an empty
        string."""
        host = parse_address(address).host
        async with self._counts() as counts:
            of_all = counts.get(_ALL, 0)
            of_host = counts.get(host, 0)
            if of_all >= limits.max_pages:
                return f"{limits.max_pages} web pages were fetched already (max_pages)"
            if of_host >= limits.max_host_pages:
                return (
                    f"{limits.max_host_pages} pages of {host} were fetched already (max_host_pages)"
                )
            counts[_ALL] = of_all + 1
            counts[host] = of_host + 1
        return ""

    async def count_redirect(self, address: str, final: str) -> None:
        """Also count the page for the host of its final address, if that is another one."""
        host = parse_address(final).host
        if host == parse_address(address).host:
            return
        async with self._counts() as counts:
            counts[host] = counts.get(host, 0) + 1

    @asynccontextmanager
    async def _counts(self) -> AsyncIterator[dict[str, int]]:
        """Yield the number of fetched pages by host and in total; changes are saved on exit."""
        name = f"fetched {self._question_id}"
        async with self._pages.lock(name):
            before = await self._pages.read_note(name) or {}
            counts = dict(before)
            yield counts
            if counts != before:
                await self._pages.note({name: counts})


def opened_note(address: str) -> str:
    """Return the name of the note that records what was read at an address."""
    return f"opened {address}"


def exact_address(address: str) -> str:
    """Return the address as sent to the server; empty if it is malformed.

    Notes are keyed by this, not by source key: addresses that differ in a tracking parameter are
    one source, but a server may answer them differently, and allowing one must not disallow the
    other.
    """
    try:
        return str(parse_address(address))
    except Unread:
        return ""
