"""Documents of office programs, books and e-mails, as small as can be, and with whatever an attacker puts in."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import docx
import openpyxl
import pptx

MODIFIED = datetime(2021, 3, 4, 5, 6)
TEXT = "The lamp was lit in 1844."

Edit = Callable[[bytes], bytes]


def saved(document: Any) -> bytes:
    """What an office library writes."""
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def word(text: str = TEXT, title: str = "", modified: datetime | None = None) -> bytes:
    """A Word document of one paragraph."""
    document = docx.Document()
    document.add_paragraph(text)
    document.core_properties.title = title
    if modified:
        document.core_properties.modified = modified
    return saved(document)


def slides(*titles: str) -> bytes:
    """A PowerPoint document with a slide for each title."""
    show = pptx.Presentation()
    for title in titles:
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    return saved(show)


def sheet(*rows: list[Any], modified: datetime = MODIFIED) -> bytes:
    """An Excel document of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    # The library stamps the day of saving over this one.
    return edited(saved(book), {"docProps/core.xml": lambda core: core_properties("", modified.isoformat())})


def core_properties(title: str, modified: str) -> bytes:
    return (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"<dc:title>{title}</dc:title><dcterms:modified>{modified}</dcterms:modified></cp:coreProperties>"
    ).encode()


def edited(data: bytes, edits: Mapping[str, Edit], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The same archive with some members changed or added."""
    source, file = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as copy:
        for name in dict.fromkeys([*source.namelist(), *edits]):
            content = source.read(name) if name in source.namelist() else b""
            copy.writestr(name, edits[name](content) if name in edits else content)
    return file.getvalue()


def replacing(old: bytes, new: bytes) -> Edit:
    """Exchange the first of these words, which must be there."""

    def edit(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new, 1)

    return edit


def book(chapters: Mapping[str, str], *, title: str = "", date: str = "", further: Mapping[str, str] = {}) -> bytes:
    """An EPUB with these chapters, whose names are those of their files."""
    items = "".join(
        f'<item id="i{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(chapters)))
    parts = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="text/book.opf"/></rootfiles></container>',
        "text/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title><dc:date>{date}</dc:date></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"text/{name}": chapter for name, chapter in chapters.items()},
        **further,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()
