"""The report as a document: text with citations, list of sources, notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ...records.report import Report
from ...records.sources import Source
from ..text.sentences import Sentence
from .labels import Labels, all_labels
from .rendering import links_of, plain_citations, plain_line, source_list
from .sanitizing import sanitized

_SECTION = re.compile(r"^## .*$", re.MULTILINE)
_CITATION = re.compile(r",? ?\[(\d+)\]")


def read_body(document: str, numbers: Sequence[int]) -> str:
    """The words of a document made by `write_document`, with their marks: no list of sources, no notes.

    Citations have the `numbers` that its sources, in their order, have elsewhere; those of other sources are left out.
    """
    headings = list(_SECTION.finditer(document))
    while headings and headings[-1].group() in _endings():
        document = document[: headings.pop().start()]
    document = _comparisons().sub("", document)
    known = dict(enumerate(numbers, 1))

    def renumbered(citation: re.Match[str]) -> str:
        number = int(citation[1])
        return citation[0].replace(citation[1], str(known[number])) if number in known else ""

    return _CITATION.sub(renumbered, document).strip()


def without_marks(text: str) -> str:
    """The text without the marks behind its sentences."""
    return _marks().sub("", text)


def write_document(
    report: Report, cited: Sequence[Source], notes: Sequence[str], labels: Labels, was_researched: bool, table: str = ""
) -> str:
    """The report in Markdown.

    `cited` are its sources in the order of their numbers, `notes` what a reader should know about the run, `table` one
    of claims that contradict each other, which stands right behind the answer if related passages follow it.
    `was_researched` tells whether any source was found at all; see `said_above`.
    """
    answer, heading, rest = report.text.partition(f"## {labels.related}\n")
    texts = [answer.strip(), table, f"{heading}{rest}"]
    parts = [part if part is table else plain_citations(part) for part in texts]
    if above := said_above(report, labels, was_researched=was_researched):
        parts.insert(0, f"*{above}*")
    body = sanitized("\n\n".join(part for part in parts if part), links_of(cited))
    parts = [body, source_list(cited, labels).strip()]
    if notes:
        parts.append("\n".join([f"## {labels.notes}", "", *(f"- {plain_line(note)}" for note in notes)]))
    return "\n\n".join(part for part in parts if part)


def said_above(report: Report, labels: Labels, *, was_researched: bool) -> str:
    """What stands above a report without citations: whether any source was found at all; empty if that says nothing.

    A report that only says that the documents do not answer has nothing to cite.
    """
    if report.sources or (was_researched and is_refusal(report.text)):
        return ""
    return labels.no_citation if was_researched else labels.no_source


@cache
def _endings() -> frozenset[str]:
    """The headings behind the body, in any language."""
    own = ((labels.contradictions, labels.sources, labels.notes) for labels in all_labels().values())
    return frozenset(f"## {words}" for three in own for words in three)


@cache
def _comparisons() -> re.Pattern[str]:
    """Tables of contradictions behind the answer, in any language."""
    headings = "|".join(sorted(re.escape(labels.contradictions) for labels in all_labels().values()))
    return re.compile(rf"^## (?:{headings})\n\n(?:\|.*(?:\n|$))+\n?", re.MULTILINE)


@cache
def _marks() -> re.Pattern[str]:
    """The marks behind sentences, in any language."""
    every = ((own.not_verified, own.outdated, own.draft, own.to_come) for own in all_labels().values())
    marks = {words for own in every for words in own}
    return re.compile(rf" \*\((?:{'|'.join(map(re.escape, sorted(marks)))})\)\*")


_QUOTED = "“[^”]+”"


class Refusals(NamedTuple):
    """Where such paragraphs stand in a text."""

    spans: tuple[tuple[int, int], ...]

    def hold(self, sentence: Sentence) -> bool:
        """Whether the sentence is a part of one: what was sought in vain is told there, and nothing is claimed."""
        return any(start <= sentence.start and sentence.end <= end for start, end in self.spans)


def refusals_in(text: str) -> Refusals:
    """The refusals of a text, in whatever language."""
    return Refusals(tuple(match.span() for match in _refusal().finditer(text)))


def is_refusal(text: str) -> bool:
    """Whether a report says this alone."""
    return bool(_refusal().fullmatch(text.strip()))


@cache
def _refusal() -> re.Pattern[str]:
    # Only the whole line counts, so that nothing else is passed by which a writer says in the same breath.
    return re.compile(rf"^(?:{'|'.join(map(_line, all_labels().values()))})$", re.MULTILINE)


def _line(labels: Labels) -> str:
    before, _, behind = labels.nothing_on.partition("{names}")
    nothing = rf"{re.escape(before)}{_QUOTED}(?:, {_QUOTED})*{re.escape(behind)}"
    return rf"(?:{re.escape(labels.unanswered)}\s?)?{nothing}(?:\s?{nothing})*"
