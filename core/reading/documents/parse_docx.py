"""Word documents to text: the body with its headings, lists, tables, text boxes and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from docx import Document
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml import etree

from ..records import Extract
from .office import local_name, open_office
from .parse_csv import table_of, up_to_limit
from .parse_text import first_heading

NOT_BODY = {"del", "moveFrom", "Fallback", "txbxContent", "pPr", "rPr", "sdtPr", "tblPr"}
"""Deleted or moved away by a change that is tracked; the same once more for older programs; text boxes, which are
blocks of their own; properties."""

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NO_OUTLINE = 9
_DEEPEST = 6
MOST_COLUMNS = 64
_NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)


class Style(NamedTuple):
    """What a paragraph is by its style or by itself."""

    level: int
    """That of a heading, from 1; 0 for other text."""
    is_list: bool


def style_of(style: object) -> Style:
    """Return what a style of python-docx makes of a paragraph, by itself or by the one that it is based on."""
    name = str(getattr(style, "name", "")).lower()
    if name == "title":
        return Style(1, is_list=False)
    if name.startswith("heading ") and name[8:].isdigit():
        return Style(min(int(name[8:]), _DEEPEST), is_list=False)
    found, base = own_style(getattr(style, "element", None)), getattr(style, "base_style", None)
    if found.level or base is None:
        return found
    inherited = style_of(base)
    return Style(inherited.level, found.is_list or inherited.is_list)


def own_style(element: etree._Element | None) -> Style:
    """Return what the properties of a paragraph or of a style say themselves."""
    properties = element.find(qn("w:pPr")) if element is not None else None
    if properties is None:
        return Style(0, is_list=False)
    outline = properties.find(qn("w:outlineLvl"))
    level = int(outline.get(qn("w:val"), _NO_OUTLINE)) if outline is not None else _NO_OUTLINE
    return Style(min(level + 1, _DEEPEST) if level < _NO_OUTLINE else 0, properties.find(qn("w:numPr")) is not None)


def words_of(element: etree._Element) -> str:
    """Return the text of a paragraph, or of a part of it, without what is hidden or deleted."""
    return "".join(_words(element)).strip()


def _words(element: etree._Element) -> Iterator[str]:
    for child in element:
        name = local_name(child)
        if name == "t":
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name and name not in NOT_BODY and not (name == "r" and _is_hidden(child)):
            yield from _words(child)


def _is_hidden(run: etree._Element) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val"), "1") not in ("0", "false", "off")


def parse_docx(data: bytes) -> Extract:
    """Return title, text and last change of a Word document."""
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
    """Yield the paragraphs and tables below an element, whatever they are wrapped in."""
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
    """Yield the text boxes that are anchored in a paragraph; those inside another come with it."""
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
    """Yield the rows of a table or the cells of a row, also those that are wrapped in something."""
    for child in parent:
        found = local_name(child)
        if found == name:
            yield child
        elif found in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _inner(child, name)


def _cell(cell: etree._Element, above: list[str], place: int) -> list[str]:
    """Return a cell's text, with empty ones for further columns it takes; a merged one repeats what is above."""
    span, merge = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}"), cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
    is_merged = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
    if is_merged and place < len(above):
        text = above[place]
    else:
        text = " ".join(filter(None, map(words_of, cell.iter(qn("w:p")))))
    width = int(span.get(qn("w:val"), "1")) if span is not None else 1
    return [" ".join(text.split()), *[""] * (min(width, MOST_COLUMNS) - 1)]
