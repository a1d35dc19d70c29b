"""Renders web pages that are empty without their scripts, in a browser in a child process.

The browser has no network. What the page loads is fetched here by the guarded client of `fetch`, so that the rules for
addresses, robots.txt and limits hold for each request.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Any

from ..run.concurrency import Threads, in_thread, slot
from ..run.context import Context
from .addresses import parse_address
from .documents.pool import start_child
from .documents.worker import receive, send
from .fetch import Fetched, Fetcher, Resolver
from .records import Unread

OFF = "off"
NOT_INSTALLED = (
    "its scripts need the extra 'browser': pip install \".[browser]\" in the checkout of deep_research, and Chromium "
    "(Debian: apt install chromium; elsewhere: playwright install chromium; setting browser)"
)
NO_SANDBOX = (
    "Chromium's sandbox does not work here (as for root, and in some containers): run as another user, or "
    "without it by DEEP_RESEARCH_BROWSER='chromium --no-sandbox' (setting browser)"
)
BROWSERS, PARALLEL = 2, 6
"""Most pages that are rendered, and most requests of one page that are answered, at the same time."""
ENDING_SECONDS = 10.0
_WORKER = "deep_research.core.reading.browser_worker"
# What it says is meant for readers without scripts.
_NOSCRIPT = re.compile(rb"<noscript\b.*?</noscript>", re.IGNORECASE | re.DOTALL)


async def render(page: Fetched, shell: str, context: Context, resolve: Resolver | None) -> Fetched:
    """Return a page with its HTML after its scripts have run; `shell` says why it needs them.

    Raises `Unread` (empty shell) with the way out.
    """
    limits, command = context.limits, context.browser
    if command == OFF or not find_spec("playwright"):
        raise Unread("empty shell", shell if command == OFF else f"{shell}; {NOT_INSTALLED}")
    async with slot("browser", BROWSERS), Fetcher(context, resolve, parse_address(page.address).host) as fetcher:
        child = await in_thread(partial(start_child, _WORKER, stderr=subprocess.PIPE))
        try:
            async with asyncio.timeout(limits.render_seconds):
                order = {**limits.model_dump(), "address": page.address, "charset": page.charset, "command": command}
                header, html = await _Visit(child, fetcher, limits.render_bytes).html(order, page.data)
        except TimeoutError:
            reason = f"its scripts run longer than {limits.render_seconds:g} seconds (limit render_seconds)"
            raise Unread("empty shell", f"{shell}; {reason}") from None
        finally:
            await asyncio.shield(in_thread(partial(_end, child)))
    if words := header.get("error"):
        raise Unread("empty shell", f"{shell}; {_reason(words)}")
    return page._replace(data=_NOSCRIPT.sub(b"", html), charset="utf-8", is_cut=len(html) == limits.max_page_bytes)


class _Visit:
    """The page in the child, which asks here for what it loads."""

    def __init__(self, child: subprocess.Popen[bytes], fetcher: Fetcher, bytes_left: int) -> None:
        assert child.stdin and child.stdout
        self._stdin, self._stdout = child.stdin, child.stdout
        self._fetcher, self._bytes_left = fetcher, bytes_left
        self._slots, self._sender = asyncio.Semaphore(PARALLEL), Threads("browser", 1)

    async def html(self, order: dict[str, Any], page: bytes) -> tuple[dict[str, Any], bytes]:
        """Have the page shown, and return the child's last message: its HTML, or an error."""
        loads = set[asyncio.Task[None]]()
        try:
            # A child that could not start has closed its pipe.
            with suppress(OSError):
                await self._sender.run(partial(send, self._stdin, order, page))
            while message := await in_thread(partial(receive, self._stdout)):
                if "number" not in message[0]:
                    return message
                loads.add(asyncio.create_task(self._load(**message[0])))
            return {"error": "it broke off"}, b""
        finally:
            for load in loads:
                load.cancel()
            await asyncio.gather(*loads, return_exceptions=True)

    async def _load(self, number: int, address: str) -> None:
        answer, data = dict[str, Any](number=number), b""
        with suppress(Unread):
            async with self._slots:
                headers, data = await self._fetcher.fetch_part(address, max(0, self._bytes_left))
            self._bytes_left -= len(data)
            if self._bytes_left >= 0:
                answer["headers"] = headers
        await self._sender.run(partial(send, self._stdin, answer, data))


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close the pipe, upon which the child ends all that it has started; blocks until that is done."""
    try:
        child.communicate(timeout=ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def _reason(words: str) -> str:
    """Return what to say of an error of Playwright, whose last lines are what the browser printed."""
    if "sandboxing failed" in words:
        return NO_SANDBOX
    lines = words.splitlines()
    last = [lines[0], *(line for line in lines if "[err]" in line)][-1]
    return NOT_INSTALLED if "doesn't exist" in words else f"the browser failed: {last}"
