"""Reads pages, or copies of paywalled or missing ones: open-access papers, pages in the Internet Archive.

Each lookup and each copy counts as a fetch and passes the checks for web addresses.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from ..core.reading.addresses import doi_in, parse_address
from ..core.reading.records import Extract, Unread
from ..core.reading.web_page import WebReader
from ..core.run.concurrency import PerLoop
from ..core.run.context import Context
from .addresses import Addresses
from .tool import Meter

_ABSTRACT_CHARACTERS = 5000
"""A page of a paper with less text is assumed to show only the abstract."""
_MOST_HOSTS = 8
"""Maximum number of hosts tried per paper, including the publisher's."""
_NOT_SENT = ("denied domain", "private", "bad address")
"""Codes of refusals that come before a request is sent."""
_turns = PerLoop(lambda: defaultdict[str, asyncio.Lock](asyncio.Lock))
"""Locks by directory, so that requests to it do not run in parallel."""
_ENTRY = re.compile(r"<entry>.*?</entry>", re.DOTALL)
_PDF = re.compile(r"""<link\b(?=[^>]*title=["']pdf["'])[^>]*href=["']([^"']+)""")


class OpenCopies:
    """Reads pages or, if they are paywalled or missing, freely readable copies."""

    def __init__(self, reader: WebReader, context: Context, meter: Meter, addresses: Addresses) -> None:
        self._reader, self._context, self._meter, self._addresses = reader, context, meter, addresses
        # Without web search, no third party is asked.
        self._is_on = context.open_copies and context.engines != ()

    async def read(self, address: str) -> Extract:
        """Return the page, or a copy under the page's address; raises the `Unread` of the page itself."""
        try:
            page = await self._reader.read(address)
        except Unread as refusal:
            if self._is_on and (copy := await self._instead(address, refusal)):
                return copy
            raise
        doi = page.doi or doi_in(page.address)
        return await self._of_paper(doi, page) if doi and self._is_on else page

    async def _instead(self, address: str, refusal: Unread) -> Extract | None:
        """Return a copy of a page that could not be read, or None; raises `Unread` for a retracted paper."""
        if refusal.code == "gone":
            if not await self._reader.is_public(address) or not (found := await self._ask(_ARCHIVE, address)):
                return None
            kept, day = found
            # `id_` requests the original page, without the archive's banner and links.
            copy = await self._read_copy(re.sub(r"/web/(\d{14})/", r"/web/\1id_/", kept, count=1), set())
            return copy and copy._replace(address=address, copy_address=kept, copied_on=day)
        doi = refusal.doi or doi_in(address)
        if not doi or not (refusal.code == "paywall" or refusal.status == 403):
            return None
        empty = Extract("", "", origin="scholarly", doi=doi, address=address)
        paper = await self._of_paper(doi, empty)
        if paper.is_retracted and not paper.text:
            raise Unread(refusal.code, f"{refusal}; Crossref lists a retraction of this paper") from refusal
        return paper if paper.text else None

    async def _of_paper(self, doi: str, page: Extract) -> Extract:
        """Return the page of a paper; with the text of an open copy if it shows only the abstract."""
        title, is_retracted = await self._ask(_CROSSREF, doi) or ("", False)
        page = page._replace(title=page.title or title, is_retracted=is_retracted)
        # If a publisher refuses a page, no other address of its host is tried.
        hosts = {"doi.org", "dx.doi.org", "" if page.text else parse_address(page.address).authority}
        for directory in _DIRECTORIES if _shows_abstract(page) else ():
            for address in await self._ask(directory, doi) or ():
                copy = await self._read_copy(address, hosts)
                if copy and len(copy.text) > len(page.text) and not _shows_abstract(copy):
                    title, date = page.title or copy.title, page.date or copy.date
                    page = page._replace(title=title, date=date, text=copy.text, is_cut=copy.is_cut, links=())
                    return page._replace(copy_address=copy.address)
        return page

    async def _ask(self, directory: _Directory, about: str) -> Any:
        """Return what `directory.read` returns for a DOI or an address; None if there is no answer."""
        key, email, is_sent = os.environ.get("OPENALEX_API_KEY", ""), self._context.email, True
        if self._is_used_up() or ("{email}" in directory.query and not email):
            return None
        self._meter.fetches += 1
        base = os.environ.get(f"{directory.name.upper().replace(' ', '')}_URL") or directory.address
        query = directory.query.format(quote(about), email=quote(email), key=key and f"&api_key={quote(key)}")
        turn = _turns.get()[directory.name]
        await turn.acquire()
        try:
            return directory.read((await self._reader.fetch(base + query, is_api=True)).data, about)
        except (Unread, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            is_sent = not isinstance(error, Unread) or error.code not in _NOT_SENT
            logging.getLogger(__name__).info("%s names no copy (%s)", directory.name, type(error).__name__)
        finally:
            asyncio.get_running_loop().call_later(directory.gap, turn.release)
            if is_sent and directory.name not in self._meter.asked:
                self._meter.asked.append(directory.name)
        return None

    async def _read_copy(self, address: str, hosts: set[str]) -> Extract | None:
        """Return the page at an address; None if it cannot be read or its host is in `hosts`, to which it is added."""
        try:
            host = parse_address(address).authority
            if host in hosts or len(hosts) == _MOST_HOSTS or self._is_used_up():
                return None
            hosts.add(host)
            if await self._addresses.count(address, self._context.limits):
                return None
            self._meter.fetches += 1
            return (await self._reader.read(address))._replace(links=())
        except Unread:
            return None

    def _is_used_up(self) -> bool:
        """Whether no fetches are left."""
        return self._meter.most_fetches is not None and self._meter.fetches >= self._meter.most_fetches


def _shows_abstract(page: Extract) -> bool:
    """Whether the page of a paper has so little text that it shows only the abstract."""
    return bool(page.doi) and len(page.text) < _ABSTRACT_CHARACTERS


def _in_europe_pmc(data: bytes, doi: str) -> list[str]:
    """Return the addresses of the free copies of a paper: files, then pages."""
    papers = [paper for paper in json.loads(data)["resultList"]["result"] if paper["doi"].lower() == doi]
    texts = [text for paper in papers for text in paper["fullTextUrlList"]["fullTextUrl"]]
    free = [text for text in texts if text["availabilityCode"] in ("OA", "F")]
    return [str(text["url"]) for text in sorted(free, key=lambda text: text["documentStyle"] != "pdf")]


def _in_arxiv(data: bytes, doi: str) -> list[str]:
    """Return the addresses of the files of a paper."""
    entries = _ENTRY.findall(data.decode("utf-8", errors="replace"))
    return [link for entry in entries if f">{doi}</arxiv:doi>" in entry.lower() for link in _PDF.findall(entry)]


def _in_locations(data: bytes, _: str) -> list[str]:
    """Return the addresses of the free copies of a paper in an answer of OpenAlex or Unpaywall: files, then pages."""
    work = json.loads(data)
    found = [work["best_oa_location"], *(work.get("locations") or work.get("oa_locations") or ())]
    copies = [location for location in found if location and location.get("is_oa", True)]
    names = ("pdf_url", "url_for_pdf", "landing_page_url", "url_for_landing_page")
    return [str(location[name]) for name in names for location in copies if location.get(name)]


def _in_crossref(data: bytes, _: str) -> tuple[str, bool]:
    """Return the title of a paper and whether it was retracted."""
    work = json.loads(data)["message"]
    # The retraction of a paper appears in its `updated-by`; `update-to` marks the retraction notice itself.
    is_retracted = any(update["type"] == "retraction" for update in work.get("updated-by", ()))
    return "".join(work.get("title", [])[:1]), is_retracted


def _in_archive(data: bytes, _: str) -> tuple[str, str]:
    """Return the address and the day of the latest copy of a page."""
    closest = json.loads(data)["archived_snapshots"]["closest"]
    kept, time = closest["url"].replace("http://web.archive.org/", "https://web.archive.org/"), closest["timestamp"]
    return kept, f"{time[:4]}-{time[4:6]}-{time[6:8]}"


class _Directory(NamedTuple):
    """A service that is asked for copies of papers or pages."""

    name: str
    address: str
    """Can be overridden by a variable such as `CROSSREF_URL`."""
    query: str
    """Format string; `{}` is the DOI or the address of the page."""
    read: Callable[[bytes, str], Any]
    """Reads an answer; its arguments are the body, and the DOI or the address that was asked about."""
    gap: float = 0.0
    """Minimum seconds between an answer and the next request."""


_PMC = "https://www.ebi.ac.uk/europepmc/webservices/rest"
_OPENALEX = "/works/doi:{}?select=best_oa_location,locations{key}"
_DIRECTORIES = (
    _Directory("Europe PMC", _PMC, "/search?query=DOI:%22{}%22&format=json&resultType=core", _in_europe_pmc),
    _Directory("arXiv", "https://export.arxiv.org/api/query", "?search_query=doi:{}&max_results=3", _in_arxiv, 3.0),
    _Directory("OpenAlex", "https://api.openalex.org", _OPENALEX, _in_locations),
    _Directory("Unpaywall", "https://api.unpaywall.org/v2", "/{}?email={email}", _in_locations),
)
_CROSSREF = _Directory("Crossref", "https://api.crossref.org", "/works/{}", _in_crossref)
_ARCHIVE = _Directory("Internet Archive", "https://archive.org/wayback/available", "?url={}", _in_archive)
