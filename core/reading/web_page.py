"""Reads web pages: fetches, parses and if needed renders them; detects bot challenges, paywalls and empty pages."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

from ..records.sources import Origin
from ..run.concurrency import Threads
from ..run.context import Context
from ..run.limits import Limits
from .addresses import doi_in, parse_address
from .browser import render_page
from .documents.pool import CHILDREN, Parser, shared_parser
from .fetch import Fetched, Fetcher, Resolver
from .records import Extract, PageLink, Reason, RefusalCode, Unread, Unreadable

_EMPTY_CHARACTERS = 50
"""A page with less text than this counts as empty."""
_LITTLE_CHARACTERS = 250
"""A page with less text than this counts as empty if it asks for JavaScript."""
_SHORT_CHARACTERS = 1500
"""A page with at least this much text is read even if it has the signs of a bot challenge or a paywall."""

_CODES: dict[Reason, RefusalCode] = {
    "empty": "empty shell",
    "no text": "not text",
    "too large": "too large",
    "not text": "not text",
    "unknown format": "not text",
    "timed out": "timed out",
}
"""Why a web page is refused, by the reason why the parser found no text; `broken` for all other reasons."""
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_THREADS = Threads("parse", CHILDREN)


class WebPage(NamedTuple):
    """A web page with its text."""

    address: str
    """Final address, after redirects; used in citations."""
    title: str
    text: str
    """Visible main content; headings are lines that start with `#`."""
    date: str
    """Publication date that the page states (ISO 8601); empty if it states none."""
    links: tuple[PageLink, ...]
    """At most 200 links from its content; those whose words are in `text` come first."""
    is_cut: bool
    """Whether the page was too long, so that `text` is only its beginning."""
    period: str = ""
    """Reporting period; see `records.sources.Source.period`."""
    origin: Origin = "other"
    """Kind of its publisher, as far as the page states it."""
    doi: str = ""
    """DOI of the work shown on the page; empty if it states none."""
    copy_address: str = ""
    copied_on: str = ""
    is_retracted: bool = False
    """`copy_address`, `copied_on` and `is_retracted` are explained in `records.sources.Source`."""
    is_rendered: bool = False
    """Whether a browser ran its scripts."""


def start_parsers(limits: Limits) -> None:
    """Start the parser processes in advance; returns at once."""
    _parser(limits).start()


def _parser(limits: Limits) -> Parser:
    """Return the parser that all readers of this process share, unless their limits differ."""
    return shared_parser(limits.parse_seconds, max(limits.max_page_bytes, limits.max_pdf_bytes))


class WebReader(Fetcher):
    """Reads pages, concurrently; an async context manager. The constructor raises `UnknownSetting`."""

    def __init__(self, context: Context, resolve: Resolver | None = None) -> None:
        super().__init__(context, resolve)
        self._context = context
        self._parser = _parser(context.limits)

    async def read(self, address: str) -> WebPage:
        """Return the page at an address; a browser renders it if it is empty without its scripts. Raises `Unread`."""
        page, is_rendered = await self.fetch(address), False
        try:
            extract = await self._extracted(page)
        except Unread as shell:
            if shell.code != "empty shell" or page.kind != "html" or not _SCRIPT.search(page.data):
                raise
            page, is_rendered = await render_page(page, str(shell), self._context, self._resolve), True
            extract = await self._extracted(page)
        return WebPage(
            address=page.address,
            title=extract.title,
            text=extract.text,
            date=extract.date,
            links=extract.links,
            is_cut=page.is_cut or extract.is_cut,
            period=extract.period,
            origin=extract.origin,
            doi=extract.doi,
            is_rendered=is_rendered,
        )

    async def _extracted(self, page: Fetched) -> Extract:
        """Parse a page. Raises `Unread` if it has no text, or only that of a bot challenge or before a paywall."""
        here = parse_address(page.address)
        name = unquote(here.target.partition("?")[0].rstrip("/").rpartition("/")[2]) or here.host
        parse = partial(self._parser.parse, page.data, name, page.kind, page.charset, page.address)
        try:
            extract = await _THREADS.run(parse)
        except Unreadable as error:
            raise Unread(_CODES.get(error.reason, "broken"), str(error)) from error
        if page.kind != "html":
            return extract
        length, signs = len(extract.text), set(extract.signs)
        if length < _SHORT_CHARACTERS and {"challenge words", "challenge script"} <= signs:
            raise Unread("challenge", "its site requires proof that the reader is human")
        if length < _SHORT_CHARACTERS and {"paywall mark", "paywall words"} & signs:
            # Other kinds of text may mention the DOI of another work.
            doi = extract.doi or (doi_in(extract.text) if extract.origin == "scholarly" else "")
            raise Unread("paywall", f"only the first {length} characters are readable without a subscription", doi=doi)
        if length < _EMPTY_CHARACTERS:
            raise Unread("empty shell", f"it has only {length} characters of text")
        if length < _LITTLE_CHARACTERS and "script only" in signs:
            raise Unread("empty shell", "there is no text in it without running its scripts")
        return extract
