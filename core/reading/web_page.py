"""Reads web pages: fetches, parses and if needed renders them.

Detects bot challenges, paywalls and empty pages.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

from ..concurrency import Threads, in_thread, slot
from ..errors import how_to_install
from ..settings.context import Context
from ..settings.limits import Limits
from ._fetch import Fetched, Fetcher, Resolver
from .addresses import RefusalCode, Unread, doi_in, parse_address
from .documents.pool import Parser, start_child
from .documents.records import Extract, Unreadable
from .documents.worker import MessagePipe

_EMPTY_CHARACTERS = 50
"""A page with less text than this counts as empty."""
_LITTLE_CHARACTERS = 250
"""A page with less text than this counts as empty if it asks for JavaScript."""
_SHORT_CHARACTERS = 1500
"""A page with at least this much text is read even if it has the signs of a bot challenge or a
paywall."""
_CODES: dict[str, RefusalCode] = {
    "empty": "empty shell",
    "no text": "not text",
    "too large": "too large",
    "not text": "not text",
    "convertible": "not text",
    "unknown format": "not text",
    "timed out": "timed out",
}
"""Why a web page is refused, by the reason why the parser found no text; `broken` for all other
reasons."""
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_NOT_INSTALLED = (
    f"its scripts need the extra 'browser': {how_to_install('browser')}, and Chromium (Debian: "
    "apt install chromium; elsewhere: playwright install chromium; setting browser)"
)
_NO_SANDBOX = (
    "Chromium's sandbox does not work here (as for root, and in some containers): run as another "
    "user, or turn it off with DEEP_RESEARCH_BROWSER='chromium --no-sandbox' (setting browser)"
)
_BROWSERS, _PARALLEL = 2, 6
"""Maximum number of concurrently rendered pages, and of concurrent requests per page."""
_RENDER_BYTES = 20_000_000
"""Decompressed bytes that a rendered page may load in all; further requests fail."""
_ENDING_SECONDS = 10.0
"""How long the child process may take to stop its browser before it is killed."""
_WORKER = "deep_research.core.reading._browser_worker"
# Only shown where scripts do not run.
_NOSCRIPT = re.compile(rb"<noscript\b.*?</noscript>", re.IGNORECASE | re.DOTALL)


def _parser(limits: Limits) -> Parser:
    """Return the parser that all readers of this process share, unless their limits differ."""
    return Parser.of_pages(limits.parse_seconds, max(limits.max_page_bytes, limits.max_pdf_bytes))


class WebReader(Fetcher):
    """Reads pages, concurrently; an async context manager.

    The constructor raises `UnknownSetting`.
    """

    def __init__(self, context: Context, resolve: Resolver | None = None) -> None:
        super().__init__(context, resolve)
        self._context = context
        self._parser = _parser(context.limits)

    @staticmethod
    def start_parsers(limits: Limits) -> None:
        """Start the parser processes in advance; returns at once."""
        _parser(limits).start()

    async def read(self, address: str) -> Extract:
        """Return the page at an address. Raises `Unread`.

        A browser renders it if it is empty without its scripts.
        """
        page = await self.fetch(address)
        is_rendered = False
        try:
            extract = await self._extracted(page)
        except Unread as shell:
            if shell.code != "empty shell" or page.kind != "html":
                raise
            if not _SCRIPT.search(page.data):
                raise
            page = await render_page(page, str(shell), self._context, self._resolve)
            is_rendered = True
            extract = await self._extracted(page)
        is_cut = page.is_cut or extract.is_cut
        return extract._replace(address=page.address, is_cut=is_cut, is_rendered=is_rendered)

    async def _extracted(self, page: Fetched) -> Extract:
        """Parse a page.

        Raises `Unread` if it has no text, or only that of a bot challenge or before a paywall.
        """
        address = parse_address(page.address)
        path = address.target.partition("?")[0]
        name = unquote(path.rstrip("/").rpartition("/")[2]) or address.host
        try:
            extract = await self._parser.aparse(
                page.data, name, page.kind, page.charset, page.address
            )
        except Unreadable as error:
            raise Unread(_CODES.get(error.reason, "broken"), str(error)) from error
        if page.kind != "html":
            return extract
        length = len(extract.text)
        signs = set(extract.signs)
        if length < _SHORT_CHARACTERS and {"challenge words", "challenge script"} <= signs:
            raise Unread("challenge", "its site requires proof that the reader is human")
        if length < _SHORT_CHARACTERS and {"paywall mark", "paywall words"} & signs:
            doi = extract.doi
            # Other kinds of text may mention the DOI of another work.
            if not doi and extract.origin == "scholarly":
                doi = doi_in(extract.text)
            message = f"only the first {length} characters are readable without a subscription"
            raise Unread("paywall", message, doi=doi)
        if length < _EMPTY_CHARACTERS:
            raise Unread("empty shell", f"it has only {length} characters of text")
        if length < _LITTLE_CHARACTERS and "script only" in signs:
            raise Unread("empty shell", "there is no text in it without running its scripts")
        return extract


async def render_page(
    page: Fetched, shell: str, context: Context, resolve: Resolver | None
) -> Fetched:
    """Return a page with its HTML after its scripts have run.

    They run in a browser without network access in a child process. `Fetcher` makes the page's
    requests, so that the rules for addresses, robots.txt and limits apply to each. `shell` is the
    reason why the page cannot be read without its scripts. Raises `Unread` with this reason if they
    do not run or take too long.
    """
    limits = context.limits
    if context.browser == "off":
        raise Unread("empty shell", shell)
    if not find_spec("playwright"):
        raise Unread("empty shell", f"{shell}; {_NOT_INSTALLED}")
    page_host = parse_address(page.address).host
    async with slot("browser", _BROWSERS), Fetcher(context, resolve, page_host) as fetcher:
        child = await in_thread(start_child, _WORKER, stderr=subprocess.PIPE)
        try:
            async with asyncio.timeout(limits.render_seconds):
                options = {
                    **limits.model_dump(),
                    "address": page.address,
                    "charset": page.charset,
                    "command": context.browser,
                }
                header, rendered = await _rendered(
                    child, fetcher, _RENDER_BYTES, options, page.data
                )
        except TimeoutError:
            seconds = f"{limits.render_seconds:g} seconds (limit render_seconds)"
            message = f"{shell}; its scripts take longer than {seconds}"
            raise Unread("empty shell", message) from None
        finally:
            await asyncio.shield(in_thread(_end, child))
    error = header.get("error")
    if error:
        raise Unread("empty shell", f"{shell}; {_browser_failure(error)}")
    html = _NOSCRIPT.sub(b"", rendered)
    is_cut = len(rendered) == limits.max_page_bytes
    return page._replace(data=html, charset="utf-8", is_cut=is_cut)


def _browser_failure(error: str) -> str:
    """Return why no browser ran, from the error of the library."""
    if "sandboxing failed" in error:
        return _NO_SANDBOX
    if "doesn't exist" in error:
        return _NOT_INSTALLED
    # The library's message comes first, the browser's last error is often more precise.
    reason, *others = error.splitlines()
    for line in others:
        if "[err]" in line:
            reason = line
    return f"the browser failed: {reason}"


async def _rendered(
    child: subprocess.Popen[bytes],
    fetcher: Fetcher,
    bytes_left: int,
    options: dict[str, Any],
    page: bytes,
) -> tuple[dict[str, Any], bytes]:
    """Send a page to the child process, and answer its requests.

    Together they may load up to `bytes_left` bytes.

    Returns the child's last message: the HTML, or a header with the key `error`.
    """
    assert child.stdin and child.stdout
    pipe = MessagePipe(child.stdout, child.stdin)
    slots = asyncio.Semaphore(_PARALLEL)
    sender = Threads("browser", 1)
    loads = set[asyncio.Task[None]]()

    async def load(number: int, address: str) -> None:
        nonlocal bytes_left
        response = dict[str, Any](number=number)
        data = b""
        with suppress(Unread):
            async with slots:
                headers, data = await fetcher.fetch_part(address, max(0, bytes_left))
            bytes_left -= len(data)
            if bytes_left >= 0:
                response["headers"] = headers
        await sender.run(pipe.send, response, data)

    try:
        # A child that failed to start has closed its pipe.
        with suppress(OSError):
            await sender.run(pipe.send, options, page)
        while True:
            message = await in_thread(pipe.receive)
            if message is None:
                return {"error": "it ended early"}, b""
            request, _ = message
            if "number" not in request:
                return message
            loads.add(asyncio.create_task(load(**request)))
    finally:
        for task in loads:
            task.cancel()
        await asyncio.gather(*loads, return_exceptions=True)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close the pipe, which makes the child stop its browser; blocks until it has."""
    try:
        child.communicate(timeout=_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
