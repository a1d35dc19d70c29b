"""`Record`, the base class of all records; sources and their contradictions, unread files and
attachments."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, Self
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict

from ._hosts import is_at, registered_domain, web_host

DOCUMENT_SCHEME = "docs:"
"""Prefix of the addresses of the user's own documents."""
Extent = Literal["whole", "part", "excerpt", "not opened"]
"""How much of a source was read: all of its text, its beginning, or only a search excerpt, either
because it was never opened or because opening it failed."""

DateKind = Literal["", "document", "publication", "as_of", "in_force", "file_name", "changed"]
"""What a date refers to: the document, its publication or a stated update, the state that it
describes, its entry into force, its file name, or the last change of the file. Empty if there is no
date, or if a search engine gave it."""

Origin = Literal["own", "official", "company", "news", "scholarly", "forum", "other"]
"""The kind of a source's publisher; `own` for the user's documents."""

_HOSTS: dict[Origin, str] = {
    "scholarly": """
    edu ac.* arxiv.org doi.org ncbi.nlm.nih.gov biorxiv.org medrxiv.org ssrn.com jstor.org
    nature.com science.org sciencedirect.com springer.com wiley.com tandfonline.com sagepub.com
    academic.oup.com cambridge.org plos.org mdpi.com frontiersin.org cell.com thelancet.com nejm.org
    bmj.com acm.org ieee.org aclanthology.org openreview.net hal.science semanticscholar.org
    scielo.org zenodo.org
    """,
    "official": """
    gov mil int gov.* gouv.* gob.* gub.* go.jp go.kr go.th gc.ca canada.ca govt.nz gv.at admin.ch
    bund.de bundestag.de destatis.de europa.eu un.org oecd.org worldbank.org imf.org overheid.nl
    rijksoverheid.nl insee.fr istat.it ine.es
    """,
    "news": """
    reuters.com apnews.com afp.com bbc.com bbc.co.uk nytimes.com washingtonpost.com wsj.com ft.com
    bloomberg.com economist.com theguardian.com cnn.com cnbc.com npr.org politico.com politico.eu
    axios.com aljazeera.com lemonde.fr lefigaro.fr spiegel.de zeit.de faz.net sueddeutsche.de
    tagesschau.de handelsblatt.com nzz.ch derstandard.at elpais.com elmundo.es corriere.it
    repubblica.it ansa.it publico.pt nrc.nl nos.nl nikkei.com asahi.com scmp.com
    """,
    "forum": """
    reddit.com stackoverflow.com stackexchange.com news.ycombinator.com quora.com zhihu.com x.com
    twitter.com facebook.com linkedin.com youtube.com tiktok.com disqus.com
    """,
    "company": "ir.* investor.* investors.*",
}
"""Patterns of hosts, as `is_at` reads them, by the kind of their publishers."""


@lru_cache(maxsize=1_000)
def _kind_of(host: str) -> Origin | None:
    """Return the kind of the publisher behind a host; None if the host does not tell."""
    for kind, hosts in _HOSTS.items():
        if any(is_at(host, pattern) for pattern in hosts.split()):
            return kind
    return None


DisputeSubject = Literal["fact", "advice"]
"""What two sources disagree on: what is the case, or what to do."""
UNRESOLVED = "open"
"""The resolution of a dispute that nobody has resolved."""
_LINKABLE = re.compile(r"https?://[^/?#]|file:/", re.IGNORECASE)
# An IPv6 host keeps its brackets.
_IPV6_HOST = re.compile(r"https?://\[[0-9a-f:.]+\](?=[:/?#]|$)", re.IGNORECASE)
_PLAIN_IN_LINKS = "!#$%&*+,-./:;=?@_~"
_LONGEST_TITLE = 200
"""Maximum length of a title that is shown, in characters."""
_INVISIBLE = {"Cc", "Cf", "Cs"}
"""Unicode categories of control and formatting characters, and of surrogates."""
_ADDRESS = re.compile(
    r"(?:[a-z]+:)?//\S+|[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?:[:/?#]\S*)?", re.IGNORECASE
)


class Record(BaseModel):
    """A frozen model that is stored with a run; records of a type with equal fields are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def short_hash(*parts: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of the parts; ("ab", "c") and ("a", "bc")
    differ."""
    return text_hash("\0".join(parts))[:16]


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in hex digits, which is its key in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def time_of(date: str, period: str) -> str:
    """Return the date, else the year or month in which the period (see `Source.period`) ends; empty
    without both.

    Of a period of several years, such as that of a plan, it is the first one.
    """
    first, _, last = period.rpartition("/")
    if first and int(last[:4]) - int(first[:4]) > 1:
        last = first
    return date or re.split("-[QH]", last)[0]


def safe_link(location: str) -> str:
    """Return a web or file address, encoded so that Markdown cannot misparse it.

    It is empty for any other address.
    """
    stripped = location.strip()
    if not _LINKABLE.match(stripped):
        return ""
    found = _IPV6_HOST.match(stripped)
    host = found.group() if found else ""
    return host + percent_encoded(
        stripped.removeprefix(host), safe=_PLAIN_IN_LINKS, errors="replace"
    )


def in_one_line(text: str) -> str:
    """Return the text in one line, without invisible characters."""
    visible = list[str]()
    for character in text:
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE:
            visible.append(character)
    return " ".join("".join(visible).split())


def _site(location: str) -> str:
    """Return the host of a web address, or the name of a file."""
    scheme, _, rest = location.strip().partition(":")
    if scheme.lower() == "file":
        return unquote(rest.rstrip("/").rpartition("/")[2])
    return re.split(r"[/?#]", rest.removeprefix("//"))[0].rpartition("@")[2]


class Source(Record):
    """A document or page that was found and possibly read."""

    key: str
    """What identifies it: the canonical web address, or the file's URI."""
    title: str
    """Title, as stated by the source."""
    location: str
    """Where a reader can open it: the web address after redirects, or the file's URI."""
    address: str
    """The address by which a model opens it with `open_url`."""
    kind: Literal["document", "web"]
    """A file of the user, or a web page."""
    date: str = ""
    """Date that the source states (ISO 8601); empty if it states none."""
    date_kind: DateKind = ""
    """Kind of `date`; empty if unknown."""
    is_update: bool = False
    """Whether the source calls `date` the date of an update."""
    period: str = ""
    """Reporting period: 2025, 2025-Q1, 2025-H1, 2025-05, 2025/2026 or 2025-07/2026-06; empty if
    there is none."""
    content_hash: str = ""
    """SHA-256 (hex) of its text, which is its key in the store; empty if only a search excerpt was
    read."""
    is_cut: bool = False
    """Whether only the beginning of its text was read."""
    is_rendered: bool = False
    """Whether a browser ran the page's scripts before its text was read."""
    failure: str = ""
    """Code of the reason why it could not be opened (see `NotRead.code`); empty if no attempt
    failed."""
    copy_address: str = ""
    """Address of the open or archived copy that was read instead; otherwise empty."""
    copied_on: str = ""
    """Day on which the Internet Archive made the copy (ISO 8601); empty for other copies."""
    is_retracted: bool = False
    """Whether a register of papers lists a retraction, withdrawal or removal of this paper."""
    has_concern: bool = False
    """Whether such a register lists an expression of concern about this paper."""
    listed_by: str = ""
    """Title of the register that lists it as retracted or doubted, such as Crossref."""
    superseded_by: str = ""
    """Name of the document that replaced it, as it states; empty if there is none."""
    is_draft: bool = False
    """Whether it calls itself a draft."""
    in_force_from: str = ""
    """Full or partial ISO date in the future from which it is in force, as it states; otherwise
    empty."""
    read_at: str = ""
    """When the text was read (ISO 8601); empty if not read."""
    is_earlier: bool = False
    """Whether its text is the one that an earlier run of the user read, at `read_at`."""
    excerpts: tuple[str, ...] = ()
    """SHA-256 (hex) of its web search excerpts, which are in the store."""
    engines: tuple[str, ...] = ()
    """Names of the search engines that found it, sorted."""
    origin: Origin = "other"
    """Kind of its publisher, as the page states; see `publisher_kind`."""
    publisher: str = ""
    """Name of the publisher, as the source states it; may be empty."""
    number: int = 0
    """Number in this thread, from 1; 0 until a finding cites it."""

    @property
    def extent(self) -> Extent:
        """How much of it was read; see `Extent`."""
        if self.content_hash:
            return "part" if self.is_cut else "whole"
        return "not opened" if self.failure else "excerpt"

    @property
    def time(self) -> str:
        """Its date, else the end of its reporting period; see `time_of`."""
        return time_of(self.date, self.period)

    @property
    def publisher_kind(self) -> Origin:
        """Kind of its publisher: `own` for a document; otherwise it follows from the host, or else
        from the page itself."""
        if self.address.startswith(DOCUMENT_SCHEME):
            return "own"
        return _kind_of(web_host(self.location or self.key)) or self.origin

    @property
    def organisation(self) -> str:
        """The organisation behind it.

        For a page, this is its registered domain; for a document, the publisher that it names, or
        else its folder.
        """
        if self.address.startswith(DOCUMENT_SCHEME):
            return self.publisher.casefold() or self.address.partition("/")[0]
        return registered_domain(web_host(self.location or self.key)) or self.key

    @property
    def host(self) -> str:
        """Host of a page's key, without `www.`; empty for a document."""
        return web_host(self.key) if self.kind == "web" else ""

    @property
    def is_in_force(self) -> bool:
        """Whether it is neither retracted, nor a draft, nor superseded, nor not yet in force."""
        return not (self.is_retracted or self.is_draft or self.superseded_by or self.in_force_from)

    @property
    def shown_title(self) -> str:
        """Its title in one line, not escaped.

        If the title is empty or an address, it is the host or file name.
        """
        title = in_one_line(self.title)
        if not title or _ADDRESS.fullmatch(title):
            # A title that looks like an address might not be the linked address.
            title = in_one_line(_site(self.location) or self.location)
        if len(title) > _LONGEST_TITLE:
            title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
        return title

    @property
    def short_location(self) -> str:
        """A short name of where it is.

        That is the path of a document in its folder, the host of a web page, or the name of an
        app's retriever.
        """
        is_document = self.kind == "document"
        if is_document and (self.address.startswith(DOCUMENT_SCHEME) or not self.location):
            folder, _, path = self.address.removeprefix(DOCUMENT_SCHEME).partition("/")
            return in_one_line(path or folder)
        if safe_link(self.location):
            return in_one_line(_site(self.location).removeprefix("www."))
        return in_one_line(self.location) if is_document else ""

    @property
    def shown_time(self) -> str:
        """Its date, with its period in brackets if that differs; empty if it has neither."""
        if not self.date:
            return self.period
        if not self.period or self.date.startswith(self.period):
            return self.date
        return f"{self.date} ({self.period})"

    @property
    def date_words(self) -> Literal["", "published", "updated", "as of"]:
        """What its date is the date of; empty for other kinds, and if that is unknown."""
        if self.date and self.is_update:
            return "updated"
        words: dict[str, Literal["", "published", "as of"]] = {
            "publication": "published",
            "as_of": "as of",
        }
        return words.get(self.date_kind, "") if self.date else ""

    @property
    def shown_publisher(self) -> str:
        """The publisher that a web page states, in one line, not escaped.

        It is empty if there is none, or if it is the same as the host.
        """
        publisher = in_one_line(self.publisher)
        is_host = publisher.casefold() == self.short_location.casefold()
        return "" if self.kind == "document" or is_host else publisher

    @property
    def about(self) -> str:
        """Its title, date and publisher, which a statement may rest on."""
        return f"{self.title} {self.date} {self.shown_publisher}".removesuffix(" ")

    @property
    def notes(self) -> list[str]:
        """For the reader: that it was retracted, is doubted, or was read in a copy."""
        notes = list[str]()
        lister = f" ({self.listed_by})" if self.listed_by else ""
        if self.is_retracted:
            notes.append(f"Source {self.number} was retracted{lister}.")
        elif self.has_concern:
            notes.append(
                f"The publisher of source {self.number} expressed concern about it{lister}."
            )
        if self.copy_address:
            copy = "an open copy"
            if self.copied_on:
                copy += f" made on {self.copied_on}"
            notes.append(f"Source {self.number} was read in {copy}: {self.copy_address}")
        return notes

    def merged(self, other: Source) -> Source:
        """Return two states of the source as one: a read text wins over an excerpt, a text read
        later over one read earlier.

        A source keeps its number, the latest date that it states or else was given, all its
        excerpts and engines, and what a register lists about it.
        """
        return _merged(self, other)


def _merged(first: Source, second: Source) -> Source:
    """Return two states of a source as one."""
    pair = (first, second)
    best = max(pair, key=_precedence)
    # A date that a page states is better than that of a search engine, which has no kind.
    _, date, kind, is_update = max(
        (bool(source.date_kind), source.date, source.date_kind, source.is_update) for source in pair
    )
    numbers = [source.number for source in pair if source.number]
    fields: dict[str, object] = {
        "number": min(numbers, default=0),
        "failure": "" if best.content_hash else max(first.failure, second.failure),
        "date": date,
        "date_kind": kind,
        "is_update": is_update,
        "excerpts": tuple(sorted({*first.excerpts, *second.excerpts})),
        "engines": tuple(sorted({*first.engines, *second.engines})),
        # Few engines and pages say so.
        "is_retracted": first.is_retracted or second.is_retracted,
        "has_concern": first.has_concern or second.has_concern,
        "listed_by": max(first.listed_by, second.listed_by),
    }
    return best.model_copy(update=fields)


def _precedence(source: Source) -> tuple[str, str, str]:
    """Return what decides which of two states of a source is kept: the greater one."""
    # What a register lists is merged.
    rest = source.model_dump_json(exclude={"is_retracted", "has_concern", "listed_by"})
    return source.read_at, source.content_hash, rest


class DisputedClaim(NamedTuple):
    """One side of a dispute."""

    text: str
    """The claim, self-contained."""
    source: str
    """Key of the source that makes it."""
    date: str
    """Date of the source (see `Source.time`); empty if unknown."""
    origin: Origin
    """Kind of the source's publisher (see `Source.publisher_kind`)."""


class Dispute(Record):
    """Two claims from different sources that contradict each other."""

    # Parallel pairs, and not two records, because clients of the packet `report_audited` and of
    # JSON exports read `claims` and `sources`.
    claims: tuple[str, str]
    sources: tuple[str, str]
    """Keys of the sources, in the order of the claims."""
    dates: tuple[str, str] = ("", "")
    """Dates of the sources (see `Source.time`), in the same order; empty if unknown."""
    origins: tuple[Origin, Origin] = ("other", "other")
    """Kinds of the sources' publishers (see `Source.publisher_kind`), in the same order."""
    about: DisputeSubject = "fact"
    """What the sources disagree on."""
    resolution: str = UNRESOLVED
    """Which claim holds and why, worded for the reader; `open` if that is not resolved."""
    is_named: bool = False
    """Whether the editor found that a report needs no row on it below its text; see
    `Audit.disagreements`."""

    @classmethod
    def between(
        cls,
        claims: tuple[str, str],
        sources: tuple[Source, Source],
        about: DisputeSubject = "fact",
        resolution: str = UNRESOLVED,
    ) -> Self:
        """Return the dispute between two sources; the claims are in the order of the sources."""
        first, second = sources
        keys = (first.key, second.key)
        dispute = cls(claims=claims, sources=keys, about=about, resolution=resolution)
        return dispute.with_sources(first, second)

    def with_sources(self, first: Source, second: Source) -> Self:
        """Return the dispute between these sources, with their dates and kinds as known now."""
        return self.model_copy(
            update={
                "sources": (first.key, second.key),
                "dates": (first.time, second.time),
                "origins": (first.publisher_kind, second.publisher_kind),
            }
        )

    @property
    def sides(self) -> tuple[DisputedClaim, DisputedClaim]:
        """Both claims, each with what is known of its source."""
        first, second = map(DisputedClaim, self.claims, self.sources, self.dates, self.origins)
        return first, second

    @property
    def newer(self) -> str:
        """Key of the source with the later date; empty if the dates are equal or one is unknown."""
        first, second = self.sides
        if not first.date or not second.date or first.date == second.date:
            return ""
        return max(self.sides, key=lambda side: side.date).source

    @property
    def is_resolved(self) -> bool:
        """Whether somebody has resolved it."""
        return self.resolution != UNRESOLVED


class Exclusion(Record):
    """The user's decision that a source of the thread is not to be used any more."""

    date: str
    """Day of the decision (ISO 8601)."""
    because: str = ""
    """The user's reason; empty if none was given."""
    needs_replacement: bool = False
    """Whether the next edit is to find other sources for what this one alone supports."""


class NotRead(Record):
    """A page or file that could not be read."""

    path: str
    """Address of the page, or path of the file."""
    reason: str
    """The reason, worded for the reader."""
    code: str
    """The reason as a code, for programs; see `core.reading`."""


class Attached(Record):
    """A file that the user attached to a message; its content is stored in a folder of the
    thread."""

    name: str
    """Its file name in the thread's folder."""
    sha256: str = ""
    """SHA-256 (hex) of its content; empty if the content could not be read."""
    size: int = 0
    """Size in bytes."""
    reason: str = ""
    """Why it is not searched, worded for the reader; empty if it is searched."""
    code: str = ""
    """The reason as a code, for programs; see `core.reading`."""


def unopened(sources: Mapping[str, Source], unread: Iterable[NotRead]) -> dict[str, Source]:
    """Return the sources that could not be opened and have no text, by key, with `failure` set."""
    codes = {failed.path: failed.code for failed in unread}
    found = dict[str, Source]()
    for key, source in sources.items():
        code = codes.get(source.address) or codes.get(source.location)
        if code and not source.content_hash:
            found[key] = source.model_copy(update={"failure": code})
    return found
