"""Books (EPUB) to text, chapter by chapter in the order of reading."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from ..records import Extract, Unreadable
from .office import local_name, open_archive, read_member, read_xml
from .parse_csv import up_to_limit
from .parse_html import whole_text
from .parse_text import iso_date

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def parse_epub(data: bytes) -> Extract:
    """Return title, text and date of a book."""
    archive = open_archive(data)
    names = set(archive.namelist())
    if _CONTAINER not in names:
        raise Unreadable("broken", "it is no EPUB file")
    place = next((one.get("full-path", "") for one in _all(read_xml(archive, _CONTAINER), "rootfile")), "")
    if place not in names:
        raise Unreadable("broken", "it is an EPUB file without a list of its contents")
    package = read_xml(archive, place)
    chapters = [name for name in _chapters(package, dirname(place)) if name in names]
    if set(chapters) & set(_locked(archive, names)):
        raise Unreadable("encrypted", "it is encrypted")
    texts = (whole_text(read_member(archive, name)) for name in chapters)
    title, date = _stated(package, "title"), iso_date(_stated(package, "date"))
    return Extract(title, "\n\n".join(up_to_limit(texts)), date, date_kind="publication" if date else "")


def _chapters(package: etree._Element, folder: str) -> Iterator[str]:
    """Yield the names of the pages in the order of reading."""
    items = {one.get("id", ""): one for one in _all(package, "item")}
    for reference in _all(package, "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is not None and item.get("media-type", _PAGES[0]) in _PAGES and "nav" not in item.get("properties", ""):
            yield normpath(join(folder, unquote(item.get("href", ""))))


def _locked(archive: ZipFile, names: set[str]) -> Iterator[str]:
    """Return what is encrypted in it; fonts often are, and that does not matter."""
    if _LOCKS in names:
        for reference in _all(read_xml(archive, _LOCKS), "CipherReference"):
            yield unquote(reference.get("URI", ""))


def _stated(package: etree._Element, name: str) -> str:
    found = (" ".join("".join(one.itertext()).split()) for one in _all(package, name))
    return next(filter(None, found), "")


def _all(root: etree._Element, name: str) -> Iterator[etree._Element]:
    return (one for one in root.iter() if local_name(one) == name)
