"""The child process that parses foreign bytes under limits, and which parser reads which kind of file."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import PurePath
from typing import Any, BinaryIO

from ...evidence.editions import date_of
from ...evidence.text.passages import PAGE_END
from ..records import KINDS, TEXT_CHARACTERS, Extract, Kind, Link, Unreadable
from .decode import TEXT_BYTES, clean, decode
from .frames import receive, send
from .parse_text import TITLE_CHARACTERS, dateline, parse_markdown, parse_text, plain_title


def parse_kind(data: bytes, kind: Kind, charset: str = "", address: str = "") -> Extract:
    """Read the bytes as this kind of file. Raises `Unreadable`."""
    if kind == "pdf" or data.startswith(b"%PDF-"):
        from .parse_pdf import parse_pdf

        return parse_pdf(data)
    if kind == "html":
        from .parse_html import parse_html

        return parse_html(data, charset, address)
    if kind in ("docx", "pptx", "xlsx", "epub"):
        return _packed(data, kind)
    if kind in ("csv", "json", "jsonl", "email"):
        return _structured(data, kind, charset)
    text = clean(decode(data, charset))
    return _written(text, kind)._replace(is_cut=len(data) > TEXT_BYTES)


def _packed(data: bytes, kind: Kind) -> Extract:
    match kind:
        case "docx":
            from .parse_docx import parse_docx

            return parse_docx(data)
        case "pptx":
            from .parse_pptx import parse_pptx

            return parse_pptx(data)
        case "xlsx":
            from .parse_xlsx import parse_xlsx

            return parse_xlsx(data)
        case _:
            from .parse_epub import parse_epub

            return parse_epub(data)


def _structured(data: bytes, kind: Kind, charset: str) -> Extract:
    match kind:
        case "csv":
            from .parse_csv import parse_csv

            return parse_csv(data, charset)
        case "email":
            from .parse_email import parse_email

            return parse_email(data)
        case _:
            from .parse_json import parse_json, parse_jsonl

            return parse_json(data, charset) if kind == "json" else parse_jsonl(data, charset)


def _written(text: str, kind: Kind) -> Extract:
    match kind:
        case "markdown":
            return parse_markdown(text)
        case "rst":
            from .parse_rst import parse_rst

            return parse_rst(text)
        case _:
            return parse_text(text)


RECORDS: frozenset[Kind] = frozenset({"csv", "json", "jsonl", "xlsx"})
"""Kinds of which a row with a date dates itself, not the file."""


def parse(
    data: bytes, name: str, kind: Kind | None = None, charset: str = "", address: str = "", today: str = ""
) -> Extract:
    """Read a file or, if it has an address, a page of the web, of which links and signs are wanted too.

    The kind follows from the name unless it is given; `today` is an ISO date. Raises `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("empty", "it is empty")
    kind = kind or KINDS.get(PurePath(name).suffix.lower())
    if kind is None:
        raise Unreadable("unknown format", "its format is not known")
    extract = parse_kind(data, kind, charset, address)
    # Cleaning would take the end of a page for that of a line.
    text = f"\n\n{PAGE_END}".join(map(_plain, extract.text.split(PAGE_END))).rstrip()
    # A page of which there are signs says by them why it has no text.
    if not any(character.isalnum() for character in text) and not extract.signs:
        raise Unreadable("empty", "there is no text in it")
    title = _title(clean(extract.title), name, bool(address))
    return Extract(
        title=title,
        text=text[:TEXT_CHARACTERS].rstrip(),
        date=extract.date or dateline(text, today)
        if address
        else _date(extract, title, name, "" if kind in RECORDS else text[:TEXT_CHARACTERS], today),
        is_cut=extract.is_cut or len(text) > TEXT_CHARACTERS,
        links=_links(extract, text, address) if address else (),
        signs=extract.signs,
    )


def _title(stated: str, name: str, is_page: bool) -> str:
    """The title as it is stated, of a page at most its beginning; of a file its name where that is too long for one."""
    title = " ".join(stated.split())[:TITLE_CHARACTERS] if is_page else plain_title(stated)
    return title if 0 < len(title) <= TITLE_CHARACTERS else _name_in_words(name)[:TITLE_CHARACTERS]


def _date(extract: Extract, title: str, name: str, text: str, today: str) -> str:
    """The date that the file states, else the one that it bears; else its last change, unless that was today."""
    changed = "" if extract.changed == today else extract.changed
    return extract.date or date_of(title, PurePath(name).name, text[:TEXT_CHARACTERS], today) or changed


def _plain(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", clean(text)).strip()


def _links(extract: Extract, text: str, address: str) -> tuple[Link, ...]:
    from .parse_html import ordered_links

    return ordered_links(extract.links, text, address)


def _name_in_words(name: str) -> str:
    return re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip() or name


MEMORY_BYTES = 1_000_000_000


def main() -> None:
    """Answer parse requests from standard input until it ends."""
    # An interrupt at the terminal reaches the whole group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # Whatever a library prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory()
    while (request := receive(requests)) is not None:
        header, data = request
        _limit_time(header["seconds"])
        start = 0
        for file in header["files"]:
            stop = start + file["data"]
            _answer(answers, file, data[start:stop])
            start = stop


def _answer(answers: BinaryIO, header: dict[str, Any], data: bytes) -> None:
    try:
        extract = parse(data, header["name"], header["kind"], header["charset"], header["address"], header["today"])
    except Unreadable as error:
        send(answers, {"reason": error.reason, "words": str(error)})
    except MemoryError:
        send(answers, {"reason": "too large", "words": "reading it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - the edge between foreign bytes and the program
        send(answers, {"reason": "broken", "words": f"it cannot be parsed ({type(error).__name__})"})
    else:
        send(answers, extract._asdict())


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ImportError, ValueError, OSError):
        return  # Windows and macOS have no such limit; the parent's clock still holds.


def _limit_time(seconds: float) -> None:
    """Let the kernel end this process if the parent is no longer there to do it."""
    try:
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime + 2 * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


if __name__ == "__main__":
    main()
