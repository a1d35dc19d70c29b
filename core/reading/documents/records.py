"""The result of reading a file or a page: its text, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple
from zlib import crc32

from ...settings.installed import PARSERS

if TYPE_CHECKING:
    from ...records.sources import DateKind, Origin

TEXT_CHARACTERS = 50_000_000
"""Maximum length of a text; needed since a small archive within `max_document_bytes` may unpack to
any size."""
MOST_LINKS = 1_000
"""Maximum number of links of a web page."""

DocumentKind = Literal[
    "markdown", "text", "rst", "html", "pdf", "docx", "pptx", "xlsx", "csv", "epub", "json",
    "jsonl", "email", "outlook", "notebook", "opendocument", "image", "registered",
]  # fmt: skip
Reason = Literal[
    "empty", "no text", "picture", "not installed", "too large", "not text", "broken", "encrypted",
    "timed out", "unreadable", "convertible", "unknown format", "crashed",
]  # fmt: skip
Sign = Literal[
    "challenge words", "challenge script", "paywall mark", "paywall words", "script only"
]

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
    "outlook": ".msg",
    "notebook": ".ipynb",
    "opendocument": ".odt .ods .odp",
    "image": ".png .jpg .jpeg .webp .tif .tiff",
}


def kinds_by_word(table: Mapping[DocumentKind, str]) -> dict[str, DocumentKind]:
    """Return the kind of each word in a table of kinds and words."""
    kinds = dict[str, DocumentKind]()
    for kind, words in table.items():
        kinds |= dict.fromkeys(words.split(), kind)
    return kinds


KINDS = kinds_by_word(_EXTENSIONS)
"""Kinds by file extension."""
SAVED_AS = {
    ".doc": ".docx",
    ".dot": ".docx",
    ".rtf": ".docx",
    ".wpd": ".docx",
    ".xls": ".xlsx",
    ".xlsb": ".xlsx",
    ".ppt": ".pptx",
    ".pps": ".pptx",
}
"""Extensions of documents that no parser reads, and in which format their program can save them."""
_PARSERS_VERSION = 11
"""Increase with every change that may alter a file's text, title or date, so that all files are
parsed again."""
_LIBRARIES = (
    "charset-normalizer", "lxml", "olefile", "onnxruntime", "openpyxl", "pypdfium2", "python-docx",
    "python-pptx", "rapidocr",
)  # fmt: skip
"""Libraries whose versions affect the text of a file; some may not be installed."""


def readable_suffixes() -> frozenset[str]:
    """Return the suffixes of the files that can be read, such as `.pdf`, also those that other
    packages read."""
    return frozenset((*KINDS, *(f".{name}" for name in PARSERS.entries)))


def kind_of_file(name: str) -> DocumentKind | None:
    """Return the kind of a file by its extension.

    It is text without an extension, and None for one that no parser reads.
    """
    suffix = PurePath(name).suffix.lower()
    if not re.fullmatch(r"\.[a-z0-9]{1,10}", suffix):
        return "text"
    if suffix in KINDS:
        return KINDS[suffix]
    if suffix.removeprefix(".") in PARSERS.entries:
        return "registered"
    return None


def how_to_convert(name: str) -> str:
    """Return why a document is not read and in which format to save it instead.

    Empty if it can be read, or if no other format is known for it.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SAVED_AS or kind_of_file(name):
        return ""
    return f"{suffix} files are not read: save it as {SAVED_AS[suffix]}"


class PageLink(NamedTuple):
    """A link on a page."""

    words: str
    """Link text; empty for an address written out in the text."""
    address: str
    """Absolute http or https address without a fragment."""


class Extract(NamedTuple):
    """The text of a file or web page; headings are lines that start with `#`."""

    title: str
    text: str
    """Pages are separated by `evidence.text.sentences.PAGE_END`."""
    date: str = ""
    """Date of the file, from its fields or else from its name or text (ISO 8601); empty if there is
    none."""
    is_cut: bool = False
    """Whether a part of the file is missing in `text`, because of a limit or a page that was not
    read."""
    links: tuple[PageLink, ...] = ()
    """At most `MOST_LINKS` links on a web page; those whose words are in `text` come first."""
    signs: tuple[Sign, ...] = ()
    """Signs that a web page's text is not its real content."""
    changed: str = ""
    """Modification date in the file's properties (ISO 8601)."""
    note: str = ""
    """For the user: parts that were not read, such as hidden sheets, or scanned pages that were
    recognised with little confidence; empty if there are none."""
    date_kind: DateKind = ""
    """What `date` is the date of; a parser leaves it empty if that is the document."""
    is_update: bool = False
    """Whether `date` is that of an update, as the text states."""
    period: str = ""
    """Reporting period; see `records.sources.Source.period`."""
    is_draft: bool = False
    superseded_by: str = ""
    valid_from: str = ""
    """These three are the fields of `_standing.Standing`; web pages do not have them."""
    origin: Origin = "other"
    """Kind of a web page's publisher, as far as the page states it."""
    publisher: str = ""
    """Name of the publisher, as stated; for an e-mail, the sender's domain."""
    doi: str = ""
    """DOI of the work shown on a web page."""
    address: str = ""
    """Final address of a web page, after redirects; used in citations."""
    is_rendered: bool = False
    """Whether a browser ran the scripts of a web page."""
    copy_address: str = ""
    copied_on: str = ""
    is_retracted: bool = False
    has_concern: bool = False
    """The last four are explained in `records.sources.Source`."""


class Unreadable(Exception):
    """A file has no readable text. `reason` is a code, the message is for users."""

    def __init__(self, reason: Reason, message: str, trace: str = "") -> None:
        """`trace`: the traceback of a parser that failed, for the log."""
        super().__init__(message)
        self.reason = reason
        self.trace = trace


@cache
def parsing_version() -> int:
    """Return a number that changes whenever parsing the same file may give a different text."""
    versions = [str(_PARSERS_VERSION)]
    for library in _LIBRARIES:
        try:
            versions.append(version(library))
        except PackageNotFoundError:
            # The package is missing or has no metadata.
            versions.append("")
    return crc32(" ".join(versions).encode())
