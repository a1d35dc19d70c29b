"""Parses Word documents: renames their elements to those of HTML, which becomes text.

Headers and comments come last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from lxml import etree

from ._office import local_name, open_archive, open_office, read_xml
from ._page_text import enclose, tree_text, write_links
from ._parse_text import first_heading
from ._raised import LOWERED, RAISED
from .records import Extract

_NAMES = {
    "p": "p",
    "tbl": "table",
    "tr": "tr",
    "tc": "td",
    "br": "br",
    "cr": "br",
    "hyperlink": "a",
}
_BLOCKS = ("body", "hdr", "ftr", "footnote", "endnote", "comment", "txbxContent")
_SIGNS = {"tab": " ", "noBreakHyphen": "-"}
_SHIFTS = {"superscript": RAISED, "subscript": LOWERED}
_NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)
_MARGINS = (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER)
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
    """Return heading level and list membership of a python-docx style, also inherited ones."""
    name = str(getattr(style, "name", "")).lower()
    if name == "title":
        return Style(1)
    if name.startswith("heading ") and name[8:].isdigit():
        return Style(min(int(name[8:]), _DEEPEST))
    stated = own_style(getattr(style, "element", None))
    base = getattr(style, "base_style", None)
    if stated.level or base is None:
        return stated
    inherited = style_of(base)
    return Style(inherited.level, stated.is_list or inherited.is_list)


def own_style(element: etree._Element | None) -> Style:
    """Return heading level and list membership that the XML of a paragraph or style itself sets."""
    if element is None:
        return Style()
    properties = element.find(qn("w:pPr"))
    if properties is None:
        return Style()
    level = 0
    outline = int(_value(properties, "outlineLvl") or _NO_OUTLINE)
    if outline < _NO_OUTLINE:
        level = min(outline + 1, _DEEPEST)
    return Style(level, is_list=properties.find(qn("w:numPr")) is not None)


def _value(element: etree._Element, *path: str) -> str | None:
    """Return the value of a property: "" if it has no value, None if the property is missing."""
    property_element = element.find("/".join(qn(f"w:{name}") for name in path))
    if property_element is None:
        return None
    value: str = property_element.get(qn("w:val"), "")
    return value


def parse_docx(data: bytes, *, keeps_links: bool = False) -> Extract:
    """Return title, text and modification date of a Word document.

    With `keeps_links`, links become Markdown.
    """
    office = open_office(data)
    document = Document(office.file)
    styles = {style.style_id: style_of(style) for style in document.styles}
    targets: dict[str, str] | None = None
    if keeps_links:
        targets = _link_targets(data)
    notes = list[bytes]()
    margins = list[bytes]()
    comments = list[bytes]()
    for relation in document.part.rels.values():
        part = relation.target_part.blob
        if relation.reltype in _NOTES:
            notes.append(part)
        elif relation.reltype in _MARGINS:
            margins.append(part)
        elif relation.reltype == RELATIONSHIP_TYPE.COMMENTS:
            comments.append(part)
    main = _text(etree.fromstring(document.part.blob), styles, targets)
    texts = [main]
    for part in notes:
        texts.append(_text(etree.fromstring(part), styles))
    texts += [block for block in _margin_blocks(margins, styles) if block not in main]
    for comment in chain.from_iterable(map(etree.fromstring, comments)):
        texts.append(f"{_comment_name(comment)}: {_text(comment, styles)}")
    text = "\n\n".join(filter(None, texts))
    return Extract(office.title or first_heading(text), text, changed=office.changed)


def _link_targets(data: bytes) -> dict[str, str]:
    """Return the addresses of external links by their ids.

    The package for the library has lost them.
    """
    targets = dict[str, str]()
    with suppress(KeyError):
        for relation in read_xml(open_archive(data), "word/_rels/document.xml.rels"):
            if relation.get("TargetMode") == "External":
                targets[relation.get("Id", "")] = relation.get("Target", "")
    return targets


def _margin_blocks(parts: Sequence[bytes], styles: Styles) -> dict[str, None]:
    """Return the distinct blocks of headers and footers, which repeat on each page."""
    blocks = dict[str, None]()
    for root in map(etree.fromstring, parts):
        for paragraph in root.iter(qn("w:p")):
            # Lines with a page number are not text.
            fields = paragraph.iter(qn("w:instrText"), qn("w:fldSimple"))
            if any(map(_is_page_number, fields)):
                paragraph.clear()
        blocks |= dict.fromkeys(_text(root, styles).split("\n\n"))
    return blocks


def _is_page_number(field: etree._Element) -> bool:
    instruction = field.text or field.get(qn("w:instr"), "")
    return _PAGE_NUMBER.search(instruction) is not None


def _comment_name(comment: etree._Element) -> str:
    """Return what stands before the text of a comment: its author and day, if stated."""
    name = "Comment"
    author = comment.get(qn("w:author"), "")
    if author:
        name += f" by {author}"
    day = comment.get(qn("w:date"), "")[:10]
    if day:
        name += f" on {day}"
    return name


def _text(root: etree._Element, styles: Styles, targets: Mapping[str, str] | None = None) -> str:
    """Return the text of a part of the document, which is modified.

    `targets` are the addresses of links by their ids; without it, only the words of links are
    kept.
    """
    # Tracked deletions and moves, and fallback content for older programs.
    etree.strip_elements(root, "{*}del", "{*}moveFrom", "{*}Fallback", with_tail=False)
    etree.strip_tags(
        root, "{*}sdt", "{*}sdtContent", "{*}ins", "{*}moveTo", "{*}customXml", "{*}smartTag"
    )
    for box in list(root.iter("{*}txbxContent")):
        next(box.iterancestors(qn("w:p"))).addnext(box)
    elements = list(root.iter(etree.Element))
    for element in elements:
        name = local_name(element)
        if name != "t":
            element.text = _SIGNS.get(name)
        element.tail = None
    for element in elements:
        name = local_name(element)
        tag = _NAMES.get(name, "div" if name in _BLOCKS else "span")
        if name == "r":
            _mark_run(element)
        elif name == "tbl":
            _merge(element)
        elif name == "tc":
            row = element.getparent()
            if row is not None and _value(row, "trPr", "tblHeader") is not None:
                tag = "th"
        elif name == "p":
            style = _paragraph_style(element, styles)
            if style.level:
                tag = f"h{style.level}"
            elif style.is_list:
                element.text = "- "
        element.tag = tag
    if targets is not None:
        for link in root.iter("a"):
            link.set("href", targets.get(link.get(qn("r:id"), ""), ""))
        write_links(root)
    return tree_text(root)


def _paragraph_style(paragraph: etree._Element, styles: Styles) -> Style:
    """Return heading level and list membership of a paragraph, also by its named style."""
    stated = own_style(paragraph)
    named = styles.get(_value(paragraph, "pPr", "pStyle") or "", Style())
    return Style(stated.level or named.level, stated.is_list or named.is_list)


def _mark_run(run: etree._Element) -> None:
    """Mark a run of letters as superscript or subscript, or empty it if it is hidden."""
    if _value(run, "rPr", "vanish") not in (None, "0", "false", "off"):
        run.clear()
        return
    shift = _value(run, "rPr", "vertAlign")
    if shift in _SHIFTS:
        enclose(run, _SHIFTS[shift])


def _merge(table: etree._Element) -> None:
    """Set the attributes `colspan` and `rowspan` of merged cells, and remove those they cover."""
    above = dict[int, etree._Element]()
    for row in table.findall(qn("w:tr")):
        current = dict[int, etree._Element]()
        start = 0
        for cell in row.findall(qn("w:tc")):
            columns = _value(cell, "tcPr", "gridSpan") or "1"
            cell.set("colspan", columns)
            first = above.get(start)
            if _value(cell, "tcPr", "vMerge") in ("", "continue") and first is not None:
                first.set("rowspan", str(int(first.get("rowspan", "1")) + 1))
                row.remove(cell)
                current[start] = first
            else:
                current[start] = cell
            start += int(columns)
        above = current
