"""The child process that parses untrusted bytes, with limited memory and time.

It answers requests from standard input.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import PurePath
from traceback import format_tb
from typing import IO, Any

from ...evidence.text.sentences import PAGE_END
from ...settings.installed import PARSERS
from ._dating import DAY, dated, period_of, statements
from ._parse_text import PARSED_TITLE_CHARACTERS, plain_title
from ._raised import footnote_marks, resolve_raised
from ._recognition import PAGES, WEB_PAGES, Recogniser
from ._standing import standing_of
from .decode import TEXT_BYTES, clean_text, decode
from .records import (
    TEXT_CHARACTERS,
    DocumentKind,
    Extract,
    Unreadable,
    how_to_convert,
    kind_of_file,
)

_MEMORY_BYTES = 1_000_000_000
_SCAN_BYTES = 2_500_000_000
"""Memory limit of a process with OCR models."""
_JSON_BYTES = 20_000_000
"""Size limit of the kinds in `_WHOLE`; other texts are truncated."""
_WHOLE: frozenset[DocumentKind] = frozenset({"json", "notebook"})
"""Kinds that are refused if they are too large, because a part of such a file cannot be parsed."""
_BINARY: frozenset[DocumentKind] = frozenset(
    {"pptx", "xlsx", "epub", "email", "outlook", "opendocument"}
)
"""Kinds whose parsers take only the bytes of a file."""
_RECORDS: frozenset[DocumentKind] = frozenset({"json", "jsonl"})
"""Kinds whose text is not searched for the file's date, because each record may have a date of its
own."""
_TABLES: frozenset[DocumentKind] = frozenset({"csv", "xlsx"})
"""Kinds in which only the text above the first table is searched for the file's date."""

_MODULES: dict[DocumentKind, str] = {
    **dict.fromkeys(("csv", "markdown", "rst"), "_parse_text"),
    **dict.fromkeys(("jsonl", "notebook"), "_parse_json"),
    "image": "_recognition",
}
"""Parser modules of kinds that have no module of their own."""
_LENGTHS = struct.Struct(">IQ")
"""Start of a message: the lengths of its header and its body."""
SCANS = "scans"
"""Key of the message with which a child asks for more time, before each page with OCR or 100 pages
of a PDF."""


def parse(
    data: bytes,
    name: str,
    kind: DocumentKind | None = None,
    charset: str = "",
    address: str = "",
    today: str = "",
    keeps_links: bool = False,
    on_scan: Callable[[], None] = lambda: None,
) -> Extract:
    """Parse a file or, if `address` is given, a web page, with its links and signs.

    Archives and PDF files are known by their content, others by `kind`, or else by the extension of
    `name`. `charset` is the declared one; dates after `today` (ISO) are ignored. With
    `keeps_links`, the text of pages and Word documents contains links and footnotes as Markdown,
    and footnote marks as HTML. `on_scan` is called before each page with OCR, and for every 100
    pages of a PDF. Raises `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("empty", "it is empty")
    kind = _kind_of(data, kind or kind_of_file(name))
    if kind is None:
        advice = how_to_convert(name)
        if advice:
            raise Unreadable("convertible", advice)
        raise Unreadable("unknown format", "its format is not known")
    try:
        extract = _parse_kind(data, name, kind, charset, address, today, keeps_links, on_scan)
    except Unreadable as error:
        if error.reason == "not text" and not (address or PurePath(name).suffix):
            # Programs and other files without an extension do not count as unreadable documents.
            raise Unreadable("unknown format", "its format is not known") from error
        raise
    notes = footnote_marks(extract.text)
    title = resolve_raised(extract.title, notes)
    written = resolve_raised(extract.text, notes, keeps_marks=keeps_links)
    # Clean page by page, because cleaning turns page breaks into line ends.
    pages = written.split(PAGE_END)
    text = PAGE_END.join(map(_clean_page, pages)).rstrip()
    # A web page without text is returned if it has signs, which say why.
    if not any(map(str.isalnum, text)) and not extract.signs:
        raise Unreadable("empty", "there is no text in it")
    is_cut = extract.is_cut or len(text) > TEXT_CHARACTERS
    extract = extract._replace(title=title, text=text[:TEXT_CHARACTERS].rstrip(), is_cut=is_cut)
    if address:
        if kind != "html" and not extract.date:
            extract = _with_stated_day(extract, today)
        return _page(extract, name, address)
    return _document(extract, name, kind, today)


def _kind_of(data: bytes, kind: DocumentKind | None) -> DocumentKind | None:
    """Return the kind of a file by its content, or else `kind`."""
    if kind == "registered":
        return kind
    if data.startswith(b"PK\x03\x04"):
        from ._office import kind_of_archive

        return kind_of_archive(data) or kind
    if data.startswith(b"%PDF-"):
        return "pdf"
    return kind


def _clean_page(page: str) -> str:
    """Return the text of a page with single blank lines, also one at its end if there is any."""
    text = re.sub(r"\n{3,}", "\n\n", clean_text(page)).strip()
    if page.endswith("\n\n"):
        text += "\n\n"
    return text


def _document(extract: Extract, name: str, kind: DocumentKind, today: str) -> Extract:
    """Complete the title, date, period and standing of a file."""
    title = plain_title(clean_text(extract.title))
    if len(title) > PARSED_TITLE_CHARACTERS:
        title = ""
    beginning = extract.text
    if kind in _RECORDS:
        beginning = ""
    if kind in _TABLES:
        beginning, _, _ = beginning.partition("|")
    stated = dated(title, PurePath(name).name, beginning, today)
    if extract.date:
        stated = stated._replace(date=extract.date, date_kind=extract.date_kind or "document")
    # A modification date of today says nothing about the content.
    elif not stated.date and extract.changed and extract.changed != today:
        stated = stated._replace(date=extract.changed, date_kind="changed")
    title = title or _name_in_words(name)
    standing = standing_of(title, PurePath(name).name, extract.text)
    return extract._replace(title=title, changed="", **stated._asdict(), **standing._asdict())


def _page(extract: Extract, name: str, address: str) -> Extract:
    """Complete the title, date, period and links of a web page."""
    from ._parse_html import ordered_links

    title = " ".join(clean_text(extract.title).split())[:PARSED_TITLE_CHARACTERS]
    date_kind = extract.date_kind
    if extract.date and not date_kind:
        date_kind = "document"
    return extract._replace(
        title=title or _name_in_words(name),
        date_kind=date_kind,
        period=period_of(title, extract.text),
        links=ordered_links(extract.links, extract.text, address),
        changed="",
    )


def _with_stated_day(extract: Extract, today: str) -> Extract:
    """Return a web page that is no HTML with the first day that its text states as its own, or else
    with the date of its byline."""
    from ._page_date import text_date

    for statement in statements(extract.text, of_page=True):
        # Today's date does not count, because portals show the current date.
        if len(statement.date) == DAY and statement.date < (today or "9999"):
            date, kind, is_update = statement
            return extract._replace(date=date, date_kind=kind, is_update=is_update)
    date, kind, is_update = text_date(extract.text, today or "9999")
    return extract._replace(date=date, date_kind=kind, is_update=is_update)


def _parse_kind(
    data: bytes,
    name: str,
    kind: DocumentKind,
    charset: str,
    address: str,
    today: str,
    keeps_links: bool,
    on_scan: Callable[[], None],
) -> Extract:
    """Call the parser of this kind: with the bytes and its options, or with decoded text."""
    if kind == "registered":
        registered_parser = PARSERS.load(PurePath(name).suffix.lower()[1:])
        return Extract("", registered_parser(data))
    # Parsers are loaded on demand, so that a child process starts fast.
    module = import_module(f".{_MODULES.get(kind, f'_parse_{kind}')}", __package__)
    parser: Callable[..., Extract] = getattr(module, f"parse_{kind}")
    if kind in _BINARY:
        return parser(data)
    if kind == "docx":
        return parser(data, keeps_links=keeps_links)
    if kind == "html":
        return parser(data, charset=charset, address=address, keeps_links=keeps_links, today=today)
    if kind in ("image", "pdf"):
        return parser(data, recogniser=Recogniser(WEB_PAGES if address else PAGES, on_scan))
    most = TEXT_BYTES
    if kind in _WHOLE:
        most = _JSON_BYTES
        if len(data) > most:
            raise Unreadable("too large", f"its {len(data)} bytes of {kind} are more than {most}")
    text = clean_text(decode(data, charset, most))
    return parser(text)._replace(is_cut=len(data) > most)


def _name_in_words(name: str) -> str:
    words = re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip()
    return (words or name)[:PARSED_TITLE_CHARACTERS]


class MessagePipe:
    """Messages between a process and its child: a JSON header and bytes, each with its length."""

    def __init__(self, received: IO[bytes], sent: IO[bytes]) -> None:
        self._received = received
        self._sent = sent

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Write a message."""
        encoded = json.dumps(header).encode("ascii")
        self._sent.write(_LENGTHS.pack(len(encoded), len(body)))
        self._sent.write(encoded)
        self._sent.write(body)
        self._sent.flush()

    def receive(self) -> tuple[dict[str, Any], bytes] | None:
        """Read a message; None if the other side has closed the stream."""
        lengths = self._received.read(_LENGTHS.size)
        if len(lengths) < _LENGTHS.size:
            return None
        header_length, body_length = _LENGTHS.unpack(lengths)
        header = self._received.read(header_length)
        body = self._received.read(body_length)
        if len(header) < header_length or len(body) < body_length:
            return None
        return json.loads(header), body


def main() -> None:
    """Answer requests from standard input until it is closed or idle for too long."""
    # Ctrl-C reaches the whole process group, but the parent decides when this process stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Keep libraries' output out of the responses.
    pipe = MessagePipe(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    # Windows and macOS have no such limit; the parent's timeout still applies.
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _SCAN_BYTES))
    idle_seconds = threading.TIMEOUT_MAX
    if len(sys.argv) > 1:
        idle_seconds = float(sys.argv[1])
    while True:
        idle = threading.Timer(idle_seconds, os._exit, (0,))
        idle.daemon = True
        idle.start()
        request = pipe.receive()
        idle.cancel()
        if request is None:
            return
        header, data = request
        _limit_time(header["seconds"])
        start = 0
        for file in header["files"]:
            stop = start + file["data"]
            _answer(pipe, file, data[start:stop], header["scan_seconds"])
            start = stop


def _answer(pipe: MessagePipe, header: dict[str, Any], data: bytes, scan_seconds: float) -> None:
    """Parse one file and send its text, or the reason why it has none.

    `header` holds the arguments of `parse`.
    """

    def on_scan() -> None:
        _limit_time(scan_seconds)
        pipe.send({SCANS: True})

    try:
        extract = parse(**{**header, "data": data}, on_scan=on_scan)
    except Unreadable as error:
        pipe.send({"reason": error.reason, "message": str(error)})
    except MemoryError:
        pipe.send({"reason": "too large", "message": "reading it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - parsers may raise anything on untrusted bytes
        # The error message may quote the file.
        message = f"it cannot be parsed ({type(error).__name__})"
        trace = "".join(format_tb(error.__traceback__))
        pipe.send({"reason": "broken", "message": message, "trace": trace})
    else:
        pipe.send(extract._asdict())


def _limit_time(seconds: float) -> None:
    """Set a CPU time limit, in case the parent is gone and cannot stop this process."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime + 2 * seconds) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


if __name__ == "__main__":
    main()
