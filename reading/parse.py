"""The bytes of one file or page to its title, text and date; runs in the child process only."""

from __future__ import annotations

import re
from pathlib import PurePath

from deep_research.evidence.pages import PAGE_END
from deep_research.reading.decode import TEXT_BYTES, clean, decode
from deep_research.reading.records import KINDS, TEXT_CHARACTERS, Extract, Kind, Link, Unreadable

TITLE_CHARACTERS = 200

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^([^\n]+)\n(?:=+|-+|~+|\*+)[ \t]*$", re.MULTILINE)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def parse(data: bytes, name: str, kind: Kind | None = None, charset: str = "", address: str = "") -> Extract:
    """Read a file or, if it has an address, a page of the web, of which links and signs are wanted too.

    The kind follows from the name unless it is given. Raises `Unreadable`.
    """
    if not data.strip():
        raise Unreadable("empty", "it is empty")
    kind = kind or KINDS.get(PurePath(name).suffix.lower())
    if kind is None:
        raise Unreadable("unknown format", "its format is not known")
    extract = _by_kind(data, kind, charset, address)
    # Cleaning would take the end of a page for that of a line.
    text = f"\n\n{PAGE_END}".join(map(_plain, extract.text.split(PAGE_END))).rstrip()
    # A page of which there are signs says by them why it has no text.
    if not any(character.isalnum() for character in text) and not extract.signs:
        raise Unreadable("empty", "there is no text in it")
    title = " ".join(clean(extract.title).split()) or _name_in_words(name)
    return Extract(
        title=title[:TITLE_CHARACTERS],
        text=text[:TEXT_CHARACTERS].rstrip(),
        date=extract.date,
        is_cut=extract.is_cut or len(text) > TEXT_CHARACTERS,
        links=_links(extract, text, address) if address else (),
        signs=extract.signs,
    )


def _plain(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", clean(text)).strip()


def _links(extract: Extract, text: str, address: str) -> tuple[Link, ...]:
    from deep_research.reading.page_links import ordered_links

    return ordered_links(extract.links, text, address)


def _by_kind(data: bytes, kind: Kind, charset: str, address: str) -> Extract:
    if kind == "pdf" or data.startswith(b"%PDF-"):
        from deep_research.reading.parse_pdf import parse_pdf

        return parse_pdf(data)
    if kind == "html":
        from deep_research.reading.parse_html import parse_html

        return parse_html(data, charset, address)
    text = clean(decode(data, charset))
    extract = _parse_markdown(text) if kind == "markdown" else _parse_text(text)
    return extract._replace(is_cut=len(data) > TEXT_BYTES)


def _parse_markdown(text: str) -> Extract:
    found = _FRONT_MATTER.match(text)
    fields = _fields(found.group(1)) if found else {}
    body = text[found.end() :] if found else text
    heading = _HEADING.search(body) or _UNDERLINED.search(body)
    title = fields.get("title") or (heading.group(1).rstrip("# \t") if heading else "")
    date = _ISO_DATE.search(fields.get("date", ""))
    # A file of nothing but front matter still has that to say.
    return Extract(title, body if body.strip() else text, date.group() if date else "")


def _fields(front_matter: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in front_matter.splitlines())
    return {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}


def _parse_text(text: str) -> Extract:
    lines = text.lstrip().split("\n", 2)
    first, second = lines[0].strip(), lines[1].strip() if len(lines) > 1 else "-"
    is_title = len(first) <= TITLE_CHARACTERS and len(lines) > 1 and (not second or not second.strip("=-~*#"))
    return Extract(first.strip("# ") if is_title else "", text)


def _name_in_words(name: str) -> str:
    return re.sub(r"[-_\s]+", " ", PurePath(name).stem).strip() or name
