"""What documents of Word, PowerPoint and Excel have in common: their package, their title and their date."""

from __future__ import annotations

from io import BytesIO
from posixpath import dirname, join, normpath
from typing import NamedTuple
from zipfile import ZipFile

from lxml import etree

from .archives import UNPACKED_BYTES, check_prolog, local_name, open_archive, put_in, read_member, read_xml
from .dates import iso_date
from .records import Unreadable
from .titles import telling_title

_CONTENT_TYPES = "[Content_Types].xml"
_SHEETS = "xl/worksheets/"
# The same document with macros, or one that opens as a show: the libraries know the plain form only.
_AS_PLAIN = (
    (b"vnd.ms-word.document.macroEnabled", b"vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"presentationml.slideshow.main", b"presentationml.presentation.main"),
)  # fmt: skip


class Office(NamedTuple):
    """An office document that a library can open."""

    file: BytesIO
    """The package without pictures, macros and whatever else leads elsewhere."""
    title: str
    """Empty if its properties give none that says anything."""
    changed: str
    """When it was last changed, by its properties; when it was made, may be that of its template."""


def open_office(data: bytes) -> Office:
    """Make an office document safe to open. Raises `Unreadable`."""
    archive = open_archive(data)
    names = set(archive.namelist())
    if _CONTENT_TYPES not in names:
        raise Unreadable("broken", "it is no office document")
    _check_size(archive)
    for name in filter(_is_kept, names):
        check_prolog(archive, name)
    relations = {name: _inner_relations(archive, name, names) for name in names if name.endswith(".rels")}
    file = BytesIO(bytearray(data))
    put_in(file, {_CONTENT_TYPES: _plain_types(archive), **relations})
    return Office(file, *_properties(archive, names))


def _check_size(archive: ZipFile) -> None:
    # Sheets are read row by row, everything else as a whole.
    kept = (one for one in archive.infolist() if _is_kept(one.filename) and not one.filename.startswith(_SHEETS))
    if sum(one.file_size for one in kept) > UNPACKED_BYTES:
        raise Unreadable("too large", f"unpacked it is larger than {UNPACKED_BYTES} bytes")


def _is_kept(name: str) -> bool:
    return name.endswith(".xml") and not name.startswith("customXml/")


def _plain_types(archive: ZipFile) -> bytes:
    check_prolog(archive, _CONTENT_TYPES)
    types = read_member(archive, _CONTENT_TYPES)
    for special, plain in _AS_PLAIN:
        types = types.replace(special, plain)
    return types


def _inner_relations(archive: ZipFile, name: str, names: set[str]) -> bytes:
    """The relations that lead to a part of the same file which is there and is read."""
    root = read_xml(archive, name)
    folder = dirname(dirname(name))
    for relation in list(root):
        target = normpath(join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("TargetMode") == "External" or target not in names or not _is_kept(target):
            root.remove(relation)
    return bytes(etree.tostring(root))


def _properties(archive: ZipFile, names: set[str]) -> tuple[str, str]:
    for name in sorted(names):
        if name == "docProps/core.xml" or name.endswith(".psmdcp"):
            fields = {local_name(one): (one.text or "").strip() for one in read_xml(archive, name)}
            return telling_title(fields.get("title", "")), iso_date(fields.get("modified", ""))
    return "", ""
