"""The answers of engines, read only so far: a stranger's server may send without end."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .engine import EngineBusy, EngineFailed
from .failures import DEFAULT_WAIT

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 5_000_000
PACKED = "gzip"
"""The only packing that engines are asked for: it can be undone in slices."""
_GZIP = 16 + zlib.MAX_WBITS
_LEFT_BEHIND = ("content-encoding", "content-length", "transfer-encoding")


class Answer:
    """The bytes of one answer, unpacked as they come. Raises `EngineFailed` if they are too many."""

    def __init__(self, title: str, encoding: str = "") -> None:
        self._title = title
        self._data = bytearray()
        kind = encoding.strip().lower()
        if kind not in ("", "identity", PACKED):
            raise self._damaged()
        self._unpacker = zlib.decompressobj(_GZIP) if kind == PACKED else None

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        try:
            # One more than there may be, so that too many show.
            left = MOST_BYTES + 1 - len(self._data)
            self._data += self._unpacker.decompress(chunk, left) if self._unpacker else chunk
        except zlib.error:
            raise self._damaged() from None
        if len(self._data) > MOST_BYTES:
            raise EngineFailed(f"{self._title}'s answer is longer than {MOST_BYTES} bytes.")

    @property
    def data(self) -> bytes:
        """All of it."""
        return bytes(self._data)

    def _damaged(self) -> EngineFailed:
        return EngineBusy(f"{self._title}'s answer is damaged.", DEFAULT_WAIT, is_lasting=True)


def limited(title: str) -> httpx.HTTPTransport:
    """A transport for a client that blocks."""
    import httpx

    class Limited(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            try:
                answer = Answer(title, response.headers.get("content-encoding", ""))
                for chunk in response.iter_raw():
                    answer.add(chunk)
            finally:
                response.close()
            return _as_read(response, answer.data)

    return Limited(trust_env=False)


def limited_async(title: str, shrink: Callable[[int, bytes], bytes], **options: Any) -> httpx.AsyncHTTPTransport:
    """A transport for a client of the event loop; `shrink` takes the status and all of the body to a thread.

    It returns what the client is to see of the body. `options` are those of httpx's own transport.
    """
    import httpx

    class Limited(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            try:
                answer = Answer(title, response.headers.get("content-encoding", ""))
                async for chunk in response.aiter_raw():
                    answer.add(chunk)
            finally:
                await response.aclose()
            return _as_read(response, await asyncio.to_thread(shrink, response.status_code, answer.data))

    return Limited(trust_env=False, **options)


def _as_read(response: httpx.Response, data: bytes) -> httpx.Response:
    import httpx

    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _LEFT_BEHIND]
    return httpx.Response(response.status_code, headers=headers, content=data, extensions=response.extensions)
