"""The HTTP client for web pages: connects to checked IP addresses and verifies the certificate for the host name.

A bare `httpx` transport without cookies, redirects or credentials from the environment; uses a proxy only with the
setting `trust_proxy`.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

from ..run.concurrency import in_thread
from ..run.network import proxy_for, shown, trusted_certificates, usable_proxy
from .addresses import Address, IPAddress
from .records import Unread

if TYPE_CHECKING:
    import httpx


AGENT = "deep-research"
_SLICE_BYTES = 262_144
_ENCODING = "gzip"
"""The only accepted content encoding; the standard library can decompress it in slices."""
_HEADER_BYTES = 65_536
_HEADERS_TOO_LARGE = f"its headers are larger than {_HEADER_BYTES} bytes"
_TRIED_IPS = 3
"""Maximum number of IP addresses to try per host."""
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, */*;q=0.1"


class HttpResponse:
    """Status, headers and body of a response; the body is read only as far as it is asked for."""

    def __init__(self, response: httpx.Response) -> None:
        """Raises `Unread` if the headers are too large, or if the body has an encoding that was not requested."""
        if sum(len(name) + len(value) + 4 for name, value in response.headers.raw) > _HEADER_BYTES:
            raise Unread("too large", _HEADERS_TOO_LARGE)
        self.status = response.status_code
        self.headers: dict[str, str] = {}
        """First value of each header, by lower-case name."""
        for name, value in response.headers.raw:
            self.headers.setdefault(name.decode("ascii").lower(), value.decode("utf-8", errors="replace"))
        encoding = response.headers.get("content-encoding", "").strip().lower().removeprefix("x-")
        # Nested encodings would multiply the size of a decompression bomb.
        if encoding not in ("", "identity", _ENCODING):
            raise Unread("broken", "its content has an encoding that was not requested")
        chunks = response.aiter_raw()
        self._chunks = _unpacked(chunks) if encoding == _ENCODING else chunks
        self._data = bytearray()

    async def upto(self, most: int) -> bytes:
        """Return at most the first `most` bytes of the body. Raises `Unread`."""
        with _translated():
            while len(self._data) < most and (chunk := await anext(self._chunks, None)) is not None:
                self._data += chunk
                # A server may send millions of tiny chunks; let other tasks run.
                await asyncio.sleep(0)
        return bytes(self._data[:most])


async def _unpacked(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Decompress gzip in slices of limited size."""
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    async for chunk in chunks:
        while chunk:
            yield decoder.decompress(chunk, _SLICE_BYTES)
            chunk = decoder.unconsumed_tail
        # The decoder would buffer anything that a hostile server sends after the end.
        if decoder.eof:
            return
    yield decoder.flush()


class Connections:
    """Opens a new connection for each request; an async context manager for any number of concurrent requests."""

    def __init__(self, connect_seconds: float, trust_proxy: bool) -> None:
        self._connect_seconds, self._trusts_proxy = connect_seconds, trust_proxy
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}
        """Transports by proxy; None for direct connections."""
        self._agent = ""

    async def __aenter__(self) -> Self:
        self._agent = f"{AGENT}/{await in_thread(version, AGENT)}"
        self._transports[None] = await in_thread(_transport)
        return self

    async def __aexit__(self, *error: object) -> None:
        while self._transports:
            await self._transports.popitem()[1].aclose()

    def proxy(self, address: Address) -> str | None:
        """Return the proxy for an address; None if there is no proxy or it is not trusted."""
        return usable_proxy(str(address)) if self._trusts_proxy else None

    def proxy_note(self, address: Address) -> str:
        """Return how the environment's proxy was used, for the message about an unreachable page; empty without one."""
        if not (proxy := proxy_for(str(address))):
            return ""
        how = f"through {shown(proxy)}" if self._trusts_proxy else "without the proxy set by HTTPS_PROXY (trust_proxy)"
        return f"; it was requested {how}"

    @asynccontextmanager
    async def get(self, address: Address, ips: Sequence[IPAddress]) -> AsyncIterator[HttpResponse]:
        """Send a GET request, and yield the response before its body is read. Raises `Unread`.

        It goes to the first of these IP addresses that accepts a connection, or to a trusted proxy, which is given the
        host name instead, because most proxies refuse IP addresses.
        """
        with _translated():
            response = await self._send(address, ips)
        try:
            yield HttpResponse(response)
        finally:
            await response.aclose()

    async def _send(self, address: Address, ips: Sequence[IPAddress]) -> httpx.Response:
        import httpx

        if proxy := self.proxy(address):
            if proxy not in self._transports:
                self._transports[proxy] = await in_thread(_transport, proxy)
            return await self._transports[proxy].handle_async_request(self._request(address))
        transport, (*others, last) = self._transports[None], ips[:_TRIED_IPS]
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
            "Accept-Encoding": _ENCODING,
        }
        # Only the connection uses the IP address; SNI and the certificate check use the host name.
        extensions: dict[str, Any] = {"timeout": {"connect": self._connect_seconds}, "sni_hostname": address.host}
        host, target = str(ip or address.host), address.target.encode()
        if ip:
            # Send the target unchanged, including dot segments; a proxy needs the whole address instead.
            extensions["target"] = target
        url = httpx.URL(scheme=address.scheme, host=host, port=address.port, raw_path=target)
        return httpx.Request("GET", url, headers=headers, extensions=extensions)


def _transport(proxy: str | None = None) -> httpx.AsyncHTTPTransport:
    import httpx

    # No keep-alive, so that another host at the same IP address must present its own certificate.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=trusted_certificates(), trust_env=False, limits=limits, proxy=proxy)


@contextmanager
def _translated() -> Iterator[None]:
    """Replace the HTTP client's errors by `Unread` with a message for users."""
    import httpx

    try:
        yield
    except zlib.error:
        raise Unread("broken", "its compressed content is damaged") from None
    except (httpx.HTTPError, OSError) as error:
        causes: list[BaseException] = [error]
        while cause := causes[-1].__cause__ or causes[-1].__context__:
            causes.append(cause)
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
