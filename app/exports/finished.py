"""The content of a finished report that all export formats share."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import lxml.html
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ...core.dialogue.conversation import title_or_question
from ...core.evidence.checking.units import report_units
from ...core.evidence.citations.labels import Labels, labels
from ...core.evidence.citations.rendering import link_to, without_marks
from ...core.evidence.citations.sanitizing import commonmark, sanitized
from ...core.evidence.text.sentences import sentences_of
from ...core.records.report import PASSAGE_GAP, Audit, CitedPassage, ClaimVerdict, Report
from ...core.records.research import Calculation, dollars
from ...core.records.sources import Dispute, Source
from ...core.writing.versions import ThreadVersions
from ..runs import StoredRun
from ..words import ReportTrust, in_words

_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control, invisible and direction characters, which `readable` removes."""
_LINE_MARK = re.compile(r"^\s*(?:(?:#{1,6}|[-*+•>])\s+)+")
"""Markers of headings, list items and quotes at the beginning of a line."""
_OUTER_BORDER = re.compile(r"(?<=:)\s*\||\s*\|\s*(?=;)")
"""Outer borders of a table row that is quoted in a sentence."""
_LEFT_OVER = re.compile(r"\*\*|`|^[\s|:-]+$")
"""Emphasis or code markup without its other half, as in a shortened passage, and the line below a
table header."""

_BARE = re.compile(r"[^\W_](?:[^\W_]|[ ,.:;()%/+-])*")
"""A line without markup, which begins with a letter or digit."""
_RIGHT = "text-align:right"
"""Style that the Markdown parser gives to the cells of a column that ends in `--:`."""


class Finished(NamedTuple):
    """A finished report with its sources, notes and disputes."""

    title: str
    question: str
    """The question in the user's words; of a version that an edit has made, its title."""
    date: str
    """When the question was asked, in words."""
    language_code: str
    """Language of the report (ISO 639-1)."""
    report: Report
    cited: Sequence[Source]
    """Cited sources, ordered by number."""
    notes: Sequence[str]
    """Notes about the run, except those that the audit lists."""
    contradictions: Sequence[Dispute]
    """Disputes between sources."""
    was_researched: bool
    """Whether the run has any source, cited or not."""
    sources: Mapping[str, Source]
    """All sources of the run by key, cited or not; of a file that is only checked, none."""
    left_out: Sequence[str] = ()
    """Parts of the question that the report leaves out."""
    trust: ReportTrust | None = None
    """How far the report can be relied on; None for a report that no run has written."""


def finished_report(stored: StoredRun) -> Finished:
    """Return the finished report of a run, which must have one."""
    report = stored.state.report
    assert report is not None
    shown = stored.shown or ThreadVersions(stored.state).finished(report)
    report = shown.report
    title = title_or_question(shown.title, shown.run.question)
    if report.is_title_marked:
        title += f" ({labels(shown.run.language_code).not_verified})"
    question = shown.run.question
    if shown.run.entry == "edit":
        # What was to be changed is of no use to the report's readers.
        question = title
    gaps = report.audit.gaps if report.audit else ()
    # The audit lists the gaps.
    notes = list[str]()
    for note in shown.notes:
        if note not in gaps and note.partition(": ")[2] not in gaps:
            notes.append(note)
    return Finished(
        title=title,
        question=question,
        date=shown.run.date,
        language_code=shown.run.language_code,
        report=report,
        cited=shown.cited,
        notes=notes,
        contradictions=shown.contradictions,
        was_researched=shown.was_researched,
        sources={**stored.state.sources, **{source.key: source for source in shown.sources}},
        left_out=shown.left_out,
        trust=ReportTrust.of(report, stored.gaps),
    )


def readable(text: str) -> str:
    """Remove control characters, invisible characters, and characters that change the text
    direction."""
    return _UNREADABLE.sub("", text)


def safe_tree(markdown: str) -> lxml.html.HtmlElement:
    """Render Markdown as a `div` of harmless elements; raw HTML is shown as text, links and images
    as their words.

    Table cells that the writer aligned to the right have the class `right`.
    """
    html = _markdown().render(sanitized(readable(markdown)))
    # Applied again for characters written as entities.
    tree = lxml.html.fragment_fromstring(readable(html), create_parent="div")
    for element in tree.iter():
        is_right = element.get("style") == _RIGHT
        for name in {*element.keys()} - {"start"}:
            del element.attrib[name]
        if is_right:
            element.set("class", "right")
    return tree


def plain_words(markdown: str, joint: str = " ") -> str:
    """Return the words of Markdown text or table rows without markup; `joint` separates the
    lines."""
    lines = list[str]()
    for line in sanitized(readable(markdown)).splitlines():
        if _BARE.fullmatch(line):
            # Parsing what has no markup would take most of the time of a long table.
            lines.append(" ".join(line.split()))
            continue
        tokens = list[Token]()
        for block in _markdown().parseInline(_LINE_MARK.sub("", line)):
            tokens += block.children or ()
        words = _OUTER_BORDER.sub("", _LEFT_OVER.sub("", readable(_words(tokens))))
        cells = [" ".join(cell.split()) for cell in words.split("|")]
        lines.append(" · ".join(filter(None, cells)))
    return joint.join(filter(None, lines))


def _words(tokens: Sequence[Token]) -> str:
    """Return the words of inline Markdown tokens; a line break becomes a space."""
    words = list[str]()
    for token in tokens:
        if token.children:
            words.append(_words(token.children))
        elif "break" in token.type:
            words.append(" ")
        else:
            words.append(token.content)
    return "".join(words)


@cache
def _markdown() -> MarkdownIt:
    parser = commonmark("table", "strikethrough").disable(["link", "image", "autolink"])
    parser.options["html"] = False
    return parser


def audit_figures(audit: Audit, labels: Labels, *, has_costs: bool = True) -> dict[str, str]:
    """Return the figures of an audit that are not zero, as text by label; calls, tokens, cost, time
    if `has_costs`."""
    independent_sources = audit.independent_sources if audit.independent_sources > 1 else 0
    trust = ReportTrust.of_audit(audit)
    counts = {
        labels.checked: audit.checked,
        labels.supported: trust.supported,
        labels.corrected: trust.corrected,
        labels.left_open: trust.not_verified,
        labels.unjudged: trust.not_judged,
        labels.reasoning: trust.without_source,
        labels.removed_markers: audit.removed_markers,
        labels.corrected_markers: audit.corrected_markers,
        labels.sources_read: audit.sources_read,
        labels.sources_cited: audit.sources_cited,
        labels.independent_sources: independent_sources,
        labels.excerpt_only: audit.excerpts_cited,
    }
    if has_costs:
        counts[labels.model_calls] = audit.model_calls
    figures = dict[str, str]()
    for label, count in counts.items():
        if count:
            figures[label[:1].upper() + label[1:]] = _grouped(count)
    if not has_costs:
        return figures
    if audit.model_calls:
        figures[labels.tokens] = f"{_grouped(audit.input_tokens)} / {_grouped(audit.output_tokens)}"
    if audit.usd:
        figures[labels.cost] = dollars(audit.usd)
    figures[labels.time] = in_words(audit.seconds)
    return figures


def trust_figures(finished: Finished, labels: Labels) -> list[tuple[str, str]]:
    """Return how far the report can be relied on, as labelled numbers that are not zero, each after
    the id of the section behind it; an empty id if there is none."""
    trust = finished.trust
    if trust is None:
        return []
    numbers = [
        ("audit", labels.corrected, trust.corrected),
        ("audit", labels.left_open, trust.not_verified),
        ("audit", labels.unjudged, trust.not_judged),
        # Those that the text names have no row in the section.
        ("contradictions", labels.contradictions, len(finished.contradictions)),
        ("calculations", labels.calculations, trust.calculations),
        ("gaps" if finished.report.audit else "", labels.gaps, trust.open),
    ]
    figures = list[tuple[str, str]]()
    if trust.cited:
        supported = labels.supported[:1].upper() + labels.supported[1:]
        figures.append(("audit", f"{supported}: {trust.supported} / {trust.cited}"))
    for section, label, number in numbers:
        if number:
            figures.append((section, f"{label}: {_grouped(number)}"))
    if trust.points:
        points = f"{labels.points}: {trust.answered} / {trust.points}"
        if trust.partly:
            points += f" (◐ {trust.partly})"
        if trust.not_graded:
            points += f" (– {trust.not_graded})"
        figures.append(("", points))
    return figures


def _grouped(count: int) -> str:
    # A narrow space as thousands separator is understood in every language.
    return f"{count:,}".replace(",", "\u202f")


class SourceQuote(NamedTuple):
    """A checked sentence of the report with one of the passages that it cites."""

    claim: int
    """Index of the sentence among the checked sentences."""
    sentence: str
    number: int
    """Number of the source; 0 if the sentence cites none."""
    title: str
    """Title of the source."""
    link: str
    """Link that opens the source, at the quote if possible; empty if it cannot be opened."""
    read_at: str
    """Date on which the source was read (ISO 8601); empty if it was not read."""
    verdict: ClaimVerdict
    """Verdict on the sentence, considering all its sources."""
    passage: CitedPassage | None
    """The passage; None if the sentence cites none."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations of the judge from which figures of the sentence follow."""
    passage_parts: Sequence[str] = ()
    """The words of the passage: every second part decided on the sentence, if not all did."""
    before: str = ""
    """What the draft said in its place, if the check has corrected it."""


def quotes_of(finished: Finished) -> list[SourceQuote]:
    """Return an entry for each passage cited by each checked sentence, in the order of the report.

    A sentence that cites no known source gets one entry without a passage.
    """
    report = finished.report
    cited = {source.key: source for source in finished.cited}
    deciding = dict[str, list[str]]()
    of_judge = dict[str, tuple[Calculation, ...]]()
    before = dict[str, str]()
    for verdict in report.verdicts:
        if verdict.shown == "corrected" and verdict.after:
            before[verdict.after] = verdict.text
        if verdict.words:
            deciding[verdict.text] = verdict.words.split(PASSAGE_GAP)
        # Others are cited in the text.
        own = tuple(each for each in verdict.calculations if not each.number)
        if own:
            of_judge[verdict.text] = own
    cells = dict[int, str]()
    units = report_units(report.text, report.keys)
    starts = [unit.start for unit in units]
    for unit in units:
        if unit.kind == "cell":
            # Table cells are shown with their row and column names.
            names = unit.text.removesuffix(unit.raw_words)
            cells[unit.start] = plain_words(names + sentence_words(unit.raw))
    quotes = list[SourceQuote]()
    for number, claim in enumerate(report.claims):
        words = cells.get(claim.start) or sentence_words(report.text[claim.start : claim.end])
        known = [passage for passage in claim.passages if passage.source in cited]
        worked = list[Calculation]()
        quoted = list[str]()
        drafted = list[str]()
        first = bisect_left(starts, claim.start)
        for unit in units[first : bisect_left(starts, claim.end)]:
            worked += of_judge.get(unit.text, ())
            quoted += deciding.get(unit.text, ())
            if unit.text in before:
                drafted.append(plain_words(before[unit.text]))
        for passage in known:
            source = cited[passage.source]
            quote = SourceQuote(
                claim=number,
                sentence=words,
                number=source.number,
                title=source.shown_title,
                link=link_to(source, passage.quote, passage.page),
                read_at=source.read_at[:10],
                verdict=claim.verdict,
                passage=passage,
                calculations=tuple(dict.fromkeys(worked)),
                passage_parts=_passage_parts(passage, dict.fromkeys(quoted)),
                before=" ".join(drafted),
            )
            quotes.append(quote)
        if not known:
            quotes.append(SourceQuote(number, words, 0, "", "", "", claim.verdict, None))
    return quotes


def _passage_parts(passage: CitedPassage, quoted: Iterable[str]) -> list[str]:
    """Return the words of a passage, every second part among those that were quoted, unless all
    are."""
    text = plain_words(passage.quote, "\n")
    # Words may be quoted across lines.
    line = text.replace("\n", " ")
    wanted = list(filter(None, map(plain_words, quoted)))
    parts = list[str]()
    done = 0
    while True:
        found = list[tuple[int, int]]()
        for words in wanted:
            start = line.find(words, done)
            if start >= 0:
                found.append((start, -len(words)))
        if not found:
            break
        start, length = min(found)
        parts += [text[done:start], text[start : start - length]]
        done = start - length
    parts.append(text[done:])
    if not "".join(parts[::2]).strip():
        return [text]
    return parts


def sentence_words(markdown: str) -> str:
    """Return the words of a sentence or table row, without citations, verdict marks or markup."""
    sentences = sentences_of(without_marks(markdown))
    return " ".join([plain_words(sentence.text) for sentence in sentences])
