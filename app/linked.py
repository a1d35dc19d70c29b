"""Turns the links of HTML pages and Word documents into Markdown, so that a text parser keeps their addresses."""

from __future__ import annotations

from io import BytesIO

import lxml.html
from docx import Document

from ..core.run.errors import ReportUnreadable

_WEB = ("http://", "https://")


def with_links(data: bytes, kind: str) -> bytes:
    """Return the page or document with its links written as Markdown; an internal link that is a number becomes `[n]`.

    Raises `ReportUnreadable`.
    """
    try:
        return _html(data) if kind != ".docx" else _word(data)
    except Exception as error:
        raise ReportUnreadable(f"The file cannot be read as {kind.removeprefix('.').upper()}: {error}") from error


def _html(data: bytes) -> bytes:
    root = lxml.html.fromstring(data)
    for link in list(root.iter("a", "button")):
        words, address = " ".join(link.text_content().split()), link.get("href", "")
        if words.strip("[]").isdigit() and not address.startswith(_WEB):
            text = f"[{words.strip('[]')}]"
        elif words and address.startswith(_WEB):
            text = words if address in words else f"[{words.strip('[]')}]({address})"
        else:
            continue
        for child in list(link):
            link.remove(child)
        link.text = text
        link.drop_tag()
    made: bytes = lxml.html.tostring(root, encoding="utf-8")
    return made


def _word(data: bytes) -> bytes:
    document = Document(BytesIO(data))
    cells = (cell for table in document.tables for row in table.rows for cell in row.cells)
    for paragraph in [*document.paragraphs, *(one for cell in cells for one in cell.paragraphs)]:
        for link in paragraph.hyperlinks:
            words = link.text.strip("[]")
            if not link.runs:
                continue
            if link.address.startswith(_WEB):
                text = words if link.address in words else f"[{words}]({link.address})"
            else:
                text = f"[{words}]" if words.isdigit() else link.text
            for run in link.runs:
                run.text = ""
            link.runs[0].text = text
    made = BytesIO()
    document.save(made)
    return made.getvalue()
