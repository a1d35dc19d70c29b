"""The one HTTP client of all pages: it connects to checked numbers, and speaks to the name.

It is a bare transport of `httpx`: no cookies, no redirects, no passwords from the environment, and a proxy only where
the setting `trust_proxy` lets it.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..run.concurrency import in_thread
from ..run.network import proxy_for, shown, trusted_certificates, usable_proxy
from .addresses import Address, IPAddress
from .records import Unread

if TYPE_CHECKING:
    import httpx


SLICE_BYTES = 262_144
ENCODING = "gzip"
"""What servers are asked for; the standard library decompresses it in slices."""
_GZIP = 16 + zlib.MAX_WBITS
AGENT = "deep-research"
HEADER_BYTES = 65_536
TRIED_NUMBERS = 3
TOO_LARGE = 431
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, */*;q=0.1"


class ResponseBody:
    """The body of a response, read only as far as needed."""

    def __init__(self, response: httpx.Response) -> None:
        """Take note; nothing is read yet. Raises `Unread` if the encoding is none that was asked for."""
        encoding = response.headers.get("content-encoding", "").strip().lower().removeprefix("x-")
        # Several encodings, one inside the other, multiply what one hides.
        if encoding not in ("", "identity", ENCODING):
            raise Unread("broken", "its content is encoded in a way that was not asked for")
        chunks = response.aiter_raw()
        self._chunks = _unpacked(chunks) if encoding == ENCODING else chunks
        self._data = bytearray()

    async def upto(self, most: int) -> bytes:
        """Return the first `most` bytes, or all if there are fewer. Raises `Unread`."""
        with _translated():
            while len(self._data) < most and (chunk := await anext(self._chunks, None)) is not None:
                self._data += chunk
                # A server may send millions of tiny chunks, and others want their turn.
                await asyncio.sleep(0)
        return bytes(self._data[:most])


async def _unpacked(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield compressed content in slices, however much a few bytes of it stand for."""
    decoder = zlib.decompressobj(_GZIP)
    async for chunk in chunks:
        while chunk:
            yield decoder.decompress(chunk, SLICE_BYTES)
            chunk = decoder.unconsumed_tail
        # What follows the end is kept by the decoder, without end if the server likes.
        if decoder.eof:
            return
    yield decoder.flush()


class HttpResponse(NamedTuple):
    """Status, headers and body of a server's response; the body is not read yet."""

    status: int
    headers: dict[str, str]
    """By names in lower case; of several with one name the first."""
    body: ResponseBody


class Connections:
    """Makes one connection for each request; an asynchronous context manager that serves several callers at once."""

    def __init__(self, connect_seconds: float, trust_proxy: bool) -> None:
        self._connect_seconds, self._trusts_proxy = connect_seconds, trust_proxy
        self._ways: dict[str | None, httpx.AsyncHTTPTransport] = {}
        """By the proxy that they go through; None for none."""
        self._agent = ""

    async def __aenter__(self) -> Self:
        """Load the client and the certificates, which takes a moment."""
        self._agent = f"{AGENT}/{await in_thread(partial(version, AGENT))}"
        self._ways[None] = await in_thread(_way)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close whatever is open."""
        while self._ways:
            await self._ways.popitem()[1].aclose()

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
    async def get(self, address: Address, numbers: Sequence[IPAddress]) -> AsyncIterator[HttpResponse]:
        """Ask for an address at the first of these numbers that takes the connection. Raises `Unread`.

        A trusted proxy gets the name instead, because most refuse numbers.
        """
        proxy = self.proxy(address)
        with _translated():
            response = await (self._send_through(proxy, address) if proxy else self._send(address, numbers))
        try:
            yield HttpResponse(response.status_code, _headers(response), ResponseBody(response))
        finally:
            await response.aclose()

    async def _send(self, address: Address, numbers: Sequence[IPAddress]) -> httpx.Response:
        import httpx

        way, (*others, last) = self._ways[None], numbers[:TRIED_NUMBERS]
        for number in others:
            try:
                return await way.handle_async_request(self._request(address, number))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await way.handle_async_request(self._request(address, last))

    async def _send_through(self, proxy: str, address: Address) -> httpx.Response:
        if proxy not in self._ways:
            self._ways[proxy] = await in_thread(partial(_way, proxy))
        return await self._ways[proxy].handle_async_request(self._request(address))

    def _request(self, address: Address, number: IPAddress | None = None) -> httpx.Request:
        import httpx

        headers = {
            "Host": address.authority,
            "User-Agent": self._agent,
            "Accept": _ACCEPTED,
            "Accept-Encoding": ENCODING,
        }
        # Only the connection goes to the number: name indication and certificate are those of the host.
        extensions: dict[str, Any] = {"timeout": {"connect": self._connect_seconds}, "sni_hostname": address.host}
        host, target = str(number or address.host), address.target.encode()
        if number:
            # As it is written, dots and all; a proxy is asked for a host, or for the whole address.
            extensions["target"] = target
        url = httpx.URL(scheme=address.scheme, host=host, port=address.port, raw_path=target)
        return httpx.Request("GET", url, headers=headers, extensions=extensions)


def _way(proxy: str | None = None) -> httpx.AsyncHTTPTransport:
    import httpx

    # No connection outlives its request: a second name at the same number must show a certificate of its own.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=trusted_certificates(), trust_env=False, limits=limits, proxy=proxy)


def _headers(response: httpx.Response) -> dict[str, str]:
    if sum(len(name) + len(value) + 4 for name, value in response.headers.raw) > HEADER_BYTES:
        raise _headers_too_large()
    headers: dict[str, str] = {}
    for name, value in response.headers.raw:
        headers.setdefault(name.decode("ascii").lower(), value.decode("utf-8", errors="replace"))
    return headers


def _headers_too_large() -> Unread:
    return Unread("too large", f"its headers are larger than {HEADER_BYTES} bytes")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what the client raises into refusals; its words stay inside."""
    import httpx

    try:
        yield
    except zlib.error:
        raise Unread("broken", "its compressed content is damaged") from None
    except (httpx.HTTPError, OSError) as error:
        raise _refusal(error) from error


def _refusal(error: BaseException) -> Unread:
    import httpx

    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return Unread("unreachable", "its certificate is not valid for its name")
    if any(getattr(cause, "error_status_hint", 0) == TOO_LARGE for cause in causes):
        return _headers_too_large()
    if isinstance(error, httpx.ProxyError):
        return Unread("unreachable", "the proxy of the environment does not let it through")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Unread("unreachable", "its server takes no connection")
    return Unread("broken", "its server broke off or does not speak HTTP")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
