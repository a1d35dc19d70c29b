"""What every record is; sources as the state holds them, and what could not be read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

DOCUMENT_SCHEME = "docs:"
"""Prefix of the addresses of the user's own documents."""
Extent = Literal["whole", "part", "excerpt", "not opened"]
"""What was read of a source: all of its text, its beginning, or only what a search showed of it, be it that nobody
opened it or that it could not be opened."""

DateKind = Literal["", "document", "publication", "as_of", "in_force", "file_name", "changed"]
"""What is known of a date: it is that of the document, of its publication, of the state that it shows, or of the day
from which it is in force; or only the name of the file bears it, or it was changed then. Empty without a date."""

Origin = Literal["own", "official", "company", "news", "scholarly", "forum", "other"]
"""What kind of publisher a source has; `own`: it is a document of the user."""


class Record(BaseModel):
    """A frozen piece of a run; two records with equal fields are the same record."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def short_hash(*parts: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of some texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def time_of(date: str, period: str) -> str:
    """Return a date, or the end of a period, as an ISO date or the beginning of one; empty if both are."""
    return date or re.split("-[QH]", period.rpartition("/")[2])[0]


class Source(Record):
    """Something that was found, and perhaps read."""

    key: str
    """Identity: the canonical web address, or the file's URI."""
    title: str
    """Title as the source gives it."""
    location: str
    """Where a reader opens it: the final web address, or the file's URI."""
    address: str
    """What a model passes to `open_url` to read it."""
    kind: Literal["document", "web"]
    """A file of the user, or a page of the web."""
    date: str = ""
    """Date of the source as it states it (ISO 8601); empty if it states none."""
    date_kind: DateKind = ""
    """What kind of date that is; empty if it is not known."""
    period: str = ""
    """What it reports on: 2025, 2025-Q1, 2025-H1, 2025-05, 2025/2026 or 2025-07/2026-06; empty if it names none."""
    content_hash: str = ""
    """SHA-256 (hex) of the full text in the store; empty as long as only an excerpt was seen."""
    is_cut: bool = False
    """Whether its text is longer than what was read of it."""
    is_rendered: bool = False
    """Whether its text is what a browser showed after running the page's scripts."""
    failure: str = ""
    """Why it could not be opened, in a word (see `NotRead.code`); empty if it was, or nobody tried."""
    copy_address: str = ""
    """Where it was read instead of at its own address: an open copy, or a page of the Internet Archive; else empty."""
    copied_on: str = ""
    """Day on which the Internet Archive copied it (ISO 8601); empty if that is not where it was read."""
    is_retracted: bool = False
    """Whether Crossref lists a retraction of this paper."""
    superseded_by: str = ""
    """What took the place of this document, in its own words; empty if it names nothing."""
    is_draft: bool = False
    """Whether it calls itself a draft."""
    in_force_from: str = ""
    """When it says that it comes into force (the beginning of an ISO date), if that is still to come; else empty."""
    read_at: str = ""
    """When the text was read (ISO 8601); empty as long as it was not."""
    is_earlier: bool = False
    """Whether an earlier run of the user has read it, then, and this one has not."""
    excerpts: tuple[str, ...] = ()
    """SHA-256 (hex) of the excerpts of it that searches of the web have shown, in the store."""
    engines: tuple[str, ...] = ()
    """Names of the search engines that found it, in the order of the alphabet; empty if none did."""
    origin: Origin = "other"
    """What kind of publisher its page says that it has; see `evidence.origin.origin_of`."""
    publisher: str = ""
    """Who published a document of the user, as it says; empty if it says nothing."""
    number: int = 0
    """Number in this thread, from 1; 0 as long as no finding cites it."""

    @property
    def extent(self) -> Extent:
        """How much of it was read."""
        if self.content_hash:
            return "part" if self.is_cut else "whole"
        return "not opened" if self.failure else "excerpt"

    @property
    def time(self) -> str:
        """Its date, or else the end of its period; see `time_of`."""
        return time_of(self.date, self.period)

    @property
    def is_in_force(self) -> bool:
        """Whether it was not retracted, nor says of itself that it is a draft, was superseded or is still to come."""
        return not (self.is_retracted or self.is_draft or self.superseded_by or self.in_force_from)


def merge_sources(current: Mapping[str, Source], update: Mapping[str, Source]) -> dict[str, Source]:
    """Add new sources; a text that was read wins over an excerpt, the newer over the older, and a number stays."""
    merged = dict(current)
    for key, source in update.items():
        merged[key] = _richer(merged.get(key, source), source)
    return merged


def _richer(one: Source, other: Source) -> Source:
    best = max(one, other, key=lambda source: (source.read_at, source.content_hash, source.model_dump_json()))
    number = min((s.number for s in (one, other) if s.number), default=0)
    excerpts = tuple(sorted({*one.excerpts, *other.excerpts}))
    engines = tuple(sorted({*one.engines, *other.engines}))
    failure = "" if best.content_hash else max(one.failure, other.failure)
    date, kind = max((source.date, source.date_kind) for source in (one, other))
    update = {"number": number, "failure": failure, "date": date, "date_kind": kind, "excerpts": excerpts}
    return best.model_copy(update={**update, "engines": engines})


class NotRead(Record):
    """Something that was to be read and could not."""

    path: str
    """The address, or the path of the file."""
    reason: str
    """Why, in words."""
    code: str
    """The same in one word, for programs; see `reading.records`."""


class Attached(Record):
    """A file that the user attached to a message; its bytes are kept beside the thread."""

    name: str
    """Its name among the files of the thread."""
    sha256: str = ""
    """Hash of its bytes, in hex digits; empty if there were none."""
    size: int = 0
    """Bytes."""
    reason: str = ""
    """Why it is not searched, in words; empty if it is."""
    code: str = ""
    """The same in one word, for programs; see `reading.records`."""
