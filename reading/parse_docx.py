"""Word documents to text: the body with its headings, lists, tables, text boxes and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from docx import Document
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml import etree

from .archives import local_name
from .office import open_office
from .parse_text import first_heading
from .records import Extract
from .tables import table_of, up_to_limit
from .word_text import NOT_BODY, Style, own_style, style_of, words_of

MOST_COLUMNS = 64

_NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)


def parse_docx(data: bytes) -> Extract:
    """Title, text and last change of a Word document."""
    office = open_office(data)
    document = Document(office.file)
    styles = {style.style_id: style_of(style) for style in document.styles}
    blocks = chain.from_iterable(_blocks(part, styles) for part in _parts(document))
    text = "\n\n".join(up_to_limit(blocks))
    return Extract(office.title or first_heading(text), text, changed=office.changed)


def _parts(document: WordDocument) -> Iterator[etree._Element]:
    yield document.element.body
    for relation in document.part.rels.values():
        if relation.reltype in _NOTES:
            yield parse_xml(relation.target_part.blob)


def _blocks(parent: Iterable[etree._Element], styles: dict[str, Style]) -> Iterator[str]:
    """The paragraphs and tables below an element, whatever they are wrapped in."""
    for element in parent:
        name = local_name(element)
        if name == "p":
            yield from _paragraph(element, styles)
            for box in _boxes(element):
                yield from _blocks(box, styles)
        elif name == "tbl":
            yield from _table(element, styles)
        elif name and name not in NOT_BODY:
            yield from _blocks(element, styles)


def _paragraph(paragraph: etree._Element, styles: dict[str, Style]) -> Iterator[str]:
    text = words_of(paragraph)
    if not text:
        return
    reference = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    named = styles.get(reference.get(qn("w:val"), "")) if reference is not None else None
    own = own_style(paragraph)
    level = own.level or (named.level if named else 0)
    if level:
        yield f"{'#' * level} {' '.join(text.split())}"
    else:
        yield f"- {text}" if own.is_list or (named and named.is_list) else text


def _boxes(paragraph: etree._Element) -> Iterator[etree._Element]:
    """The text boxes that are anchored in a paragraph; those inside another come with it."""
    for child in paragraph:
        name = local_name(child)
        if name == "txbxContent":
            yield child
        elif name and name != "Fallback":
            yield from _boxes(child)


def _table(table: etree._Element, styles: dict[str, Style]) -> Iterator[str]:
    rows: list[list[str]] = []
    for row in _inner(table, "tr"):
        cells: list[str] = []
        for cell in _inner(row, "tc"):
            cells += _cell(cell, rows[-1] if rows else [], len(cells))
        rows.append(cells)
    if max(map(len, rows), default=0) > 1:
        yield from table_of([row for row in rows if any(row)])
        return
    # A frame around text, not a table.
    for row in _inner(table, "tr"):
        yield from _blocks(chain.from_iterable(_inner(row, "tc")), styles)


def _inner(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """The rows of a table or the cells of a row, also those that are wrapped in something."""
    for child in parent:
        found = local_name(child)
        if found == name:
            yield child
        elif found in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _inner(child, name)


def _cell(cell: etree._Element, above: list[str], place: int) -> list[str]:
    """The text of a cell, with empty ones for further columns that it takes; a merged one says what stands above."""
    span, merge = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}"), cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
    is_merged = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
    if is_merged and place < len(above):
        text = above[place]
    else:
        text = " ".join(filter(None, map(words_of, cell.iter(qn("w:p")))))
    width = int(span.get(qn("w:val"), "1")) if span is not None else 1
    return [" ".join(text.split()), *[""] * (min(width, MOST_COLUMNS) - 1)]
