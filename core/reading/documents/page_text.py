"""Converts an HTML tree to text with headings, paragraphs, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from lxml import etree

from .raised import END, LOWERED, NOTE, RAISED
from .tables import Cell, cell_text, tables_of_cells

_LONG_CELL = 1000
"""A table with a longer cell, in characters, does not show data but arranges parts of a page."""

_BLOCKS = (
    "address", "article", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
    "form", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tr", "ul",
)  # fmt: skip
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "summary": 6}
"""Heading levels by tag; the summary of a collapsible section counts as a heading."""
_PARAGRAPH, _LINE, _ITEM = "\u2029", "\ufdd4", "\ufdd5"
"""Characters put into the tree for the end of a paragraph, for the end of a line within a paragraph, and before and
after the marker of a list item."""
_MARK = f"{_ITEM}[^{_ITEM}]*{_ITEM}"
_BEFORE_ITEM = re.compile(rf"({_MARK})[\s{_PARAGRAPH}]+")
_OUTER_ITEMS = re.compile(rf"(?:{_MARK})+(?={_ITEM})")
_SHIFT = re.compile(r"vertical-align\s*:\s*(super|sub)\b")
_NOTE_NAMES = re.compile(r"(?:^|[\s-])(?:reference|noteref|foot-?note\w*|fn|end-?note\w*)(?=$|[\s-])", re.IGNORECASE)
_NOTE_WORDS = re.compile(r"\s*[\[(]?(?:\d{1,3}|[a-z]|[*†‡§]{1,3})[\])]?\s*")


def write_links(root: etree._Element) -> None:
    """Replace the links of a tree with Markdown text; a link or button whose text is a number becomes `[n]`."""
    for link in list(root.iter("a", "button")):
        words, address = " ".join("".join(link.itertext()).split()), link.get("href", "")
        bare, is_web = words.strip("[]"), address.startswith(("http://", "https://"))
        if bare.isdigit() or (bare and is_web):
            del link[:]
            link.tag = "span"
            link.text = words if is_web and address in words else f"[{bare}]" + f"({address})" * is_web


def mark_raised(root: etree._Element) -> None:
    """Enclose superscripts, subscripts and references to notes in control characters (see `raised`)."""
    for part in root.iter("msup", "msub", "mfrac"):
        if len(part) == 2 and part.tag == "mfrac":
            part[0].tail = "/"
        elif len(part) == 2:
            part[1].tag = str(part.tag).removeprefix("m")
    for element in root.iter("sup", "sub", "a"):
        names = f"{element.get('class', '')} {element.get('role', '')}"
        if element.tag == "sub":
            enclose(element, LOWERED)
        elif element.tag == "sup":
            is_note = bool(_NOTE_NAMES.search(names)) or any("#" in link.get("href", "") for link in element.iter("a"))
            enclose(element, NOTE if is_note else RAISED)
        # Style sheets usually show such a link as a superscript.
        elif element.get("href", "").startswith("#") and _NOTE_WORDS.fullmatch("".join(element.itertext())):
            enclose(element, NOTE)
    for element in root.xpath("//*[contains(@style, 'vertical-align')]"):
        found = _SHIFT.search(element.get("style", ""))
        if found and element.tag not in ("sup", "sub"):
            enclose(element, RAISED if found[1] == "super" else LOWERED)


def enclose(element: etree._Element, sign: str, end: str = END) -> None:
    """Put `sign` before and `end` after the content of an element."""
    element.text = f"{sign}{element.text or ''}"
    if len(element):
        element[-1].tail = f"{element[-1].tail or ''}{end}"
    else:
        element.text += end


def tree_text(root: etree._Element) -> str:
    """Return the text of an HTML tree as Markdown, with the control characters of superscripts; modifies the tree."""
    for part in root.iter("pre"):
        for element in part.iter(etree.Element):
            element.text = (element.text or "").replace("\n", _LINE)
            element.tail = (element.tail or "").replace("\n", _LINE) if element is not part else element.tail
    # Inner tables first.
    for table in reversed(list(root.iter("table"))):
        _write_table(table)
    for items in root.iter("ul", "ol"):
        kind = items.get("type", "1") if items.tag == "ol" else ""
        start = items.get("start", "1")
        first = int(start) if start.isdecimal() and len(start) < 6 else 1
        for number, item in enumerate(items.iterchildren("li"), first):
            letter = chr(ord(kind) + number - 1) if kind in ("a", "A") and number <= 26 else ""
            mark = str(number) if kind == "1" else letter
            item.text = f"{_ITEM}{mark}{'.' if mark else '-'} {_ITEM}{item.text or ''}"
    for element in root.iter(*_BLOCKS, *_LEVELS):
        text, level = element.text or "", _LEVELS.get(str(element.tag), 0)
        if level:
            text = f"{'#' * level} {' '.join(text.split())}"
        element.text = f"{_PARAGRAPH}{text}"
        element.tail = f"{_PARAGRAPH}{element.tail or ''}"
    for element in root.iter("br"):
        element.tail = f"{_PARAGRAPH}{element.tail or ''}"
    content = "".join(map(str, root.itertext()))
    # There is no blank line between list items.
    blocks, was_item = list[str](), False
    for part in _BEFORE_ITEM.sub(r"\1", content).split(_PARAGRAPH):
        is_item = _ITEM in part
        part = _OUTER_ITEMS.sub("", part) if is_item else part
        text = "\n".join(filter(None, (" ".join(line.split()) for line in part.split(_LINE))))
        if text.rpartition(_ITEM)[2].strip("# "):
            blocks += ["\n" if was_item and is_item else "\n\n", text.replace(_ITEM, "")]
            was_item = is_item
    return "".join(blocks).strip("\n")


def _write_table(table: etree._Element) -> None:
    """Replace the content of a table with its Markdown; each cell of a layout table becomes a block instead."""
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.xpath("./tr | ./*/tr")]
    if _is_layout(table, rows):
        for cell in chain.from_iterable(rows):
            cell.tag = "div"
        return
    caption, heads = table.find("caption"), set(table.xpath("./thead//td"))
    written = [[_cell(cell, is_heading=cell.tag == "th" or cell in heads) for cell in row] for row in rows]
    title = cell_text(_lines(caption)) if caption is not None else ""
    blocks = [block.replace("\n", _LINE) for block in tables_of_cells(written)]
    for child in list(table):
        table.remove(child)
    table.text = _PARAGRAPH.join([title, *blocks])


def _is_layout(table: etree._Element, rows: Sequence[Sequence[etree._Element]]) -> bool:
    """Whether a table only arranges parts of a page: a single column, headings, tables, forms, or long texts."""
    if table.get("role") in ("presentation", "none") or max(map(len, rows), default=0) < 2:
        return True
    if next(table.iterdescendants(*_LEVELS, "table", "form", "article", "section"), None) is not None:
        return True
    return any(len("".join(cell.itertext())) > _LONG_CELL for cell in chain.from_iterable(rows))


def _cell(cell: etree._Element, is_heading: bool) -> Cell:
    spans = (cell.get(name, "1").strip() for name in ("colspan", "rowspan"))
    columns, rows = (int(span) if span.isdecimal() and len(span) < 6 else 1 for span in spans)
    # rowspan=0 reaches to the end of the table.
    return Cell(cell_text(_lines(cell)), columns, rows or len(cell.getparent().getparent()), is_heading)


def _lines(cell: etree._Element) -> str:
    """Return the text of a cell, one line per block."""
    for element in cell.iter(*_BLOCKS, "br"):
        element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}" if element is not cell else element.tail
    return "".join(map(str, cell.itertext())).replace(_LINE, "\n")
