"""The report as a document: text with links, list of sources, notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.rendering import link_citations, plain_line, source_list
from deep_research.knowledge import Source
from deep_research.state import Report

UNCITED = "*This text cites no source.*"
UNRESEARCHED = "*No source was consulted for this text.*"


_CITATION = re.compile(r"(?: ?\[\d+\](?:\([^)\s]*\))?)(?:, ?\[\d+\](?:\([^)\s]*\))?)*")


def read_body(document: str) -> str:
    """The words of a document made by `write_document`: no citations, no sources, no notes."""
    body = re.split(r"^## (?:Contradictions|Sources|Notes)$", document, maxsplit=1, flags=re.MULTILINE)[0]
    return _CITATION.sub("", body).strip()


def write_document(
    report: Report, cited: Sequence[Source], notes: Sequence[str], was_researched: bool, table: str = ""
) -> str:
    """The report in Markdown.

    `cited` are its sources in the order of their numbers, `notes` what a reader should know about the run, `table` one
    of claims that contradict each other. `was_researched` tells whether any source was found at all; a text without
    citations says which of the two it is.
    """
    links = {number: source.location for number, source in enumerate(cited, 1)}
    parts = [link_citations(report.text, links)]
    if not cited:
        parts.insert(0, UNCITED if was_researched else UNRESEARCHED)
    parts.append(table)
    parts.append(source_list(cited, "Sources").strip())
    if notes:
        parts.append("\n".join(["## Notes", "", *(f"- {plain_line(note)}" for note in notes)]))
    return "\n\n".join(part for part in parts if part)
