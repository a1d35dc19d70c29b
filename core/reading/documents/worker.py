"""The child process that parses untrusted bytes, with limited memory and time: answers requests from standard input."""

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
from typing import IO, Any, BinaryIO

from ...evidence.dating import DAY, dated, period_of, statements
from ...evidence.text.sentences import PAGE_END
from ...run.registered import PARSERS, load_registered
from ..records import TEXT_CHARACTERS, DocumentKind, Extract, Unreadable, kind_of_file
from .decode import TEXT_BYTES, clean_text, decode
from .parse_text import PARSED_TITLE_CHARACTERS, plain_title
from .raised import footnote_marks, resolve_raised
from .recognition import PAGES, WEB_PAGES, Recogniser

_MEMORY_BYTES = 1_000_000_000
_SCAN_BYTES = 2_500_000_000
"""Memory limit of a process with OCR models."""
_JSON_BYTES = 20_000_000
"""Size limit of the kinds in `_WHOLE`; other texts are truncated."""
_WHOLE: frozenset[DocumentKind] = frozenset({"json", "notebook"})
"""Kinds that are refused if they are too large, because a part of such a file cannot be parsed."""
_BINARY: frozenset[DocumentKind] = frozenset({"pptx", "xlsx", "epub", "email", "opendocument"})
"""Kinds whose parsers take only the bytes of a file."""
_RECORDS: frozenset[DocumentKind] = frozenset({"json", "jsonl"})
"""Kinds whose text is not searched for the file's date, because each record may have a date of its own."""
_TABLES: frozenset[DocumentKind] = frozenset({"csv", "xlsx"})
"""Kinds in which only the text above the first table is searched for the file's date."""

_MODULES: dict[DocumentKind, str] = {
    **dict.fromkeys(("csv", "markdown", "rst"), "parse_text"),
    **dict.fromkeys(("jsonl", "notebook"), "parse_json"),
    "image": "recognition",
}
"""Parser modules of kinds that have no module of their own."""
_LENGTHS = struct.Struct(">IQ")
"""Start of a message: the lengths of its header and its body."""
SCANS = "scans"
"""Key of the message with which a child asks for more time, before each page with OCR or 100 pages of a PDF."""


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
    """Parse a file or, if `address` is given, a web page, for which links and signs are returned too.

    Archives and PDF files are known by their content, others by `kind`, or else by the extension of `name`. `charset`
    is the declared one; dates after `today` (ISO) are ignored. With `keeps_links`, the text of pages and Word documents
    contains links as Markdown. `on_scan` is called before each page with OCR, and for every 100 pages of a PDF. Raises
    `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("empty", "it is empty")
    kind = kind or kind_of_file(name)
    if kind != "registered" and data.startswith(b"PK\x03\x04"):
        from .office import kind_of_archive

        kind = kind_of_archive(data) or kind
    elif kind != "registered" and data.startswith(b"%PDF-"):
        kind = "pdf"
    if kind is None:
        raise Unreadable("unknown format", "its format is not known")
    try:
        extract = _parse_kind(data, name, kind, charset, address, keeps_links, on_scan)
    except Unreadable as error:
        if error.reason == "not text" and not (address or PurePath(name).suffix):
            # Programs and other files without an extension do not count as unreadable documents.
            raise Unreadable("unknown format", "its format is not known") from error
        raise
    notes = footnote_marks(extract.text)
    extract = extract._replace(title=resolve_raised(extract.title, notes), text=resolve_raised(extract.text, notes))
    # Clean page by page, because cleaning turns page breaks into line ends.
    pages = [
        re.sub(r"\n{3,}", "\n\n", clean_text(page)).strip() + "\n\n" * page.endswith("\n\n")
        for page in extract.text.split(PAGE_END)
    ]
    text = PAGE_END.join(pages).rstrip()
    # A web page without text is returned if it has signs, which say why.
    if not any(character.isalnum() for character in text) and not extract.signs:
        raise Unreadable("empty", "there is no text in it")
    is_cut = extract.is_cut or len(text) > TEXT_CHARACTERS
    shown = extract._replace(text=text[:TEXT_CHARACTERS].rstrip(), is_cut=is_cut, changed="")
    if address:
        return _page(shown, name, address, today)
    title = plain_title(clean_text(extract.title))
    title = title if len(title) <= PARSED_TITLE_CHARACTERS else ""
    beginning = "" if kind in _RECORDS else shown.text
    if kind in _TABLES:
        beginning = beginning.partition("|")[0]
    found = dated(title, PurePath(name).name, beginning, today)
    if extract.date:
        found = found._replace(date=extract.date, date_kind=extract.date_kind or "document")
    elif not found.date and extract.changed != today:
        # A modification date of today says nothing about the content.
        found = found._replace(date=extract.changed, date_kind="changed" if extract.changed else "")
    return shown._replace(title=title or _name_in_words(name), **found._asdict())


def _page(extract: Extract, name: str, address: str, today: str) -> Extract:
    """Complete the title, date, period and links of a web page."""
    from .parse_html import ordered_links

    title = " ".join(clean_text(extract.title).split())[:PARSED_TITLE_CHARACTERS]
    # Today's date does not count, because portals show the current date.
    days = (found.date for found in statements(extract.text, of_page=True) if len(found.date) == DAY)
    date = extract.date or next((day for day in days if day < (today or "9999")), "")
    return extract._replace(
        title=title or _name_in_words(name),
        date=date,
        date_kind="publication" if date else "",
        period=period_of(title, extract.text),
        links=ordered_links(extract.links, extract.text, address),
    )


def _parse_kind(
    data: bytes,
    name: str,
    kind: DocumentKind,
    charset: str,
    address: str,
    keeps_links: bool,
    on_scan: Callable[[], None],
) -> Extract:
    """Call the parser of this kind: with the bytes and its options, or with decoded text if it is not in the table."""
    if kind == "registered":
        return Extract("", load_registered(PARSERS, PurePath(name).suffix.lower()[1:])(data))
    # Parsers are loaded on demand, so that a child process starts fast.
    module = import_module(f".{_MODULES.get(kind, f'parse_{kind}')}", __package__)
    parser: Callable[..., Extract] = getattr(module, f"parse_{kind}")
    recogniser = Recogniser(WEB_PAGES if address else PAGES, on_scan)
    options: dict[DocumentKind, dict[str, Any]] = {
        **{binary: {} for binary in _BINARY},
        "docx": {"keeps_links": keeps_links},
        "html": {"charset": charset, "address": address, "keeps_links": keeps_links},
        "image": {"recogniser": recogniser},
        "pdf": {"recogniser": recogniser},
    }
    if kind in options:
        return parser(data, **options[kind])
    most = _JSON_BYTES if kind in _WHOLE else TEXT_BYTES
    if kind in _WHOLE and len(data) > most:
        raise Unreadable("too large", f"its {len(data)} bytes of {kind} are more than {most}")
    return parser(clean_text(decode(data, charset, most)))._replace(is_cut=len(data) > most)


def _name_in_words(name: str) -> str:
    return (re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip() or name)[:PARSED_TITLE_CHARACTERS]


def send(stream: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write a message: a JSON header and bytes, each with its length."""
    encoded = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(body)))
    stream.write(encoded)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read a message; None if the other side has closed the stream."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_length, body_length = _LENGTHS.unpack(lengths)
    header, body = stream.read(header_length), stream.read(body_length)
    if len(header) < header_length or len(body) < body_length:
        return None
    return json.loads(header), body


def main() -> None:
    """Answer requests from standard input until it is closed or idle for too long."""
    # Ctrl-C reaches the whole process group, but the parent decides when this process stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # Keep libraries' output out of the responses.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Windows and macOS have no such limit; the parent's timeout still applies.
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _SCAN_BYTES))
    idle_seconds = float(sys.argv[1]) if len(sys.argv) > 1 else threading.TIMEOUT_MAX
    while True:
        idle = threading.Timer(idle_seconds, os._exit, (0,))
        idle.daemon = True
        idle.start()
        request = receive(requests)
        idle.cancel()
        if request is None:
            return
        header, data = request
        _limit_time(header["seconds"])
        start = 0
        for file in header["files"]:
            stop = start + file["data"]
            _answer(answers, file, data[start:stop], header["scan_seconds"])
            start = stop


def _answer(answers: BinaryIO, header: dict[str, Any], data: bytes, scan_seconds: float) -> None:
    """Parse one file and send its text, or the reason why it has none; `header` holds the arguments of `parse`."""

    def on_scan() -> None:
        _limit_time(scan_seconds)
        send(answers, {SCANS: True})

    try:
        extract = parse(**{**header, "data": data}, on_scan=on_scan)
    except Unreadable as error:
        send(answers, {"reason": error.reason, "message": str(error)})
    except MemoryError:
        send(answers, {"reason": "too large", "message": "reading it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - parsers may raise anything on untrusted bytes
        # The error message may quote the file.
        message, trace = f"it cannot be parsed ({type(error).__name__})", "".join(format_tb(error.__traceback__))
        send(answers, {"reason": "broken", "message": message, "trace": trace})
    else:
        send(answers, extract._asdict())


def _limit_time(seconds: float) -> None:
    """Set a CPU time limit, in case the parent is gone and cannot stop this process."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime + 2 * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
