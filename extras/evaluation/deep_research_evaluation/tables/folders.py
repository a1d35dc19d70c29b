"""Writes the documents of a request into a folder: Word, PDF, HTML and Markdown."""

from __future__ import annotations

import html
import textwrap
import zlib
from collections.abc import Sequence
from pathlib import Path

import docx

from deep_research_evaluation.tables.facts import Document

_LINE_CHARACTERS = 90
_LINES_A_PAGE = 48
_BAR = " | "


def write_documents(folder: Path, documents: Sequence[Document]) -> None:
    """Write documents, in the format that each name's ending says."""
    folder.mkdir(parents=True, exist_ok=True)
    writers = {".docx": _word, ".pdf": _pdf, ".html": _html, ".md": _markdown}
    for document in documents:
        path = folder / document.name
        writers[path.suffix](path, document.lines)


def _word(path: Path, lines: Sequence[str]) -> None:
    written = docx.Document()
    title, *rest = lines
    written.core_properties.title = title
    written.add_heading(title)
    rows = [line.split(_BAR) for line in rest if _BAR in line]
    for line in rest:
        if _BAR not in line:
            written.add_paragraph(line)
    if rows:
        table = written.add_table(0, len(rows[0]))
        for row in rows:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
    written.save(str(path))


def _pdf(path: Path, lines: Sequence[str]) -> None:
    """Write lines as text in Helvetica; the cells of a row stand side by side."""
    shown = list[str]()
    for line in lines:
        shown += textwrap.wrap(line.replace(_BAR, "    "), _LINE_CHARACTERS)
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects.append(font)
    kids = list[bytes]()
    for start in range(0, len(shown), _LINES_A_PAGE):
        drawn = [b"BT /F1 11 Tf 15 TL 56 780 Td"]
        for line in shown[start : start + _LINES_A_PAGE]:
            escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            drawn.append(b"(%s) Tj T*" % escaped.encode("cp1252"))
        content = zlib.compress(b"\n".join([*drawn, b"ET"]))
        head = b"<< /Length %d /Filter /FlateDecode >>" % len(content)
        objects.append(b"%s\nstream\n%s\nendstream" % (head, content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    body = b"%PDF-1.7\n"
    entries = b""
    for number, content in enumerate(objects, 1):
        entries += b"%010d 00000 n \n" % len(body)
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    count = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, entries)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(body))
    path.write_bytes(body + table + trailer)


def _html(path: Path, lines: Sequence[str]) -> None:
    title, *rest = map(html.escape, lines)
    body = "".join(f"<p>{line}</p>" for line in rest)
    page = f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title></head><body>"
    path.write_text(f"{page}<h1>{title}</h1>{body}</body></html>", encoding="utf-8")


def _markdown(path: Path, lines: Sequence[str]) -> None:
    title, *rest = lines
    text = [f"# {title}"]
    rows = [f"| {line} |" for line in rest if _BAR in line]
    text += [line for line in rest if _BAR not in line]
    if rows:
        rule = "|---" * rows[0].count(_BAR) + "|---|"
        text.append("\n".join([rows[0], rule, *rows[1:]]))
    path.write_text("\n\n".join(text) + "\n", encoding="utf-8")
