"""Word documents to text: the body with its headings, lists, tables and text boxes; notes, comments, heads and feet."""

from __future__ import annotations

import re
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
from .grid import Cell, cell_text, tables_of_cells
from .office import local_name, open_office
from .parse_csv import up_to_limit
from .parse_text import first_heading
from .raised import END, LOWERED, RAISED

NOT_BODY = {"del", "moveFrom", "Fallback", "txbxContent", "pPr", "rPr", "sdtPr", "tblPr"}
"""Deleted or moved away by a change that is tracked; the same once more for older programs; text boxes, which are
blocks of their own; properties."""

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NO_OUTLINE = 9
_DEEPEST = 6
_NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)
_AROUND = (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER)
_FIELDS = (qn("w:instrText"), qn("w:fldSimple"))
_PAGE_NUMBER = re.compile(r"\b(?:NUM|SECTION)?PAGES?\b")
FEW_WORDS = 2
"""Words beside a page number up to which the line says nothing else: "Page 3 of 9"."""
_SHIFTS = {"superscript": RAISED, "subscript": LOWERED}


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
        elif name == "r" and (sign := _sign(child)):
            yield f"{sign}{''.join(_words(child))}{END}"
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name and name not in NOT_BODY and not (name == "r" and _is_hidden(child)):
            yield from _words(child)


def _sign(run: etree._Element) -> str:
    shift = run.find(f"{qn('w:rPr')}/{qn('w:vertAlign')}")
    return _SHIFTS.get(shift.get(qn("w:val"), ""), "") if shift is not None and not _is_hidden(run) else ""


def _is_hidden(run: etree._Element) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val"), "1") not in ("0", "false", "off")


def parse_docx(data: bytes) -> Extract:
    """Return title, text and last change of a Word document."""
    office = open_office(data)
    document = Document(office.file)
    styles = {style.style_id: style_of(style) for style in document.styles}
    blocks = list(up_to_limit(chain.from_iterable(_blocks(part, styles) for part in _parts(document))))
    text = "\n\n".join([*blocks, *_around(document, styles, blocks)])
    return Extract(office.title or first_heading(text), text, changed=office.changed)


def _parts(document: WordDocument) -> Iterator[etree._Element]:
    yield document.element.body
    for relation in document.part.rels.values():
        if relation.reltype in _NOTES:
            yield parse_xml(relation.target_part.blob)


def _around(document: WordDocument, styles: dict[str, Style], blocks: Iterable[str]) -> Iterator[str]:
    """Yield what stands above and below all pages, once and without page numbers, and the comments."""
    shown = {block.strip("# ") for block in blocks}
    for relation in document.part.rels.values():
        if relation.reltype in _AROUND:
            part = parse_xml(relation.target_part.blob)
            for paragraph in part.iter(qn("w:p")):
                _drop_page_number(paragraph)
            for block in _blocks(part, styles):
                if block.strip("# ") not in shown:
                    shown.add(block.strip("# "))
                    yield block
        elif relation.reltype == RELATIONSHIP_TYPE.COMMENTS:
            for comment in parse_xml(relation.target_part.blob):
                author, day = comment.get(qn("w:author"), ""), comment.get(qn("w:date"), "")[:10]
                named = " ".join(filter(None, ("Comment", author and f"by {author}", day and f"on {day}")))
                yield f"{named}: {' '.join(_blocks(comment, styles))}"


def _drop_page_number(paragraph: etree._Element) -> None:
    """Empty what is a figure of its own in a line with a field that numbers pages, and the line if little else is."""
    fields = (element.text or element.get(qn("w:instr"), "") for element in paragraph.iter(*_FIELDS))
    if any(map(_PAGE_NUMBER.search, fields)):
        for words in paragraph.iter(qn("w:t")):
            words.text = "" if (words.text or "").strip().isdecimal() else words.text
        if len(words_of(paragraph).split()) <= FEW_WORDS:
            paragraph.clear()


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
    lines = [list(_places(row)) for row in _inner(table, "tr")]
    if max(map(len, lines), default=0) < 2:
        # A frame around text, not a table.
        for row in _inner(table, "tr"):
            yield from _blocks(chain.from_iterable(_inner(row, "tc")), styles)
        return
    goes_on = [{start for start, _, _, is_merged in line if is_merged} for line in lines]
    is_head = [row.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}") is not None for row in _inner(table, "tr")]
    rows = list[list[Cell]]()
    for place, line in enumerate(lines):
        below, cells = goes_on[place + 1 :], list[Cell]()
        for start, cell, columns, is_merged in line:
            if not (is_merged and rows):
                end = next((at for at, starts in enumerate(below) if start not in starts), len(below))
                text = cell_text("\n".join(filter(None, map(words_of, cell.iter(qn("w:p"))))))
                cells.append(Cell(text, columns, end + 1, is_head[place]))
        rows.append(cells)
    yield from tables_of_cells(rows)


def _inner(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """Yield the rows of a table or the cells of a row, also those that are wrapped in something."""
    for child in parent:
        found = local_name(child)
        if found == name:
            yield child
        elif found in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _inner(child, name)


def _places(row: etree._Element) -> Iterator[tuple[int, etree._Element, int, bool]]:
    """Yield the cells of a row: first column, number of columns, and whether it continues the cell above."""
    start = 0
    for cell in _inner(row, "tc"):
        span, merge = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}"), cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
        columns = int(span.get(qn("w:val"), "1")) if span is not None else 1
        yield start, cell, columns, merge is not None and merge.get(qn("w:val"), "continue") == "continue"
        start += columns
