"""Reads the bodies of HTTP answers in slices, decompressed, up to a limit.

Works for httpx and for httpx2, which OpenAI's client uses, and imports neither.
"""

from __future__ import annotations

import asyncio
import sys
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

ENCODING = "gzip"
"""The only content encoding to request; the standard library can decompress it in slices."""
_SLICE_BYTES = 65_536


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
