"""Limits of the server's connections, and how they end when it stops.

These are patches of uvicorn, since `langgraph dev` passes no settings to it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from functools import cache
from typing import Any

HEAD_BYTES = 64 * 1024
"""Maximum size of the head of a request."""
_HEAD_SECONDS = 10.0
"""Timeout for receiving the head of a request."""
_FINISH_SECONDS = 2.0
"""Seconds that requests without a response have left when the server stops."""
_CANCEL_SECONDS = 3.0
"""Seconds after which requests that ignore the end of their connection are cancelled."""
_END_SECONDS = 9.0
"""Seconds after which a stopping process is ended, even if a thread is still at work."""
_stopping = threading.Event()


def is_stopping() -> bool:
    """Return whether the server has been told to stop."""
    return _stopping.is_set()


@cache
def limit_connections() -> None:
    """Patch uvicorn: close connections whose request heads are slow or too long, and stop soon."""
    _limit_heads()
    _stop_soon()


def _limit_heads() -> None:
    """Close connections whose request heads arrive too slowly or are too long."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    protocol: Any = AutoHTTPProtocol
    made = protocol.connection_made
    received = protocol.data_received

    def connection_made(self: Any, transport: asyncio.Transport) -> None:
        made(self, transport)
        self.head_bytes = 0
        self.head_timer = self.loop.call_later(_HEAD_SECONDS, close, self)

    def data_received(self: Any, data: bytes) -> None:
        was_in_head = is_in_head(self)
        received(self, data)
        if was_in_head and is_in_head(self):
            self.head_bytes += len(data)
        else:
            self.head_bytes = 0
        if self.head_bytes > HEAD_BYTES:
            self.transport.close()
        elif self.cycle and not self.cycle.response_complete:
            if self.head_timer:
                self.head_timer.cancel()
            self.head_timer = None
        elif not self.head_timer:
            self.head_timer = self.loop.call_later(_HEAD_SECONDS, close, self)

    def is_in_head(self: Any) -> bool:
        # h11 does not show an incomplete head, but has its own size limit.
        return self.scope is not None and "method" not in self.scope

    def close(self: Any) -> None:
        # A connection upgraded to a web socket has another protocol.
        if self.transport.get_protocol() is self:
            self.transport.close()

    protocol.connection_made = connection_made
    protocol.data_received = data_received


def _stop_soon() -> None:
    """End streams as soon as the server stops, other requests soon after, and then the process.

    Uvicorn waits for all of them, without a limit. An app sees the same as if the client had left.
    """
    from uvicorn import Server

    stop = Server.shutdown

    async def shutdown(self: Any, sockets: Any = None) -> None:
        _stopping.set()
        if _owns_process(self):
            # Ctrl-C once more ends the process at once.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            end = threading.Timer(_END_SECONDS, _end_process)
            end.daemon = True
            end.start()
        close(self, are_all=False)
        asyncio.get_running_loop().call_later(_FINISH_SECONDS, close, self)
        self.config.timeout_graceful_shutdown = _CANCEL_SECONDS
        await stop(self, sockets)

    def close(self: Any, *, are_all: bool = True) -> None:
        for connection in list(self.server_state.connections):
            # Uvicorn itself closes web sockets and idle connections.
            cycle = getattr(connection, "cycle", None)
            if cycle and (are_all or cycle.response_started):
                connection.transport.close()

    server: Any = Server
    server.shutdown = shutdown


def _owns_process(server: object) -> bool:
    """Return whether a server handles the signals of this process, which then ends with it."""
    return getattr(signal.getsignal(signal.SIGTERM), "__self__", None) is server


def _end_process() -> None:
    # Runs continue from the database, as after a crash.
    sys.stderr.write(f"The server did not stop within {_END_SECONDS:.0f} s and was ended.\n")
    sys.stderr.flush()
    os._exit(1)
