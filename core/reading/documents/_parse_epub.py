"""Parses EPUB books, chapter by chapter in reading order."""

from __future__ import annotations

from posixpath import dirname, join, normpath
from urllib.parse import unquote

from lxml import etree

from ._office import open_archive, read_member, read_xml
from ._parse_html import visible_text
from ._parse_text import iso_date
from ._tables import up_to_limit
from .records import Extract, Unreadable

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def parse_epub(data: bytes) -> Extract:
    """Return title, text and date of a book."""
    archive = open_archive(data)
    names = set(archive.namelist())
    if _CONTAINER not in names:
        raise Unreadable("broken", "it is not an EPUB file")
    path = ""
    root_file = next(read_xml(archive, _CONTAINER).iter("{*}rootfile"), None)
    if root_file is not None:
        path = root_file.get("full-path", "")
    if path not in names:
        raise Unreadable("broken", "it is an EPUB file without a manifest")
    package = read_xml(archive, path)
    items = {item.get("id", ""): item for item in package.iter("{*}item")}
    chapters = list[str]()
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or item.get("media-type", _PAGES[0]) not in _PAGES:
            continue
        if "nav" in item.get("properties", ""):
            continue
        name = normpath(join(dirname(path), unquote(item.get("href", ""))))
        if name in names:
            chapters.append(name)
    if _ENCRYPTION in names:
        # Often only the fonts are encrypted, which does not matter.
        references = read_xml(archive, _ENCRYPTION).iter("{*}CipherReference")
        encrypted = {unquote(reference.get("URI", "")) for reference in references}
        if encrypted.intersection(chapters):
            raise Unreadable("encrypted", "it is encrypted")
    texts = (visible_text(read_member(archive, name)) for name in chapters)
    text = "\n\n".join(up_to_limit(texts))
    title = _stated(package, "title")
    date = iso_date(_stated(package, "date"))
    return Extract(title, text, date, date_kind="publication" if date else "")


def _stated(package: etree._Element, name: str) -> str:
    """Return a field of the book's metadata; empty if it is missing."""
    for element in package.iter(f"{{*}}{name}"):
        words = " ".join("".join(element.itertext()).split())
        if words:
            return words
    return ""
