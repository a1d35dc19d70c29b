"""The tool that reads web pages and documents; for paywalled or missing pages, it finds freely
readable copies."""

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

from pydantic import BaseModel, ConfigDict, Field

from ..core.concurrency import PerLoop, gather_or_cancel
from ..core.errors import DeepResearchError, log_failure
from ..core.evidence.checking.source_text import windows_of
from ..core.evidence.citations.citing import source_key
from ..core.evidence.text.similarity import distinct
from ..core.library.library import Library
from ..core.reading.addresses import Unread, doi_in, parse_address
from ..core.reading.documents.records import MOST_LINKS, Extract
from ..core.reading.web_page import WebReader
from ..core.records import tool_names
from ..core.records.sources import NotRead, Source, text_hash
from ..core.settings.context import Context
from ._addresses import Addresses, exact_address, opened_note
from ._page_parts import part_of_page
from ._paper_standing import PaperStanding, paper_standing
from .engine import RETRIEVED
from .results import PAGE_CHARACTERS, passages, read_on, window
from .tool import Hit, Lines, Meter, Outcome, ToolContext, ToolFailed, take, unread_words

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
_MAX_LINKS = 20
"""Maximum number of links per page that a model is shown."""
_MAX_KEPT_LINKS = 100
"""Maximum number of links that are kept of a page; of one that is read in order, as scouts of
tables do, all are."""
_LINK_CHARACTERS = 300
"""Links with longer addresses are dropped: a page could fill a model's window with them."""
_SHOWN_CHARACTERS = 200
"""Maximum characters shown of a malformed address."""
_LEAST_CHARACTERS = 200
"""Minimum characters to show of a page; if less room is left, it is dropped."""


class WebPages:
    """Reads allowed pages within the limits of the run, each once per thread."""

    def __init__(self, context: Context, tool_context: ToolContext) -> None:
        self._context = context
        self._pages = tool_context.pages
        self._meter = tool_context.meter
        self._question_id = tool_context.question_id
        self._reads_parts = bool(tool_context.part_characters)
        self._addresses = Addresses(
            tool_context.pages, tool_context.question_id, reads_anew=tool_context.reads_anew
        )

    async def read(self, asked: str, reader: WebReader) -> Hit | NotRead | str:
        """Return the page, its whole text as excerpt, or why it was not read: a sentence if it was
        not requested."""
        try:
            address, _ = await self._addresses.known(asked)
        except Unread as refusal:
            logging.getLogger(__name__).info("An address was refused: %s", refusal.code)
            return NotRead(path=asked[:_SHOWN_CHARACTERS], reason=str(refusal), code=refusal.code)
        if not address:
            return (
                f"{asked!r} was not opened: neither the user nor a result nor a page that was read "
                "names this address; use addresses exactly as a search result states them."
            )
        async with self._pages.lock(f"opened {address}"):
            claim = await self._addresses.claim(address, self._context.limits)
            if claim.record and "failure" in claim.record:
                return NotRead(**claim.record["failure"])
            if claim.record:
                return await self._hit(claim.record)
            if claim.limit:
                return f"{address!r} was not opened: {claim.limit}."
            self._meter.fetches += 1
            copies = OpenCopies(reader, self._context, self._meter, self._addresses)
            try:
                page = await copies.read(address)
            except Unread as refusal:
                failure = NotRead(path=address, reason=str(refusal), code=refusal.code)
                await self._addresses.remember_failure(address, failure)
                return failure
            await self._addresses.count_redirect(address, page.address)
            # Locks are always taken in the order address, page, which rules out deadlocks.
            async with self._pages.lock(f"kept {page.address}"):
                return await self._kept(address, page)

    async def retrieved(self, address: str) -> Hit | None:
        """Return what a retriever or a tool returned under this address; None if there is
        nothing."""
        record = await self._pages.read_note(opened_note(address))
        if not record:
            return None
        return await self._hit(record)

    async def _kept(self, address: str, page: Extract) -> Hit:
        """Store the page, unless it was already read under another address; return it."""
        given, known = await self._addresses.known(page.address)
        if known and "failure" not in known:
            await self._addresses.allow((), records={address: known})
            return await self._hit(known)
        source = Source(
            # A page that was found and then opened remains one source, even if it redirects.
            key=source_key(page.address if given else address),
            title=page.title or page.address,
            location=page.address,
            address=address,
            kind="web",
            date=page.date,
            date_kind=page.date_kind,
            is_update=page.is_update,
            period=page.period,
            origin=page.origin,
            publisher=page.publisher,
            is_cut=page.is_cut,
            copy_address=page.copy_address,
            copied_on=page.copied_on,
            is_retracted=page.is_retracted,
            has_concern=page.has_concern,
            listed_by=_CROSSREF.name if page.is_retracted or page.has_concern else "",
            is_rendered=page.is_rendered,
            content_hash=text_hash(page.text),
            read_at=self._context.clock.now().isoformat(timespec="seconds"),
        )
        links: list[list[str]] = []
        most = MOST_LINKS if self._reads_parts else _MAX_KEPT_LINKS
        has_more_links = len(page.links) == MOST_LINKS
        for link in page.links:
            if len(links) == most:
                has_more_links = True
                break
            if len(link.address) <= _LINK_CHARACTERS and exact_address(link.address):
                links.append(list(link))
        targets = [target for _, target in links]
        record = {
            "source": source.model_dump(),
            "links": links,
            "has_more_links": has_more_links,
            "question_id": self._question_id,
        }
        texts = {source.content_hash: page.text}
        records = {address: record, page.address: record}
        await self._addresses.allow(targets, texts, records)
        return await self._hit(record, page.text)

    async def _hit(self, record: dict[str, Any], text: str | None = None) -> Hit:
        """Return the page of a record of `Addresses.opened`; `text`: its text, if it is known."""
        if text is None:
            text = await self._pages.text(str(record["source"]["content_hash"])) or ""
        kept = record["links"]
        unread = ""
        if not self._reads_parts:
            kept = kept[:_MAX_LINKS]
        elif record.get("has_more_links"):
            unread = f"its links beyond the first {len(kept)}"
        links = tuple((str(words), str(target)) for words, target in kept)
        return Hit(Source(**record["source"]), text, text, links, is_kept=True, unread=unread)


class OpenUrlArguments(BaseModel):
    """Read what a search has found or a page you have read links to; of long texts, the passages on your topic."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    urls: Lines
    """Addresses exactly as a result or one of its links states them, without anything else."""
    start: int = Field(default=0, ge=0)
    """For a long text of which you need more than the passages shown: the character from which to read on; else 0."""


class OpenUrl:
    """Opens web pages and library documents."""

    name = tool_names.OPEN_URL
    arguments: type[BaseModel] = OpenUrlArguments

    def __init__(self, library: Library, context: Context, tool_context: ToolContext) -> None:
        self._library = library
        self._context = context
        self._limits = context.limits
        self._tool_context = tool_context

    async def run(self, arguments: BaseModel) -> Outcome:
        """Open each address; raises `ToolFailed` if none could be read."""
        checked = OpenUrlArguments.model_validate(arguments, from_attributes=True)
        asked = distinct(checked.urls, str)
        if not asked:
            raise ToolFailed(
                f"{self.name} needs at least one address, exactly as a search result states it."
            )
        limits = {
            "max_open": self._limits.max_open,
            "max_fetches": self._tool_context.meter.most_fetches,
        }
        addresses, left_out = take(asked, limits, "addresses were opened")
        pages = WebPages(self._context, self._tool_context)
        async with WebReader(self._context) as reader:
            results = await gather_or_cancel(
                self._open(address, pages, reader, checked.start) for address in addresses
            )
        hits: list[Hit] = []
        not_read: list[NotRead] = []
        problems: list[str] = []
        for result in results:
            if isinstance(result, Hit):
                hits.append(result)
                if result.unread:
                    path = result.source.address
                    not_read.append(NotRead(path=path, reason=result.unread, code="links"))
            elif isinstance(result, NotRead):
                not_read.append(result)
                problems.append(unread_words(result))
            else:
                problems.append(result)
        shown, not_shown = self._fitted(distinct(hits, lambda hit: hit.source.key))
        problems += not_shown + left_out
        if not shown:
            raise ToolFailed(" ".join(problems), tuple(not_read))
        return Outcome(tuple(shown), tuple(problems), not_read=tuple(not_read))

    def _fitted(self, hits: list[Hit]) -> tuple[list[Hit], list[str]]:
        """Return the hits that may be shown together, the last one shortened, and a sentence for
        each other one."""
        left = self._limits.pages_characters
        shown: list[Hit] = []
        problems: list[str] = []
        for hit in hits:
            is_too_long = self._tool_context.part_characters and len(hit.excerpt) > left
            if left < _LEAST_CHARACTERS or (shown and is_too_long):
                problems.append(
                    f"{hit.source.address!r} was not shown, because the pages before it are too "
                    "long; open it alone."
                )
                continue
            if len(hit.excerpt) > left:
                hit = hit._replace(excerpt=window(hit.text, hit.excerpt, left))
            shown.append(hit)
            left -= len(hit.excerpt)
        return shown, problems

    async def _open(
        self, address: str, pages: WebPages, reader: WebReader, start: int
    ) -> Hit | NotRead | str:
        """Return what is at an address, or why it could not be read; see `WebPages.read`."""
        try:
            result = await self._read(address, pages, reader)
            if not isinstance(result, Hit):
                return result
            # Searching a long text takes time and must not block the event loop.
            return await asyncio.to_thread(self._windowed, result, address, start)
        except DeepResearchError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails for one address, the others are read
            log_failure(__name__, error, "A page or document could not be read")
            reason = f"reading it failed ({type(error).__name__})"
            return NotRead(path=address, reason=reason, code="broken")

    async def _read(self, address: str, pages: WebPages, reader: WebReader) -> Hit | NotRead | str:
        """Return what is at an address, its whole text as excerpt, or why it was not read."""
        if address.startswith(RETRIEVED):
            return await pages.retrieved(address) or f"No result has the address {address!r}."
        if address.lower().startswith(("http:", "https:")):
            return await pages.read(address, reader)
        # SQLite blocks, which the server's event loop refuses.
        document = await asyncio.to_thread(self._library.read, address)
        if document:
            self._tool_context.meter.fetches += 1
            return Hit(document.source, document.text, document.text)
        unknown = (
            f"No document has the address {address!r}; use addresses exactly as a search result "
            "states them."
        )
        return await pages.retrieved(address) or unknown

    def _windowed(self, hit: Hit, asked: str, start: int) -> Hit | str:
        """Return the hit with the relevant passages of its text or, if `start` is set, the text
        from there on."""
        part = self._tool_context.part_characters
        if part:
            shown_part = part_of_page(hit.text, hit.links, start, part)
            hit = hit._replace(
                excerpt=shown_part.text,
                links=shown_part.links,
                read_on=shown_part.read_on,
                characters=shown_part.characters,
            )
        characters = hit.characters or len(hit.text)
        if start and start >= characters:
            return (
                f"{hit.source.address!r} has {characters} characters, so there is nothing from "
                f"{start} on."
            )
        if part:
            return hit
        if start:
            return hit._replace(excerpt=read_on(hit.text, start, PAGE_CHARACTERS))
        entry = self._tool_context.entries.get(asked)
        if entry:
            windows = windows_of(hit.text)
            lines = windows.texts(windows.having(entry))
            return hit._replace(excerpt="\n".join(lines), links=())
        excerpts = self._tool_context.excerpts
        excerpt = excerpts.get(asked, "") or excerpts.get(hit.source.address, "")
        topic = self._tool_context.topic
        questions = self._tool_context.questions
        shown = passages(hit.text, topic, excerpt, PAGE_CHARACTERS, questions)
        return hit._replace(excerpt=shown)


class OpenCopies:
    """Reads pages or, if they are paywalled or missing, copies: open-access papers, pages in the
    Internet Archive.

    Each lookup and each copy counts as a fetch and passes the checks for web addresses.
    """

    def __init__(
        self, reader: WebReader, context: Context, meter: Meter, addresses: Addresses
    ) -> None:
        self._reader = reader
        self._context = context
        self._meter = meter
        self._addresses = addresses
        # Without web search, no third party is asked.
        self._is_on = context.open_copies and context.engines != ()

    async def read(self, address: str) -> Extract:
        """Return the page, or a copy under the page's address; raises the `Unread` of the page
        itself."""
        try:
            page = await self._reader.read(address)
        except Unread as refusal:
            copy = None
            if self._is_on:
                copy = await self._instead(address, refusal)
            if copy is None:
                raise
            return copy
        doi = page.doi or doi_in(page.address)
        if doi and self._is_on:
            return await self._of_paper(doi, page)
        return page

    async def _instead(self, address: str, refusal: Unread) -> Extract | None:
        """Return a copy of a page that could not be read, or None; raises `Unread` for a retracted
        paper."""
        if refusal.code == "gone":
            return await self._archived(address)
        doi = refusal.doi or doi_in(address)
        is_paywalled = refusal.code == "paywall" or refusal.status == 403
        if not doi or not is_paywalled:
            return None
        empty = Extract("", "", origin="scholarly", doi=doi, address=address)
        paper = await self._of_paper(doi, empty)
        if paper.text:
            return paper
        if paper.is_retracted:
            raise Unread(
                refusal.code, f"{refusal}; Crossref lists a retraction of this paper"
            ) from refusal
        return None

    async def _archived(self, address: str) -> Extract | None:
        """Return the latest copy of a page in the Internet Archive; None if there is none."""
        if not await self._reader.is_public(address):
            return None
        latest = await self._ask(_ARCHIVE, address)
        if not latest:
            return None
        kept, day = latest
        # `id_` requests the original page, without the archive's banner and links.
        original = re.sub(r"/web/(\d{14})/", r"/web/\1id_/", kept, count=1)
        copy = await self._read_copy(original, set())
        if copy is None:
            return None
        return copy._replace(address=address, copy_address=kept, copied_on=day)

    async def _of_paper(self, doi: str, page: Extract) -> Extract:
        """Return the page of a paper; with the text of an open copy if it shows only the
        abstract."""
        title, standing = await self._ask(_CROSSREF, doi) or ("", PaperStanding())
        page = page._replace(
            title=page.title or title,
            is_retracted=standing.is_retracted,
            has_concern=standing.has_concern,
        )
        if not _shows_abstract(page):
            return page
        # If a publisher refuses a page, no other address of its host is tried.
        refusing = "" if page.text else parse_address(page.address).authority
        hosts = {"doi.org", "dx.doi.org", refusing}
        for directory in _DIRECTORIES:
            for address in await self._ask(directory, doi) or ():
                copy = await self._read_copy(address, hosts)
                if copy is None or len(copy.text) <= len(page.text) or _shows_abstract(copy):
                    continue
                return page._replace(
                    title=page.title or copy.title,
                    date=page.date or copy.date,
                    text=copy.text,
                    is_cut=copy.is_cut,
                    links=(),
                    copy_address=copy.address,
                )
        return page

    async def _ask(self, directory: _Directory, about: str) -> Any:
        """Return what `directory.read` returns for a DOI or an address; None if there is no
        answer."""
        email = self._context.email
        if self._is_used_up() or ("{email}" in directory.query and not email):
            return None
        self._meter.fetches += 1
        variable = f"{directory.name.upper().replace(' ', '')}_URL"
        base = os.environ.get(variable) or directory.address
        key = os.environ.get("OPENALEX_API_KEY", "")
        if key:
            key = f"&api_key={quote(key)}"
        query = directory.query.format(quote(about), email=quote(email), key=key)
        is_sent = True
        turn = _turns.get()[directory.name]
        await turn.acquire()
        try:
            answer = await self._reader.fetch(base + query, is_api=True)
            return directory.read(answer.data, about)
        except (
            Unread,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ) as error:
            is_sent = not isinstance(error, Unread) or error.code not in _NOT_SENT
            logging.getLogger(__name__).info(
                "%s names no copy (%s)", directory.name, type(error).__name__
            )
        finally:
            asyncio.get_running_loop().call_later(directory.gap, turn.release)
            if is_sent and directory.name not in self._meter.asked:
                self._meter.asked.append(directory.name)
        return None

    async def _read_copy(self, address: str, hosts: set[str]) -> Extract | None:
        """Return the page at an address; None if it cannot be read or its host is in `hosts`, to
        which it is added."""
        try:
            host = parse_address(address).authority
            if host in hosts or len(hosts) == _MOST_HOSTS or self._is_used_up():
                return None
            hosts.add(host)
            if await self._addresses.count(address, self._context.limits):
                return None
            self._meter.fetches += 1
            page = await self._reader.read(address)
        except Unread:
            return None
        return page._replace(links=())

    def _is_used_up(self) -> bool:
        """Whether no fetches are left."""
        return (
            self._meter.most_fetches is not None and self._meter.fetches >= self._meter.most_fetches
        )


def _shows_abstract(page: Extract) -> bool:
    """Whether the page of a paper has so little text that it shows only the abstract."""
    return bool(page.doi) and len(page.text) < _ABSTRACT_CHARACTERS


def _in_europe_pmc(data: bytes, doi: str) -> list[str]:
    """Return the addresses of the free copies of a paper: files, then pages."""
    files: list[str] = []
    pages: list[str] = []
    for paper in json.loads(data)["resultList"]["result"]:
        if paper["doi"].lower() != doi:
            continue
        for text in paper["fullTextUrlList"]["fullTextUrl"]:
            if text["availabilityCode"] not in ("OA", "F"):
                continue
            if text["documentStyle"] == "pdf":
                files.append(str(text["url"]))
            else:
                pages.append(str(text["url"]))
    return files + pages


def _in_arxiv(data: bytes, doi: str) -> list[str]:
    """Return the addresses of the files of a paper."""
    links: list[str] = []
    for entry in _ENTRY.findall(data.decode("utf-8", errors="replace")):
        if f">{doi}</arxiv:doi>" in entry.lower():
            links += _PDF.findall(entry)
    return links


def _in_locations(data: bytes, _: str) -> list[str]:
    """Return the addresses of the free copies of a paper in an answer of OpenAlex or Unpaywall:
    files, then pages."""
    work = json.loads(data)
    best = work["best_oa_location"]
    others = work.get("locations") or work.get("oa_locations") or ()
    copies: list[dict[str, Any]] = []
    for location in (best, *others):
        if location and location.get("is_oa", True):
            copies.append(location)
    addresses: list[str] = []
    for name in ("pdf_url", "url_for_pdf", "landing_page_url", "url_for_landing_page"):
        addresses += [str(location[name]) for location in copies if location.get(name)]
    return addresses


def _in_crossref(data: bytes, _: str) -> tuple[str, PaperStanding]:
    """Return the title of a paper and what happened to it after its publication."""
    work = json.loads(data)["message"]
    # `updated-by` is about the paper; `update-to` marks the notice itself.
    return "".join(work.get("title", [])[:1]), paper_standing(work.get("updated-by"))


def _in_archive(data: bytes, _: str) -> tuple[str, str]:
    """Return the address and the day of the latest copy of a page."""
    closest = json.loads(data)["archived_snapshots"]["closest"]
    kept = closest["url"].replace("http://web.archive.org/", "https://web.archive.org/")
    time = closest["timestamp"]
    return kept, f"{time[:4]}-{time[4:6]}-{time[6:8]}"


class _Directory(NamedTuple):
    """A service that is asked for copies of papers or pages."""

    name: str
    address: str
    """Can be overridden by a variable such as `CROSSREF_URL`."""
    query: str
    """Format string; `{}` is the DOI or the address of the page."""
    read: Callable[[bytes, str], Any]
    """Reads an answer; its arguments are the body, and the DOI or the address that was asked
    about."""
    gap: float = 0.0
    """Minimum seconds between an answer and the next request."""


_PMC = "https://www.ebi.ac.uk/europepmc/webservices/rest"
_OPENALEX = "/works/doi:{}?select=best_oa_location,locations{key}"
_DIRECTORIES = (
    _Directory(
        "Europe PMC", _PMC, "/search?query=DOI:%22{}%22&format=json&resultType=core", _in_europe_pmc
    ),
    _Directory(
        "arXiv",
        "https://export.arxiv.org/api/query",
        "?search_query=doi:{}&max_results=3",
        _in_arxiv,
        3.0,
    ),
    _Directory("OpenAlex", "https://api.openalex.org", _OPENALEX, _in_locations),
    _Directory("Unpaywall", "https://api.unpaywall.org/v2", "/{}?email={email}", _in_locations),
)
_CROSSREF = _Directory("Crossref", "https://api.crossref.org", "/works/{}", _in_crossref)
_ARCHIVE = _Directory(
    "Internet Archive", "https://archive.org/wayback/available", "?url={}", _in_archive
)
