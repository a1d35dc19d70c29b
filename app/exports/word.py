"""A report as a Word document with real headings, lists, tables and links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from docx import Document

from ...evidence.citations.document import said_above
from ...evidence.citations.fragments import link_to
from ...evidence.citations.labels import labels
from ...evidence.citations.rendering import shown_title, source_place
from ...knowledge import Source
from .account import figures_of
from .body import report_body
from .finished import Finished
from .quotes import Quote, quotes_of
from .word_parts import WordParts

_LONGEST_TITLE = 600


def report_docx(finished: Finished) -> bytes:
    """The document."""
    document = Document()
    _Writer(WordParts(document, finished.language_code), finished).write()
    file = BytesIO()
    document.save(file)
    return file.getvalue()


class _Writer:
    """Writes the sections one after the other."""

    def __init__(self, parts: WordParts, finished: Finished) -> None:
        self._parts, self._finished = parts, finished
        self._words = labels(finished.language_code)
        self._quotes = quotes_of(finished)

    def write(self) -> None:
        """Write them all."""
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
                grounds = f"{words.judge} {quote.judge}" if quote.judge else f"{quote.passage.score:.0%}"
                self._parts.add(verdict, f" ({grounds})")
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
