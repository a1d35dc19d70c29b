"""Parses Word documents: renames their elements to those of HTML, which becomes text.

Headers and comments come last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from lxml import etree

from ._formulas import MATHML, formula_of_word
from ._graphics import Block, chart_blocks, diagram_lines
from ._note_links import note_reference, write_note
from ._numbering import BULLET, WordNumbering
from ._office import local_name, open_archive, open_office, read_xml
from ._page_text import tree_text, write_links
from ._parse_text import first_heading
from ._symbols import symbol_at, with_symbols
from ._tagged import Shift, put_before, resolve_tags
from .records import Extract

_NAMES = {
    "p": "p",
    "tbl": "table",
    "tr": "tr",
    "tc": "td",
    "br": "br",
    "cr": "br",
    "hyperlink": "a",
    "ruby": "ruby",
    "rt": "rt",
}
_BLOCKS = ("body", "hdr", "ftr", "footnote", "endnote", "comment", "txbxContent")
_SIGNS = {"tab": " ", "noBreakHyphen": "-"}
_SHIFTS: dict[str, Shift] = {"superscript": "sup", "subscript": "sub"}
_OFF = ("0", "false", "off")
_NOTE_PREFIXES = {"footnote": "", "endnote": "e"}
"""What the labels of notes begin with, by kind."""
_NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)
_MARGINS = (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER)
_CHART = "/chart"
_DIAGRAM = "/diagramData"
_HTML = frozenset((*MATHML, "p", "table", "tr", "td"))
"""Tags without a namespace, of elements that are HTML or MathML already."""
_NO_OUTLINE = 9
"""Outline level with which Word marks text that is no heading."""
_DEEPEST = 6
"""Lowest heading level of Markdown."""
_PAGE_NUMBER = re.compile(r"\b(?:NUM|SECTION)?PAGES?\b")


class Style(NamedTuple):
    """Heading level and list membership of a paragraph, as its style or the paragraph states
    them."""

    level: int = 0
    """Heading level from 1; 0 for other text."""
    list_id: str | None = None
    """Id of its list, "0" for none; None if it is not stated."""
    list_level: int | None = None
    """Level in the list from 0; None if it is not stated."""


class Look(NamedTuple):
    """Formatting of letters that decides how their text is read; None if it is not stated."""

    shift: Shift | None = None
    is_struck: bool | None = None
    is_hidden: bool | None = None
    font: str | None = None


class _Document(NamedTuple):
    """What the parts of a document refer to."""

    styles: Mapping[str, Style]
    looks: Mapping[str, Look]
    """Formatting by the ids of styles."""
    numbering: WordNumbering
    targets: Mapping[str, str] | None = None
    """Addresses of links by their ids; without it, only the words of links are kept."""
    graphics: Mapping[str, Sequence[Block]] = MappingProxyType({})
    """Text of charts and diagrams by their ids."""
    notes: Mapping[tuple[str, str], str] = MappingProxyType({})
    """Labels of footnotes and endnotes by kind and id; without them, references are left out."""


def style_of(style: object) -> Style:
    """Return heading level and list membership of a python-docx style, also inherited ones."""
    stated = own_style(getattr(style, "element", None))
    name = str(getattr(style, "name", "")).lower()
    if name == "title":
        stated = stated._replace(level=1)
    elif name.startswith("heading ") and name[8:].isdigit():
        stated = stated._replace(level=min(int(name[8:]), _DEEPEST))
    base = getattr(style, "base_style", None)
    return stated if base is None else _completed_style(stated, style_of(base))


def own_style(element: etree._Element | None) -> Style:
    """Return heading level and list membership that the XML of a paragraph or style itself sets."""
    properties = None if element is None else element.find(qn("w:pPr"))
    if properties is None:
        return Style()
    level = 0
    outline = int(_value(properties, "outlineLvl") or _NO_OUTLINE)
    if outline < _NO_OUTLINE:
        level = min(outline + 1, _DEEPEST)
    list_level = _value(properties, "numPr", "ilvl") or ""
    return Style(
        level,
        _value(properties, "numPr", "numId"),
        int(list_level) if list_level.isdecimal() else None,
    )


def _completed_style(stated: Style, inherited: Style) -> Style:
    list_id = stated.list_id
    list_level = stated.list_level
    if list_id is None:
        list_id = inherited.list_id
    if list_level is None and stated.list_id is None:
        list_level = inherited.list_level
    return Style(stated.level or inherited.level, list_id, list_level)


def _look_of(style: object) -> Look:
    """Return the formatting of letters of a python-docx style, also inherited."""
    stated = _own_look(getattr(style, "element", None))
    base = getattr(style, "base_style", None)
    return stated if base is None else _completed_look(stated, _look_of(base))


def _own_look(element: etree._Element | None) -> Look:
    """Return the formatting that the XML of a run or style itself sets."""
    properties = None if element is None else element.find(qn("w:rPr"))
    if properties is None:
        return Look()
    shift = _value(properties, "vertAlign")
    struck = [_is_on(properties, name) for name in ("strike", "dstrike")]
    fonts = properties.find(qn("w:rFonts"))
    return Look(
        shift=None if shift is None else _SHIFTS.get(shift, ""),
        is_struck=None if struck == [None, None] else True in struck,
        is_hidden=_is_on(properties, "vanish"),
        font=None if fonts is None else fonts.get(qn("w:ascii")),
    )


def _completed_look(stated: Look, inherited: Look) -> Look:
    completed = inherited._asdict()
    completed |= {name: value for name, value in stated._asdict().items() if value is not None}
    return Look(**completed)


def _is_on(properties: etree._Element, name: str) -> bool | None:
    """Return whether a property is switched on; None if it is not stated."""
    value = _value(properties, name)
    return None if value is None else value not in _OFF


def _value(element: etree._Element, *path: str) -> str | None:
    """Return the value of a property: "" if it has no value, None if the property is missing."""
    property_element = element.find("/".join(qn(f"w:{name}") for name in path))
    if property_element is None:
        return None
    value: str = property_element.get(qn("w:val"), "")
    return value


def parse_docx(data: bytes, *, keeps_links: bool = False) -> Extract:
    """Return title, text and modification date of a Word document.

    With `keeps_links`, links and footnotes become Markdown.
    """
    office = open_office(data)
    document = Document(office.file)
    related = document.part.rels.values()
    numbering = next((r for r in related if r.reltype == RELATIONSHIP_TYPE.NUMBERING), None)
    parts = _Document(
        styles={style.style_id: style_of(style) for style in document.styles},
        looks={style.style_id: _look_of(style) for style in document.styles},
        numbering=WordNumbering(
            None if numbering is None else etree.fromstring(numbering.target_part.blob)
        ),
    )
    root = etree.fromstring(document.part.blob)
    targets: dict[str, str] | None = None
    if keeps_links:
        targets = _link_targets(data, "document.xml")
        parts = parts._replace(notes=_note_labels(root))
    notes = dict[str, bytes]()
    margins = list[bytes]()
    comments = list[bytes]()
    graphics = dict[str, Sequence[Block]]()
    for relation in related:
        part = relation.target_part.blob
        if relation.reltype in _NOTES:
            notes[relation.target_part.partname.filename] = part
        elif relation.reltype in _MARGINS:
            margins.append(part)
        elif relation.reltype == RELATIONSHIP_TYPE.COMMENTS:
            comments.append(part)
        elif relation.reltype.endswith(_CHART):
            graphics[relation.rId] = list(chart_blocks(etree.fromstring(part)))
        elif relation.reltype.endswith(_DIAGRAM):
            graphics[relation.rId] = list(diagram_lines(etree.fromstring(part)))
    main_parts = parts._replace(targets=targets, graphics=graphics)
    objects = len(list(root.iter("{*}OLEObject")))
    main = _text(root, main_parts)
    texts = [main]
    for name, part in notes.items():
        note_parts = parts
        if keeps_links:
            note_parts = parts._replace(targets=_link_targets(data, name))
        texts.append(_text(etree.fromstring(part), note_parts))
    texts += [block for block in _margin_blocks(margins, parts) if block not in main]
    for comment in chain.from_iterable(map(etree.fromstring, comments)):
        texts.append(f"{_comment_name(comment)}: {_text(comment, parts)}")
    text = "\n\n".join(filter(None, texts))
    note = f"embedded objects that were not read: {objects}" if objects else ""
    title = office.title or first_heading(text)
    return Extract(title, text, changed=office.changed, note=note)


def _note_labels(root: etree._Element) -> dict[tuple[str, str], str]:
    """Return the labels of the footnotes and endnotes that a text refers to, by kind and id: their
    numbers, as Word counts them."""
    labels = dict[tuple[str, str], str]()
    for kind, prefix in _NOTE_PREFIXES.items():
        references = root.iter(qn(f"w:{kind}Reference"))
        ids = dict.fromkeys(reference.get(qn("w:id"), "") for reference in references)
        for number, note_id in enumerate(ids, 1):
            labels[kind, note_id] = f"{prefix}{number}"
    return labels


def _link_targets(data: bytes, part: str) -> dict[str, str]:
    """Return the addresses of external links in a part of the document by their ids.

    The package for the library has lost them.
    """
    targets = dict[str, str]()
    with suppress(KeyError):
        for relation in read_xml(open_archive(data), f"word/_rels/{part}.rels"):
            if relation.get("TargetMode") == "External":
                targets[relation.get("Id", "")] = relation.get("Target", "")
    return targets


def _margin_blocks(margins: Sequence[bytes], parts: _Document) -> dict[str, None]:
    """Return the distinct blocks of headers and footers, which repeat on each page."""
    blocks = dict[str, None]()
    for root in map(etree.fromstring, margins):
        for paragraph in root.iter(qn("w:p")):
            # Lines with a page number are not text.
            fields = paragraph.iter(qn("w:instrText"), qn("w:fldSimple"))
            if any(map(_is_page_number, fields)):
                paragraph.clear()
        blocks |= dict.fromkeys(_text(root, parts).split("\n\n"))
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


def _text(root: etree._Element, parts: _Document) -> str:
    """Return the text of a part of the document, which is modified."""
    _drop_deleted(root)
    etree.strip_tags(
        root, "{*}sdt", "{*}sdtContent", "{*}ins", "{*}moveTo", "{*}customXml", "{*}smartTag"
    )
    labels = _labels(root, parts)
    _rewrite_formulas(root)
    # Backwards, because each is put directly behind its paragraph.
    for box in reversed(list(root.iter("{*}txbxContent"))):
        next(box.iterancestors(qn("w:p"))).addnext(box)
    for graphic in reversed(list(root.iter("{*}relIds", "{*}chart"))):
        _write_graphic(graphic, parts.graphics)
    elements = [element for element in root.iter(etree.Element) if element.tag not in _HTML]
    notes = dict[str, list[etree._Element]]()
    for element in elements:
        name = local_name(element)
        note = parts.notes.get((name.removesuffix("Reference"), element.get(qn("w:id"), "")), "")
        if note and name in _NOTE_PREFIXES:
            notes[note] = list(element.iter(qn("w:p")))
        if name == "sym":
            element.text = symbol_at(element.get(qn("w:char"), ""), element.get(qn("w:font"), ""))
        elif name == "checkBox":
            element.text = _box(element)
        elif note and name not in _NOTE_PREFIXES:
            element.text = note_reference(note)
        elif name != "t":
            element.text = _SIGNS.get(name)
        element.tail = None
    for element in elements:
        name = local_name(element)
        tag = _NAMES.get(name, "div" if name in _BLOCKS else "span")
        if name == "r":
            tag = _format_run(element, parts.looks)
            if _refers_to_note(element) and parts.notes:
                tag = "span"
        elif name == "tbl":
            _merge(element)
        elif name == "tc":
            row = element.getparent()
            if row is not None and _value(row, "trPr", "tblHeader") is not None:
                tag = "th"
        elif name == "p":
            level = _paragraph_style(element, parts.styles).level
            if level:
                tag = f"h{level}"
            label = labels.get(element, "")
            if label and not (level and label == BULLET):
                put_before(element, label)
        element.tag = tag
    for label, paragraphs in notes.items():
        if paragraphs:
            write_note(paragraphs, label)
    if parts.targets is not None:
        for link in root.iter("a"):
            link.set("href", parts.targets.get(link.get(qn("r:id"), ""), ""))
        write_links(root)
    resolve_tags(root)
    return tree_text(root)


def _refers_to_note(run: etree._Element) -> bool:
    """Whether a run of letters has a reference to a footnote or endnote."""
    return next(run.iter(*(qn(f"w:{kind}Reference") for kind in _NOTE_PREFIXES)), None) is not None


def _drop_deleted(root: etree._Element) -> None:
    """Remove tracked deletions and moves, and fallback content for older programs."""
    for mark in list(root.iter(qn("w:del"), qn("w:cellDel"))):
        properties = mark.getparent()
        deleted = None if properties is None else properties.getparent()
        if local_name(properties) in ("trPr", "tcPr") and deleted is not None:
            deleted.getparent().remove(deleted)
    etree.strip_elements(root, "{*}del", "{*}moveFrom", "{*}Fallback", with_tail=False)


def _labels(root: etree._Element, parts: _Document) -> dict[etree._Element, str]:
    """Return the numbers and bullets that Word shows before paragraphs."""
    labels = dict[etree._Element, str]()
    for paragraph in root.iter(qn("w:p")):
        style = _paragraph_style(paragraph, parts.styles)
        if style.list_id in (None, "", "0"):
            continue
        level = style.list_level
        if level is None:
            name = _value(paragraph, "pPr", "pStyle") or ""
            level = parts.numbering.level_of_style(style.list_id, name) or 0
        label = parts.numbering.count(style.list_id, level)
        # Word counts empty paragraphs, too.
        if next(paragraph.iter("{*}t", qn("w:sym")), None) is not None:
            labels[paragraph] = label
    return labels


def _box(field: etree._Element) -> str:
    """Return the sign for a box in a form, ticked or empty."""
    ticked = _is_on(field, "checked")
    if ticked is None:
        ticked = _is_on(field, "default")
    return "☒" if ticked else "☐"


def _rewrite_formulas(root: etree._Element) -> None:
    """Replace the formulas of Word with MathML."""
    for formula in list(root.iter("{*}oMath")):
        parent = formula.getparent()
        if parent is not None:
            parent.replace(formula, formula_of_word(formula))


def _write_graphic(graphic: etree._Element, graphics: Mapping[str, Sequence[Block]]) -> None:
    """Add the text of a chart or diagram behind the paragraph that shows it."""
    key = graphic.get(qn("r:id")) or graphic.get(qn("r:dm")) or ""
    paragraph = next(graphic.iterancestors(qn("w:p")), None)
    if paragraph is None:
        return
    for block in reversed(graphics.get(key, ())):
        if isinstance(block, str):
            shown = etree.Element("p")
            shown.text = f"- {block}"
        else:
            shown = etree.Element("table")
            for row in block:
                line = etree.SubElement(shown, "tr")
                for cell in row:
                    etree.SubElement(line, "td").text = cell
        paragraph.addnext(shown)


def _paragraph_style(paragraph: etree._Element, styles: Mapping[str, Style]) -> Style:
    """Return heading level and list membership of a paragraph, also by its named style."""
    named = styles.get(_value(paragraph, "pPr", "pStyle") or "", Style())
    return _completed_style(own_style(paragraph), named)


def _format_run(run: etree._Element, looks: Mapping[str, Look]) -> str:
    """Return the HTML tag for a run of letters, after replacing symbols; empty it if it is
    hidden."""
    look = _own_look(run)
    style = _value(run, "rPr", "rStyle") or ""
    if style in looks:
        look = _completed_look(look, looks[style])
    if look.is_hidden:
        run.clear()
        return "span"
    for text in run.iter(qn("w:t")):
        text.text = with_symbols(text.text or "", look.font or "")
    if look.is_struck:
        return "s"
    return look.shift or "span"


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
