"""Renders a report's Markdown as an element tree: sentences with verdicts, citations, headings with
anchors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

import lxml.html
from lxml.html import builder

from ...core.evidence.citations.labels import labels
from ...core.evidence.citations.markers import Marker, scan
from ...core.evidence.citations.rendering import shown_title
from ...core.records.report import ClaimCheck, Report
from .chart import add_charts, mark_numbers
from .finished import Finished, SourceQuote, readable, safe_tree

# Rare brackets; since they are punctuation, as in `[1]`, Markdown parses the surrounding text the
# same way.
_OPEN, _CLOSE = "⁅", "⁆"
_MARK = re.compile(rf"{_OPEN}([bce])([0-9]+){_CLOSE}")
"""A mark for the beginning (b) or end (e) of a sentence or for a citation (c), with the index of
either."""
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
_GAP = re.compile(r"^\s+(?=[.,;:!?)\]…。，；：！？])")
"""Space before a punctuation mark, removed after a citation."""
_DENSE, _TIGHT = 75, 100
"""Table widths (sum of each column's longest word, in characters) above which type shrinks, then
words hyphenate."""
_TOGETHER = 6
"""Maximum number of rows, including the header, of a table that is kept on one page."""
BodyPart: TypeAlias = "str | lxml.html.HtmlElement"


class Citation(NamedTuple):
    """A citation of a source."""

    number: int
    """Number of the source."""
    claim: int
    """Index of the checked sentence that contains it; -1 if none does."""


def _mark_report(report: Report) -> tuple[str, list[Citation]]:
    """Return the report's Markdown with `_MARK`s, and its citations; markers without a source stay
    unchanged."""
    text, starts = report.text.translate(_REPLACED), [claim.start for claim in report.claims]
    citations: list[Citation] = []
    edits: list[tuple[int, int, int, str]] = []
    """Offset, order at the same offset (an end, a start, a citation), end of the replaced text, and
    marks."""
    for number, claim in enumerate(report.claims):
        # Sentences are marked without surrounding Markdown layout.
        begin = _BLOCK.match(text, claim.start, claim.end)
        start = begin.end() if begin else claim.start
        end = claim.start + len(text[claim.start : claim.end].rstrip(" \t\n|"))
        if start < end:
            edits += [(start, 1, start, _mark("b", number)), (end, 0, end, _mark("e", number))]
    offset = 0
    for part in scan(text):
        length = len(part.raw if isinstance(part, Marker) else part)
        if isinstance(part, Marker) and report.keys.keys() >= {*part.numbers}:
            index = bisect_right(starts, offset) - 1
            index = index if index >= 0 and offset < report.claims[index].end else -1
            marks = "".join(_mark("c", len(citations) + step) for step in range(len(part.numbers)))
            edits.append((offset, 2, offset + length, marks))
            citations += [Citation(number, index) for number in part.numbers]
        offset += length
    pieces, done = list[str](), 0
    for offset, _, end, marks in sorted(edits):
        pieces += [text[done:offset], marks]
        done = max(done, end)
    return "".join([*pieces, text[done:]]), citations


def _mark(kind: str, number: int) -> str:
    return f"{_OPEN}{kind}{number}{_CLOSE}"


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
        citations: Sequence[Citation],
        is_on_paper: bool,
    ) -> None:
        self._claims = finished.report.claims
        self._titles = {source.number: readable(shown_title(source)) for source in finished.cited}
        self._labels = labels(finished.language_code)
        self._quote_indexes = {
            (quote.number, quote.claim): index for index, quote in enumerate(quotes)
        }
        self._quotes, self._citations, self._is_on_paper = quotes, citations, is_on_paper
        self.claim: ClaimCheck | None = None
        """The checked sentence to which the next words belong; None between sentences."""
        self._number = -1

    def pieces(self, text: str) -> list[BodyPart]:
        """Split a text at its marks into plain text and elements for sentences and citations."""
        words, *rest = _MARK.split(text)
        pieces, is_after_citation = self._words(words), False
        for kind, digits, words in zip(*(iter(rest),) * 3, strict=True):
            number, last = int(digits), pieces[-1]
            is_after_citation = kind == "c" or (is_after_citation and not last)
            if kind == "c":
                if isinstance(last, str) and last.endswith(" "):
                    # Keeps the citation on the same line as the word before it.
                    pieces[-1] = last.rstrip() + "\u00a0"
                pieces.append(self._citation(self._citations[number]))
            else:
                self.claim, self._number = self._claims[number] if kind == "b" else None, number
            pieces += self._words(_GAP.sub("", words) if is_after_citation else words)
        return pieces

    def _words(self, words: str) -> list[BodyPart]:
        words = words.replace(_OPEN, "").replace(_CLOSE, "")
        if self.claim is None or not words.strip():
            return [words]
        bare = words.rstrip()
        shown = builder.SPAN(
            bare, {"class": f"claim {self.claim.verdict}", "data-claim": str(self._number)}
        )
        return [shown, words[len(bare) :]]

    def _citation(self, citation: Citation) -> lxml.html.HtmlElement:
        index = self._quote_indexes.get((citation.number, citation.claim))
        if index is None or self._is_on_paper:
            shown = builder.A(
                href=f"#source-{citation.number}" if index is None else f"#evidence-{index}"
            )
        else:
            shown = builder.BUTTON(type="button", popovertarget=f"quote-{index}")
        verdict = "" if index is None else self._quotes[index].verdict
        words = f", {getattr(self._labels, verdict)}" if verdict else ""
        shown.text = str(citation.number)
        shown.set("class", f"cite {verdict}".strip())
        shown.set("aria-label", f"{citation.number}{words}: {self._titles[citation.number]}")
        return shown


def report_body(
    finished: Finished, quotes: Sequence[SourceQuote], *, is_on_paper: bool, picture: str
) -> tuple[lxml.html.HtmlElement, list[Heading]]:
    """Render the text of a report; return the element and its headings.

    Citations open their quote (on paper, link to it in the table of evidence); without a quote,
    they link to the list of sources.
    """
    text, citations = _mark_report(finished.report)
    tree = safe_tree(text)
    headings = _headings(tree)
    _fill(tree, _MarkRenderer(finished, quotes, citations, is_on_paper))
    for table in list(tree.iter("table")):
        mark_numbers(table, finished.language_code)
        columns = zip_longest(
            *([cell.text_content() for cell in row] for row in table.iter("tr")), fillvalue=""
        )
        width = sum(max(map(len, " ".join(cells).split()), default=0) for cells in columns)
        if width > _DENSE:
            table.set("class", "dense tight" if width > _TIGHT else "dense")
        if len(table.xpath(".//tr")) <= _TOGETHER:
            table.classes.add("together")
        # A scrollable box, also by keyboard.
        box = builder.DIV(builder.CLASS("wide"), tabindex="0")
        table.getparent().replace(table, box)
        box.append(table)
    add_charts(tree, finished.language_code, picture)
    return tree, headings


def _fill(element: lxml.html.HtmlElement, renderer: _MarkRenderer) -> None:
    children, text = list(element), element.text or ""
    element.text = None
    if element.tag in _LINES:
        # Sentences do not span lines, but the end mark may have been lost with a link.
        renderer.claim = None
    _insert(element, 0, renderer.pieces(text))
    for child in children:
        tail, child.tail = child.tail or "", None
        _fill(child, renderer)
        _insert(element, element.index(child) + 1, renderer.pieces(tail))


def _insert(parent: lxml.html.HtmlElement, index: int, pieces: Sequence[BodyPart]) -> None:
    for piece in pieces:
        if not isinstance(piece, str):
            parent.insert(index, piece)
            index += 1
        elif index:
            parent[index - 1].tail = (parent[index - 1].tail or "") + piece
        else:
            parent.text = (parent.text or "") + piece


def _headings(tree: lxml.html.HtmlElement) -> list[Heading]:
    """Normalise heading levels, set anchors, and return the headings."""
    found = [element for element in tree.iter() if element.tag in _LEVELS]
    highest = min((_LEVELS[element.tag] for element in found), default=1)
    headings, level = list[Heading](), _TOP - 1
    for number, element in enumerate(found, 1):
        level = min(_LEVELS[element.tag] - highest + _TOP, level + 1, 6)
        element.tag = f"h{level}"
        element.set("id", f"section-{number}")
        words = " ".join(_MARK.sub("", element.text_content()).split())
        headings.append(Heading(f"section-{number}", words, level))
    return headings
