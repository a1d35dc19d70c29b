"""The child process that parses foreign bytes under limits: it reads requests from its input and answers each."""

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
from ..records import TEXT_CHARACTERS, Extract, Kind, Unreadable, kind_of_file
from .decode import TEXT_BYTES, clean, decode
from .parse_text import TITLE_CHARACTERS, plain_title
from .raised import notes_of, settle
from .recognition import PAGES, WEB_PAGES, Recogniser

MEMORY_BYTES = 1_000_000_000
SCAN_BYTES = 2_500_000_000
"""Memory of a process that has loaded the models that recognise text."""
JSON_BYTES = 20_000_000
"""Larger than other texts, since JSON cannot be parsed from its beginning alone."""
WHOLE: frozenset[Kind] = frozenset({"json", "notebook"})
BINARY: frozenset[Kind] = frozenset({"docx", "pptx", "xlsx", "epub", "email", "opendocument"})
SCANNED: frozenset[Kind] = frozenset({"pdf", "image"})
"""Kinds of which text may have to be recognised."""
RECORDS: frozenset[Kind] = frozenset({"json", "jsonl"})
TABLES: frozenset[Kind] = frozenset({"csv", "xlsx"})
"""Kinds of which a row with a date dates itself, not the file; what stands above a table is said of the file."""

_MODULES: dict[Kind, str] = {"jsonl": "json", "markdown": "text", "rst": "text"}
"""Where the parser of a kind stands that has no module of its own."""
_LENGTHS = struct.Struct(">IQ")
SCANS = "scans"
"""What the child says before each page whose text it recognises: there will be more to come."""


def parse(
    data: bytes,
    name: str,
    kind: Kind | None = None,
    charset: str = "",
    address: str = "",
    today: str = "",
    keeps_links: bool = False,
    on_scan: Callable[[], None] = lambda: None,
) -> Extract:
    """Parse a file or, if it has an address, a web page, whose links and signs are returned too.

    The kind follows from the name unless it is given; `today` is an ISO date. With `keeps_links`, the links of pages
    and Word documents stand in the text as Markdown. `on_scan` is called before the text of a page is recognised.
    Raises `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("empty", "it is empty")
    kind = kind or kind_of_file(name)
    if kind != "registered":
        kind = _kind_of_bytes(data) or kind
    if kind is None:
        raise Unreadable("unknown format", "its format is not known")
    try:
        extract = _parse_kind(data, name, kind, charset, address, on_scan, keeps_links=keeps_links)
    except Unreadable as error:
        if error.reason == "not text" and not (address or PurePath(name).suffix):
            # Programs and other files without an ending are no documents that could not be read.
            raise Unreadable("unknown format", "its format is not known") from error
        raise
    notes = notes_of(extract.text)
    extract = extract._replace(title=settle(extract.title, notes), text=settle(extract.text, notes))
    # Cleaning would take the end of a page for that of a line; a sentence may go on behind it.
    pages = extract.text.split(PAGE_END)
    text = PAGE_END.join(_plain(page) + "\n\n" * page.endswith("\n\n") for page in pages).rstrip()
    # A page of which there are signs says by them why it has no text.
    if not any(character.isalnum() for character in text) and not extract.signs:
        raise Unreadable("empty", "there is no text in it")
    is_cut = extract.is_cut or len(text) > TEXT_CHARACTERS
    shown = extract._replace(text=text[:TEXT_CHARACTERS].rstrip(), is_cut=is_cut, changed="")
    if address:
        return _page(shown, name, address, today)
    title = plain_title(clean(extract.title))
    title = title if len(title) <= TITLE_CHARACTERS else ""
    beginning = "" if kind in RECORDS else shown.text.partition("|")[0] if kind in TABLES else shown.text
    found = dated(title, PurePath(name).name, beginning, today)
    if extract.date:
        found = found._replace(date=extract.date, date_kind=extract.date_kind or "document")
    elif not found.date and extract.changed != today:
        # The last change says when the file was written, unless that was today.
        found = found._replace(date=extract.changed, date_kind="changed" if extract.changed else "")
    return shown._replace(title=title or _name_in_words(name), **found._asdict())


def _page(extract: Extract, name: str, address: str, today: str) -> Extract:
    from .parse_html import ordered_links

    title = " ".join(clean(extract.title).split())[:TITLE_CHARACTERS]
    # Today does not count, as portals greet with it.
    said = (one.date for one in statements(extract.text, of_page=True) if len(one.date) == DAY)
    date = extract.date or next((day for day in said if day < (today or "9999")), "")
    return extract._replace(
        title=title or _name_in_words(name),
        date=date,
        date_kind="publication" if date else "",
        period=period_of(title, extract.text),
        links=ordered_links(extract.links, extract.text, address),
    )


def _parse_kind(
    data: bytes, name: str, kind: Kind, charset: str, address: str, on_scan: Callable[[], None], *, keeps_links: bool
) -> Extract:
    if kind == "registered":
        return Extract("", load_registered(PARSERS, PurePath(name).suffix.lower()[1:])(data))
    # A parser is loaded by the first file of its kind, so that a child starts fast.
    module = import_module(f".parse_{_MODULES.get(kind, kind)}", __package__)
    parser: Callable[..., Extract] = getattr(module, f"parse_{kind}")
    if kind == "html":
        return parser(data, charset, address, keeps_links=keeps_links)
    if kind == "docx":
        return parser(data, keeps_links=keeps_links)
    if kind in SCANNED:
        return parser(data, Recogniser(WEB_PAGES if address else PAGES, on_scan))
    if kind in BINARY:
        return parser(data)
    most = JSON_BYTES if kind in WHOLE else TEXT_BYTES
    if kind in WHOLE and len(data) > most:
        raise Unreadable("too large", f"its {len(data)} bytes of {kind} are more than {most}")
    return parser(clean(decode(data, charset, most)))._replace(is_cut=len(data) > most)


def _kind_of_bytes(data: bytes) -> Kind | None:
    if data.startswith(b"PK\x03\x04"):
        from .office import kind_of_archive

        return kind_of_archive(data)
    return "pdf" if data.startswith(b"%PDF-") else None


def _plain(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", clean(text)).strip()


def _name_in_words(name: str) -> str:
    return (re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip() or name)[:TITLE_CHARACTERS]


def send(stream: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message: a JSON header and bytes, both with their lengths."""
    encoded = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(body)))
    stream.write(encoded)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read one message; none if the other side has ended."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_length, body_length = _LENGTHS.unpack(lengths)
    header, body = stream.read(header_length), stream.read(body_length)
    if len(header) < header_length or len(body) < body_length:
        return None
    return json.loads(header), body


def main() -> None:
    """Answer requests from standard input until it ends, or until none has come for a while."""
    # An interrupt at the terminal reaches the whole group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # Whatever a library prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Windows and macOS have no such limit; the parent's clock still holds.
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, SCAN_BYTES))
    idle_seconds = float(sys.argv[1]) if len(sys.argv) > 1 else threading.TIMEOUT_MAX
    while (request := _next(requests, idle_seconds)) is not None:
        header, data = request
        _limit_time(header["seconds"])
        start = 0
        for file in header["files"]:
            stop = start + file["data"]
            _answer(answers, file, data[start:stop], header["scan_seconds"])
            start = stop


def _next(requests: BinaryIO, idle_seconds: float) -> tuple[dict[str, Any], bytes] | None:
    idle = threading.Timer(idle_seconds, os._exit, (0,))
    idle.daemon = True
    idle.start()
    try:
        return receive(requests)
    finally:
        idle.cancel()


def _answer(answers: BinaryIO, header: dict[str, Any], data: bytes, scan_seconds: float) -> None:
    def on_scan() -> None:
        _limit_time(scan_seconds)
        send(answers, {SCANS: True})

    try:
        extract = parse(**{**header, "data": data}, on_scan=on_scan)
    except Unreadable as error:
        send(answers, {"reason": error.reason, "words": str(error)})
    except MemoryError:
        send(answers, {"reason": "too large", "words": "reading it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - the edge between foreign bytes and the program
        # The error's own text may quote the file.
        reason = {"reason": "broken", "words": f"it cannot be parsed ({type(error).__name__})"}
        send(answers, {**reason, "trace": "".join(format_tb(error.__traceback__))})
    else:
        send(answers, extract._asdict())


def _limit_time(seconds: float) -> None:
    """Let the kernel end this process if the parent is no longer there to do it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime + 2 * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
