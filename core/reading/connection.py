"""The one HTTP client of all pages: it connects to checked numbers, and speaks to the name.

It is a bare connection pool: no cookies, no redirects, no passwords from the environment, and a proxy only where the
setting `trust_proxy` lets it. Certificates are checked against the system's authorities, or those of `SSL_CERT_FILE`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from ..run.concurrency import in_thread
from ..run.network import proxy_for, shown, usable_proxy
from .addresses import Address, IPAddress
from .records import Unread

if TYPE_CHECKING:
    import httpcore2


SLICE_BYTES = 262_144
ENCODING = "gzip"
"""What servers are asked for; the standard library decompresses it in slices."""
_GZIP = 16 + zlib.MAX_WBITS
AGENT = "deep-research"
HEADER_BYTES = 65_536
TRIED_NUMBERS = 3
TOO_LARGE = 431
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, */*;q=0.1"


class Body:
    """The bytes of one answer, read as far as they are asked for."""

    def __init__(self, chunks: AsyncIterator[bytes], encoding: str) -> None:
        """Take note; nothing is read yet. Raises `Unread` if the encoding is none that was asked for."""
        self._encoding = encoding.strip().lower().removeprefix("x-")
        # Several encodings, one inside the other, multiply what one hides.
        if self._encoding not in ("", "identity", ENCODING):
            raise Unread("broken", "its content is encoded in a way that was not asked for")
        self._chunks = chunks
        self._data = bytearray()
        self._decoder: zlib._Decompress | None = None
        self._is_full = False
        self._is_done = False

    async def upto(self, most: int) -> bytes:
        """Return the first `most` bytes, or all if there are fewer. Raises `Unread`."""
        while len(self._data) < most and not self._is_done:
            # A server may send millions of tiny chunks, and others want their turn.
            await asyncio.sleep(0)
            self._data += await self._piece()
        return bytes(self._data[:most])

    async def _piece(self) -> bytes:
        decoder = self._decoder
        if decoder is not None and self._is_full:
            return self._decoded(decoder, decoder.unconsumed_tail)
        chunk = await anext(self._chunks, None)
        if chunk is None:
            self._is_done = True
            return b""
        if self._encoding != ENCODING or not chunk:
            return chunk
        self._decoder = decoder or zlib.decompressobj(_GZIP)
        return self._decoded(self._decoder, chunk)

    def _decoded(self, decoder: zlib._Decompress, data: bytes) -> bytes:
        try:
            piece = decoder.decompress(data, SLICE_BYTES)
        except zlib.error:
            raise Unread("broken", "its compressed content is damaged") from None
        # A full slice may have left input or output behind, unless it was the last.
        self._is_full = len(piece) == SLICE_BYTES and not decoder.eof
        # What follows the end is kept by the decoder, without end if the server likes.
        self._is_done = decoder.eof
        return piece


class Answer(NamedTuple):
    """What a server answered, up to its body."""

    status: int
    headers: dict[str, str]
    """By names in lower case; of several with one name the first."""
    body: Body


class Connections:
    """Makes one connection for each request; an asynchronous context manager that serves several callers at once."""

    def __init__(self, connect_seconds: float, trust_proxy: bool) -> None:
        self._connect_seconds, self._trusts_proxy = connect_seconds, trust_proxy
        self._pools: dict[str | None, httpcore2.AsyncConnectionPool] = {}
        """By the proxy that they go through; None for none."""
        self._agent = ""

    async def __aenter__(self) -> Self:
        """Load the client and the certificates, which takes a moment."""
        self._agent = f"{AGENT}/{await in_thread(partial(version, AGENT))}"
        self._pools[None] = await in_thread(_pool)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close whatever is open."""
        while self._pools:
            await self._pools.popitem()[1].aclose()

    def proxy(self, address: Address) -> str | None:
        """Return the proxy through which an address is asked for; None if there is none, or if it is not trusted."""
        return usable_proxy(str(address)) if self._trusts_proxy else None

    def way(self, address: Address) -> str:
        """Return words on the proxy of the environment, for a page that cannot be reached; empty if there is none."""
        if not (proxy := proxy_for(str(address))):
            return ""
        how = f"through {shown(proxy)}" if self._trusts_proxy else "without the proxy of HTTPS_PROXY (trust_proxy)"
        return f"; it was asked for {how}"

    @asynccontextmanager
    async def get(self, address: Address, numbers: Sequence[IPAddress]) -> AsyncIterator[Answer]:
        """Ask for an address at the first of these numbers that takes the connection. Raises `Unread`.

        A trusted proxy gets the name instead, because most refuse numbers.
        """
        proxy = self.proxy(address)
        with _translated():
            response = await (self._send_through(proxy, address) if proxy else self._send(address, numbers))
        try:
            headers = _headers(response)
            encoding = headers.get("content-encoding", "")
            yield Answer(response.status, headers, Body(_chunks(response), encoding))
        finally:
            await response.aclose()

    async def _send(self, address: Address, numbers: Sequence[IPAddress]) -> httpcore2.Response:
        import httpcore2

        pool, (*others, last) = self._pools[None], numbers[:TRIED_NUMBERS]
        for number in others:
            try:
                return await pool.handle_async_request(self._request(address, str(number)))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await pool.handle_async_request(self._request(address, str(last)))

    async def _send_through(self, proxy: str, address: Address) -> httpcore2.Response:
        if proxy not in self._pools:
            self._pools[proxy] = await in_thread(partial(_pool, proxy))
        return await self._pools[proxy].handle_async_request(self._request(address, address.host))

    def _request(self, address: Address, host: str) -> httpcore2.Request:
        import httpcore2

        headers = [
            ("Host", address.authority),
            ("User-Agent", self._agent),
            ("Accept", _ACCEPTED),
            ("Accept-Encoding", ENCODING),
        ]
        url = httpcore2.URL(scheme=address.scheme, host=host, port=address.port, target=address.target)
        # Only the connection goes to the number: name indication and certificate are those of the host.
        extensions = {"timeout": {"connect": self._connect_seconds}, "sni_hostname": address.host}
        return httpcore2.Request("GET", url, headers=headers, extensions=extensions)


def _pool(proxy: str | None = None) -> httpcore2.AsyncConnectionPool:
    import httpcore2

    parts = urlsplit(proxy or "")
    password = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
    return httpcore2.AsyncConnectionPool(
        ssl_context=_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        proxy=httpcore2.Proxy(shown(proxy), auth=password) if proxy else None,
        max_connections=None,
        # No connection outlives its request: a second name at the same number must show a certificate of its own.
        max_keepalive_connections=0,
    )


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    import httpcore2

    return httpcore2.default_ssl_context()


def _headers(response: httpcore2.Response) -> dict[str, str]:
    if sum(len(name) + len(value) + 4 for name, value in response.headers) > HEADER_BYTES:
        raise _headers_too_large()
    headers: dict[str, str] = {}
    for name, value in response.headers:
        headers.setdefault(name.decode("ascii").lower(), value.decode("utf-8", errors="replace"))
    return headers


def _headers_too_large() -> Unread:
    return Unread("too large", f"its headers are larger than {HEADER_BYTES} bytes")


async def _chunks(response: httpcore2.Response) -> AsyncIterator[bytes]:
    with _translated():
        async for chunk in response.aiter_stream():
            yield chunk


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what the client raises into refusals; its words stay inside."""
    import httpcore2

    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        OSError,
    ) as error:
        raise _refusal(error) from error


def _refusal(error: BaseException) -> Unread:
    import httpcore2

    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return Unread("unreachable", "its certificate is not valid for its name")
    if any(getattr(cause, "error_status_hint", 0) == TOO_LARGE for cause in causes):
        return _headers_too_large()
    if isinstance(error, httpcore2.ProxyError):
        return Unread("unreachable", "the proxy of the environment does not let it through")
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return Unread("unreachable", "its server takes no connection")
    return Unread("broken", "its server broke off or does not speak HTTP")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
