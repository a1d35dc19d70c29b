"""What reading a file or a page gives: its text, or the reason why there is none."""

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
"""Of a text at most, as a small archive may hold any amount of it; files are refused by size (`max_document_bytes`)."""

Kind = Literal[
    "markdown",
    "text",
    "rst",
    "html",
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "csv",
    "epub",
    "json",
    "jsonl",
    "email",
    "notebook",
    "opendocument",
    "image",
    "registered",
]
Reason = Literal[
    "empty",
    "no text",
    "picture",
    "not installed",
    "too large",
    "not text",
    "broken",
    "encrypted",
    "timed out",
    "unreadable",
    "unknown format",
    "crashed",
]
RefusalCode = Literal[
    "blocked",
    "paywall",
    "challenge",
    "empty shell",
    "too large",
    "not text",
    "gone",
    "robots",
    "private",
    "bad address",
    "redirects",
    "timed out",
    "unreachable",
    "server error",
    "broken",
    "denied domain",
]
Sign = Literal["challenge words", "challenge script", "paywall mark", "paywall words", "script only"]

KINDS: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".tex": "text",
    ".yaml": "text",
    ".yml": "text",
    ".rst": "rst",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".csv": "csv",
    ".tsv": "csv",
    ".epub": "epub",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".eml": "email",
    ".xml": "text",
    ".ipynb": "notebook",
    ".vtt": "text",
    ".srt": "text",
    ".odt": "opendocument",
    ".ods": "opendocument",
    ".odp": "opendocument",
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".webp": "image",
    ".tif": "image",
    ".tiff": "image",
}
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
OURS = 9
"""To be raised with every change by which a file may have another text, title or date: all files are then read anew."""
THEIRS = (
    *("charset-normalizer", "lxml", "onnxruntime", "openpyxl", "pypdfium2", "python-docx", "python-pptx", "rapidocr"),
)
"""Libraries whose other versions may read a file otherwise; some may be missing."""


def kind_of_file(name: str) -> Kind | None:
    """Return the kind of a file by the ending of its name; none if no parser reads it, ours or a registered one.

    A file whose name has no ending may be a text.
    """
    suffix = PurePath(name).suffix.lower()
    if not _SUFFIX.fullmatch(suffix):
        return "text"
    return KINDS.get(suffix) or ("registered" if suffix[1:] in registered(PARSERS) else None)


class PageLink(NamedTuple):
    """A link on a page."""

    words: str
    """What a reader clicks on; empty where the address itself stands in the text."""
    address: str
    """Absolute, of the web, without a fragment."""


class Extract(NamedTuple):
    """The text of one file; headings are lines that start with `#`."""

    title: str
    text: str
    """Only that of a document with pages holds `evidence.pages.PAGE_END`."""
    date: str = ""
    """Date that the file states of itself, else the one that its name or its text bears (ISO 8601)."""
    is_cut: bool = False
    """Whether the file holds more text than this."""
    links: tuple[PageLink, ...] = ()
    """Where the content of a web page leads to, links in its text first; none for files."""
    signs: tuple[Sign, ...] = ()
    """What in a web page speaks for its text being no content."""
    changed: str = ""
    """When a program last changed the file, as it says (ISO 8601)."""
    note: str = ""
    """Which pages of a scan were not read or are unsure, in words; empty if all were read well."""
    date_kind: DateKind = ""
    """What kind of date that is; empty if a field of the file states it."""
    period: str = ""
    """What it reports on, see `records.sources.Source.period`."""
    origin: Origin = "other"
    """What kind of publisher a web page says that it has."""
    publisher: str = ""
    """Who published it, as it says; of an e-mail, the domain of its sender."""
    doi: str = ""
    """DOI of the work that a web page says it shows."""


class Unreadable(Exception):
    """A file gave no text; `reason` is for programs, the message for people."""

    def __init__(self, reason: Reason, words: str, trace: str = "") -> None:
        """`trace`: where in the parser an error was raised."""
        super().__init__(words)
        self.reason, self.trace = reason, trace


class Unread(Exception):
    """A web page gave no text; `code` is for programs, the message for people and models."""

    def __init__(self, code: RefusalCode, words: str, status: int = 0, doi: str = "") -> None:
        """`status`: that of the answer, if it is why; `doi`: that of the paper of which the page shows too little."""
        super().__init__(words)
        self.code, self.status, self.doi = code, status, doi


@cache
def readers() -> int:
    """Return a number that changes whenever the same file may be read as another text than before."""
    return crc32(" ".join([str(OURS), *map(_version, THEIRS)]).encode())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        # It is not installed, or without the notes of an installer.
        return ""
