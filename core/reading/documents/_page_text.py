"""Converts an HTML tree to text with headings, paragraphs, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePath
from urllib.parse import quote, unquote

from lxml import etree

from ._numbering import shown
from ._tables import Cell, cell_text, tables_of_cells
from .records import readable_suffixes

_LONG_CELL = 1000
"""A table with a longer cell, in characters, does not show data but arranges parts of a page."""

_BLOCKS = (
    "address", "article", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt",
    "figcaption", "figure", "form", "header", "hr", "li", "main", "ol", "p", "pre", "section",
    "table", "tr", "ul",
)  # fmt: skip
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "summary": 6}
"""Heading levels by tag; the summary of a collapsible section counts as a heading."""
_PARAGRAPH, _LINE, _ITEM = "\u2029", "\ufdd4", "\ufdd5"
"""Characters put into the tree for the end of a paragraph, for the end of a line within a
paragraph, and before and after the marker of a list item."""
MARKER = "marker"
"""Attribute with what a program shows before a list item."""
_NUMBERED = ("1", "a", "A", "i", "I")
_MARK = f"{_ITEM}[^{_ITEM}]*{_ITEM}"
_BEFORE_ITEM = re.compile(rf"({_MARK})[\s{_PARAGRAPH}]+")
_OUTER_ITEMS = re.compile(rf"(?:{_MARK})+(?={_ITEM})")


def write_links(root: etree._Element) -> None:
    """Replace the links of a tree to web pages and files with Markdown text.

    A link or button whose text is a number becomes `[n]`.
    """
    suffixes = readable_suffixes()
    for link in list(root.iter("a", "button")):
        words = " ".join("".join(link.itertext()).split())
        bare = words.strip("[]")
        address = link.get("href", "")
        is_web = address.startswith(("http://", "https://"))
        path = address.partition("#")[0].partition("?")[0]
        is_file = not is_web and PurePath(path).suffix.lower() in suffixes
        if not bare.isdigit() and not (bare and (is_web or is_file)):
            continue
        del link[:]
        link.tag = "span"
        if is_web and address in words:
            link.text = words
        elif is_web:
            link.text = f"[{bare}]({address})"
        elif is_file:
            link.text = f"[{bare}]({quote(unquote(path))})"
        else:
            link.text = f"[{bare}]"


def tree_text(root: etree._Element) -> str:
    """Return the text of an HTML tree as Markdown, with the control characters of superscripts.

    Modifies the tree.
    """
    for part in root.iter("pre"):
        for element in part.iter(etree.Element):
            element.text = (element.text or "").replace("\n", _LINE)
            if element is not part:
                element.tail = (element.tail or "").replace("\n", _LINE)
    # Inner tables first.
    for table in reversed(list(root.iter("table"))):
        _write_table(table)
    for items in root.iter("ul", "ol"):
        _write_markers(items)
    for element in root.iter(*_BLOCKS, *_LEVELS):
        text = element.text or ""
        level = _LEVELS.get(str(element.tag), 0)
        if level:
            text = f"{'#' * level} {' '.join(text.split())}"
        element.text = f"{_PARAGRAPH}{text}"
        element.tail = f"{_PARAGRAPH}{element.tail or ''}"
    for element in root.iter("br"):
        element.tail = f"{_PARAGRAPH}{element.tail or ''}"
    return _joined_blocks("".join(map(str, root.itertext())))


def _write_markers(items: etree._Element) -> None:
    """Put the markers of a list before its items; parsers may have set those of single items."""
    kind = ""
    if items.tag == "ol":
        kind = items.get("type", "1")
    children = list(items.iterchildren("li"))
    is_reversed = items.get("reversed") is not None
    number = _whole_number(items.get("start", str(len(children) if is_reversed else 1)))
    for item in children:
        number = _whole_number(item.get("value", str(number)))
        marker = item.get(MARKER, "-")
        if kind in _NUMBERED:
            marker = f"{shown(number, kind)}."
        item.text = f"{_ITEM}{marker} {_ITEM}{item.text or ''}"
        number += -1 if is_reversed else 1


def _joined_blocks(content: str) -> str:
    """Return the paragraphs of a text.

    There is a blank line between two of them, unless both are list items.
    """
    blocks = list[str]()
    was_item = False
    for part in _BEFORE_ITEM.sub(r"\1", content).split(_PARAGRAPH):
        is_item = _ITEM in part
        if is_item:
            part = _OUTER_ITEMS.sub("", part)
        lines = [" ".join(line.split()) for line in part.split(_LINE)]
        text = "\n".join(filter(None, lines))
        if not text.rpartition(_ITEM)[2].strip("# "):
            continue
        blocks.append("\n" if was_item and is_item else "\n\n")
        blocks.append(text.replace(_ITEM, ""))
        was_item = is_item
    return "".join(blocks).strip("\n")


def _write_table(table: etree._Element) -> None:
    """Replace the content of a table with its Markdown.

    Each cell of a layout table becomes a block instead.
    """
    rows = list[list[etree._Element]]()
    for row in table.xpath("./tr | ./*/tr"):
        rows.append([cell for cell in row if cell.tag in ("td", "th")])
    if _is_layout(table, rows):
        for cell in chain.from_iterable(rows):
            cell.tag = "div"
        return
    heads = set(table.xpath("./thead//td"))
    cell_rows = list[list[Cell]]()
    for row in rows:
        cell_rows.append([_cell(cell, cell.tag == "th" or cell in heads) for cell in row])
    title = ""
    caption = table.find("caption")
    if caption is not None:
        title = cell_text(_lines(caption))
    blocks = [title]
    for block in tables_of_cells(cell_rows):
        blocks.append(block.replace("\n", _LINE))
    for child in list(table):
        table.remove(child)
    table.text = _PARAGRAPH.join(blocks)


def _is_layout(table: etree._Element, rows: Sequence[Sequence[etree._Element]]) -> bool:
    """Whether a table only arranges parts of a page.

    It has a single column, or contains headings, tables, forms, or long texts.
    """
    if table.get("role") in ("presentation", "none") or max(map(len, rows), default=0) < 2:
        return True
    parts = table.iterdescendants(*_LEVELS, "table", "form", "article", "section")
    if next(parts, None) is not None:
        return True
    cells = chain.from_iterable(rows)
    return any(len("".join(cell.itertext())) > _LONG_CELL for cell in cells)


def _cell(cell: etree._Element, is_heading: bool) -> Cell:
    columns = _whole_number(cell.get("colspan", "1").strip())
    rows = _whole_number(cell.get("rowspan", "1").strip())
    if not rows:
        # rowspan=0 reaches to the end of the table.
        rows = len(cell.getparent().getparent())
    return Cell(cell_text(_lines(cell)), columns, rows, is_heading)


def _whole_number(value: str) -> int:
    """Return the number in an attribute; 1 if it is none or too large."""
    if value.isdecimal() and len(value) < 6:
        return int(value)
    return 1


def _lines(cell: etree._Element) -> str:
    """Return the text of a cell, one line per block."""
    for element in cell.iter(*_BLOCKS, "br"):
        element.text = f"\n{element.text or ''}"
        if element is not cell:
            element.tail = f"\n{element.tail or ''}"
    return "".join(map(str, cell.itertext())).replace(_LINE, "\n")
