"""What all HTTP clients share: the environment's proxies and certificate authorities, the time to
connect, why a connection failed, and how much of an answer is read.

Variables: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; SSL_CERT_FILE and SSL_CERT_DIR. Answers
are read in slices, decompressed, up to a limit; this works for httpx and for httpx2, which OpenAI's
client uses, and imports neither.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import UnknownSetting

CONNECT_SHARE = 0.25
"""Share of the time limit of a request for looking up the server's name, and as much again for
connecting to it."""
_CAUSES = 8
"""Number of chained causes of an error to examine: each HTTP library wraps the error of the one
below it."""
ENCODING = "gzip"
"""The only content encoding to request; the standard library can decompress it in slices."""
_SLICE_BYTES = 65_536


def _proxy_for(address: str) -> str | None:
    """Return the proxy that the environment sets for a URL, unchecked; None without one or for this
    machine."""
    target = urlsplit(address)
    proxies = getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy or is_loopback(target.hostname or "localhost") or proxy_bypass(target.netloc):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    return proxy


def usable_proxy(address: str) -> str | None:
    """Return the proxy that the environment sets for a URL; raises `UnknownSetting` if that is not
    the address of an HTTP proxy."""
    proxy = _proxy_for(address)
    if proxy and not re.fullmatch(r"https?://([^\s/@]*@)?[^\s/@:]+(:[0-9]{1,5})?/?", proxy):
        raise UnknownSetting(
            "The proxy set in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) must be an "
            "address such as http://proxy.example:3128; NO_PROXY lists servers that are reached "
            "without it."
        )
    return proxy


def shown_proxy(address: str) -> str:
    """Return the proxy that the environment sets for a URL, unchecked and without user name and
    password; empty without one."""
    proxy = _proxy_for(address)
    if not proxy:
        return ""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def trusted_certificates() -> ssl.SSLContext:
    """Return an SSL context with the environment's CA certificates, else the default ones; blocks
    briefly."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # Slow to import, and needed only if a server is called.
    import httpx

    return httpx.create_ssl_context()


def connection_problem(error: BaseException, server: str) -> str:
    """Return why a connection to a server failed and what to change, worded for the user; empty if
    unknown.

    `server`: what to call the server in the text.
    """
    request = getattr(error, "request", None)
    address = str(getattr(request, "url", ""))
    texts, cause = "", error
    for _ in range(_CAUSES):
        texts += f" {cause}"
        cause = cause.__cause__ or cause.__context__ or cause
    if "CERTIFICATE_VERIFY_FAILED" in texts:
        return (
            f"the certificate of {server} is not signed by a known authority; set SSL_CERT_FILE to "
            "your own"
        )
    if "WRONG_VERSION_NUMBER" in texts or "RECORD_LAYER_FAILURE" in texts:
        return f"{server} does not speak HTTPS; its address may begin with http://"
    proxy = shown_proxy(address)
    if proxy:
        return f"the connection through the proxy {proxy} failed; check HTTPS_PROXY and NO_PROXY"
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class AnswerTooLarge(Exception):
    """An answer has more bytes, decompressed, than are read of it."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the answer is larger than {most} bytes")


class Slices:
    """The bytes of one body, decompressed in slices of limited size."""

    def __init__(
        self, encoding: str = ENCODING, most: int | None = None, seconds: float | None = None
    ) -> None:
        """`encoding`: the content encoding, empty if none; `most`: maximum number of decompressed
        bytes; `seconds`: time from now until the end of the body; both None without a limit.

        Raises `ValueError` for an encoding that is never requested.
        """
        encoding = encoding.strip().lower().removeprefix("x-")
        # Nested encodings would multiply the size of a decompression bomb.
        if encoding not in ("", "identity", ENCODING):
            raise ValueError("its content has an encoding that was not requested")
        self._decoder = None
        if encoding == ENCODING:
            self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._most = most
        self._count = 0
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def is_complete(self) -> bool:
        """Whether the compressed data has ended, so that anything after it is not part of it."""
        return self._decoder is not None and self._decoder.eof

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what a chunk of the body contains; raises `AnswerTooLarge`, `TimeoutError`, and
        `zlib.error` for damaged data."""
        if self._decoder is None:
            yield self._counted(chunk)
            return
        while chunk:
            yield self._counted(self._decoder.decompress(chunk, _SLICE_BYTES))
            chunk = self._decoder.unconsumed_tail

    def rest(self) -> bytes:
        """Return what is left after the last chunk; for the errors, see `feed`."""
        if self._decoder is None:
            return b""
        return self._counted(self._decoder.flush())

    def _counted(self, data: bytes) -> bytes:
        self._count += len(data)
        if self._most is not None and self._count > self._most:
            raise AnswerTooLarge(self._most)
        if self._end is not None and time.monotonic() > self._end:
            raise TimeoutError
        return data


def limit_answer(
    response: Any,
    most: int | None,
    *,
    seconds: float | None = None,
    on_excess: Callable[[], object] | None = None,
) -> None:
    """Have the body of a response (of httpx or httpx2) read in slices, up to `most` decompressed
    bytes, for so many seconds; None: without such a limit.

    Beyond these bytes, `on_excess` is called, and reading the body raises `AnswerTooLarge`; beyond
    this time, it raises `TimeoutError`.

    To be called by a client's event hook, before the body is read. Raises the client's
    `DecodingError` for an encoding that was not requested; reading damaged data raises it, too.
    """
    library = sys.modules[type(response).__module__.partition(".")[0]]
    encoding = response.headers.pop("content-encoding", "")
    try:
        slices = Slices(encoding, most, seconds)
    except ValueError as error:
        raise library.DecodingError(str(error), request=response.request) from None
    response.stream = _body_type(library)(response, slices, library.DecodingError, on_excess)


@cache
def _body_type(library: ModuleType) -> type[Any]:
    """Return a class of bodies for the responses of a library, which accept only their own."""
    return type("Body", (_Body, library.SyncByteStream, library.AsyncByteStream), {})


class _Body:
    """The body of a response, in slices."""

    def __init__(
        self,
        response: Any,
        slices: Slices,
        failure: Callable[..., Exception],
        on_excess: Callable[[], object] | None,
    ) -> None:
        self._stream = response.stream
        self._request = response.request
        self._slices = slices
        self._failure = failure
        self._on_excess = on_excess

    def __iter__(self) -> Iterator[bytes]:
        with self._translated():
            for chunk in self._stream:
                yield from self._slices.feed(chunk)
                if self._slices.is_complete:
                    return
            yield self._slices.rest()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._translated():
            async for chunk in self._stream:
                for piece in self._slices.feed(chunk):
                    yield piece
                    # A small chunk may contain many slices; let other tasks run.
                    await asyncio.sleep(0)
                if self._slices.is_complete:
                    return
            yield self._slices.rest()

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AnswerTooLarge:
            if self._on_excess:
                self._on_excess()
            raise
        except zlib.error as error:
            raise self._failure(str(error), request=self._request) from error
