"""Reads web pages: fetched through the guard, parsed in child processes, told apart from mere look-alikes."""

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
from .browser import render
from .documents.pool import CHILDREN, Parser, shared_parser
from .fetch import Fetched, Fetcher, Resolver
from .records import Extract, PageLink, Reason, RefusalCode, Unread, Unreadable

EMPTY_CHARACTERS = 50
LITTLE_CHARACTERS = 250
SHORT_CHARACTERS = 1500

_CODES: dict[Reason, RefusalCode] = {
    "empty": "empty shell",
    "no text": "not text",
    "too large": "too large",
    "not text": "not text",
    "unknown format": "not text",
    "timed out": "timed out",
}
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_THREADS = Threads("parse", CHILDREN)


class WebPage(NamedTuple):
    """A page of the web as it was read."""

    address: str
    """Where it was found in the end; this is what is cited."""
    title: str
    text: str
    """The main part without anything hidden; headings are lines that start with `#`."""
    date: str
    """Date that it states of itself (ISO 8601); empty if none."""
    links: tuple[PageLink, ...]
    """Where its content leads to, 200 pages at most, links in its text first."""
    is_cut: bool
    """Whether the page holds more text than this."""
    period: str = ""
    """What it reports on; see `records.sources.Source.period`."""
    origin: Origin = "other"
    """What kind of publisher it says that it has."""
    doi: str = ""
    """DOI of the work that it says it shows; empty if it states none."""
    copy_address: str = ""
    copied_on: str = ""
    is_retracted: bool = False
    """This and the two above: see `records.sources.Source`."""
    is_rendered: bool = False
    """Whether its text is what a browser showed after running its scripts."""


def start_parsers(limits: Limits) -> None:
    """Start what parses pages before there is one to read; returns at once."""
    _parser(limits).start()


def _parser(limits: Limits) -> Parser:
    return shared_parser(limits.parse_seconds, max(limits.max_page_bytes, limits.max_pdf_bytes))


class WebReader(Fetcher):
    """Reads pages, several at once; an asynchronous context manager. Raises `UnknownSetting` when made."""

    def __init__(self, context: Context, resolve: Resolver | None = None) -> None:
        super().__init__(context, resolve)
        self._context = context
        # The processes that parse wait for the next reader.
        self._parser = _parser(context.limits)

    async def read(self, address: str) -> WebPage:
        """Return the page at an address. Raises `Unread`, whose `code` says why there is none.

        A page that is empty without its scripts is rendered in a browser (`browser.render`).
        """
        page, is_rendered = await self.fetch(address), False
        try:
            extract = await self._extracted(page)
        except Unread as shell:
            if shell.code != "empty shell" or page.kind != "html" or not _SCRIPT.search(page.data):
                raise
            page, is_rendered = await render(page, str(shell), self._context, self._resolve), True
            extract = await self._extracted(page)
        return WebPage(
            page.address,
            extract.title,
            extract.text,
            extract.date,
            extract.links,
            page.is_cut or extract.is_cut,
            extract.period,
            extract.origin,
            extract.doi,
            is_rendered=is_rendered,
        )

    async def _extracted(self, page: Fetched) -> Extract:
        parse = partial(self._parser.parse, page.data, _name(page.address), page.kind, page.charset, page.address)
        try:
            extract = await _THREADS.run(parse)
        except Unreadable as error:
            raise Unread(_CODES.get(error.reason, "broken"), str(error)) from error
        if page.kind == "html":
            _refuse_empty(extract)
        return extract


def _name(address: str) -> str:
    parts = parse_address(address)
    last = parts.target.partition("?")[0].rstrip("/").rpartition("/")[2]
    return unquote(last) or parts.host


def _refuse_empty(extract: Extract) -> None:
    """Refuse a page that stands in the place of the one that was wanted. Raises `Unread`."""
    length, signs = len(extract.text), set(extract.signs)
    if length < SHORT_CHARACTERS and {"challenge words", "challenge script"} <= signs:
        raise Unread("challenge", "its site asks for a proof that the reader is human")
    if length < SHORT_CHARACTERS and {"paywall mark", "paywall words"} & signs:
        # Another text may name a paper that it is not.
        doi = extract.doi or (doi_in(extract.text) if extract.origin == "scholarly" else "")
        raise Unread("paywall", f"only the first {length} characters can be read without a subscription", doi=doi)
    if length < EMPTY_CHARACTERS:
        raise Unread("empty shell", f"there are only {length} characters of text in it")
    if length < LITTLE_CHARACTERS and "script only" in signs:
        raise Unread("empty shell", "there is no text in it without running its scripts")
