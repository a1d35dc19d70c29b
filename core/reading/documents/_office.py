"""Opens office documents and e-books (ZIP packages) within limits; reads title and date."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree

from ._parse_text import informative_title, iso_date
from .records import DocumentKind, Unreadable

_MEMBERS = 10_000
"""Maximum number of members of an archive."""
UNPACKED_BYTES = 100_000_000
"""Maximum unpacked size to read from a file at once."""
_RATIO = 200
"""Maximum ratio of unpacked to packed size."""
SMALL_BYTES = 20_000_000
"""Unpacked size up to which any compression ratio is accepted."""
_PROLOG_BYTES = 65_536

# A prolog without a document type declaration, which could declare entities.
_PLAIN_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?>\s+|<\?.*?\?>|<!--.*?-->)*+<[A-Za-z_]", re.DOTALL
)
_CONTENT_TYPES = "[Content_Types].xml"
_MAIN_MEMBERS: dict[str, DocumentKind] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
    "content.xml": "opendocument",
}
# Documents with macros, and slide shows; the libraries accept only the plain content types.
_AS_PLAIN = (
    (
        b"vnd.ms-word.document.macroEnabled",
        b"vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (b"presentationml.slideshow.main", b"presentationml.presentation.main"),
)


def open_archive(data: bytes) -> ZipFile:
    """Open an archive that is neither encrypted nor a compression bomb. Raises `Unreadable`."""
    # The format of Office from before 2007, which also wraps encrypted packages.
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise Unreadable("encrypted", "it is encrypted with a password")
        raise Unreadable(
            "broken", "it is in an Office format from before 2007, with a newer extension"
        )
    try:
        archive = ZipFile(BytesIO(data))
    except (BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable(
            "broken", "its format does not match its extension, or it is incomplete"
        ) from error
    unpacked = 0
    is_encrypted = False
    is_unusual = False
    members = archive.infolist()
    for member in members:
        unpacked += member.file_size
        if member.flag_bits & 1:
            is_encrypted = True
        # Other methods are rare, and the library unpacks them without an output limit.
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            is_unusual = True
    if is_encrypted:
        raise Unreadable("encrypted", "it is encrypted")
    if is_unusual:
        raise Unreadable("broken", "it has an unusual compression method")
    if len(members) > _MEMBERS:
        count = len(members)
        raise Unreadable("too large", f"it contains {count} files, more than {_MEMBERS}")
    if unpacked > max(SMALL_BYTES, _RATIO * len(data)):
        sizes = f"its {len(data)} bytes unpack to {unpacked}"
        raise Unreadable("too large", f"{sizes}, more than {_RATIO} times as much")
    return archive


def kind_of_archive(data: bytes) -> DocumentKind | None:
    """Return the kind of an archive by its members; None if it is not a supported kind."""
    try:
        names = set(ZipFile(BytesIO(data)).namelist())
    except (BadZipFile, ValueError, NotImplementedError):
        return None
    for name, kind in _MAIN_MEMBERS.items():
        if name in names:
            return kind
    return None


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return the content of a member. Raises `Unreadable`, or `KeyError` if it does not exist."""
    size = archive.getinfo(name).file_size
    if size > UNPACKED_BYTES:
        raise Unreadable("too large", f"{name} in it is larger than {UNPACKED_BYTES} bytes")
    return archive.read(name)


def read_xml(archive: ZipFile, name: str) -> etree._Element:
    """Parse an XML member without resolving references. Raises `Unreadable` and `KeyError`."""
    check_prolog(archive, name)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(read_member(archive, name), parser)
    if root is None:
        raise Unreadable("broken", f"{name} in it is not XML")
    return root


def check_prolog(archive: ZipFile, name: str) -> None:
    """Reject XML that declares entities or refers to other files.

    Office programs do not write such XML.
    """
    with archive.open(name) as member:
        # Also match UTF-16 and UTF-32.
        head = member.read(_PROLOG_BYTES).replace(b"\0", b"")
    if head and not _PLAIN_PROLOG.match(head):
        if b"<!DOCTYPE" in head:
            raise Unreadable("broken", f"{name} in it declares XML entities")
        raise Unreadable("broken", f"{name} in it is not XML")


def replace_members(file: BytesIO, parts: Mapping[str, bytes]) -> None:
    """Write members to an archive; they take the place of members with the same names."""
    with ZipFile(file, "a") as archive, warnings.catch_warnings():
        # If two members have the same name, readers use the later one.
        warnings.simplefilter("ignore", UserWarning)
        for name, part in parts.items():
            archive.writestr(name, part)


def local_name(element: etree._Element) -> str:
    """Return the tag without its namespace; empty for comments and processing instructions."""
    if not isinstance(element.tag, str):
        return ""
    return element.tag.rpartition("}")[2]


class Office(NamedTuple):
    """An office document that is safe to open with a library."""

    file: BytesIO
    """The package without pictures, macros and external references."""
    title: str
    """Title from its properties; empty if missing or uninformative."""
    changed: str
    """Modification date (ISO); not the date of creation, which may be that of a template. Empty if
    there is none."""


def open_office(data: bytes) -> Office:
    """Make an office document safe to open with a library. Raises `Unreadable`."""
    archive = open_archive(data)
    names = set(archive.namelist())
    if _CONTENT_TYPES not in names:
        raise Unreadable("broken", "it is not an office document")
    # Sheets are read row by row, all other parts at once.
    unpacked = 0
    for member in archive.infolist():
        name = member.filename
        if _is_kept(name) and not name.startswith("xl/worksheets/"):
            unpacked += member.file_size
    if unpacked > UNPACKED_BYTES:
        raise Unreadable("too large", f"unpacked it is larger than {UNPACKED_BYTES} bytes")
    for name in filter(_is_kept, names):
        check_prolog(archive, name)
    parts = dict[str, bytes]()
    for name in names:
        if name.endswith(".rels"):
            parts[name] = _inner_relations(archive, name, names)
    check_prolog(archive, _CONTENT_TYPES)
    types = read_member(archive, _CONTENT_TYPES)
    for special, plain in _AS_PLAIN:
        types = types.replace(special, plain)
    file = BytesIO(bytearray(data))
    replace_members(file, {_CONTENT_TYPES: types, **parts})
    for name in sorted(names):
        if name == "docProps/core.xml" or name.endswith(".psmdcp"):
            fields = dict[str, str]()
            for field in read_xml(archive, name):
                fields[local_name(field)] = (field.text or "").strip()
            title = informative_title(fields.get("title", ""))
            return Office(file, title, iso_date(fields.get("modified", "")))
    return Office(file, "", "")


def _inner_relations(archive: ZipFile, name: str, names: Collection[str]) -> bytes:
    """Return a member's relations to existing, readable parts of the same file."""
    root = read_xml(archive, name)
    for relation in list(root):
        path = join("/", dirname(dirname(name)), relation.get("Target", ""))
        target = normpath(path).lstrip("/")
        is_external = relation.get("TargetMode") == "External"
        if is_external or target not in names or not _is_kept(target):
            root.remove(relation)
    return bytes(etree.tostring(root))


def _is_kept(name: str) -> bool:
    return name.endswith(".xml") and not name.startswith("customXml/")
