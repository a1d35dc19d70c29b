"""Renders a report's Markdown as an element tree: sentences with verdicts, citations, headings with
anchors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

import lxml.html
from lxml.html import builder

from ...core.evidence.citations.labels import labels
from ...core.evidence.citations.markers import Marker, NoteMark, note_marks, scan
from ...core.records.report import ClaimCheck, Report
from ...core.records.research import by_calculation_number
from ...core.tables.report_tables import SheetCell, sheets_of
from ._chart import add_charts
from ._formulas import formulas_in, set_formula
from ._series import mark_numbers
from .finished import Finished, SourceQuote, readable, safe_tree

# Rare brackets; since they are punctuation, as in `[1]`, Markdown parses the surrounding text the
# same way.
_OPEN, _CLOSE = "⁅", "⁆"
_MARK = re.compile(rf"{_OPEN}([bcefknr])([0-9]+){_CLOSE}")
"""A mark for the beginning (b) or end (e) of a sentence, for a citation of a source (c) or a
calculation (k), for a formula (f), or for a footnote's text (n) or a reference to it (r), with the
index of each, or the number of the calculation."""
_REPLACED = str.maketrans({_OPEN: "[", _CLOSE: "]"})
"""Rare brackets in the report itself become ordinary ones."""
_BLOCK = re.compile(r"(?:\s|\||[-*+•>#]{1,6}\s|\d{1,9}[.)]\s)*")
"""Markdown layout at the beginning of a sentence: table bars, and markers of list items, headings
and quotes."""
_TOP = 2
"""Level of the report's highest headings; level 1 is the question."""
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_LINES = {"p", "li", "tr", "pre"}
"""Elements at whose beginning no sentence can be open."""
_NOTE = "note-"
"""How the anchors of footnotes begin."""
_GAP = re.compile(r"^\s+(?=[.,;:!?)\]…。，；：！？])")
"""Space before a punctuation mark, removed after a citation."""
_DENSE, _TIGHT = 75, 100
"""Table widths (sum of each column's longest word, in characters) above which type shrinks, then
words hyphenate."""
_BRIEF = 24
"""Maximum number of characters of a cell that is kept in one line with its citations."""
_TOGETHER = 6
"""Maximum number of rows, including the header, of a table that is kept on one page."""
BodyPart: TypeAlias = "str | lxml.html.HtmlElement"


class Citation(NamedTuple):
    """A citation of a source."""

    number: int
    """Number of the source."""
    claim: int
    """Index of the checked sentence that contains it; -1 if none does."""


class _Edit(NamedTuple):
    """Marks to insert into the report; edits are applied in their order as tuples."""

    offset: int
    order: int
    """Order at the same offset: the end of a sentence (0), a beginning (1), a citation, formula or
    footnote (2)."""
    end: int
    """End of the text that the marks replace."""
    marks: str


class _Marked(NamedTuple):
    """A report's Markdown with `_MARK`s, and what these stand for."""

    text: str
    citations: Sequence[Citation]
    formulas: Sequence[lxml.html.HtmlElement]
    notes: Sequence[NoteMark]


def _mark_report(report: Report) -> _Marked:
    """Return the report's Markdown with `_MARK`s; markers without a source and what is no formula
    stay unchanged."""
    text = report.text.translate(_REPLACED)
    edits = list[_Edit]()
    for number, claim in enumerate(report.claims):
        # Sentences are marked without surrounding Markdown layout.
        layout = _BLOCK.match(text, claim.start, claim.end)
        start = layout.end() if layout else claim.start
        end = claim.start + len(text[claim.start : claim.end].rstrip(" \t\n|"))
        if start < end:
            edits.append(_Edit(start, 1, start, _mark("b", number)))
            edits.append(_Edit(end, 0, end, _mark("e", number)))
    in_formulas = set[int]()
    formulas = list[lxml.html.HtmlElement]()
    for formula in formulas_in(text):
        math = set_formula(formula)
        if math is not None:
            mark = _mark("f", len(formulas))
            edits.append(_Edit(formula.start, 2, formula.end, mark))
            formulas.append(math)
            in_formulas.update(range(formula.start, formula.end))
    citations = list[Citation]()
    listed = set(by_calculation_number(report.calculations))
    claim_starts = [claim.start for claim in report.claims]
    offset = 0
    for part in scan(text):
        if not isinstance(part, Marker):
            offset += len(part)
            continue
        end = offset + len(part.raw)
        if offset in in_formulas:
            offset = end
            continue
        if part.calculations:
            if listed.issuperset(part.calculations):
                marks = ""
                for number in part.calculations:
                    marks += _mark("k", number)
                edits.append(_Edit(offset, 2, end, marks))
            offset = end
            continue
        if report.keys.keys() >= {*part.numbers}:
            claim_index = bisect_right(claim_starts, offset) - 1
            if claim_index >= 0 and offset >= report.claims[claim_index].end:
                claim_index = -1
            marks = ""
            for number in part.numbers:
                marks += _mark("c", len(citations))
                citations.append(Citation(number, claim_index))
            edits.append(_Edit(offset, 2, end, marks))
        offset = end
    notes = note_marks(text)
    for index, note in enumerate(notes):
        kind = "r" if note.is_reference else "n"
        edits.append(_Edit(note.start, 2, note.end, _mark(kind, index)))
    return _Marked(_edited(text, edits), citations, formulas, notes)


def _mark(kind: str, number: int) -> str:
    return f"{_OPEN}{kind}{number}{_CLOSE}"


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    """Return a text with its edits applied."""
    pieces = list[str]()
    done = 0
    for edit in sorted(edits):
        pieces += [text[done : edit.offset], edit.marks]
        done = max(done, edit.end)
    pieces.append(text[done:])
    return "".join(pieces)


class Heading(NamedTuple):
    """A heading of the report."""

    id: str
    words: str
    level: int


class _MarkRenderer:
    """Replaces `_MARK`s with HTML elements; must be called in the order of the text."""

    def __init__(
        self,
        finished: Finished,
        quotes: Sequence[SourceQuote],
        marked: _Marked,
        is_on_paper: bool,
    ) -> None:
        self._claims = finished.report.claims
        self._titles = {source.number: readable(source.shown_title) for source in finished.cited}
        self._results = dict[int, str]()
        for calculation in finished.report.calculations:
            self._results[calculation.number] = readable(calculation.line)
        self._labels = labels(finished.language_code)
        self._quotes = quotes
        self._quote_indexes = {
            (quote.number, quote.claim): index for index, quote in enumerate(quotes)
        }
        self._marked = marked
        self._is_on_paper = is_on_paper
        self.claim: ClaimCheck | None = None
        """The checked sentence to which the next words belong; None between sentences."""
        self._claim_number = -1

    def pieces(self, text: str) -> list[BodyPart]:
        """Split a text at its marks into plain text and elements for sentences and citations."""
        pieces = list[BodyPart]()
        is_after_citation = False
        offset = 0
        for mark in _MARK.finditer(text):
            pieces += self._words(text[offset : mark.start()], is_after_citation)
            offset = mark.end()
            kind = mark[1]
            number = int(mark[2])
            last = pieces[-1]
            if kind in "ck":
                if isinstance(last, str) and last.endswith(" "):
                    # Keeps the citation on the same line as the word before it.
                    pieces[-1] = last.rstrip() + "\u00a0"
                if kind == "k":
                    pieces.append(self._calculation(number))
                else:
                    pieces.append(self._citation(self._marked.citations[number]))
                is_after_citation = True
            elif kind in "nr":
                pieces.append(_note(self._marked.notes[number]))
            elif kind == "f":
                pieces.append(self._marked.formulas[number])
            else:
                self.claim = self._claims[number] if kind == "b" else None
                self._claim_number = number
                is_after_citation = is_after_citation and not last
        pieces += self._words(text[offset:], is_after_citation)
        return pieces

    def _words(self, words: str, is_after_citation: bool) -> list[BodyPart]:
        """Return words in an element for their sentence, if any, and the text after it."""
        if is_after_citation:
            words = _GAP.sub("", words)
        words = words.replace(_OPEN, "").replace(_CLOSE, "")
        if self.claim is None or not words.strip():
            return [words]
        bare = words.rstrip()
        element = builder.SPAN(bare)
        element.set("class", f"claim {self.claim.verdict}")
        element.set("data-claim", str(self._claim_number))
        return [element, words[len(bare) :]]

    def _citation(self, citation: Citation) -> lxml.html.HtmlElement:
        """Return the link or button for a citation."""
        number = citation.number
        quote_index = self._quote_indexes.get((number, citation.claim))
        if quote_index is None:
            element = builder.A(href=f"#source-{number}")
        elif self._is_on_paper:
            element = builder.A(href=f"#evidence-{quote_index}")
        else:
            element = builder.BUTTON(type="button", popovertarget=f"quote-{quote_index}")
        style = "cite"
        spoken = str(number)
        if quote_index is not None:
            verdict = self._quotes[quote_index].verdict
            style += f" {verdict}"
            spoken += f", {getattr(self._labels, verdict)}"
        element.text = str(number)
        element.set("class", style)
        element.set("aria-label", f"{spoken}: {self._titles[number]}")
        return element

    def _calculation(self, number: int) -> lxml.html.HtmlElement:
        """Return the link or button for a citation of a calculation."""
        if self._is_on_paper:
            element = builder.A(href=f"#calc-{number}")
        else:
            element = builder.BUTTON(type="button", popovertarget=f"calculation-{number}")
        element.text = f"calc {number}"
        element.set("class", "cite calc")
        element.set("aria-label", f"{self._labels.calculations}: {self._results[number]}")
        return element


def _note(mark: NoteMark) -> lxml.html.HtmlElement:
    """Return the link to a footnote's text, or the label before that text."""
    if mark.is_reference:
        return builder.A(mark.label, href=f"#{_NOTE}{mark.label}", **{"class": "note"})
    label = builder.SPAN(mark.label, id=f"{_NOTE}{mark.label}")
    label.set("class", "note")
    return label


def report_body(
    finished: Finished, quotes: Sequence[SourceQuote], *, is_on_paper: bool, picture: str
) -> tuple[lxml.html.HtmlElement, list[Heading]]:
    """Render the text of a report; return the element and its headings.

    Citations open their quote (on paper, link to it in the table of evidence); without a quote,
    they link to the list of sources.
    """
    marked = _mark_report(finished.report)
    tree = safe_tree(marked.text)
    headings = _headings(tree, marked.formulas)
    _fill(tree, _MarkRenderer(finished, quotes, marked, is_on_paper))
    for label in tree.xpath(".//span[@class='note']"):
        # Word has targets of links only at the beginning of paragraphs.
        paragraph = next(label.iterancestors("p"), None)
        if paragraph is not None:
            paragraph.set("id", label.attrib.pop("id"))
    for table in list(tree.iter("table")):
        mark_numbers(table, finished.language_code)
        width = sum(map(longest_word, columns_of(table.iter("tr"))))
        if width > _TIGHT:
            table.set("class", "dense tight")
        elif width > _DENSE:
            table.set("class", "dense")
        if len(table.xpath(".//tr")) <= _TOGETHER:
            table.classes.add("together")
        # A scrollable box, also by keyboard.
        box = builder.DIV(builder.CLASS("wide"), tabindex="0")
        table.getparent().replace(table, box)
        box.append(table)
    _mark_cells(tree, finished.report)
    add_charts(tree, finished.language_code, picture)
    return tree, headings


def _mark_cells(tree: lxml.html.HtmlElement, report: Report) -> None:
    """Mark the cells of tables whose rows were researched: those that are empty or do not break;
    rows with empty ones say where these were looked for."""
    if not report.columns:
        return
    for table, sheet in zip(tree.iter("table"), sheets_of(report), strict=False):
        if not any(column in report.columns for column in sheet.columns):
            continue
        table.classes.add("researched")
        for line, row in zip(table.iterfind("tbody/tr"), sheet.rows, strict=False):
            for element, cell in zip(line, row, strict=False):
                element.classes |= _cell_classes(cell)
                if cell.looked_in:
                    line.set("data-looked", readable("; ".join(cell.looked_in)))


def _cell_classes(cell: SheetCell) -> set[str]:
    """Return the classes of a cell of a researched table."""
    if not cell.text:
        return {"blank"}
    if isinstance(cell.value, date):
        return {"date"}
    return {"brief"} if len(cell.text) <= _BRIEF else set()


def columns_of(rows: Iterable[lxml.html.HtmlElement]) -> list[tuple[str, ...]]:
    """Return the texts of the cells of each column of a table; short rows end in empty cells."""
    texts = list[list[str]]()
    for row in rows:
        texts.append([cell.text_content() for cell in row])
    return list(zip_longest(*texts, fillvalue=""))


def longest_word(cells: Iterable[str]) -> int:
    """Return the length of the longest word in a column."""
    return max(map(len, " ".join(cells).split()), default=0)


def _fill(element: lxml.html.HtmlElement, renderer: _MarkRenderer) -> None:
    """Replace the marks in an element and in all elements within it."""
    children = list(element)
    text = element.text or ""
    element.text = None
    if element.tag in _LINES:
        # Sentences do not span lines, but the end mark may have been lost with a link.
        renderer.claim = None
    _insert(element, 0, renderer.pieces(text))
    for child in children:
        tail = child.tail or ""
        child.tail = None
        _fill(child, renderer)
        _insert(element, element.index(child) + 1, renderer.pieces(tail))


def _insert(parent: lxml.html.HtmlElement, index: int, pieces: Sequence[BodyPart]) -> None:
    """Insert pieces before the child of an element at `index`."""
    for piece in pieces:
        if not isinstance(piece, str):
            parent.insert(index, piece)
            index += 1
        elif index:
            parent[index - 1].tail = (parent[index - 1].tail or "") + piece
        else:
            parent.text = (parent.text or "") + piece


def _headings(
    tree: lxml.html.HtmlElement, formulas: Sequence[lxml.html.HtmlElement]
) -> list[Heading]:
    """Normalise heading levels, set anchors, and return the headings."""
    elements = list(tree.iter(*_LEVELS))
    highest = min([_LEVELS[element.tag] for element in elements], default=1)
    headings = list[Heading]()
    level = _TOP - 1
    for number, element in enumerate(elements, 1):
        anchor = f"section-{number}"
        # A heading is at most one level below the one before it.
        level = min(_LEVELS[element.tag] - highest + _TOP, level + 1, 6)
        element.tag = f"h{level}"
        element.set("id", anchor)
        marked = element.text_content()
        for number, formula in enumerate(formulas):
            marked = marked.replace(_mark("f", number), formula.text_content())
        words = " ".join(_MARK.sub("", marked).split())
        headings.append(Heading(anchor, words, level))
    return headings
