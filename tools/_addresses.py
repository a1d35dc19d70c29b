"""The web addresses of a thread: which of them models may open, and the results of opening them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from ..core.evidence.citations.citing import source_key
from ..core.reading.addresses import Unread, parse_address
from ..core.records.sources import NotRead
from ..core.settings.limits import Limits
from ..core.store.pages import Pages

_ALL = "all pages"
"""Key of the total among the numbers of fetched pages by host."""


class Claim(NamedTuple):
    """An address that is to be read: its record if it was opened, else what forbids fetching it."""

    record: dict[str, Any] | None = None
    """The record of opening it (see `Addresses.opened`), if it was opened."""
    limit: str = ""
    """The limit that forbids fetching it; empty if none does."""


class Addresses:
    """The addresses that models may open: those that the user, a search result or a page read
    before has named.

    An address composed by a model could send private content to a stranger's server.
    """

    def __init__(self, pages: Pages, question_id: str, *, reads_anew: bool = False) -> None:
        """`reads_anew`: whether what was read for earlier questions counts as not read."""
        self._pages = pages
        self._question_id = question_id
        self._reads_anew = reads_anew

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
        """Return the record of opening a page; None if it is a failure of another question, or if
        the page is to be read again."""
        if record is None:
            return None
        if "failure" in record or self._reads_anew:
            return record if record.get("question_id") == self._question_id else None
        return record

    async def keys(self, addresses: Sequence[str]) -> list[str]:
        """Return the key of the source at each address; if it was opened, that of the page it
        redirected to."""
        exact = map(exact_address, addresses)
        records = await self._pages.read_notes([*map(opened_note, exact)])
        keys = list[str]()
        for address, record in zip(addresses, records, strict=True):
            if record and "source" in record:
                keys.append(str(record["source"]["key"]))
            else:
                keys.append(source_key(address))
        return keys

    async def remember_failure(self, address: str, failure: NotRead) -> None:
        """Record why a page could not be read; it is not requested again for this question."""
        record = {"failure": failure.model_dump(), "question_id": self._question_id}
        await self._pages.note({opened_note(exact_address(address)): record})

    async def claim(self, address: str, limits: Limits) -> Claim:
        """Return the record of an opened address; count any other one, which is fetched next."""
        async with self._counts(opened_note(exact_address(address))) as (counts, noted):
            record = self._if_current(noted)
            if record:
                return Claim(record)
            return Claim(limit=_counted(counts, parse_address(address).host, limits))

    async def count(self, address: str, limits: Limits) -> str:
        """Count a page before it is fetched; return the limit that forbids fetching it, or an empty
        string."""
        async with self._counts() as (counts, _):
            return _counted(counts, parse_address(address).host, limits)

    async def count_redirect(self, address: str, final: str) -> None:
        """Also count the page for the host of its final address, if that is another one."""
        host = parse_address(final).host
        if host == parse_address(address).host:
            return
        async with self._counts() as (counts, _):
            counts[host] = counts.get(host, 0) + 1

    @asynccontextmanager
    async def _counts(
        self, *other: str
    ) -> AsyncIterator[tuple[dict[str, int], dict[str, Any] | None]]:
        """Yield the number of fetched pages by host and in total, whose changes are saved on exit,
        and another note, which is read with them."""
        name = f"fetched {self._question_id}"
        async with self._pages.lock(name):
            before, *notes = await self._pages.read_notes([name, *other])
            counts = dict(before or {})
            yield counts, next(iter(notes), None)
            if counts != (before or {}):
                await self._pages.note({name: counts})


def _counted(counts: dict[str, int], host: str, limits: Limits) -> str:
    """Count a page of a host; return the limit that forbids fetching it, or an empty string."""
    of_all = counts.get(_ALL, 0)
    of_host = counts.get(host, 0)
    if of_all >= limits.max_pages:
        return f"{limits.max_pages} web pages were fetched already (max_pages)"
    if of_host >= limits.max_host_pages:
        return f"{limits.max_host_pages} pages of {host} were fetched already (max_host_pages)"
    counts[_ALL] = of_all + 1
    counts[host] = of_host + 1
    return ""


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
