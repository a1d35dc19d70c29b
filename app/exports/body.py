"""The text of a report as a tree: sentences with their verdicts, citations, headings that can be gone to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple, TypeAlias

import lxml.html
from lxml.html import builder

from ...core.evidence.citations.labels import labels
from ...core.evidence.citations.markers import Marker
from ...core.evidence.citations.rendering import shown_title
from ...core.evidence.citations.scanner import scan
from ...core.records.report import ClaimCheck, Report
from .chart import add_charts, mark_numbers
from .finished import Finished, SourceQuote, places_of, readable, safe_tree

# Brackets that no report needs: punctuation like those of a marker, so that Markdown reads what is around as before.
OPEN, CLOSE = "⁅", "⁆"
MARK = re.compile(rf"{OPEN}([bce])([0-9]+){CLOSE}")
"""A mark: where a sentence begins (b) or ends (e), or a citation (c), and which one, from 0."""
_REPLACED = str.maketrans({OPEN: "[", CLOSE: "]"})
_BLOCK = re.compile(r"(?:\s|\||[-*+•>#]{1,6}\s|\d{1,9}[.)]\s)*")
_TOP = 2
"""Level of the report's own highest headings; above them stands the question."""
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_LINES = {"p", "li", "tr", "pre"}
_GAP = re.compile(r"^\s+(?=[.,;:!?)\]…。，；：！？])")
"""Before a punctuation mark that follows a citation."""
_DENSE, _TIGHT = 75, 100
"""Characters of the longest words of all columns above which a table is set in small type, and its words divided."""
_TOGETHER = 6
"""Rows of a table, its head included, up to which no page break divides it."""
Piece: TypeAlias = "str | lxml.html.HtmlElement"


class Citation(NamedTuple):
    """A source cited at one place."""

    number: int
    """Number of the source."""
    claim: int
    """Number of the sentence among those that were checked, from 0; -1 where it is none of them."""


class Marked(NamedTuple):
    """The Markdown of a report with marks."""

    text: str
    citations: Sequence[Citation]


def mark_report(report: Report) -> Marked:
    """Mark the sentences and citations of a report; a number that no source has stays as it is written."""
    citations: list[Citation] = []
    text = report.text.translate(_REPLACED)
    bounds, starts = _bounds(report.claims, text), [claim.start for claim in report.claims]
    pieces: list[str] = []
    for piece, place in _pieces(text, [bound for bound, _ in bounds]):
        while bounds and bounds[0][0] <= place:
            pieces.append(bounds.pop(0)[1])
        if isinstance(piece, Marker) and report.keys.keys() >= {*piece.numbers}:
            claim = _claim_at(place, starts, report.claims)
            pieces += [_mark("c", len(citations) + step) for step in range(len(piece.numbers))]
            citations += [Citation(number, claim) for number in piece.numbers]
        else:
            pieces.append(piece.raw if isinstance(piece, Marker) else piece)
    pieces += [mark for _, mark in bounds]
    return Marked("".join(pieces), citations)


def _pieces(text: str, bounds: Sequence[int]) -> Iterator[tuple[str | Marker, int]]:
    """Yield the parts of a text with their places, cut where a sentence begins or ends."""
    place = 0
    for part in scan(text):
        length = len(part.raw if isinstance(part, Marker) else part)
        if isinstance(part, Marker):
            yield part, place
        else:
            inner = bounds[bisect_right(bounds, place) : bisect_right(bounds, place + length - 1)]
            for start, end in pairwise([0, *sorted({bound - place for bound in inner}), length]):
                yield part[start:end], place + start
        place += length


def _bounds(claims: Sequence[ClaimCheck], text: str) -> list[tuple[int, str]]:
    """Return where sentences begin and end, in order, each with its mark, without what Markdown reads as layout."""
    found: list[tuple[int, int, str]] = []
    for number, claim in enumerate(claims):
        begin = _BLOCK.match(text, claim.start, claim.end)
        start = begin.end() if begin else claim.start
        end = claim.start + len(text[claim.start : claim.end].rstrip(" \t\n|"))
        if start < end:
            # An end comes before the beginning at the same place.
            found += [(start, 1, _mark("b", number)), (end, 0, _mark("e", number))]
    return [(place, mark) for place, _, mark in sorted(found)]


def _claim_at(place: int, starts: Sequence[int], claims: Sequence[ClaimCheck]) -> int:
    number = bisect_right(starts, place) - 1
    return number if number >= 0 and place < claims[number].end else -1


def _mark(kind: str, number: int) -> str:
    return f"{OPEN}{kind}{number}{CLOSE}"


class Heading(NamedTuple):
    """A heading of the report."""

    id: str
    words: str
    level: int


class ReportBody(NamedTuple):
    """The text of a report, ready to be shown."""

    tree: lxml.html.HtmlElement
    headings: Sequence[Heading]


class _MarkRenderer:
    """Puts elements in the place of marks, in the order of the text."""

    def __init__(
        self, finished: Finished, quotes: Sequence[SourceQuote], citations: Sequence[Citation], is_on_paper: bool
    ) -> None:
        self._claims = finished.report.claims
        self._titles = {source.number: readable(shown_title(source)) for source in finished.cited}
        self._labels = labels(finished.language_code)
        self._places = places_of(quotes)
        self._quotes, self._citations, self._is_on_paper = quotes, citations, is_on_paper
        self._claim: ClaimCheck | None = None
        self._number = -1

    def begin_line(self) -> None:
        """End an open sentence: none goes beyond its line, even if the mark of its end went with a link."""
        self._claim = None

    def pieces(self, text: str) -> list[Piece]:
        """Return the text with elements for its marks."""
        words, *rest = MARK.split(text)
        pieces, is_behind = self._words(words), False
        for kind, number, words in zip(*(iter(rest),) * 3, strict=True):
            if kind == "c":
                _glue(pieces)
            is_behind = kind == "c" or (is_behind and not pieces[-1])
            pieces += [*self._element(kind, int(number)), *self._words(_GAP.sub("", words) if is_behind else words)]
        return pieces

    def _words(self, words: str) -> list[Piece]:
        words = words.replace(OPEN, "").replace(CLOSE, "")
        if self._claim is None or not words.strip():
            return [words]
        bare = words.rstrip()
        shown = builder.SPAN(bare, {"class": f"claim {self._claim.verdict}", "data-claim": str(self._number)})
        return [shown, words[len(bare) :]]

    def _element(self, kind: str, number: int) -> list[Piece]:
        if kind == "c":
            return [self._citation(self._citations[number])]
        self._claim, self._number = self._claims[number] if kind == "b" else None, number
        return []

    def _citation(self, citation: Citation) -> lxml.html.HtmlElement:
        place = self._places.get((citation.number, citation.claim))
        if place is None or self._is_on_paper:
            shown = builder.A(href=f"#source-{citation.number}" if place is None else f"#evidence-{place}")
        else:
            shown = builder.BUTTON(type="button", popovertarget=f"quote-{place}")
        verdict = "" if place is None else self._quotes[place].verdict
        words = f", {getattr(self._labels, verdict)}" if verdict else ""
        shown.text = str(citation.number)
        shown.set("class", f"cite {verdict}".strip())
        shown.set("aria-label", f"{citation.number}{words}: {self._titles[citation.number]}")
        return shown


def _let_scroll(table: lxml.html.HtmlElement) -> None:
    """Put a table that may be wider than the page into a box that scrolls, by the keyboard too."""
    columns = zip_longest(*([cell.text_content() for cell in row] for row in table.iter("tr")), fillvalue="")
    width = sum(max(map(len, " ".join(cells).split()), default=0) for cells in columns)
    if width > _DENSE:
        table.set("class", "dense tight" if width > _TIGHT else "dense")
    if len(table.xpath(".//tr")) <= _TOGETHER:
        table.classes.add("together")
    box = builder.DIV(builder.CLASS("wide"), tabindex="0")
    table.getparent().replace(table, box)
    box.append(table)


def _glue(pieces: list[Piece]) -> None:
    """Let no line end between the last piece and the citation that follows."""
    last = pieces[-1]
    if isinstance(last, str) and last.endswith(" "):
        pieces[-1] = last.rstrip() + "\u00a0"


def report_body(finished: Finished, quotes: Sequence[SourceQuote], *, is_on_paper: bool, picture: str) -> ReportBody:
    """Render the text of a report; its citations open their quotes, or lead to the list of sources without one.

    On paper nothing opens: there they lead to the same quote in the table of evidence.
    """
    marked = mark_report(finished.report)
    tree = safe_tree(marked.text)
    headings = _headings(tree)
    _fill(tree, _MarkRenderer(finished, quotes, marked.citations, is_on_paper))
    for table in list(tree.iter("table")):
        mark_numbers(table, finished.language_code)
        _let_scroll(table)
    add_charts(tree, finished.language_code, picture)
    return ReportBody(tree, headings)


def _fill(element: lxml.html.HtmlElement, renderer: _MarkRenderer) -> None:
    children, text = list(element), element.text or ""
    element.text = None
    if element.tag in _LINES:
        renderer.begin_line()
    _insert(element, 0, renderer.pieces(text))
    for child in children:
        tail, child.tail = child.tail or "", None
        _fill(child, renderer)
        _insert(element, element.index(child) + 1, renderer.pieces(tail))


def _insert(parent: lxml.html.HtmlElement, place: int, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        if not isinstance(piece, str):
            parent.insert(place, piece)
            place += 1
        elif place:
            parent[place - 1].tail = (parent[place - 1].tail or "") + piece
        else:
            parent.text = (parent.text or "") + piece


def _headings(tree: lxml.html.HtmlElement) -> list[Heading]:
    """Bring the headings to levels without a gap, name them, and return them."""
    found = [element for element in tree.iter() if element.tag in _LEVELS]
    highest = min((_LEVELS[element.tag] for element in found), default=1)
    headings, level = list[Heading](), _TOP - 1
    for number, element in enumerate(found, 1):
        level = min(_LEVELS[element.tag] - highest + _TOP, level + 1, 6)
        element.tag = f"h{level}"
        element.set("id", f"section-{number}")
        words = " ".join(MARK.sub("", element.text_content()).split())
        headings.append(Heading(f"section-{number}", words, level))
    return headings
