"""Network connections that take in little at a time, so that whatever a server sends is worked off in short turns."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

READ_BYTES = 16_384


class SmallReads(httpcore2.AsyncNetworkBackend):
    """Opens connections of this kind; its callers must give IP addresses."""

    def __init__(self) -> None:
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect within `timeout` seconds."""
        return _Stream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        # Parsing thousands of interim answers or chunks in one go would hold up everybody else.
        return await self._stream.read(min(max_bytes, READ_BYTES), timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
