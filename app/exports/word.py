"""A report as a Word document with real headings, lists, tables and links: its page for paper, written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import count
from typing import Any, NamedTuple

import lxml.html
from docx import Document
from docx.document import Document as WordDocument
from docx.enum.text import WD_UNDERLINE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Pt, RGBColor

from ...core.evidence.citations.labels import is_right_to_left
from ..words import Evidence
from .finished import Finished
from .page import report_page

_SKIPPED = {"nav", "skip", "legend"}
"""Tags and classes of what only helps on a screen."""
_SHARES: Mapping[str, Sequence[int]] = {"contradictions": (4, 4, 3), "evidence": (4, 2, 5), "figures": (3, 1)}
"""Shares of the width for the columns of our own tables, by class."""
_STYLES = {
    "p": "", "blockquote": "Quote", "h1": "Title", "h2": "Heading 1", "h3": "Heading 2", "h4": "Heading 3",
    "h5": "Heading 4", "h6": "Heading 5",
}  # fmt: skip
"""Styles of paragraphs by tag; empty for that of what is around them."""
_FONTS: Mapping[str, tuple[str, Any]] = {
    "strong": ("bold", True), "th": ("bold", True), "em": ("italic", True),
    "code": ("name", "Consolas"), "pre": ("name", "Consolas"), "s": ("strike", True),
    "claim unsupported": ("underline", WD_UNDERLINE.WAVY),
}  # fmt: skip
"""What is set of the font, by tag or class."""
_LINK_COLOUR = RGBColor(0x12, 0x3F, 0x73)
_DEEPEST_LIST, _TABLE_INCHES = 3, 6


class _Place(NamedTuple):
    """Where words go, and how they look there."""

    into: Any
    """The document, or a cell of a table."""
    style: str = ""
    """Style of new paragraphs; empty for the usual one."""
    depth: int = 0
    """How many lists are around it."""
    font: Sequence[tuple[str, Any]] = ()
    link: str = ""
    """Where the words lead to; empty if nowhere."""


def report_docx(finished: Finished, evidence: Evidence = "short") -> bytes:
    """Return the report as a Word document."""
    page = lxml.html.document_fromstring(report_page(finished, evidence, is_on_paper=True))
    document, language = Document(), finished.language_code
    document.core_properties.title, document.core_properties.author = page.findtext(".//title"), ""
    normal = document.styles["Normal"]
    normal.font.size = Pt(10.5)
    normal.element.get_or_add_rPr().append(_element("w:lang", val=language, bidi=language))
    if is_right_to_left(language):
        normal.element.get_or_add_pPr().append(_element("w:bidi"))
    _Writer(document).write(page.body, _Place(document))
    document.save(file := BytesIO())
    return file.getvalue()


class _Writer:
    """Writes the elements of a page into a document, in their order."""

    def __init__(self, document: WordDocument) -> None:
        self._document = document
        self._paragraph: Any = None
        """The paragraph that is being written; none between paragraphs."""
        self._run: Any = None
        """Its last run; none as long as it is empty."""
        self._bookmarks = count(1)

    def write(self, element: lxml.html.HtmlElement, place: _Place) -> None:
        """Write what stands in an element."""
        self._words(element.text, place)
        for child in element:
            names = {child.tag, child.get("class")}
            if _SKIPPED.isdisjoint(names):
                font = [*place.font, *(_FONTS[name] for name in names & _FONTS.keys())]
                self._child(child, place._replace(font=font))
            self._words(child.tail, place)

    def _child(self, child: lxml.html.HtmlElement, place: _Place) -> None:
        match child.tag:
            case tag if tag in _STYLES:
                self._begin(place := place._replace(style=_STYLES[tag] or place.style))
                self.write(child, place)
                self._end()
            case "pre":
                self._begin(place)
                self._add(child.text_content().rstrip("\n"), place)
                self._end()
            case "ul" | "ol":
                self._list(child, place)
            case "table" | "dl":
                self._table([*child.iter("tr", "div")], _SHARES.get(child.get("class", "")))
            case "br":
                self._add("\n", place)
            case _ if {"cite", "number"} & {*child.classes}:
                self._words(f"[{child.text}]", place._replace(link=child.get("href", "")))
            case _:
                self.write(child, place._replace(link=child.get("href", place.link)))

    def _list(self, items: lxml.html.HtmlElement, place: _Place) -> None:
        level = min(place.depth + 1, _DEEPEST_LIST)
        style = f"List {'Bullet' if items.tag == 'ul' else 'Number'}{f' {level}' if level > 1 else ''}"
        style = "" if "sources" in items.classes else style
        if "Number" in style:
            # One of its own, since Word goes on counting from the last list of the style.
            numbering, base = self._document.part.numbering_part.element, self._document.styles[style].element
            number = numbering.add_num(numbering.num_having_numId(base.pPr.numPr.numId.val).abstractNumId.val)
            number.add_lvlOverride(0).add_startOverride(int(items.get("start", "1")))
        for item in items:
            self._begin(place._replace(style=style))
            if "Number" in style:
                self._paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number.numId
            self._bookmark(item.get("id"))
            self.write(item, place._replace(style="", depth=place.depth + 1))
        self._end()

    def _table(self, rows: Sequence[lxml.html.HtmlElement], shares: Sequence[int] | None) -> None:
        """Write a table; its head is repeated on each page, and no page break divides a row."""
        self._end()
        table = self._document.add_table(0, max(map(len, rows)), "Table Grid")
        table.autofit = shares is None
        for column, share in zip(table.columns, shares or (), strict=False):
            column.width = Inches(_TABLE_INCHES * share / sum(shares or ()))
        for row in rows:
            made = table.add_row()
            made._tr.get_or_add_trPr().append(_element("w:cantSplit"))
            if row[0].tag == "th":
                made._tr.trPr.append(_element("w:tblHeader"))
            for cell, element in zip(made.cells, row, strict=False):
                self._paragraph = cell.paragraphs[0]
                self._bookmark(row.get("id") if element is row[0] else None)
                self.write(element, _Place(cell, font=[_FONTS["th"]] if element.tag == "th" else ()))
                self._end()

    def _begin(self, place: _Place) -> None:
        """Begin a paragraph, unless there is one in which nothing stands yet."""
        if self._paragraph is None or self._run is not None:
            self._end()
            self._paragraph = place.into.add_paragraph()
        if place.style:
            self._paragraph.style = place.style

    def _end(self) -> None:
        if self._run is not None:
            self._run.text = self._run.text.rstrip(" ")
        self._paragraph = self._run = None

    def _words(self, text: str | None, place: _Place) -> None:
        """Write words as HTML means them: spaces and ends of lines in a row are one space, and none at the edges."""
        words = re.sub(r"[ \t\r\n]+", " ", text or "")
        if self._run is None or self._run.text.endswith((" ", "\n")):
            words = words.lstrip(" ")
        if words:
            self._add(words, place)

    def _add(self, words: str, place: _Place) -> None:
        if self._paragraph is None:
            self._begin(place)
        self._run = self._paragraph.add_run(words)
        for name, value in place.font:
            setattr(self._run.font, name, value)
        if place.link:
            link = OxmlElement("w:hyperlink")
            if place.link.startswith("#"):
                link.set(qn("w:anchor"), place.link[1:].replace("-", "_"))
            else:
                relation = self._document.part.relate_to(place.link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
                link.set(qn("r:id"), relation)
            self._run.font.color.rgb = _LINK_COLOUR
            link.append(self._run._r)
            self._paragraph._p.append(link)

    def _bookmark(self, name: str | None) -> None:
        """Mark the place that links in the document lead to by this name."""
        if name:
            # Word allows no hyphens in names.
            number, name = str(next(self._bookmarks)), name.replace("-", "_")
            self._paragraph._p.append(_element("w:bookmarkStart", id=number, name=name))
            self._paragraph._p.append(_element("w:bookmarkEnd", id=number))


def _element(tag: str, **values: str) -> Any:
    element = OxmlElement(tag)
    for key, value in values.items():
        element.set(qn(f"w:{key}"), value)
    return element
