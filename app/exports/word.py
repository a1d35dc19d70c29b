"""A report as a Word document with real headings, lists, tables and links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from itertools import count
from typing import Any

import lxml.html
from docx import Document
from docx.document import Document as WordDocument
from docx.enum.text import WD_UNDERLINE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Pt, RGBColor

from ...core.evidence.citations.labels import is_right_to_left, labels
from ...core.evidence.citations.rendering import link_to, said_above, shown_title, source_place
from ...core.records.sources import Source
from .body import report_body
from .finished import Finished, Quote, figures_of, quotes_of, readable

_UNDERLINES = {"unsupported": WD_UNDERLINE.WAVY}
_FORMATS = {"strong": "bold", "em": "italic", "s": "strike"}
_CODE_FONT = "Consolas"
_PLAIN: Mapping[str, Any] = {}
_BLOCKS = {"p", "ul", "ol", "blockquote", "pre", "div", "table"}
_LINK_COLOUR = RGBColor(0x12, 0x3F, 0x73)
_DEEPEST_LIST = 3
_TABLE_INCHES = 6
_TITLE_CHARACTERS = 255
"""Longest title that the properties of a document hold."""
_LONGEST_TITLE = 600


class WordParts:
    """Adds paragraphs, tables, lists and links to a document."""

    def __init__(self, document: WordDocument, language_code: str) -> None:
        self._document = document
        self._bookmarks = count(1)
        normal = document.styles["Normal"]
        normal.font.size = Pt(10.5)
        normal.element.get_or_add_rPr().append(_element("w:lang", val=language_code, bidi=language_code))
        if is_right_to_left(language_code):
            normal.element.get_or_add_pPr().append(_element("w:bidi"))

    def title(self, words: str, date: str) -> None:
        """Add the title with the date below it."""
        self._document.core_properties.title = readable(words)[:_TITLE_CHARACTERS]
        self._document.core_properties.author = ""
        self._document.add_heading(readable(words), 0)
        self.paragraph(date)

    def heading(self, words: str, level: int) -> None:
        """Add a heading of the document's outline."""
        self._document.add_heading(words, level)

    def paragraph(self, words: str, style: str | None = None) -> Any:
        """Add a paragraph."""
        return self._document.add_paragraph(readable(words), style)

    def add(self, paragraph: Any, words: str) -> Any:
        """Add words to a paragraph, and return their run for its format."""
        return paragraph.add_run(readable(words))

    def table(self, shares: Sequence[int], head: Sequence[str]) -> Any:
        """Add a table whose columns have these shares of the width; its head, if any, is repeated on each page."""
        table = self._document.add_table(0, len(shares), "Table Grid")
        table.autofit = False
        for column, share in zip(table.columns, shares, strict=True):
            column.width = Inches(_TABLE_INCHES * share / sum(shares))
        if head:
            cells = self.row(table)
            table.rows[0]._tr.get_or_add_trPr().append(_element("w:tblHeader"))
            for cell, words in zip(cells, head, strict=True):
                self.add(cell.paragraphs[0], words).bold = True
        return table

    def row(self, table: Any) -> Sequence[Any]:
        """Add a row that no page break divides, and return its cells."""
        row = table.add_row()
        row._tr.get_or_add_trPr().append(_element("w:cantSplit"))
        cells: Sequence[Any] = row.cells
        return cells

    def rows(self, table: Any, rows: Iterable[Sequence[str]]) -> None:
        """Add rows of plain text to a table."""
        for row in rows:
            for cell, words in zip(self.row(table), row, strict=True):
                self.add(cell.paragraphs[0], words)

    def bookmark(self, paragraph: Any, name: str) -> None:
        """Add a place that links in the document lead to."""
        number = str(next(self._bookmarks))
        paragraph._p.append(_element("w:bookmarkStart", id=number, name=_bookmark(name)))
        paragraph._p.append(_element("w:bookmarkEnd", id=number))

    def link(self, paragraph: Any, words: str, target: str) -> None:
        """Add words that lead to an address, or by `#name` to a bookmark; plain words without a target."""
        run = self.add(paragraph, words)
        if not target:
            return
        link = OxmlElement("w:hyperlink")
        if target.startswith("#"):
            link.set(qn("w:anchor"), _bookmark(target[1:]))
        else:
            link.set(qn("r:id"), paragraph.part.relate_to(target, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
        run.font.color.rgb = _LINK_COLOUR
        link.append(run._r)
        paragraph._p.append(link)

    def tree(self, root: lxml.html.HtmlElement, style: str | None = None, depth: int = 0) -> None:
        """Add the blocks below an element of a report's text, see `exports.body`."""
        for block in root:
            if block.tag in ("ul", "ol"):
                self._list(block, depth + 1)
            elif block.tag == "blockquote":
                self.tree(block, "Quote", depth)
            elif block.tag == "table":
                self._table(block)
            elif block.tag == "div":
                self.tree(block, style, depth)
            elif block.tag == "pre":
                self.paragraph("").add_run(block.text_content().rstrip("\n")).font.name = _CODE_FONT
            elif block.tag[0] == "h" and block.tag[1:].isdigit():
                self._inline(self._document.add_heading("", int(block.tag[1:]) - 1), block)
            else:
                self._inline(self._document.add_paragraph("", style), block)

    def _list(self, items: lxml.html.HtmlElement, depth: int) -> None:
        level = min(depth, _DEEPEST_LIST)
        style = f"List {'Bullet' if items.tag == 'ul' else 'Number'}{f' {level}' if level > 1 else ''}"
        number = self._numbering(style, int(items.get("start", "1"))) if items.tag == "ol" else None
        for item in items:
            paragraph = self._document.add_paragraph("", style)
            if number is not None:
                paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number
            head = [child for child in item if child.tag == "p"][:1]
            for part in head or [item]:
                self._inline(paragraph, part)
            rest = lxml.html.Element("div")
            rest.extend([child for child in item if child not in head and child.tag in _BLOCKS])
            self.tree(rest, None, depth)

    def _numbering(self, style: str, start: int) -> int:
        """Return a numbering of its own for a list, since Word goes on counting from the last list of the style."""
        numbering = self._document.part.numbering_part.element
        base = self._document.styles[style].element.pPr.numPr.numId.val
        number = numbering.add_num(numbering.num_having_numId(base).abstractNumId.val)
        number.add_lvlOverride(0).add_startOverride(start)
        found: int = number.numId
        return found

    def _table(self, table: lxml.html.HtmlElement) -> None:
        rows = list(table.iter("tr"))
        made = self._document.add_table(0, max(map(len, rows)), "Table Grid")
        for row in rows:
            for cell, words in zip(made.add_row().cells, row, strict=False):
                self._inline(cell.paragraphs[0], words, {"bold": True} if words.tag == "th" else _PLAIN)

    def _inline(self, paragraph: Any, element: lxml.html.HtmlElement, formats: Mapping[str, Any] = _PLAIN) -> None:
        self._run(paragraph, element.text, element[:1], formats)
        for place, child in enumerate(element, 1):
            if child.tag == "br":
                self.add(paragraph, "\n")
            elif child.tag == "a":
                self._anchor(paragraph, child)
            elif child.tag not in _BLOCKS:
                self._inline(paragraph, child, {**formats, **_format(child)})
            self._run(paragraph, child.tail, element[place : place + 1], formats)

    def _anchor(self, paragraph: Any, anchor: lxml.html.HtmlElement) -> None:
        words = anchor.text_content()
        self.link(paragraph, f"[{words}]" if anchor.get("class") else words, anchor.get("href"))

    def _run(self, paragraph: Any, words: str | None, following: Sequence[Any], formats: Mapping[str, Any]) -> None:
        """Add words with their format; a line break becomes a space, except before a block or at the end."""
        is_followed = any(one.tag not in _BLOCKS for one in following)
        line = " ".join((words or "").split("\n"))
        line = line if is_followed else line.rstrip(" ")
        if line:
            run = self.add(paragraph, line)
            for name, value in formats.items():
                setattr(run.font, name, value)


def _format(element: lxml.html.HtmlElement) -> dict[str, Any]:
    if element.tag in _FORMATS:
        return {_FORMATS[element.tag]: True}
    if element.tag == "code":
        return {"name": _CODE_FONT}
    kind = (element.get("class") or "").removeprefix("claim ")
    if kind == "flag":
        return {"italic": True}
    return {"underline": _UNDERLINES[kind]} if kind in _UNDERLINES else {}


def _bookmark(name: str) -> str:
    # Word allows no hyphens in names.
    return name.replace("-", "_")


def _element(tag: str, **values: str) -> Any:
    element = OxmlElement(tag)
    for key, value in values.items():
        element.set(qn(f"w:{key}"), value)
    return element


def report_docx(finished: Finished) -> bytes:
    """Return the report as a Word document."""
    document = Document()
    _Writer(WordParts(document, finished.language_code), finished).write()
    file = BytesIO()
    document.save(file)
    return file.getvalue()


class _Writer:
    """Writes the sections of a report in their order."""

    def __init__(self, parts: WordParts, finished: Finished) -> None:
        self._parts, self._finished = parts, finished
        self._words = labels(finished.language_code)
        self._quotes = quotes_of(finished)

    def write(self) -> None:
        """Write the document."""
        finished, words, audit = self._finished, self._words, self._finished.report.audit
        self._parts.title(finished.question[:_LONGEST_TITLE], finished.date)
        if line := said_above(finished.report, words, was_researched=finished.was_researched):
            self._parts.paragraph(line)
        self._parts.tree(report_body(finished, self._quotes, is_on_paper=True).tree)
        self._section(words.contradictions, self._contradictions if finished.contradictions else None)
        self._list(words.gaps, audit.open_gaps if audit else ())
        self._list(words.notes, finished.notes)
        self._section(words.sources, self._sources if finished.cited else None)
        self._section(words.evidence, self._evidence if self._quotes else None)
        self._section(words.not_read, self._not_read if audit and audit.not_read else None)
        self._section(words.audit, self._audit if audit else None)

    def _section(self, heading: str, write: Callable[[], None] | None) -> None:
        if write:
            self._parts.heading(heading, 1)
            write()

    def _list(self, heading: str, lines: Sequence[str]) -> None:
        if lines:
            self._parts.heading(heading, 1)
            for line in lines:
                self._parts.paragraph(line, "List Bullet")

    def _contradictions(self) -> None:
        words = self._words
        table = self._parts.table([4, 4, 3], [words.claim, words.other_claim, words.newer])
        for pair in self._finished.contradictions:
            *cells, newer = self._parts.row(table)
            for cell, claim, source in zip(cells, pair.claims, pair.sources, strict=True):
                self._parts.add(cell.paragraphs[0], claim)
                paragraph = cell.add_paragraph()
                self._name(paragraph, source)
                self._parts.add(paragraph, f", {source.date or words.not_stated}")
            if pair.newer:
                self._name(newer.paragraphs[0], pair.newer)
            else:
                self._parts.add(newer.paragraphs[0], words.not_known)

    def _sources(self) -> None:
        for number, source in enumerate(self._finished.cited, 1):
            paragraph = self._parts.paragraph(f"[{number}] ")
            self._parts.bookmark(paragraph, f"source-{number}")
            self._name(paragraph, source)
            dates = [source.date, f"{self._words.read_on} {source.read_at[:10]}" if source.read_at else ""]
            place = link_to(source) if source.kind == "web" else source_place(source)
            for fact in filter(None, [place, *dates, self._words.remark(source)]):
                self._parts.add(paragraph, f" · {fact}")

    def _name(self, paragraph: Any, source: Source) -> None:
        self._parts.link(paragraph, shown_title(source), link_to(source))

    def _evidence(self) -> None:
        words = self._words
        table = self._parts.table([4, 2, 5], [words.sentence, words.verdict, words.quote])
        for place, quote in enumerate(self._quotes):
            sentence, verdict, passage = (cell.paragraphs[0] for cell in self._parts.row(table))
            self._parts.bookmark(sentence, f"evidence-{place}")
            self._parts.add(sentence, quote.sentence)
            self._parts.add(verdict, getattr(words, quote.verdict))
            if quote.passage:
                if quote.judge:
                    self._parts.add(verdict, f" ({words.judge} {quote.judge})")
                self._passage(passage, quote, quote.passage.reasons)

    def _passage(self, paragraph: Any, quote: Quote, reasons: Sequence[str]) -> None:
        self._parts.add(paragraph, quote.words or self._words.no_quote).italic = not quote.words
        for reason in reasons:
            self._parts.add(paragraph, f"\n– {reason}")
        self._parts.add(paragraph, "\n")
        self._parts.link(paragraph, f"[{quote.number}] {quote.title}", quote.link)
        if quote.page:
            self._parts.add(paragraph, f", {self._words.page} {quote.page}")

    def _not_read(self) -> None:
        assert self._finished.report.audit
        rows = [(missed.path, missed.reason) for missed in self._finished.report.audit.not_read]
        self._parts.rows(self._parts.table([1, 1], [self._words.source, self._words.reason]), rows)

    def _audit(self) -> None:
        assert self._finished.report.audit
        self._parts.rows(self._parts.table([3, 1], []), figures_of(self._finished.report.audit, self._words))
