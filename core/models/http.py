"""The HTTP client that all calls of an event loop share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from openai import DefaultAsyncHttpxClient, Timeout

from ..run.network import trusted_certificates

CONNECT_SECONDS = 10.0
"""Seconds until a model's server must have taken the connection."""
TIMEOUT = Timeout(None, connect=CONNECT_SECONDS)
"""No limit on silence: each call is watched for it, by limits that may be other ones in the next run."""


class LoopClient(DefaultAsyncHttpxClient):
    """Takes no password from the environment, follows no redirect, and closes with its event loop."""

    def __init__(self, proxy: str | None) -> None:
        super().__init__(trust_env=False, proxy=proxy, follow_redirects=False, verify=trusted_certificates())
        self._life: AsyncGenerator[None, None] | None = None

    async def send(self, *arguments: Any, **settings: Any) -> Any:
        """See `httpx.AsyncClient.send`."""
        if self._life is None:
            self._life = self._until_the_loop_ends()
            await anext(self._life)
        return await super().send(*arguments, **settings)

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        """Keep the connections open until the loop ends.

        A loop closes its open generators before it ends, and connections can be closed on their own loop only.
        """
        try:
            yield
        finally:
            await self.aclose()
