"""Hostile office documents and books are refused quickly, or read without their harmful parts."""

from __future__ import annotations

import zipfile

import pytest
from kit.files import TEXT, book, edited, replacing, sheet, slides, word

from deep_research.core.reading.documents.office import UNPACKED_BYTES
from deep_research.core.reading.documents.worker import parse
from deep_research.core.reading.records import Unreadable

BODY = "word/document.xml"
SHEET = "xl/worksheets/sheet1.xml"


def reason_of(data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parse(data, name)
    return caught.value.reason


def with_entities(data: bytes, name: str, declared: str, encoding: str = "utf-8") -> bytes:
    def edit(content: bytes) -> bytes:
        start = content.index(b"<", content.index(b"?>")) if b"?>" in content else 0
        body = content[start:].replace(b"lit", b"lit &x; ", 1)
        return f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE w [{declared}]>{body.decode()}'.encode(encoding)

    return edited(data, {name: edit})


LAUGHS = "<!ENTITY x0 'ha'>" + "".join(f"<!ENTITY x{number} '{f'&x{number - 1};' * 10}'>" for number in range(1, 12))


@pytest.mark.fault("R29")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("data", "part", "name"),
    [(word(), BODY, "a.docx"), (slides("lit"), "ppt/slides/slide1.xml", "a.pptx"), (sheet(["lit"]), SHEET, "a.xlsx")],
)
def test_entities_of_an_office_document_are_refused(data: bytes, part: str, name: str, encoding: str) -> None:
    for declared in ("<!ENTITY x SYSTEM 'file:///etc/passwd'>", f"{LAUGHS}<!ENTITY x '&x11;'>"):
        assert reason_of(with_entities(data, part, declared, encoding), name) == "broken"


def test_entities_of_a_book_are_not_resolved() -> None:
    declared = "<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>"
    page = f"{declared}<html><body><p>Lit &x; in 1844.</p></body></html>"
    assert parse(book({"a.xhtml": page}), "a.epub").text == "Lit &x; in 1844."
    listing = {"META-INF/container.xml": f"{declared}<container/>"}
    assert reason_of(book({"a.xhtml": page}, further=listing), "a.epub") == "broken"


@pytest.mark.fault("R29")
@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_compression_bomb_is_refused_before_it_is_unpacked(name: str) -> None:
    many = edited(word(), {f"word/part{number}.bin": lambda _: b"" for number in range(10_001)}, zipfile.ZIP_STORED)
    assert reason_of(edited(word(), {BODY: lambda _: bytes(60_000_000)}), name) == "too large"
    assert reason_of(many, name) == "too large"


def test_a_member_that_is_too_large_for_memory_is_not_unpacked() -> None:
    # It is stored without compression, so that it is not refused as a compression bomb.
    data = edited(word(), {"word/styles.xml": lambda _: bytes(UNPACKED_BYTES)}, zipfile.ZIP_STORED)
    assert reason_of(data, "a.docx") == "too large"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_encrypted_broken_and_other_files_are_distinguished(name: str) -> None:
    older = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    locked = bytearray(word())
    for offset in (locked.index(b"PK\x03\x04") + 6, locked.index(b"PK\x01\x02") + 8):
        locked[offset] |= 1
    assert reason_of(older + "EncryptedPackage".encode("utf-16-le"), name) == "encrypted"
    assert reason_of(bytes(locked), name) == "encrypted"
    for data in (older, word()[:5000], b"only text", b"PK\x05\x06" + bytes(18)):
        assert reason_of(data, name) == "broken"


@pytest.mark.fault("R29")
def test_paths_and_links_to_files_outside_a_document_are_ignored() -> None:
    outside = (
        b'<Relationship Id="rId66" TargetMode="External" Target="file:///etc/passwd"'
        b' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"/>'
        b'<Relationship Id="rId67" Target="../../../../etc/passwd"'
        b' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"/></Relationships>'
    )
    edits = {
        "../../evil.xml": lambda _: b"<a/>",
        "/etc/evil.xml": lambda _: b"<a/>",
        "word/_rels/document.xml.rels": replacing(b"</Relationships>", outside),
    }
    assert parse(edited(word(), edits), "a.docx").text == TEXT
    package = {"text/book.opf": "<package><manifest><item id='a' href='../../../../etc/passwd'/></manifest>"}
    package["text/book.opf"] += "<spine><itemref idref='a'/></spine></package>"
    assert reason_of(book({}, further=package), "a.epub") == "empty"


def test_a_sheet_with_one_cell_in_its_farthest_corner_is_read() -> None:
    far = b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'
    assert parse(edited(sheet(["Lit", "out"]), {SHEET: replacing(b"</sheetData>", far)}), "a.xlsx").text.endswith("7")
