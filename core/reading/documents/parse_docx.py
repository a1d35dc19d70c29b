"""Parses Word documents: renames their elements to those of HTML, which becomes text; headers and comments last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from lxml import etree

from ..records import Extract
from .office import local_name, open_archive, open_office, read_xml
from .page_text import enclose, tree_text, write_links
from .parse_text import first_heading
from .raised import LOWERED, RAISED

_NAMES = {"p": "p", "tbl": "table", "tr": "tr", "tc": "td", "br": "br", "cr": "br", "hyperlink": "a"}
_BLOCKS = ("body", "hdr", "ftr", "footnote", "endnote", "comment", "txbxContent")
_SIGNS = {"tab": " ", "noBreakHyphen": "-"}
_SHIFTS = {"superscript": RAISED, "subscript": LOWERED}
_NO_OUTLINE = 9
"""Outline level with which Word marks text that is no heading."""
_DEEPEST = 6
"""Lowest heading level of Markdown."""
_PAGE_NUMBER = re.compile(r"\b(?:NUM|SECTION)?PAGES?\b")


class Style(NamedTuple):
    """Heading level and list membership of a paragraph."""

    level: int = 0
    """Heading level from 1; 0 for other text."""
    is_list: bool = False


Styles = dict[str, Style]


def style_of(style: object) -> Style:
    """Return heading level and list membership of a python-docx style, including what it inherits."""
    name = str(getattr(style, "name", "")).lower()
    if name == "title":
        return Style(1)
    if name.startswith("heading ") and name[8:].isdigit():
        return Style(min(int(name[8:]), _DEEPEST))
    found, base = own_style(getattr(style, "element", None)), getattr(style, "base_style", None)
    if found.level or base is None:
        return found
    inherited = style_of(base)
    return Style(inherited.level, found.is_list or inherited.is_list)


def own_style(element: etree._Element | None) -> Style:
    """Return heading level and list membership that the XML of a paragraph or style itself sets."""
    properties = element.find(qn("w:pPr")) if element is not None else None
    if properties is None:
        return Style()
    level = int(_value(properties, "outlineLvl") or _NO_OUTLINE)
    return Style(min(level + 1, _DEEPEST) if level < _NO_OUTLINE else 0, properties.find(qn("w:numPr")) is not None)


def _value(element: etree._Element, *path: str) -> str | None:
    """Return the value of a property: "" if it has no value, None if the property is missing."""
    found = element.find("/".join(qn(f"w:{name}") for name in path))
    return None if found is None else found.get(qn("w:val"), "")


def parse_docx(data: bytes, *, keeps_links: bool = False) -> Extract:
    """Return title, text and modification date of a Word document; with `keeps_links`, links become Markdown."""
    office = open_office(data)
    document = Document(office.file)
    styles = {style.style_id: style_of(style) for style in document.styles}
    targets: dict[str, str] | None = None
    if keeps_links:
        # The package for the library has lost its external links.
        targets = {}
        with suppress(KeyError):
            relations = read_xml(open_archive(data), "word/_rels/document.xml.rels")
            outer = (relation for relation in relations if relation.get("TargetMode") == "External")
            targets = {relation.get("Id", ""): relation.get("Target", "") for relation in outer}
    parts = [(relation.reltype, relation.target_part.blob) for relation in document.part.rels.values()]
    texts = [_text(etree.fromstring(document.part.blob), styles, targets)]
    notes = (part for kind, part in parts if kind in (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES))
    texts += [_text(etree.fromstring(part), styles) for part in notes]
    # Headers and footers repeat on each page; lines with a page number are not text.
    blocks: dict[str, None] = {}
    around = (part for kind, part in parts if kind in (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER))
    for root in map(etree.fromstring, around):
        for paragraph in root.iter(qn("w:p")):
            fields = paragraph.iter(qn("w:instrText"), qn("w:fldSimple"))
            if any(_PAGE_NUMBER.search(field.text or field.get(qn("w:instr"), "")) for field in fields):
                paragraph.clear()
        blocks |= dict.fromkeys(_text(root, styles).split("\n\n"))
    texts += [block for block in blocks if block not in texts[0]]
    roots = (etree.fromstring(part) for kind, part in parts if kind == RELATIONSHIP_TYPE.COMMENTS)
    for comment in chain.from_iterable(roots):
        author, day = comment.get(qn("w:author"), ""), comment.get(qn("w:date"), "")[:10]
        named = " ".join(filter(None, ("Comment", author and f"by {author}", day and f"on {day}")))
        texts.append(f"{named}: {_text(comment, styles)}")
    text = "\n\n".join(filter(None, texts))
    return Extract(office.title or first_heading(text), text, changed=office.changed)


def _text(root: etree._Element, styles: Styles, targets: Mapping[str, str] | None = None) -> str:
    """Return the text of a part of the document, which is modified.

    `targets` are the addresses of links by their ids; without it, only the words of links are kept.
    """
    # Tracked deletions and moves, and fallback content for older programs.
    etree.strip_elements(root, "{*}del", "{*}moveFrom", "{*}Fallback", with_tail=False)
    etree.strip_tags(root, "{*}sdt", "{*}sdtContent", "{*}ins", "{*}moveTo", "{*}customXml", "{*}smartTag")
    for box in list(root.iter("{*}txbxContent")):
        next(box.iterancestors(qn("w:p"))).addnext(box)
    elements = list(root.iter(etree.Element))
    for element in elements:
        name = local_name(element)
        element.text = element.text if name == "t" else _SIGNS.get(name)
        element.tail = None
    for element in elements:
        name, row = local_name(element), None
        own = named = Style()
        if name == "r":
            if _value(element, "rPr", "vanish") not in (None, "0", "false", "off"):
                element.clear()
            elif shift := _SHIFTS.get(_value(element, "rPr", "vertAlign") or ""):
                enclose(element, shift)
        elif name == "tbl":
            _merge(row.findall(qn("w:tc")) for row in element.findall(qn("w:tr")))
        elif name == "tc":
            row = element.getparent()
        elif name == "p":
            own, named = own_style(element), styles.get(_value(element, "pPr", "pStyle") or "", named)
        level = own.level or named.level
        if not level and (own.is_list or named.is_list):
            element.text = "- "
        is_header = row is not None and _value(row, "trPr", "tblHeader") is not None
        other = "th" if is_header else _NAMES.get(name, "div" if name in _BLOCKS else "span")
        element.tag = f"h{level}" if level else other
    if targets is not None:
        for link in root.iter("a"):
            link.set("href", targets.get(link.get(qn("r:id"), ""), ""))
        write_links(root)
    return tree_text(root)


def _merge(rows: Iterable[list[etree._Element]]) -> None:
    """Set the attributes `colspan` and `rowspan` of merged cells, and remove the cells that they cover."""
    above = dict[int, etree._Element]()
    for row in rows:
        start, current = 0, dict[int, etree._Element]()
        for cell in row:
            columns = _value(cell, "tcPr", "gridSpan") or "1"
            cell.set("colspan", columns)
            first = above.get(start)
            if _value(cell, "tcPr", "vMerge") in ("", "continue") and first is not None:
                first.set("rowspan", str(int(first.get("rowspan", "1")) + 1))
                cell.getparent().remove(cell)
            current[start] = first if cell.getparent() is None and first is not None else cell
            start += int(columns)
        above = current
