"""Renders a report in Markdown: its text with numbers and marks, its source list, its notes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from textwrap import shorten
from types import MappingProxyType
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from ...records.report import ClaimCheck, Report
from ...records.research import Calculation
from ...records.sources import Dispute, Source, in_one_line, safe_link
from ..text.similarity import without_loop
from ..text.words import UNSPACED
from ._draft import clean_draft
from ._footnotes import Footnote, settle_footnotes, source_footnotes
from .citing import Edit, bracketed, by_number, cited_numbers, known_citations, without_unknown
from .labels import Labels, all_labels
from .markers import BEFORE_BLOCK, Marker, plain_prose, scan, settle_fences, unwrapped
from .sanitizing import EMAIL_SIGN, sanitized, sanitized_at

LONGEST_LINK_QUOTE = 60
"""Maximum length of a quote that is completely in a link, in characters; longer ones are cut to
their two ends."""
_WORDS, _CHARACTERS = 5, 12
"""Length of each end, in words, or in characters of a script without spaces."""
_PARTS_SHOWN, _PART_CHARACTERS = 3, 120
"""How many of the parts that a report leaves out are named above it, and their maximum length."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
# Markdown ignores underscores within words, ampersands that begin no entity, and the brackets of
# package[extra].
_SPECIAL = re.compile(
    rf"(?P<extra>(?<=[\w.])\[[a-z]+\](?![(\[:{{]))|(?P<sign>{EMAIL_SIGN})"
    r"|[\\`*\[\]<>|~$@]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(\W|_)")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_CLASHES = {"][", "](", "!["}
"""Pairs of neighbouring characters that Markdown would read as part of a link or image."""
_FIRST_IN_BLOCK = re.compile(rf"{BEFORE_BLOCK}\[\d+\]")
"""A number in brackets that a following colon would turn into a link definition."""
_DEFINES = re.compile(
    rf"^({BEFORE_BLOCK}\[[^\[\]\n]+\]):(?=[ \t]*+(?:\n[ \t>]*+)?\S*+\Z)", re.MULTILINE
)
"""The start of a link definition that would take the following number as its target."""
_CALCULATION_LIST = re.compile(
    r"^## .+\n\n(?:- \[calc \d+\] .+\n)+\n(?:\[calc \d+\]: <#.*>(?:\n|\Z))+\n?", re.MULTILINE
)
_BRACKETS = str.maketrans("【［】］", "[[]]")
_TABLE = re.compile(r"^\|.*(?:\n\|.*)+", re.MULTILINE)
_SECTION = re.compile(r"^## .*$", re.MULTILINE)
LONGEST_VALUE = 80
"""Maximum length in characters of the value in a mark such as *(contradicted: 38 metres)*."""
_NOT_IN_MARK = re.compile(r"[\[\]()*_`|<>\\【】［］]")
_NO_VALUES: Mapping[int, str] = MappingProxyType({})
_NO_SOURCES: Mapping[str, Source] = MappingProxyType({})
_QUOTED_NAME = "“[^”]+”"


def link_to(source: Source, quote: str = "", page: int = 0) -> str:
    """Return a link that opens a source at a quote; empty if the source cannot be opened by a link.

    Documents open at `page` (from 1; 0 if unknown), using the PDF parameter of RFC 8118. Web
    addresses get the quote as a text fragment (WICG draft, "Scroll to Text Fragment"); browsers
    without support, and changed pages, show the beginning of the page.
    """
    # The quote is from the text that was read, possibly a copy.
    location = source.location
    if quote and source.copy_address:
        location = source.copy_address
    link = safe_link(location)
    is_file = link.lower().startswith("file:")
    if not link or (is_file and source.kind != "document"):
        return ""
    if page:
        return f"{link.partition('#')[0]}#page={page}"
    # The page does not contain the heading marks and cell borders that text extraction adds.
    words = max(re.split(r"\n|^#+ | \| ", quote.strip()), key=len).split()
    text = " ".join(words)
    if not text or is_file or urlsplit(link).path.lower().endswith(".pdf"):
        return link
    if len(text) <= LONGEST_LINK_QUOTE:
        parts = [text]
    elif _UNSPACED.search(text):
        parts = [text[:_CHARACTERS], text[-_CHARACTERS:]]
    else:
        last_start = max(_WORDS, len(words) - _WORDS)
        parts = [" ".join(words[:_WORDS]), " ".join(words[last_start:])]
    encoded = list[str]()
    for part in filter(None, parts):
        plain = percent_encoded(part.strip(), safe="", errors="replace")
        # A hyphen and a comma separate the parts of the directive.
        encoded.append(plain.replace("-", "%2D"))
    if "#" not in link:
        link += "#"
    return f"{link}:~:text={','.join(encoded)}"


def plain_citations(text: str) -> str:
    """Return a text with each cited number in its own brackets.

    Markdown then links it to the number's definition.
    """
    ended = list[str]()
    line = list[str]()
    citations = 0
    was_marker = False
    last = ""
    for part in scan(text):
        is_marker = isinstance(part, Marker)
        words = bracketed(part) if isinstance(part, Marker) else part
        if is_marker and not citations:
            # Only the first citation of a line can be the target of a definition, in its line or
            # in the one above.
            above = ended.pop() if ended else ""
            before = _DEFINES.sub(r"\1\\:", above + "".join(line))
            above, line_break, before = before.rpartition("\n")
            ended.append(above + line_break)
            line = [before]
        if (is_marker or was_marker) and last + words[:1] in _CLASHES:
            words = f" {words}"
        is_after = was_marker and citations == 1 and words.startswith(":")
        if is_after and _FIRST_IN_BLOCK.fullmatch("".join(line)):
            words = f"\\{words}"
        line.append(words)
        last = words[-1:] or last
        was_marker = is_marker
        if is_marker:
            citations += 1
        elif words.endswith("\n"):
            ended.append("".join(line))
            line = []
            citations = 0
    return "".join([*ended, *line])


def source_list(sources: Sequence[Source], labels: Labels, reader: str | None = None) -> str:
    """Return a Markdown list of the sources, with their link definitions below.

    It is empty if there are no sources. An entry has the number, title, path or host, publisher and
    its kind, date and its kind, standing, and how the source was read unless completely. `reader`
    as in `links_of`.
    """
    if not sources:
        return ""
    lines = list[str]()
    for source in sources:
        title = source.shown_title
        location = source.short_location
        details = [source.shown_publisher, labels.origin(source), labels.time_of(source)]
        details.append(labels.remark(source))
        if location != title:
            details.insert(0, location)
        line = f"- [{source.number}] {_escaped(title)}"
        facts = ", ".join(filter(None, details))
        if facts:
            line += f" — {_escaped(facts)}"
        lines.append(line)
    lines.append("")
    for number, link in links_of(sources, reader).items():
        # An address contains no entities, even if it looks like it.
        plain = _ENTITY.sub("&amp;", link)
        lines.append(f"[{number}]: <{plain}>")
    return "\n".join([f"## {labels.sources}", "", *lines]).rstrip() + "\n"


_ESCAPED_CALCULATION = re.compile(r"\\\[(?P<key>calc \d+)\\\]")


def calculation_list(
    calculations: Sequence[Calculation], labels: Labels, numbers: Mapping[str, int]
) -> str:
    """Return a Markdown list of the calculations that a report cites, with the inputs and their
    sources; empty if there are none.

    `numbers` are those of the sources, by key. The link definitions below it lead from a citation,
    `[calc 2]`, to the list.
    """
    if not calculations:
        return ""
    heading = labels.calculations
    lines = list[str]()
    definitions = list[str]()
    anchor = percent_encoded(heading.lower().replace(" ", "-"))
    for calculation in calculations:
        name = ""
        if calculation.name != calculation.formula:
            name = f" {_escaped(in_one_line(calculation.name))}:"
        line = f"- [{calculation.key}]{name} {_escaped(calculation.line.replace('*', '×'))}"
        inputs = inputs_of(calculation, labels, numbers)
        if inputs:
            line += f" — {', '.join(inputs)}"
        lines.append(line)
        definitions.append(f"[{calculation.key}]: <#{anchor}>")
    listed = _ESCAPED_CALCULATION.sub(r"[\g<key>]", "\n".join(lines))
    return "\n".join([f"## {heading}", "", listed, "", *definitions])


def without_calculation_list(document: str) -> str:
    """Return a Markdown document without the list by `calculation_list`."""
    return _CALCULATION_LIST.sub("", document)


def inputs_of(calculation: Calculation, labels: Labels, numbers: Mapping[str, int]) -> list[str]:
    """Return the inputs of a calculation that come from a source, the request or nowhere, each with
    where it comes from: `48 [2]`."""
    inputs = list[str]()
    for used in calculation.inputs:
        shown = f"{used.value:.12g} {used.unit}".rstrip()
        if used.dates:
            shown += f" ({used.dates})"
        if used.origin == "source" and used.source in numbers:
            inputs.append(f"{_escaped(shown)} [{numbers[used.source]}]")
        elif used.origin == "request":
            inputs.append(f"{_escaped(shown)} ({labels.your_request})")
        elif used.origin == "supposed" and not used.calculation:
            inputs.append(f"{_escaped(shown)} ({labels.assumed})")
    return list(dict.fromkeys(inputs))


def links_of(sources: Sequence[Source], reader: str | None = None) -> dict[str, str]:
    """Return the links of the sources that have one, by number (as a string).

    If readers cannot open files, `reader` is the address, up to the number, at which a server shows
    a document; it is empty if no server does. None: readers can open files.
    """
    links = dict[str, str]()
    for source in sources:
        link = safe_link(source.location)
        if reader is not None and link.lower().startswith("file:"):
            link = f"{reader}{source.number}" if reader else ""
        if link:
            links[str(source.number)] = link
    return links


def _mark_of(source: Source, numbers: Mapping[str, int]) -> str:
    """Return the citation of a source, `[1]`, or its escaped title in brackets if it has no
    number."""
    number = numbers.get(source.key)
    return f"[{number}]" if number else f"({_escaped(source.shown_title)})"


def plain_line(text: str) -> str:
    """Return untrusted text as one line with all markup escaped."""
    return _escaped(in_one_line(text))


def words_of_line(line: str) -> str:
    """Return the text of a line by `plain_line`."""
    return _ESCAPED.sub(r"\1", line).replace("`@`", "@")


def _escaped(text: str) -> str:
    """Return the text with all Markdown characters escaped."""

    def escape(found: re.Match[str]) -> str:
        if found["extra"]:
            return found[0]
        if found["sign"]:
            return "`@`"
        return f"\\{found[0]}"

    return _SPECIAL.sub(escape, text.translate(_BRACKETS))


def with_marks(
    text: str,
    claims: Iterable[ClaimCheck],
    labels: Labels,
    sources: Sequence[Source] = (),
    contradicted: Mapping[int, str] = _NO_VALUES,
) -> tuple[str, tuple[ClaimCheck, ...]]:
    """Return a report's text with a mark after each unsupported claim, and the claims with their
    new offsets.

    `claims` must be in text order. `contradicted` are what the sources say instead (perhaps empty),
    by the offset of the claim; other unsupported claims are marked as not verified.
    Notes below tables say which of the cited `sources` are drafts, superseded or not in force.
    Citations of unknown sources (`[0]`) are removed, and the result is sanitized.
    """
    pieces = list[str]()
    length = done = 0
    moved = list[ClaimCheck]()

    def add(words: str) -> None:
        nonlocal length
        pieces.append(words)
        length += len(words)

    def copy_to(end: int) -> None:
        nonlocal done
        add(without_unknown(text[done:end]))
        done = end

    notes = deque(_notes_below_tables(text, labels, sources))
    for claim in claims:
        while notes and notes[0].start <= claim.start:
            copy_to(notes[0].start)
            add(notes.popleft().words)
        copy_to(claim.start)
        start = length
        words = text[claim.start : claim.end]
        if words.endswith("|"):
            # In a table row, the mark is appended to the last cell.
            words = words[:-1].rstrip()
        words_end = claim.start + len(words)
        copy_to(words_end)
        is_marked = claim.verdict == "unsupported"
        if is_marked:
            add(f" *({_mark(labels, contradicted.get(claim.start))})*")
            if text[words_end : words_end + 1].isalnum():
                # Without a space, the stars would not be emphasis.
                add(" ")
        end = length + claim.end - words_end
        update = {"start": start, "end": end, "is_marked": is_marked}
        moved.append(claim.model_copy(update=update))
    for note in notes:
        copy_to(note.start)
        add(note.words)
    copy_to(len(text))

    inert_starts = list[int]()
    for claim in moved:
        inert_starts += [claim.start, claim.end]
    inert = sanitized_at("".join(pieces), inert_starts)
    placed = list[ClaimCheck]()
    starts = inert.positions[::2]
    ends = inert.positions[1::2]
    for claim, start, end in zip(moved, starts, ends, strict=True):
        placed.append(claim.model_copy(update={"start": start, "end": end}))
    return inert.text, tuple(placed)


def _mark(labels: Labels, value: str | None) -> str:
    """Return the words of the mark after a claim that sources contradict with this value, or that
    they do not support (None)."""
    if value is None:
        return labels.not_verified
    # The value comes from a source or a model: it must not end the mark, or form another one.
    plain = " ".join(_NOT_IN_MARK.sub(" ", value).split())[:LONGEST_VALUE]
    return f"{labels.contradicted}: {plain}" if plain else labels.contradicted


def _notes_below_tables(text: str, labels: Labels, sources: Sequence[Source]) -> list[Edit]:
    """Return the notes on sources in tables that are retracted or not in force."""
    standings = dict[int, str]()
    for source in sources:
        standing = labels.standing(source)
        if standing:
            standings[source.number] = standing
    notes = list[Edit]()
    for table in _TABLE.finditer(text):
        cited = sorted(cited_numbers(table[0], standings))
        if cited:
            remarks = ", ".join(f"[{number}] {standings[number]}" for number in cited)
            notes.append(Edit(table.end(), table.end(), f"\n\n*{remarks}*"))
    return notes


def read_body(document: str) -> str:
    """Return the marked text in a document by `write_document`.

    It has no contradictions, source list and notes.
    """
    endings = set[str]()
    tables = list[str]()
    for labels in all_labels().values():
        for heading in (labels.contradictions, labels.sources, labels.notes):
            endings.add(f"## {heading}")
        tables.append(re.escape(labels.contradictions))
    document = without_calculation_list(document)
    headings = list(_SECTION.finditer(document))
    end = len(document)
    while headings and headings[-1].group() in endings:
        end = headings.pop().start()
    document = document[:end]
    contradictions = rf"(?m)^## (?:{'|'.join(tables)})\n\n(?:\|.*(?:\n|$))+\n?"
    return re.sub(contradictions, "", document).strip()


def without_marks(text: str) -> str:
    """Return the text without the marks after sentences and the notes below tables."""
    return _marks().sub("", text)


def write_document(
    report: Report,
    cited: Sequence[Source],
    notes: Sequence[str],
    labels: Labels,
    was_researched: bool,
    disputes: Sequence[Dispute] = (),
    sources: Mapping[str, Source] = _NO_SOURCES,
    reader: str | None = None,
    title: str = "",
    left_out: Sequence[str] = (),
) -> str:
    """Return a report as a Markdown document: title, text, table of disputes, source list,
    calculations and notes, as far as there are any.

    `sources`: at least those of the `disputes`, by key. `was_researched` says whether the research
    found any source, `left_out` which parts of the question the report leaves out (see
    `warning_above`). `reader` as in `links_of`.
    """
    numbers = {source.key: source.number for source in cited}
    table = comparison_table(disputes, labels, sources, numbers)
    parts = [plain_citations(report.text.strip()), table]
    warning = warning_above(report, labels, was_researched=was_researched, left_out=left_out)
    if warning:
        parts.insert(0, f"*{warning}*")
    body = sanitized("\n\n".join(filter(None, parts)), links_of(cited, reader))
    heading = title_line(title)
    if heading and report.is_title_marked:
        heading += f" *({labels.not_verified})*"
    calculations = calculation_list(report.calculations, labels, numbers)
    blocks = [heading, body, source_list(cited, labels, reader).strip(), calculations]
    if notes:
        lines = [f"## {labels.notes}", ""]
        for note in notes:
            lines.append(f"- {plain_line(note)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(filter(None, blocks))


def comparison_table(
    disputes: Sequence[Dispute],
    labels: Labels,
    sources: Mapping[str, Source],
    numbers: Mapping[str, int],
) -> str:
    """Return a Markdown table of disputes; empty if there are none.

    `sources`: at least those of the disputes, by key; `numbers`: their numbers in the report, by
    key.
    """
    if not disputes:
        return ""
    head = [labels.claim, labels.other_claim, labels.resolution]
    lines = [_row(head), _row(["---"] * len(head))]
    for dispute in disputes:
        cells = list[str]()
        for side in dispute.sides:
            cell = f"{plain_line(side.text)} {_mark_of(sources[side.source], numbers)}"
            if side.date:
                cell += f" ({side.date})"
            cells.append(cell)
        cells.append(plain_line(dispute.resolution) if dispute.is_resolved else labels.unresolved)
        lines.append(_row(cells))
    table = "\n".join(lines)
    return f"## {labels.contradictions}\n\n{table}"


def _row(cells: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def title_line(title: str) -> str:
    """Return the title as a first-level heading; empty if there is no title."""
    return f"# {plain_line(title)}" if title else ""


def warning_above(
    report: Report, labels: Labels, *, was_researched: bool, left_out: Sequence[str] = ()
) -> str:
    """Return the warning to put above a report that could not be judged, cites nothing, or leaves
    out parts of the question (`left_out`).

    A report that only says that the sources have no answer (see `is_refusal`) needs no citation.
    The warning is empty for all other reports.
    """
    warnings = [_warning_on_sources(report, labels, was_researched=was_researched)]
    if left_out:
        shown = [shorten(plain_line(part), _PART_CHARACTERS, placeholder="…") for part in left_out]
        parts = "; ".join(part.rstrip(".?!") for part in shown[:_PARTS_SHOWN])
        if len(shown) > _PARTS_SHOWN:
            parts += "; …"
        warnings.append(labels.left_out.replace("{parts}", parts))
    return " ".join(filter(None, warnings))


def _warning_on_sources(report: Report, labels: Labels, *, was_researched: bool) -> str:
    if report.audit and report.audit.judge_grade == "unsound":
        return labels.not_judged
    if report.sources or report.calculations:
        return ""
    if not was_researched:
        return labels.no_source
    if is_refusal(report.checked_text):
        return ""
    return labels.no_citation


@cache
def _marks() -> re.Pattern[str]:
    """Return the pattern of the marks after sentences and the notes below tables.

    It matches those of all languages.
    """
    words = set[str]()
    refuted = set[str]()
    for labels in all_labels().values():
        refuted.add(re.escape(labels.contradicted))
        words.update(
            (
                labels.not_verified,
                labels.outdated,
                labels.draft,
                labels.to_come,
                labels.retracted,
                labels.concern,
            )
        )
    marks = "|".join(sorted(map(re.escape, words)))
    contradicted = rf"(?:{'|'.join(sorted(refuted))})(?:: [^()*\n]{{1,{LONGEST_VALUE}}})?"
    return re.compile(
        rf" \*\((?:{marks}|{contradicted})\)\*|\n\n\*(?:(?:, )?\[\d+\] (?:{marks}))+\*"
    )


def refusal_spans(text: str) -> list[range]:
    """Return the offsets of the lines that only say what was not found, in any language that has
    labels."""
    return [range(*found.span()) for found in _refusal().finditer(text)]


def is_refusal(text: str) -> bool:
    """Whether a report only says what was not found."""
    return bool(_refusal().fullmatch(text.strip()))


@cache
def _refusal() -> re.Pattern[str]:
    """Return the pattern of a line that only says what was not found.

    Our extractive writer words it so.
    """
    forms = list[str]()
    for labels in all_labels().values():
        before, _, behind = labels.nothing_on.partition("{names}")
        names = rf"{_QUOTED_NAME}(?:, {_QUOTED_NAME})*"
        nothing = rf"{re.escape(before)}{names}{re.escape(behind)}"
        forms.append(rf"(?:{re.escape(labels.unanswered)}\s?)?{nothing}(?:\s?{nothing})*")
    # Only a whole line counts, so that a claim on the same line is still checked.
    return re.compile(rf"^(?:{'|'.join(forms)})$", re.MULTILINE)


def clean_for_draft(
    written: str, sources: Mapping[str, Source], taken: Container[str] = ()
) -> tuple[str, dict[int, str], int]:
    """Return a model's text with citations of the thread's sources only, and without markup that is
    unsafe or ours.

    Its footnotes have no label that is `taken`.

    Also return the keys of the sources that it cites, by number, and how many markers were removed.
    """
    numbered = by_number(sources.values())
    # Only the verification may mark sentences.
    settled = source_footnotes(settle_fences(without_marks(written)), numbered, taken)
    cleaned, removed = clean_draft(settled, numbered)
    keys = {number: source.key for number, source in numbered.items()}
    text, cited = known_citations(settle_fences(sanitized(cleaned)), keys)
    return text, cited, removed


def clean_prose(written: str, sources: Mapping[int, Source]) -> str:
    """Return a model's prose with its citations of these sources (by number) as `[n]`.

    Footnotes that name a source cite it; a code fence around the text and the repetitions of a loop
    at its end are removed.
    """
    settled = source_footnotes(unwrapped(written), sources)
    return without_loop(plain_prose(settled, sources))


def joined_footnotes(text: str) -> str:
    """Return a text that was put together from settled ones, with all footnotes at its end."""
    return settle_footnotes(text, lambda _, words: Footnote(text=words))
