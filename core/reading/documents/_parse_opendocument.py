"""Parses OpenDocument texts, sheets and slides.

Renames their elements to those of HTML, which then becomes text.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from lxml import etree

from ._office import local_name, open_archive, read_xml
from ._page_text import tree_text
from ._parse_text import first_heading, informative_title, iso_date
from ._raised import LOWERED, RAISED
from .records import Extract
from .tagged import enclose

_MOST_COPIES = 64
"""Maximum repetitions of a cell or row, since empty ones are repeated to the end of a sheet."""
_NAMES = {
    "p": "p", "list": "ul", "list-item": "li", "table": "table", "table-row": "tr",
    "table-cell": "td", "table-header-rows": "thead", "line-break": "br", "page": "section",
}  # fmt: skip
_KEPT = {"number-columns-spanned": "colspan", "number-rows-spanned": "rowspan"}
_UNSEEN = (
    "{*}tracked-changes",
    "{*}covered-table-cell",
    "{*}note-citation",
    "{*}creator",
    "{*}date",
    "{*}forms",
    "{*}notes",
)
_BRACKETS = {"note": (" (", ")"), "annotation": (" (", ")"), "s": (" ", ""), "tab": (" ", "")}


def parse_opendocument(data: bytes) -> Extract:
    """Return title, text and modification date of an OpenDocument file, with notes in brackets."""
    archive = open_archive(data)
    root = read_xml(archive, "content.xml")
    fields = dict[str, str]()
    if "meta.xml" in archive.namelist():
        for field in read_xml(archive, "meta.xml").iter(etree.Element):
            fields[local_name(field)] = field.text or ""
    shifts = _shifts(root)
    body = next(root.iter("{*}body"), root)
    etree.strip_elements(body, *_UNSEEN, with_tail=False)
    # Inner elements first: repeated elements are copied with their content.
    for element in reversed(list(body.iter(etree.Element))):
        name = local_name(element)
        values = _values(element)
        for stated in _KEPT.keys() & values:
            element.set(_KEPT[stated], values[stated])
        if name in _BRACKETS:
            before, behind = _BRACKETS[name]
            enclose(element, before, behind)
        elif name == "span":
            _mark_shift(element, shifts.get(values.get("style-name", ""), "0"))
        element.tag = _tag(element, name, values)
        for _ in range(_repetitions(values) - 1):
            element.addnext(deepcopy(element))
    text = tree_text(body)
    title = informative_title(fields.get("title", "")) or first_heading(text)
    return Extract(title, text, changed=iso_date(fields.get("date", "")))


def _shifts(root: etree._Element) -> dict[str, str]:
    """Return the text position of each style, which says whether its text is raised."""
    shifts = dict[str, str]()
    for style in root.iter("{*}style"):
        name = _values(style).get("name", "")
        for properties in style:
            shifts[name] = _values(properties).get("text-position", "0")
    return shifts


def _mark_shift(element: etree._Element, position: str) -> None:
    """Mark the text of an element as superscript or subscript, by its text position."""
    if position.startswith(("sub", "-")):
        enclose(element, LOWERED)
    elif position.startswith(tuple("s123456789")):
        enclose(element, RAISED)


def _tag(element: etree._Element, name: str, values: Mapping[str, str]) -> str:
    """Return the HTML tag for an element with this name and these attributes."""
    if name == "h":
        level = values.get("outline-level", "1")
        return f"h{min(int(level), 6)}" if level.isdecimal() else "h1"
    if name == "p" and local_name(element.getparent()) in ("note-body", "annotation"):
        return "span"
    return _NAMES.get(name, "span")


def _repetitions(values: Mapping[str, str]) -> int:
    """Return how often a cell or row with these attributes occurs."""
    for name, value in values.items():
        if name.endswith("repeated") and value.isdecimal():
            return min(int(value), _MOST_COPIES)
    return 1


def _values(element: etree._Element) -> dict[str, str]:
    """Return the attributes of an element, by names without namespace."""
    return {str(name).rpartition("}")[2]: str(value) for name, value in element.attrib.items()}
