"""The body of an answer, decompressed in small slices, so that none can grow beyond what is asked for."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

from .records import Unread

SLICE_BYTES = 262_144
ENCODINGS = ("gzip", "deflate")
"""What servers are asked for; the standard library decompresses both in slices."""

_GZIP = 16 + zlib.MAX_WBITS


class Body:
    """The bytes of one answer, read as far as they are asked for."""

    def __init__(self, chunks: AsyncIterator[bytes], encoding: str) -> None:
        """Take note; nothing is read yet. Raises `Unread` if the encoding is none that was asked for."""
        self._encoding = encoding.strip().lower().removeprefix("x-")
        # Several encodings, one inside the other, multiply what one hides.
        if self._encoding not in ("", "identity", *ENCODINGS):
            raise Unread("broken", "its content is encoded in a way that was not asked for")
        self._chunks = chunks
        self._data = bytearray()
        self._decoder: zlib._Decompress | None = None
        self._is_full = False
        self._is_done = False

    async def upto(self, most: int) -> bytes:
        """The first `most` bytes, or all if there are fewer. Raises `Unread`."""
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
        if self._encoding not in ENCODINGS or not chunk:
            return chunk
        self._decoder = decoder or zlib.decompressobj(self._window(chunk))
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

    def _window(self, chunk: bytes) -> int:
        if self._encoding == "gzip":
            return _GZIP
        # Half of all servers leave out the frame that the standard asks for.
        return zlib.MAX_WBITS if chunk[0] & 0x0F == 8 else -zlib.MAX_WBITS
