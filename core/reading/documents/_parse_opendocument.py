"""Parses OpenDocument texts, sheets and slides.

Renames their elements to those of HTML, which then becomes text. Hidden sheets, slides, rows,
columns and letters are not read; a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from ._formulas import formula_text
from ._numbering import BULLET
from ._office import local_name, open_archive, read_xml
from ._opendocument_numbering import OpenDocumentNumbering, attributes_of
from ._page_text import MARKER, tree_text
from ._parse_text import first_heading, informative_title, iso_date
from ._raised import END, FORMULA
from ._tagged import Shift, enclose, put_before, resolve_tags
from .records import Extract

if TYPE_CHECKING:
    from zipfile import ZipFile

_MOST_COPIES = 64
"""Maximum repetitions of a cell or row, since empty ones are repeated to the end of a sheet."""
_NAMES = {
    "p": "p", "list": "ul", "list-item": "li", "table": "table", "table-row": "tr",
    "table-cell": "td", "table-header-rows": "thead", "line-break": "br", "page": "section",
    "ruby": "ruby", "ruby-text": "rt",
}  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HIDING = ("collapse", "filter")
_KEPT = {"number-columns-spanned": "colspan", "number-rows-spanned": "rowspan"}
_UNSEEN = (
    "{*}tracked-changes",
    "{*}covered-table-cell",
    "{*}note-citation",
    "{*}creator",
    "{*}date",
    "{*}forms",
    "{*}notes",
    "{*}number",
)
_BRACKETS = {"note": (" (", ")"), "annotation": (" (", ")"), "s": (" ", ""), "tab": (" ", "")}


def parse_opendocument(data: bytes) -> Extract:
    """Return title, text and modification date of an OpenDocument file, with notes in brackets."""
    archive = open_archive(data)
    names = archive.namelist()
    root = read_xml(archive, "content.xml")
    roots = [root]
    if "styles.xml" in names:
        roots.append(read_xml(archive, "styles.xml"))
    fields = dict[str, str]()
    if "meta.xml" in names:
        for field in read_xml(archive, "meta.xml").iter(etree.Element):
            fields[local_name(field)] = field.text or ""
    looks = _looks(roots)
    body = next(root.iter("{*}body"), root)
    hidden = _drop_hidden(body, looks)
    objects = _write_formulas(body, archive)
    labels = dict(OpenDocumentNumbering(roots).labels(body))
    etree.strip_elements(body, *_UNSEEN, with_tail=False)
    # Inner elements first: repeated elements are copied with their content.
    for element in reversed(list(body.iter(etree.Element))):
        name = local_name(element)
        values = attributes_of(element)
        for stated in _KEPT.keys() & values:
            element.set(_KEPT[stated], values[stated])
        if name in _BRACKETS:
            before, behind = _BRACKETS[name]
            enclose(element, before, behind)
        element.tag = _tag(element, name, values)
        if name in ("span", "p", "h"):
            look = looks.get(values.get("style-name", ""), _Look())
            if look.is_struck:
                element.clear(keep_tail=True)
            elif name == "span":
                element.tag = look.shift or "span"
        if element in labels:
            _write_label(element, labels[element])
        for _ in range(_repetitions(values) - 1):
            element.addnext(deepcopy(element))
    resolve_tags(body)
    text = tree_text(body)
    title = informative_title(fields.get("title", "")) or first_heading(text)
    notes = list[str]()
    if hidden:
        notes.append(f"not read, because hidden: {', '.join(hidden)}")
    if objects:
        notes.append(f"embedded objects that were not read: {objects}")
    return Extract(title, text, changed=iso_date(fields.get("date", "")), note="; ".join(notes))


class _Look(NamedTuple):
    """Formatting that decides how text is read."""

    shift: Shift = ""
    is_struck: bool = False
    is_hidden: bool = False


def _looks(roots: Iterable[etree._Element]) -> dict[str, _Look]:
    """Return the formatting of each style."""
    looks = dict[str, _Look]()
    for style in chain.from_iterable(root.iter("{*}style") for root in roots):
        values = dict[str, str]()
        for properties in style:
            values |= attributes_of(properties)
        position = values.get("text-position", "")
        shift: Shift = ""
        if position.startswith(("sub", "-")):
            shift = "sub"
        elif position.startswith(tuple("s123456789")):
            shift = "sup"
        lines = {values.get("text-line-through-style"), values.get("text-line-through-type")}
        is_hidden = values.get("display") in ("none", "false")
        looks[attributes_of(style).get("name", "")] = _Look(
            shift,
            is_struck=not lines <= {None, "none"},
            is_hidden=is_hidden or values.get("visibility") == "hidden",
        )
    return looks


def _drop_hidden(body: etree._Element, looks: Mapping[str, _Look]) -> list[str]:
    """Remove what the document hides; returns names of hidden sheets and slides, and of sheets
    with hidden rows or columns."""
    hidden = list[str]()
    for element in list(body.iter("{*}table", "{*}page", "{*}span", "{*}p", "{*}h")):
        values = attributes_of(element)
        if looks.get(values.get("style-name", ""), _Look()).is_hidden:
            name = local_name(element)
            if name in ("table", "page"):
                hidden.append(
                    f"{'sheet' if name == 'table' else 'slide'} {values.get('name', '')!r}"
                )
            element.clear(keep_tail=True)
    for table in body.iter("{*}table"):
        if _drop_hidden_cells(table):
            hidden.append(f"rows or columns of {attributes_of(table).get('name', '')!r}")
    return hidden


def _drop_hidden_cells(table: etree._Element) -> bool:
    """Remove the hidden rows and columns of a table; returns whether there were any."""
    is_changed = False
    hidden = list[range]()
    position = 0
    for column in table.iter("{*}table-column"):
        values = attributes_of(column)
        count = _stated(values, "number-columns-repeated")
        if values.get("visibility") in _HIDING:
            hidden.append(range(position, position + count))
        position += count
    for row in list(table.iter("{*}table-row")):
        if attributes_of(row).get("visibility") in _HIDING:
            is_changed = True
            row.clear(keep_tail=True)
        elif hidden:
            _drop_cells(row, hidden)
    return is_changed or bool(hidden)


def _drop_cells(row: etree._Element, hidden: Sequence[range]) -> None:
    """Remove the cells of a row in hidden columns."""
    position = 0
    for cell in list(row.iterchildren("{*}table-cell", "{*}covered-table-cell")):
        values = attributes_of(cell)
        count = _stated(values, "number-columns-repeated")
        width = max(count, _stated(values, "number-columns-spanned"))
        columns = range(position, min(position + width, position + _MOST_COPIES))
        shown = [column for column in columns if not any(column in part for part in hidden)]
        for name in cell.attrib:
            if str(name).endswith(("columns-repeated", "columns-spanned")):
                cell.set(name, str(len(shown)))
        if not shown:
            row.remove(cell)
        position += count


def _stated(values: Mapping[str, str], name: str) -> int:
    value = values.get(name, "1")
    return int(value) if value.isdecimal() and len(value) < 6 else 1


def _write_formulas(body: etree._Element, archive: ZipFile) -> int:
    """Replace embedded formulas with their text; returns how many other objects there are."""
    others = 0
    for embedded in list(body.iter("{*}object", "{*}object-ole")):
        reference = attributes_of(embedded).get("href", "").removeprefix("./")
        text = ""
        with suppress(KeyError):
            root = read_xml(archive, f"{reference}/content.xml")
            if local_name(root) == "math":
                text = formula_text(root)
        frame = embedded.getparent()
        if text and frame is not None:
            frame.clear(keep_tail=True)
            frame.text = f"{FORMULA}{text}{END}"
        else:
            others += 1
    return others


def _write_label(element: etree._Element, label: str) -> None:
    """Put a number before a heading, or set the marker of a list item."""
    first = next(element.iterchildren(*_HEADINGS), None)
    if element.tag == "li" and (first is None or label == BULLET):
        element.set(MARKER, label)
    else:
        put_before(element if first is None else first, label)
        if element.tag == "li":
            element.tag = "div"


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
