"""The result of reading a file or a page: its text, or the reason why there is none."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple
from zlib import crc32

from ..run.registered import PARSERS, registered

if TYPE_CHECKING:
    from ..records.sources import DateKind, Origin

TEXT_CHARACTERS = 50_000_000
"""Maximum length of a text; needed since a small archive within `max_document_bytes` may unpack to any size."""

DocumentKind = Literal[
    "markdown", "text", "rst", "html", "pdf", "docx", "pptx", "xlsx", "csv", "epub", "json", "jsonl", "email",
    "notebook", "opendocument", "image", "registered",
]  # fmt: skip
Reason = Literal[
    "empty", "no text", "picture", "not installed", "too large", "not text", "broken", "encrypted", "timed out",
    "unreadable", "unknown format", "crashed",
]  # fmt: skip
RefusalCode = Literal[
    "blocked", "paywall", "challenge", "empty shell", "too large", "not text", "gone", "robots", "private",
    "bad address", "redirects", "timed out", "unreachable", "server error", "broken", "denied domain",
]  # fmt: skip
Sign = Literal["challenge words", "challenge script", "paywall mark", "paywall words", "script only"]

_EXTENSIONS: dict[DocumentKind, str] = {
    "markdown": ".md .markdown",
    "text": ".txt .text .log .tex .yaml .yml .xml .vtt .srt",
    "rst": ".rst",
    "html": ".html .htm .xhtml",
    "pdf": ".pdf",
    "docx": ".docx .docm",
    "pptx": ".pptx .pptm .ppsx",
    "xlsx": ".xlsx .xlsm",
    "csv": ".csv .tsv",
    "epub": ".epub",
    "json": ".json",
    "jsonl": ".jsonl .ndjson",
    "email": ".eml",
    "notebook": ".ipynb",
    "opendocument": ".odt .ods .odp",
    "image": ".png .jpg .jpeg .webp .tif .tiff",
}
KINDS: dict[str, DocumentKind] = {suffix: kind for kind, suffixes in _EXTENSIONS.items() for suffix in suffixes.split()}
"""Kinds by file extension."""
_OURS = 9
"""Increase with every change that may alter a file's text, title or date, so that all files are read again."""
_THEIRS = (
    *("charset-normalizer", "lxml", "onnxruntime", "openpyxl", "pypdfium2", "python-docx", "python-pptx", "rapidocr"),
)
"""Libraries whose versions affect the result; some may not be installed."""


def kind_of_file(name: str) -> DocumentKind | None:
    """Return the kind of a file by extension: None if no parser reads it, text if it has no extension."""
    suffix = PurePath(name).suffix.lower()
    if not re.fullmatch(r"\.[a-z0-9]{1,10}", suffix):
        return "text"
    return KINDS.get(suffix) or ("registered" if suffix[1:] in registered(PARSERS) else None)


class PageLink(NamedTuple):
    """A link on a page."""

    words: str
    """Link text; empty for an address written out in the text."""
    address: str
    """Absolute http or https address without a fragment."""


class Extract(NamedTuple):
    """The text of one file; headings are lines that start with `#`."""

    title: str
    text: str
    """Pages are separated by `evidence.text.sentences.PAGE_END`."""
    date: str = ""
    """Date that the file states, or else a date from its name or text (ISO 8601)."""
    is_cut: bool = False
    """Whether `text` is truncated."""
    links: tuple[PageLink, ...] = ()
    """Links on a web page, those in its text first."""
    signs: tuple[Sign, ...] = ()
    """Signs that a web page's text is not its real content."""
    changed: str = ""
    """Modification date in the file's properties (ISO 8601)."""
    note: str = ""
    """Pages of a scan that were not read or are uncertain; empty if there are none."""
    date_kind: DateKind = ""
    """Kind of `date`; empty if it comes from a field of the file."""
    period: str = ""
    """Reporting period; see `records.sources.Source.period`."""
    origin: Origin = "other"
    """Kind of a web page's publisher, as stated."""
    publisher: str = ""
    """Name of the publisher, as stated; for an e-mail, the sender's domain."""
    doi: str = ""
    """DOI of the work shown on a web page."""


class Unreadable(Exception):
    """A file has no readable text. `reason` is a code, the message is for users."""

    def __init__(self, reason: Reason, message: str, trace: str = "") -> None:
        """`trace`: the parser's traceback."""
        super().__init__(message)
        self.reason, self.trace = reason, trace


class Unread(Exception):
    """A web page has no readable text. The message is for users and models."""

    def __init__(self, code: RefusalCode, message: str, status: int = 0, doi: str = "") -> None:
        """`status`: HTTP status, if that is the reason; `doi`: DOI of the paper, if the page shows only part of it."""
        super().__init__(message)
        self.code, self.status, self.doi = code, status, doi


@cache
def readers() -> int:
    """Return a number that changes whenever parsing the same file may give a different text."""
    versions = [str(_OURS)]
    for library in _THEIRS:
        try:
            versions.append(version(library))
        except PackageNotFoundError:
            # The package is missing or has no metadata.
            versions.append("")
    return crc32(" ".join(versions).encode())
