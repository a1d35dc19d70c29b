"""Fetches web pages, from checked IP addresses only, within limits of size and time."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
import ssl
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ..concurrency import Threads, in_thread
from ..settings.context import Context
from ..settings.installed import code_version
from ..settings.network import (
    CONNECT_SHARE,
    ENCODING,
    Slices,
    shown_proxy,
    trusted_certificates,
    usable_proxy,
)
from .addresses import Address, IPAddress, RefusalCode, Unread, join_address, parse_address
from .documents.decode import is_binary
from .documents.records import KINDS, DocumentKind, kinds_by_word
from .policy import Policy, Robots, is_public

if TYPE_CHECKING:
    import httpx

AGENT = "deep-research"
_HEADER_BYTES = 65_536
_HEADERS_TOO_LARGE = f"its headers are larger than {_HEADER_BYTES} bytes"
_TRIED_IPS = 3
"""Maximum number of IP addresses to try per host."""
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, */*;q=0.1"
_SNIFFED_BYTES = 1024
"""How many of a body's first bytes decide its kind."""
_WORD_BYTES = 10_000
"""A large page is cut at the last word boundary, at most this many bytes before the limit."""
_ROBOTS_BYTES = 500_000
_MEDIA_TYPES: dict[DocumentKind, str] = {
    "html": "text/html application/xhtml+xml",
    "text": "text/plain",
    "markdown": "text/markdown text/x-markdown",
    "csv": "text/csv text/tab-separated-values application/csv",
    "pdf": "application/pdf application/x-pdf",
}
_KINDS_BY_MEDIA_TYPE = kinds_by_word(_MEDIA_TYPES)
_VAGUE = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""Media types of texts of any kind; the extension in the address then says which."""
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
# The atomic group keeps matching linear if there are many comments.
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?:(?!-->).)*-->\s*)*)"
    rb"<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_MOST_REDIRECTS = 5
"""Redirects followed for one page."""
_ROBOTS_SHARE = 0.25
"""Share of `page_seconds` for robots.txt."""
_PAUSE_SHARE = 0.025
"""Share of `page_seconds` to wait before retrying after a server error."""
LOOKUPS = 64
"""Maximum number of concurrent DNS lookups; each occupies a thread until the system times out."""
Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host and port to IP addresses (strings). Raises `OSError`."""
_STATUSES: dict[int, tuple[RefusalCode, str]] = {
    401: ("blocked", "its server requires a login"),
    402: ("paywall", "its server requires payment"),
    404: ("gone", "there is no such page"),
    410: ("gone", "the page was removed"),
    429: ("blocked", "its server received too many requests"),
    451: ("blocked", "its server withholds it for legal reasons"),
}
Result = TypeVar("Result")
# Shared by the process, so that a slow name server does not cost each reader its own threads.
_NAMES = Threads("names", LOOKUPS)


def charset_of(content_type: str) -> str:
    """Return the charset in a `Content-Type` header; empty if there is none."""
    charset = _CHARSET.search(content_type)
    if not charset:
        return ""
    return charset[1]


def body_kind(content_type: str, head: bytes, name: str = "") -> DocumentKind | None:
    """Return the kind of a body that begins with `head`.

    None for an archive, whose kind only its members show. Media type and `name`, the path of the
    address, only tell kinds of text apart. Raises `Unread` if it is neither text nor a kind that
    can be parsed.
    """
    # Duplicate headers are joined with a comma.
    media_type = content_type.partition(";")[0].partition(",")[0].strip().lower()
    declared = _KINDS_BY_MEDIA_TYPE.get(media_type, "text")
    if head.lstrip().startswith(b"%PDF-") or (declared == "pdf" and b"%PDF-" in head):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return None
    has_bom = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    is_utf16 = has_bom or charset_of(content_type).lower().startswith(("utf-16", "utf-32"))
    if not is_utf16 and is_binary(head):
        message = "its content is not text"
        if _MEDIA_TYPE.fullmatch(media_type):
            message += f"; its media type is {media_type}"
        raise Unread("not text", message)
    if _HTML.match(head.replace(b"\0", b"")):
        return "html"
    if media_type in _VAGUE:
        named = KINDS.get(PurePosixPath(name).suffix.lower())
        # Other extensions are ignored, because the bytes are those of a text.
        if named in ("csv", "markdown", "rst"):
            return named
    return "text" if declared == "pdf" else declared


class Fetched(NamedTuple):
    """The content of a page."""

    address: str
    """Final address, after redirects."""
    kind: DocumentKind | None
    """None for an archive, whose kind depends on its content."""
    charset: str
    """Charset declared by the server; empty if none."""
    data: bytes
    is_cut: bool = False
    """Whether `data` is only the beginning of the page, because it exceeds `max_page_bytes`."""


class Fetcher:
    """Fetches pages, concurrently; an async context manager.

    The constructor raises `UnknownSetting`.
    """

    def __init__(
        self, context: Context, resolve: Resolver | None = None, page_host: str = ""
    ) -> None:
        """`page_host`: host of the page if the requests are those of its scripts.

        They may open less (see `Policy`).
        """
        self._limits = context.limits
        self._connect_seconds = CONNECT_SHARE * self._limits.page_seconds
        self._policy = Policy(context, page_host)
        self._resolve = resolve or resolve_host
        self._connections = Connections(self._connect_seconds, context.trust_proxy)
        self._obeys_robots = context.robots
        self._robots: dict[str, Robots] = {}
        self._robots_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def __aenter__(self) -> Self:
        await self._connections.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._connections.__aexit__(*error)

    async def fetch(self, address: str, *, is_api: bool = False) -> Fetched:
        """Return the page at an address, within the limit `page_seconds`. Raises `Unread`.

        With `is_api`, robots.txt is not asked for, because it is about crawlers.
        """
        first = parse_address(address)
        seconds = self._limits.page_seconds
        obeys_robots = self._obeys_robots and not is_api
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(first, self._receive, obeys_robots)
        except (TimeoutError, Unread) as error:
            if isinstance(error, Unread):
                refusal = error
            else:
                message = f"it takes longer than {seconds:g} seconds (limit page_seconds)"
                refusal = Unread("timed out", message)
            if refusal.code == "unreachable":
                refusal = Unread(refusal.code, f"{refusal}{self._connections.proxy_note(first)}")
            logging.getLogger(__name__).info(
                "A page of %s is not read: %s", first.host, refusal.code
            )
            raise refusal from error.__cause__

    async def is_public(self, address: str) -> bool:
        """Whether an address is on the public internet.

        It may then be disclosed to third parties.
        """
        try:
            return all(map(is_public, await self._ips(parse_address(address))))
        except Unread:
            return False

    async def fetch_part(self, address: str, most: int) -> tuple[dict[str, str], bytes]:
        """Return the headers and the content that a script of a rendered page requests.

        The caller sets the timeout. Raises `Unread`, also if the content is larger than `most`
        bytes.
        """

        async def receive(_: Address, response: HttpResponse) -> tuple[dict[str, str], bytes]:
            data = await response.upto(most + 1)
            if len(data) > most:
                raise Unread("too large", f"it is larger than {most} bytes")
            headers = dict[str, str]()
            for name in ("content-type", "access-control-allow-origin"):
                if name in response.headers:
                    headers[name] = response.headers[name]
            return headers, data

        return await self._follow(parse_address(address), receive, self._obeys_robots)

    async def _follow(
        self,
        address: Address,
        receive: Callable[[Address, HttpResponse], Awaitable[Result]],
        obeys_robots: bool,
    ) -> Result:
        """Follow redirects, and return what `receive` makes of the final response.

        A server error is retried once.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            self._policy.check_name(address)
            if obeys_robots:
                await self._obey_robots(address)
            try:
                result = await self._request(address, receive)
            except Unread as refusal:
                if refusal.code != "server error":
                    raise
                await asyncio.sleep(_PAUSE_SHARE * self._limits.page_seconds)
                result = await self._request(address, receive)
            if not isinstance(result, Address):
                return result
            address = result
        raise Unread("redirects", f"it redirects more than {_MOST_REDIRECTS} times")

    async def _request(
        self, address: Address, receive: Callable[[Address, HttpResponse], Awaitable[Result]]
    ) -> Result | Address:
        """Return what `receive` makes of the response, or the address to which it redirects."""
        async with self._connections.get(address, await self._ips(address)) as response:
            status = response.status
            if status in (301, 302, 303, 307, 308):
                location = response.headers.get("location", "")
                if not location:
                    raise Unread("redirects", "it redirects but does not say where")
                target = join_address(str(address), location)
                if address.scheme == "https" and target.scheme == "http":
                    raise Unread("redirects", f"it redirects from https to http ({target.host})")
                return target
            if response.headers.get("cf-mitigated") == "challenge":
                raise Unread("challenge", "its site requires proof that the reader is human")
            if status >= 500:
                raise Unread("server error", f"its server failed (status {status})")
            if status >= 400:
                code, reason = _STATUSES.get(status, ("blocked", "its server refuses it"))
                raise Unread(code, f"{reason} (status {status})", status)
            if not 200 <= status < 300:
                raise Unread("broken", f"its server answers with the unexpected status {status}")
            return await receive(address, response)

    async def _ips(self, address: Address) -> list[IPAddress]:
        """Return the IP addresses of a host, once the policy allows them.

        They are empty if only the proxy can resolve it.
        """
        ips: list[IPAddress] = []
        failure: Exception | None = None
        if address.ip:
            ips = [address.ip]
        else:
            try:
                async with asyncio.timeout(self._connect_seconds):
                    texts = await self._resolve(address.host, address.port)
                resolved = [ipaddress.ip_address(text.partition("%")[0]) for text in texts]
                ips = list(dict.fromkeys(resolved))
            except (OSError, ValueError) as error:
                failure = error
        if not ips and not self._connections.proxy(address):
            raise Unread("unreachable", f"the name {address.host} cannot be resolved") from failure
        self._policy.check_ips(address, ips)
        return ips

    async def _receive(self, address: Address, response: HttpResponse) -> Fetched:
        """Read the body; a text that is too long is cut, and other content refused."""
        content_type = response.headers.get("content-type", "")
        head = await response.upto(_SNIFFED_BYTES)
        kind = body_kind(content_type, head, address.target.partition("?")[0])
        is_whole = kind in (None, "pdf")
        most = self._limits.max_page_bytes
        if is_whole:
            most = self._limits.max_pdf_bytes
        data = await response.upto(most + 1)
        is_cut = len(data) > most
        if is_cut and is_whole:
            raise Unread("too large", f"it is larger than {most} bytes (limit max_pdf_bytes)")
        if is_cut:
            # Cut after a word or element, so that no number is cut.
            end = max(data.rfind(sign, most - _WORD_BYTES, most) for sign in (b"\n", b" ", b">"))
            size = end + 1 if end > 0 else most
            data = data[:size]
        return Fetched(str(address), kind, charset_of(content_type), data, is_cut)

    async def _obey_robots(self, address: Address) -> None:
        """Raise `Unread` if the site's robots.txt forbids the address.

        The file is fetched once per site.
        """
        async with self._robots_locks[address.site]:
            if address.site not in self._robots:
                file = await self._robots_file(address)
                text = file.decode("utf-8-sig", errors="replace")
                self._robots[address.site] = await in_thread(Robots, text, AGENT)
        robots = self._robots[address.site]
        # Use a thread, because a hostile site may have thousands of rules.
        if robots.has_rules and not await in_thread(robots.allows, address.target):
            raise Unread("robots", f"the robots.txt of {address.host} forbids it (setting robots)")

    async def _robots_file(self, address: Address) -> bytes:
        """Return the robots.txt of a site; empty if there is none, which allows everything."""
        with suppress(Unread, TimeoutError):
            async with asyncio.timeout(_ROBOTS_SHARE * self._limits.page_seconds):
                return await self._follow(
                    address._replace(target="/robots.txt"),
                    lambda _, response: response.upto(_ROBOTS_BYTES),
                    obeys_robots=False,
                )
        return b""


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host that the system's resolver knows. Raises `OSError`."""
    records = await _NAMES.run(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return [str(endpoint[0]) for *_, endpoint in records]


class HttpResponse:
    """Status, headers and body of a response; the body is read only as far as it is asked for."""

    def __init__(self, response: httpx.Response) -> None:
        """Raises `Unread` if the headers are too large.

        Also if the body has an encoding that was not requested.
        """
        raw_headers = response.headers.raw
        if sum(len(name) + len(value) + 4 for name, value in raw_headers) > _HEADER_BYTES:
            raise Unread("too large", _HEADERS_TOO_LARGE)
        self.status = response.status_code
        self.headers: dict[str, str] = {}
        """First value of each header, by lower-case name."""
        for name, value in raw_headers:
            text = value.decode("utf-8", errors="replace")
            self.headers.setdefault(name.decode("ascii").lower(), text)
        try:
            slices = Slices(response.headers.get("content-encoding", ""))
        except ValueError as error:
            raise Unread("broken", str(error)) from None
        self._chunks = _unpacked(response.aiter_raw(), slices)
        self._data = bytearray()

    async def upto(self, most: int) -> bytes:
        """Return at most the first `most` bytes of the body. Raises `Unread`."""
        with _translated():
            while len(self._data) < most:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    break
                self._data += chunk
                # A server may send millions of tiny chunks; let other tasks run.
                await asyncio.sleep(0)
        return bytes(self._data[:most])


async def _unpacked(chunks: AsyncIterator[bytes], slices: Slices) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        for piece in slices.feed(chunk):
            yield piece
        # The decoder would buffer anything that a hostile server sends after the end.
        if slices.is_complete:
            return
    yield slices.rest()


class Connections:
    """Opens a new connection for each request; an async context manager.

    Allows any number of concurrent requests.

    Verifies the certificate for the host name. Sends no cookies and no credentials from the
    environment; uses a proxy only with the setting `trust_proxy`.
    """

    def __init__(self, connect_seconds: float, trust_proxy: bool) -> None:
        self._connect_seconds = connect_seconds
        self._trusts_proxy = trust_proxy
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}
        """Transports by proxy; None for direct connections."""
        self._agent = ""

    async def __aenter__(self) -> Self:
        self._agent = f"{AGENT}/{await in_thread(code_version)}"
        self._transports[None] = await in_thread(_transport)
        return self

    async def __aexit__(self, *error: object) -> None:
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.aclose()

    def proxy(self, address: Address) -> str | None:
        """Return the proxy for an address; None if there is no proxy or it is not trusted."""
        if not self._trusts_proxy:
            return None
        return usable_proxy(str(address))

    def proxy_note(self, address: Address) -> str:
        """Return how the environment's proxy was used, for the message about an unreachable page.

        Empty without a proxy.
        """
        proxy = shown_proxy(str(address))
        if not proxy:
            return ""
        if self._trusts_proxy:
            return f"; it was requested through {proxy}"
        return "; it was requested without the proxy set by HTTPS_PROXY (trust_proxy)"

    @asynccontextmanager
    async def get(self, address: Address, ips: Sequence[IPAddress]) -> AsyncIterator[HttpResponse]:
        """Send a GET request, and yield the response before its body is read. Raises `Unread`.

        It goes to the first of these IP addresses that accepts a connection, or to a trusted proxy,
        which is given the host name instead, because most proxies refuse IP addresses.
        """
        with _translated():
            response = await self._send(address, ips)
        try:
            yield HttpResponse(response)
        finally:
            await response.aclose()

    async def _send(self, address: Address, ips: Sequence[IPAddress]) -> httpx.Response:
        import httpx

        proxy = self.proxy(address)
        if proxy:
            if proxy not in self._transports:
                self._transports[proxy] = await in_thread(_transport, proxy)
            return await self._transports[proxy].handle_async_request(self._request(address))
        transport = self._transports[None]
        *others, last = ips[:_TRIED_IPS]
        for ip in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await transport.handle_async_request(self._request(address, ip))
        return await transport.handle_async_request(self._request(address, last))

    def _request(self, address: Address, ip: IPAddress | None = None) -> httpx.Request:
        import httpx

        headers = {
            "Host": address.authority,
            "User-Agent": self._agent,
            "Accept": _ACCEPTED,
            "Accept-Encoding": ENCODING,
        }
        # Only the connection uses the IP address; SNI and the certificate check use the host name.
        extensions: dict[str, Any] = {
            "timeout": {"connect": self._connect_seconds},
            "sni_hostname": address.host,
        }
        host = str(ip or address.host)
        target = address.target.encode()
        if ip:
            # Send the target unchanged, including dot segments; a proxy needs the whole address
            # instead.
            extensions["target"] = target
        url = httpx.URL(scheme=address.scheme, host=host, port=address.port, raw_path=target)
        return httpx.Request("GET", url, headers=headers, extensions=extensions)


def _transport(proxy: str | None = None) -> httpx.AsyncHTTPTransport:
    import httpx

    # No keep-alive, so that another host at the same IP address must present its own certificate.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(
        verify=trusted_certificates(), trust_env=False, limits=limits, proxy=proxy
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Replace the HTTP client's errors by `Unread` with a message for users."""
    import httpx

    try:
        yield
    except zlib.error:
        raise Unread("broken", "its compressed content is damaged") from None
    except (httpx.HTTPError, OSError) as error:
        causes = _causes(error)
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            raise Unread("unreachable", "its certificate is not valid for its name") from error
        # h11 raises this hint at status 431 for large headers.
        if any(getattr(cause, "error_status_hint", 0) == 431 for cause in causes):
            raise Unread("too large", _HEADERS_TOO_LARGE) from error
        if isinstance(error, httpx.ProxyError):
            raise Unread("unreachable", "the proxy set in the environment refuses it") from error
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            raise Unread("unreachable", "its server does not accept connections") from error
        raise Unread("broken", "its server closed the connection or does not speak HTTP") from error


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error, and the errors that led to it."""
    causes = [error]
    cause = error.__cause__ or error.__context__
    while cause:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes
