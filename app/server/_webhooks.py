"""Limits on LangGraph's calls of webhooks: each redirect leads to a host that the operator has
named, and answers are not read."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx

from ...core.errors import UserMistake
from .users import refused_webhook


async def limit_webhooks() -> None:
    """Set the limits on the client with which LangGraph calls webhooks."""
    from langgraph_api.http import ensure_webhook_http_client

    webhooks = await ensure_webhook_http_client()
    # LangGraph checks the host before the first request only, and follows redirects to any port.
    webhooks.client.event_hooks = {"request": [_check], "response": [_drop_body]}
    logging.getLogger("langgraph_api.webhook").addFilter(_in_one_line)


class WebhookRefused(UserMistake):
    """A webhook redirects to a host that the operator has not named."""


async def _check(request: httpx.Request) -> None:
    url = request.url
    words = refused_webhook(f"{url.scheme}://{url.netloc.decode()}")
    if not words:
        return
    # The operator may have written the name in its own script.
    port = f":{url.port}" if url.port else ""
    if refused_webhook(f"{url.scheme}://{url.host}{port}"):
        raise WebhookRefused(words)


async def _drop_body(response: httpx.Response) -> None:
    response.stream = _NoBody(response.stream)


class _NoBody(httpx.AsyncByteStream):
    """Stands for a body that nobody reads."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        return
        yield b""

    async def aclose(self) -> None:
        await self._stream.aclose()


def _in_one_line(record: logging.LogRecord) -> bool:
    """Shorten the traceback of a failed call to its last line."""
    logged = record.msg
    if isinstance(logged, dict) and "exception" in logged:
        *_, reason = str(logged.pop("exception")).strip().splitlines()
        logged["reason"] = reason
    return True
