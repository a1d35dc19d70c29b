"""Limits on the heads of requests: uvicorn has none of its own, and `langgraph dev` takes no settings for it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

HEAD_SECONDS, HEAD_BYTES = 10.0, 64 * 1024
"""Time in which the head of a request has to arrive, and its size."""


@cache
def limit_heads() -> None:
    """Make uvicorn close connections on which the head of a request arrives too slowly or is too long."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol
    made, received = protocol.connection_made, protocol.data_received

    def connection_made(self: Any, transport: asyncio.Transport) -> None:
        made(self, transport)
        self.head_bytes, self.head_timer = 0, self.loop.call_later(HEAD_SECONDS, close, self)

    def data_received(self: Any, data: bytes) -> None:
        was_in_head = is_in_head(self)
        received(self, data)
        self.head_bytes = self.head_bytes + len(data) if was_in_head and is_in_head(self) else 0
        if self.head_bytes > HEAD_BYTES:
            self.transport.close()
        elif self.cycle and not self.cycle.response_complete:
            self.head_timer = self.head_timer and self.head_timer.cancel()
        else:
            self.head_timer = self.head_timer or self.loop.call_later(HEAD_SECONDS, close, self)

    def is_in_head(self: Any) -> bool:
        # With h11, which has a limit of its own, a head that has not ended is not seen.
        return self.scope is not None and "method" not in self.scope

    def close(self: Any) -> None:
        # A connection that became a web socket has another protocol.
        if self.transport.get_protocol() is self:
            self.transport.close()

    protocol.connection_made, protocol.data_received = connection_made, data_received
