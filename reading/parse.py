"""The bytes of one file or page to its title, text and date; runs in the child process only."""

from __future__ import annotations

import re
from pathlib import PurePath

from ..evidence.editions import date_of
from ..evidence.text.pages import PAGE_END
from .dates import dateline
from .decode import clean
from .parse_kind import parse_kind
from .records import KINDS, TEXT_CHARACTERS, Extract, Kind, Link, Unreadable
from .titles import TITLE_CHARACTERS, plain_title

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
    from .page_links import ordered_links

    return ordered_links(extract.links, text, address)


def _name_in_words(name: str) -> str:
    return re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip() or name
