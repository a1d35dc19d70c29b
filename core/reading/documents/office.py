"""What office documents and books have in common: their package, looked into within bounds, their title and date."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree

from ..records import Kind, Unreadable
from .parse_text import informative_title, iso_date

MEMBERS = 10_000
UNPACKED_BYTES = 100_000_000
"""Most of what is taken from one file as a whole."""
RATIO = 200
SMALL_BYTES = 20_000_000
"""Unpacked; up to here no ratio is suspicious."""
PROLOG_BYTES = 65_536

_OFFICE_BEFORE_XML = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
# What stands before the first element, if it is no document type with its entities.
_PLAIN_PROLOG = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?>\s+|<\?.*?\?>|<!--.*?-->)*+<[A-Za-z_]", re.DOTALL)
_CONTENT_TYPES = "[Content_Types].xml"
_MAIN_MEMBERS: dict[str, Kind] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
    "content.xml": "opendocument",
}
_SHEETS = "xl/worksheets/"
# The same document with macros, or one that opens as a show: the libraries know the plain form only.
_AS_PLAIN = (
    (b"vnd.ms-word.document.macroEnabled", b"vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"presentationml.slideshow.main", b"presentationml.presentation.main"),
)  # fmt: skip


def open_archive(data: bytes) -> ZipFile:
    """Return the archive, if nothing in it is locked and it is none of those that burst. Raises `Unreadable`."""
    if data.startswith(_OFFICE_BEFORE_XML):
        if _LOCKED_PACKAGE in data:
            raise Unreadable("encrypted", "it is encrypted: it opens with a password only")
        raise Unreadable("broken", "it is a file of an office program before 2007 under a newer name")
    try:
        archive = ZipFile(BytesIO(data))
    except (BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("broken", "it is not the file that its name says, or not all of it") from error
    _check(archive, len(data))
    return archive


def kind_of_archive(data: bytes) -> Kind | None:
    """Return the kind of a file that is an archive, by what it holds; none if it is of no kind that is read."""
    try:
        names = set(ZipFile(BytesIO(data)).namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return None
    return next((kind for name, kind in _MAIN_MEMBERS.items() if name in names), None)


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return a member as a whole. Raises `Unreadable`, and `KeyError` if there is none."""
    size = archive.getinfo(name).file_size
    if size > UNPACKED_BYTES:
        raise Unreadable("too large", f"{name} in it is larger than {UNPACKED_BYTES} bytes")
    return archive.read(name)


def read_xml(archive: ZipFile, name: str) -> etree._Element:
    """Return the root of an XML member, without anything that it may refer to. Raises `Unreadable` and `KeyError`."""
    check_prolog(archive, name)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(read_member(archive, name), parser)
    if root is None:
        raise Unreadable("broken", f"{name} in it is no XML")
    return root


def check_prolog(archive: ZipFile, name: str) -> None:
    """Refuse XML that declares entities or reaches for a file outside: no office program writes it."""
    with archive.open(name) as member:
        # The wide encodings of the same signs.
        head = member.read(PROLOG_BYTES).replace(b"\0", b"")
    if head and not _PLAIN_PROLOG.match(head):
        fault = "declares XML entities, as no program does" if b"<!DOCTYPE" in head else "is no XML"
        raise Unreadable("broken", f"{name} in it {fault}")


def put_in(file: BytesIO, parts: Mapping[str, bytes]) -> None:
    """Put these members in the place of those of the same names."""
    with ZipFile(file, "a") as archive, warnings.catch_warnings():
        # The later one of two members of one name is the one that counts.
        warnings.simplefilter("ignore", UserWarning)
        for name, part in parts.items():
            archive.writestr(name, part)


def local_name(element: etree._Element) -> str:
    """Return the tag without its namespace; empty for comments and the like."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _check(archive: ZipFile, packed: int) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if any(member.flag_bits & 1 for member in members):
        raise Unreadable("encrypted", "it is encrypted")
    # The other methods are unpacked without a bound on what comes out, and unusual.
    if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
        raise Unreadable("broken", "it is packed in an unusual way")
    if len(members) > MEMBERS:
        raise Unreadable("too large", f"it holds {len(members)} files, more than {MEMBERS}")
    if unpacked > max(SMALL_BYTES, RATIO * packed):
        raise Unreadable("too large", f"its {packed} bytes unpack to {unpacked}, more than {RATIO} times as much")


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
    # Sheets are read row by row, everything else as a whole.
    kept = (one for one in archive.infolist() if _is_kept(one.filename) and not one.filename.startswith(_SHEETS))
    if sum(one.file_size for one in kept) > UNPACKED_BYTES:
        raise Unreadable("too large", f"unpacked it is larger than {UNPACKED_BYTES} bytes")
    for name in filter(_is_kept, names):
        check_prolog(archive, name)
    relations = {name: _inner_relations(archive, name, names) for name in names if name.endswith(".rels")}
    file = BytesIO(bytearray(data))
    put_in(file, {_CONTENT_TYPES: _plain_types(archive), **relations})
    return Office(file, *_properties(archive, names))


def _is_kept(name: str) -> bool:
    return name.endswith(".xml") and not name.startswith("customXml/")


def _plain_types(archive: ZipFile) -> bytes:
    check_prolog(archive, _CONTENT_TYPES)
    types = read_member(archive, _CONTENT_TYPES)
    for special, plain in _AS_PLAIN:
        types = types.replace(special, plain)
    return types


def _inner_relations(archive: ZipFile, name: str, names: set[str]) -> bytes:
    """Return the relations that lead to a part of the same file which is there and is read."""
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
            return informative_title(fields.get("title", "")), iso_date(fields.get("modified", ""))
    return "", ""
