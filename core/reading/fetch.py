"""Fetches web pages through the guard: every hop checked, every number pinned, everything limited."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple, Self, TypeVar

from ..run.concurrency import Threads, in_thread
from ..run.context import Context
from .addresses import Address, IPAddress, join_address, parse_address
from .connection import AGENT, Connections, HttpResponse
from .documents.decode import CONTROL_SHARE, NOT_IN_TEXT
from .policy import Policy, is_public
from .records import KINDS, Kind, RefusalCode, Unread
from .robots import ROBOTS_BYTES, Robots

SNIFFED_BYTES = 1024
WORD_BYTES = 10_000
"""A large page is cut at the last word boundary within this many bytes before the limit."""

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/csv": "csv",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
_PLAIN = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""Labels that say nothing of a text: the ending of its address does."""
_LABEL = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Each comment ends at its first end, so that there is one way only to take many of them apart.
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?:(?!-->).)*-->\s*)*)"
    rb"<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_ARCHIVE = b"PK\x03\x04"
_TEXTS: frozenset[Kind] = frozenset({"csv", "markdown", "rst"})
"""Kinds that are texts, of which a part can be read."""
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(NOT_IN_TEXT.encode())
__all__ = ["Fetched", "Fetcher", "Resolver", "Unread", "look_up"]
ROBOTS_SHARE = 0.25
"""Share of a page's seconds that its robots.txt may take."""
PAUSE_SHARE = 0.025
"""Share of a page's seconds that a server in trouble is given before it is asked again."""
LOOKUPS = 64
"""Most names that the system is asked for at once; each holds a thread until the system gives up."""
Resolver = Callable[[str, int], Awaitable[list[str]]]
"""From a name and a port to IP addresses in text form; raises `OSError`."""
_REDIRECTS = (301, 302, 303, 307, 308)
_REFUSED: tuple[RefusalCode, str] = ("blocked", "its server refuses it")
_STATUSES: dict[int, tuple[RefusalCode, str]] = {
    401: ("blocked", "its server wants a login"),
    402: ("paywall", "its server wants to be paid"),
    404: ("gone", "there is no such page"),
    410: ("gone", "the page was taken away"),
    429: ("blocked", "its server was asked too often"),
    451: ("blocked", "its server withholds it for legal reasons"),
}
PART_HEADERS = ("content-type", "access-control-allow-origin")
Result = TypeVar("Result")
# Of the whole process: a slow server for names must not cost each reader as many threads again.
_NAMES = Threads("names", LOOKUPS)


def charset_of(content_type: str) -> str:
    """Return the charset that a `Content-Type` header declares; empty if none."""
    found = _CHARSET.search(content_type)
    return found.group(1) if found else ""


def kind_of(content_type: str, head: bytes, name: str = "") -> Kind | None:
    """Return what a body is that begins with `head`; none if it is an archive, of which only the whole shows the kind.

    The bytes decide; label and name only say which kind of text it is. Raises `Unread` if it is not text.
    """
    # A header that is sent twice arrives with a comma.
    label = content_type.partition(";")[0].partition(",")[0].strip().lower()
    if head.lstrip().startswith(b"%PDF-") or (_KINDS.get(label) == "pdf" and b"%PDF-" in head):
        return "pdf"
    if head.startswith(_ARCHIVE):
        return None
    if _is_binary(head, charset_of(content_type)):
        stated = f"; it is labelled {label}" if _LABEL.fullmatch(label) else ""
        raise Unread("not text", f"its content is not text{stated}")
    if _HTML.match(head.replace(b"\0", b"")):
        return "html"
    named = KINDS.get(PurePosixPath(name).suffix.lower()) if label in _PLAIN else None
    kind = named if named and named in _TEXTS else _KINDS.get(label, "text")
    return "text" if kind == "pdf" else kind


def _is_binary(head: bytes, charset: str) -> bool:
    if head.startswith(_MARKS) or charset.lower().startswith(("utf-16", "utf-32")):
        return False
    return len(_CONTROL.findall(head)) > CONTROL_SHARE * len(head) + 1


class Fetched(NamedTuple):
    """The bytes of a page."""

    address: str
    """Where they were found in the end."""
    kind: Kind | None
    """None if it is an archive, whose kind its content shows."""
    charset: str
    """What the server declares; empty if nothing."""
    data: bytes
    is_cut: bool = False
    """Whether it is larger than `max_page_bytes`, so that only its beginning is here."""


class Fetcher:
    """Fetches pages, several at once; an asynchronous context manager. Raises `UnknownSetting` when made."""

    def __init__(self, context: Context, resolve: Resolver | None = None, page_host: str = "") -> None:
        """`page_host`: see `Policy`."""
        self._limits = context.limits
        self._policy = Policy(context, page_host)
        self._resolve = resolve or look_up
        self._connections = Connections(self._limits.connect_seconds, context.trust_proxy)
        self._obeys_robots = context.robots
        self._robots: dict[str, Robots] = {}
        self._robots_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def __aenter__(self) -> Self:
        """Open the client."""
        await self._connections.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the client and its connections."""
        await self._connections.__aexit__(*error)

    async def fetch(self, address: str, *, is_api: bool = False) -> Fetched:
        """Return the page at an address, within `page_seconds`; robots.txt says nothing of an API. Raises `Unread`."""
        first, seconds = parse_address(address), self._limits.page_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(first, self._receive, self._obeys_robots and not is_api)
        except (TimeoutError, Unread) as error:
            late = Unread("timed out", f"it takes longer than {seconds:g} seconds (limit page_seconds)")
            refusal = error if isinstance(error, Unread) else late
            if refusal.code == "unreachable":
                refusal = Unread(refusal.code, f"{refusal}{self._connections.way(first)}")
            logging.getLogger(__name__).info("A page of %s is not read: %s", first.host, refusal.code)
            raise refusal from error.__cause__

    async def is_public(self, address: str) -> bool:
        """Whether an address leads to the public internet, so that others may be asked about it."""
        try:
            return all(map(is_public, await self._numbers(parse_address(address))))
        except Unread:
            return False

    async def fetch_part(self, address: str, most: int) -> tuple[dict[str, str], bytes]:
        """Return what a page loads, with those of its headers that a browser needs; the caller limits the time.

        Raises `Unread`, also if it is larger than `most` bytes.
        """

        async def receive(_: Address, answer: HttpResponse) -> tuple[dict[str, str], bytes]:
            data = await answer.body.upto(most + 1)
            if len(data) > most:
                raise Unread("too large", f"it is larger than {most} bytes")
            return {name: answer.headers[name] for name in PART_HEADERS if name in answer.headers}, data

        return await self._follow(parse_address(address), receive, self._obeys_robots)

    async def _follow(
        self, here: Address, receive: Callable[[Address, HttpResponse], Awaitable[Result]], obeys_robots: bool
    ) -> Result:
        most = self._limits.max_redirects
        for _ in range(most + 1):
            self._policy.check_name(here)
            if obeys_robots:
                await self._obey_robots(here)
            found = await self._ask(here, receive)
            if not isinstance(found, Address):
                return found
            here = found
        raise Unread("redirects", f"it redirects more than {most} times (limit max_redirects)")

    async def _ask(
        self, here: Address, receive: Callable[[Address, HttpResponse], Awaitable[Result]]
    ) -> Result | Address:
        numbers = await self._numbers(here)
        try:
            return await self._ask_once(here, numbers, receive)
        except Unread as refusal:
            if refusal.code != "server error":
                raise
        await asyncio.sleep(PAUSE_SHARE * self._limits.page_seconds)
        return await self._ask_once(here, numbers, receive)

    async def _ask_once(
        self, here: Address, numbers: list[IPAddress], receive: Callable[[Address, HttpResponse], Awaitable[Result]]
    ) -> Result | Address:
        async with self._connections.get(here, numbers) as answer:
            if answer.status in _REDIRECTS:
                return _redirected(here, answer)
            _refuse_status(answer)
            return await receive(here, answer)

    async def _numbers(self, here: Address) -> list[IPAddress]:
        """Return the addresses to connect to, looked up once and all of them checked; none if only a proxy knows."""
        literal = here.number
        try:
            numbers = [literal] if literal else await self._looked_up(here)
        except Unread:
            if not self._connections.proxy(here):
                raise
            numbers = []
        self._policy.check_numbers(here, numbers)
        return numbers

    async def _looked_up(self, here: Address) -> list[IPAddress]:
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                texts = await self._resolve(here.host, here.port)
            numbers = [ipaddress.ip_address(text.partition("%")[0]) for text in texts]
        except (OSError, ValueError) as error:
            raise Unread("unreachable", f"the name {here.host} leads nowhere") from error
        if not numbers:
            raise Unread("unreachable", f"the name {here.host} leads nowhere")
        return list(dict.fromkeys(numbers))

    async def _receive(self, here: Address, answer: HttpResponse) -> Fetched:
        label = answer.headers.get("content-type", "")
        kind = kind_of(label, await answer.body.upto(SNIFFED_BYTES), here.target.partition("?")[0])
        is_whole = kind in (None, "pdf")
        most = self._limits.max_pdf_bytes if is_whole else self._limits.max_page_bytes
        data = await answer.body.upto(most + 1)
        is_cut = len(data) > most
        if is_cut and is_whole:
            raise Unread("too large", f"it is larger than {most} bytes (limit max_pdf_bytes)")
        if is_cut:
            # At the last end of a word or element, so that no number is cut.
            end = max(data.rfind(sign, most - WORD_BYTES, most) for sign in (b"\n", b" ", b">"))
            data = data[: end + 1 if end > 0 else most]
        return Fetched(str(here), kind, charset_of(label), data, is_cut)

    async def _obey_robots(self, here: Address) -> None:
        async with self._robots_locks[here.site]:
            if here.site not in self._robots:
                self._robots[here.site] = await self._read_robots(here)
        # Hostile rules by the thousand take a while.
        if not await in_thread(partial(self._robots[here.site].allows, here.target)):
            raise Unread("robots", f"{here.host} forbids it to automatic readers (setting robots)")

    async def _read_robots(self, here: Address) -> Robots:
        try:
            async with asyncio.timeout(ROBOTS_SHARE * self._limits.page_seconds):
                there = here._replace(target="/robots.txt")
                data = await self._follow(there, lambda _, answer: answer.body.upto(ROBOTS_BYTES), obeys_robots=False)
        except (Unread, TimeoutError):
            # A site that cannot say what it forbids forbids nothing.
            data = b""
        return await in_thread(partial(Robots, data.decode("utf-8-sig", errors="replace"), AGENT))


async def look_up(host: str, port: int) -> list[str]:
    """Return the IP addresses of a name, as the system knows them."""
    found = await _NAMES.run(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return [str(place[0]) for *_, place in found]


def _redirected(here: Address, answer: HttpResponse) -> Address:
    location = answer.headers.get("location", "")
    if not location:
        raise Unread("redirects", "it redirects to nowhere")
    there = join_address(str(here), location)
    if here.scheme == "https" and there.scheme == "http":
        raise Unread("redirects", f"it redirects from https to http ({there.host})")
    return there


def _refuse_status(answer: HttpResponse) -> None:
    status = answer.status
    if answer.headers.get("cf-mitigated") == "challenge":
        raise Unread("challenge", "its site asks for a proof that the reader is human")
    if 200 <= status < 300:
        return
    if status >= 500:
        raise Unread("server error", f"its server is in trouble (status {status})")
    if status >= 400:
        code, words = _STATUSES.get(status, _REFUSED)
        raise Unread(code, f"{words} (status {status})", status)
    raise Unread("broken", f"its server answers with status {status}, which means nothing here")
