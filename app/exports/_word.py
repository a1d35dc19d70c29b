"""Converts the printable HTML page of a report to a Word document with native headings, lists,
tables and links."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import count
from typing import Any, NamedTuple

import lxml.html
from docx import Document
from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_UNDERLINE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Inches, Pt, RGBColor

from ...core.evidence.citations.labels import is_right_to_left
from ..words import EvidenceShown
from ._body import columns_of, longest_word
from ._page import report_page
from ._word_formulas import word_formula
from .finished import Finished

_SKIPPED = {"skip", "legend"}
"""Tags and classes of elements that are useful only on screens."""
_SHARES: Mapping[str, Sequence[int]] = {"contradictions": (4, 4, 3), "evidence": (4, 2, 6)}
"""Relative column widths of our own tables, by class."""
_STYLES = {
    "p": "", "blockquote": "Quote", "h1": "Title", "h2": "Heading 1", "h3": "Heading 2",
    "h4": "Heading 3", "h5": "Heading 4", "h6": "Heading 5", "question small": "Subtitle",
    "figcaption": "Caption",
}  # fmt: skip
"""Paragraph style by tag or class; empty to keep the surrounding style."""
_FONTS: Mapping[str, tuple[str, Any]] = {
    "strong": ("bold", True), "th": ("bold", True), "em": ("italic", True),
    "code": ("name", "Consolas"), "pre": ("name", "Consolas"), "s": ("strike", True),
    "claim unsupported": ("underline", WD_UNDERLINE.WAVY),
    "note": ("superscript", True), "small": ("size", Pt(8.5)), "address": ("size", Pt(8.5)),
    "remarks": ("size", Pt(9)), "dense": ("size", Pt(8)), "dense tight": ("size", Pt(7)),
}  # fmt: skip
"""Font attributes by tag or class."""
_LINK_COLOUR, _INK, _QUIET = (
    RGBColor(0x12, 0x3F, 0x73),
    RGBColor(0x1D, 0x20, 0x22),
    RGBColor(0x5B, 0x61, 0x67),
)
_SIZES: Mapping[str, tuple[float, RGBColor]] = {
    "Normal": (10.5, _INK), "Title": (22, _INK), "Subtitle": (9, _QUIET), "Caption": (9, _QUIET),
    "Heading "
    "1": (15, _INK), "Heading 2": (12.5, _INK), "Heading 3": (11, _INK),
    "TOC Heading": (11, _QUIET),
}  # fmt: skip
_CELL = "Table Text"
_TABLE = f"""<w:tblPr {nsdecls("w")}><w:tblBorders>
<w:bottom w:val="single" w:sz="4" w:color="999999"/>
<w:insideH w:val="single" w:sz="4" w:color="CCCCCC"/>
</w:tblBorders><w:tblCellMar>
<w:left w:w="0" w:type="dxa"/><w:right w:w="115" w:type="dxa"/>
</w:tblCellMar></w:tblPr>"""
"""Table properties: lines between the rows and below the last one."""
_TOC = r' TOC \o "1-2" \n \h \z \u '
"""Table of contents: two heading levels as links, without page numbers, which only a layout program
knows."""
_DEEPEST_LIST, _TABLE_INCHES = 3, 6.4
_WIDEST_COLUMN, _LINE = 24, 90
"""Maximum characters of a cell that count towards its column's width, and characters per line of a
table."""
_TOGETHER = 12
"""Maximum number of rows of a table that is kept on one page."""


class _Target(NamedTuple):
    """Where the content of an element is written, and in which style."""

    into: Any
    """The document or a table cell."""
    style: str = ""
    """Style of new paragraphs; empty for the default."""
    depth: int = 0
    """Number of enclosing lists."""
    font: Sequence[tuple[str, Any]] = ()
    link: str = ""
    """Link target of the words; empty without a link."""


def report_docx(finished: Finished, evidence: EvidenceShown = "short") -> bytes:
    """Return the report as a Word document."""
    page = lxml.html.document_fromstring(
        report_page(finished, evidence, is_on_paper=True, picture="png")
    )
    document = Document()
    about = document.core_properties
    about.title = page.findtext(".//title")
    about.author = ""
    about.comments = ""
    _set_styles(document, finished.language_code)
    document.settings.element.find(qn("w:defaultTabStop")).addnext(_element("w:autoHyphenation"))
    section = document.sections[0]
    section.page_width = Cm(21)
    section.page_height = Cm(29.7)
    section.top_margin = Cm(2.2)
    section.left_margin = section.right_margin = Cm(2.3)
    footer = section.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    for before, field_name in (("", "PAGE"), (" / ", "NUMPAGES")):
        footer.add_run(before)
        field = _element("w:fldSimple", instr=field_name)
        footer._p.append(field)
        # The number that is shown until a program has computed the field.
        field.append(footer.add_run("1")._r)
    _Writer(document).write(page.body, _Target(document))
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _set_styles(document: WordDocument, language: str) -> None:
    styles = document.styles
    for name, (size, colour) in _SIZES.items():
        styles[name].font.size = Pt(size)
        styles[name].font.color.rgb = colour
    normal = styles["Normal"]
    normal.font.name = "Calibri"
    normal.paragraph_format.space_after = Pt(6)
    normal.paragraph_format.line_spacing = 1.12
    normal.element.get_or_add_rPr().append(_element("w:lang", val=language, bidi=language))
    if is_right_to_left(language):
        normal.element.get_or_add_pPr().append(_element("w:bidi"))
    title = styles["Title"].element.pPr
    title.remove(title.find(qn("w:pBdr")))
    styles["Title"].paragraph_format.space_after = Pt(4)
    subtitle = styles["Subtitle"].element.rPr
    subtitle.remove(subtitle.find(qn("w:spacing")))
    styles["Subtitle"].font.italic = False
    for level in (1, 2, 3):
        styles[f"Heading {level}"].paragraph_format.space_after = Pt(4)
    for name, size, indent in ((_CELL, 9, 0), ("toc 1", 10, 0), ("toc 2", 10, 0.5)):
        style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        style.base_style = normal
        style.font.size = Pt(size)
        style.paragraph_format.space_after = Pt(2)
        style.paragraph_format.left_indent = Cm(indent)
    styles.add_style("Report Table", WD_STYLE_TYPE.TABLE).element.append(parse_xml(_TABLE))


class _Writer:
    """Writes the elements of an HTML page to a Word document, in order."""

    def __init__(self, document: WordDocument) -> None:
        self._document = document
        self._paragraph: Any = None
        """The current paragraph; None between paragraphs."""
        self._run: Any = None
        """Last run of the current paragraph; None while the paragraph is empty."""
        self._bookmarks = count(1)
        self._style_ids = dict[str, str | None]()
        """Ids of the paragraph styles in use, by their names."""

    def write(self, element: lxml.html.HtmlElement, target: _Target) -> None:
        """Write the content of an element."""
        self._words(element.text, target)
        for child in element:
            names = {child.tag, child.get("class")}
            if _SKIPPED.isdisjoint(names):
                font = list(target.font)
                font += [_FONTS[name] for name in names if name in _FONTS]
                self._child(child, target._replace(font=font))
            self._words(child.tail, target)

    def _child(self, child: lxml.html.HtmlElement, target: _Target) -> None:
        match child.tag:
            case "nav":
                self._contents(child, target)
            case tag if tag in _STYLES:
                style = _STYLES.get(child.get("class", ""), _STYLES[tag])
                if style and target.style != _CELL:
                    target = target._replace(style=style)
                self._begin(target)
                self._bookmark(child.get("id"))
                self.write(child, target)
                self._end()
            case "pre":
                self._begin(target)
                self._add(child.text_content().rstrip("\n"), target)
                self._end()
            case "ul" | "ol":
                self._list(child, target)
            case "table":
                rows = list(child.iter("tr"))
                shares = _SHARES.get(child.get("class", "")) or _shares_of(rows)
                self._table(rows, shares, target)
            case "img":
                self._begin(target)
                self._paragraph.paragraph_format.keep_with_next = True
                _, _, data = child.get("src").partition(",")
                file = BytesIO(base64.b64decode(data))
                picture = self._paragraph.add_run().add_picture(file, Cm(16))
                picture._inline.docPr.set("descr", child.get("alt"))
                self._paragraph = None
            case "math":
                if self._paragraph is None:
                    self._begin(target)
                self._paragraph._p.append(word_formula(child))
                self._run = self._paragraph.add_run()
            case "br":
                self._add("\n", target)
            case _ if {"cite", "number"} & {*child.classes}:
                self._words(f"[{child.text}]", target._replace(link=child.get("href", "")))
            case _:
                self.write(child, target._replace(link=child.get("href", target.link)))

    def _contents(self, contents: lxml.html.HtmlElement, target: _Target) -> None:
        """Write the table of contents as a field with its entries, which Word can update."""
        entries = contents.xpath(".//li")
        if not entries:
            return
        target.into.add_paragraph(contents.findtext("h2"), "TOC Heading")
        for number, entry in enumerate(entries):
            self._begin(target._replace(style="toc 1" if "level-2" in entry.classes else "toc 2"))
            if not number:
                self._field_part("begin")
                instruction = _element("w:instrText")
                instruction.text = _TOC
                self._paragraph.add_run()._r.append(instruction)
                self._field_part("separate")
            self._add(entry.text_content(), target._replace(link=entry[0].get("href")))
            self._run.font.color.rgb = _INK
        self._field_part("end")
        self._end()

    def _field_part(self, kind: str) -> None:
        self._paragraph.add_run()._r.append(_element("w:fldChar", fldCharType=kind))

    def _list(self, items: lxml.html.HtmlElement, target: _Target) -> None:
        if "sources" in items.classes:
            style = ""
        else:
            style = "List Bullet" if items.tag == "ul" else "List Number"
            level = min(target.depth + 1, _DEEPEST_LIST)
            if level > 1:
                style += f" {level}"
        number = None
        if "Number" in style:
            # Each list gets its own numbering; otherwise Word would continue the last list with
            # this style.
            numbering = self._document.part.numbering_part.element
            style_number = self._document.styles[style].element.pPr.numPr.numId.val
            abstract_number = numbering.num_having_numId(style_number).abstractNumId.val
            number = numbering.add_num(abstract_number)
            number.add_lvlOverride(0).add_startOverride(int(items.get("start", "1")))
        for item in items:
            self._begin(target._replace(style=style))
            if number is not None:
                properties = self._paragraph._p.get_or_add_pPr().get_or_add_numPr()
                properties.get_or_add_numId().val = number.numId
            self._bookmark(item.get("id"))
            self.write(item, target._replace(style="", depth=target.depth + 1))
        self._end()

    def _table(
        self, rows: Sequence[lxml.html.HtmlElement], shares: Sequence[int], target: _Target
    ) -> None:
        """Write a table whose header repeats on each page and whose rows are not split."""
        self._end()
        table = self._document.add_table(0, max(map(len, rows)), "Report Table")
        table.autofit = False
        for column, share in zip(table.columns, shares, strict=False):
            column.width = Inches(_TABLE_INCHES * share / sum(shares))
        for row in rows:
            word_row = table.add_row()
            word_row._tr.get_or_add_trPr().append(_element("w:cantSplit"))
            if row[0].tag == "th":
                word_row._tr.trPr.append(_element("w:tblHeader"))
            is_kept = row is not rows[-1] and len(rows) <= _TOGETHER
            for word_cell, cell in zip(word_row.cells, row, strict=False):
                self._paragraph = word_cell.paragraphs[0]
                self._use_style(_CELL)
                self._paragraph.paragraph_format.keep_with_next = is_kept
                if cell is row[0]:
                    self._bookmark(row.get("id"))
                if {"figure", "right"} & {*cell.classes}:
                    self._paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                font = list(target.font)
                if cell.tag == "th":
                    font.append(_FONTS["th"])
                self.write(cell, _Target(word_cell, _CELL, font=font))
                self._end()
        # An empty paragraph keeps a distance to the next line.
        self._document.add_paragraph().paragraph_format.space_after = Pt(0)

    def _begin(self, target: _Target) -> None:
        if self._paragraph is None or self._run is not None:
            self._end()
            self._paragraph = target.into.add_paragraph()
        if target.style:
            self._use_style(target.style)

    def _use_style(self, name: str) -> None:
        """Set the style of the current paragraph."""
        # python-docx would search all styles for each paragraph.
        if name not in self._style_ids:
            part: Any = self._document.part
            self._style_ids[name] = part.get_style_id(name, WD_STYLE_TYPE.PARAGRAPH)
        self._paragraph._p.style = self._style_ids[name]

    def _end(self) -> None:
        if self._run is not None:
            self._run.text = self._run.text.rstrip(" ")
        self._paragraph = self._run = None

    def _words(self, text: str | None, target: _Target) -> None:
        """Write words, with white space collapsed as in HTML."""
        words = re.sub(r"[ \t\r\n]+", " ", text or "")
        if self._run is None or self._run.text.endswith((" ", "\n")):
            words = words.lstrip(" ")
        if words:
            self._add(words, target)

    def _add(self, words: str, target: _Target) -> None:
        if self._paragraph is None:
            self._begin(target)
        self._run = self._paragraph.add_run(words)
        for name, value in target.font:
            setattr(self._run.font, name, value)
        if not target.link:
            return
        link = OxmlElement("w:hyperlink")
        if target.link.startswith("#"):
            link.set(qn("w:anchor"), target.link[1:].replace("-", "_"))
        else:
            relation = self._document.part.relate_to(
                target.link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
            link.set(qn("r:id"), relation)
        self._run.font.color.rgb = _LINK_COLOUR
        link.append(self._run._r)
        self._paragraph._p.append(link)

    def _bookmark(self, name: str | None) -> None:
        """Add a bookmark of this name at the current position, as a target for links in the
        document."""
        if not name:
            return
        number = str(next(self._bookmarks))
        # Word allows no hyphens in names.
        start = _element("w:bookmarkStart", id=number, name=name.replace("-", "_"))
        self._paragraph._p.append(start)
        self._paragraph._p.append(_element("w:bookmarkEnd", id=number))


def _shares_of(rows: Sequence[lxml.html.HtmlElement]) -> list[int]:
    """Return relative column widths for a table: space for the longest words first, the rest by
    text length."""
    minimums = list[int]()
    texts = list[int]()
    for cells in columns_of(rows):
        minimums.append(round(1.25 * longest_word(cells)) + 4)
        texts.append(min(max(map(len, cells)), _WIDEST_COLUMN))
    free = max(_LINE - sum(minimums), 0) / max(sum(texts), 1)
    return [minimum + round(free * text) for minimum, text in zip(minimums, texts, strict=True)]


def _element(tag: str, **values: str) -> Any:
    """Return a new element of a Word document with these attributes."""
    element = OxmlElement(tag)
    for key, value in values.items():
        element.set(qn(f"w:{key}"), value)
    return element
