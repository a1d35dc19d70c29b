"""Parses OpenDocument texts, sheets and slides: renames their elements to those of HTML, which then becomes text."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree

from ..records import Extract
from .office import local_name, open_archive, read_xml
from .page_text import enclose, tree_text
from .parse_text import first_heading, informative_title, iso_date
from .raised import LOWERED, RAISED

_MOST_COPIES = 64
"""Maximum repetitions of a cell or row, since empty ones are repeated to the end of a sheet."""
_NAMES = {
    "p": "p", "list": "ul", "list-item": "li", "table": "table", "table-row": "tr", "table-cell": "td",
    "table-header-rows": "thead", "line-break": "br", "page": "section",
}  # fmt: skip
_KEPT = {"number-columns-spanned": "colspan", "number-rows-spanned": "rowspan"}
_UNSEEN = ("tracked-changes", "covered-table-cell", "note-citation", "creator", "date", "forms", "notes")
_BRACKETS = {"note": (" (", ")"), "annotation": (" (", ")"), "s": (" ", ""), "tab": (" ", "")}


def parse_opendocument(data: bytes) -> Extract:
    """Return title, text and modification date of an OpenDocument file, with notes in brackets."""
    archive = open_archive(data)
    root = read_xml(archive, "content.xml")
    meta = read_xml(archive, "meta.xml") if "meta.xml" in archive.namelist() else etree.Element("none")
    fields = {local_name(element): element.text or "" for element in meta.iter(etree.Element)}
    shifts = {_values(style).get("name", ""): _values(part) for style in root.iter("{*}style") for part in style}
    body = next(root.iter("{*}body"), root)
    etree.strip_elements(body, *(f"{{*}}{name}" for name in _UNSEEN), with_tail=False)
    # Inner elements first: repeated elements are copied with their content.
    for element in reversed(list(body.iter(etree.Element))):
        name, values = local_name(element), _values(element)
        for stated in _KEPT.keys() & values:
            element.set(_KEPT[stated], values[stated])
        before, behind = _BRACKETS.get(name, ("", ""))
        shift = shifts.get(values.get("style-name", ""), {}).get("text-position", "0") if name == "span" else "0"
        if before:
            enclose(element, before, behind)
        elif shift.startswith(tuple("s-123456789")):
            enclose(element, LOWERED if shift.startswith(("sub", "-")) else RAISED)
        if name == "h":
            level = values.get("outline-level", "1")
            element.tag = f"h{min(int(level), 6) if level.isdecimal() else 1}"
        elif name == "p" and local_name(element.getparent()) in ("note-body", "annotation"):
            element.tag = "span"
        else:
            element.tag = _NAMES.get(name, "span")
        repeated = (value for key, value in values.items() if key.endswith("repeated") and value.isdecimal())
        for _ in range(min(int(next(repeated, "1")), _MOST_COPIES) - 1):
            element.addnext(deepcopy(element))
    text = tree_text(body)
    title = informative_title(fields.get("title", "")) or first_heading(text)
    return Extract(title, text, changed=iso_date(fields.get("date", "")))


def _values(element: etree._Element) -> dict[str, str]:
    """Return the attributes of an element, by names without namespace."""
    return {str(name).rpartition("}")[2]: str(value) for name, value in element.attrib.items()}
