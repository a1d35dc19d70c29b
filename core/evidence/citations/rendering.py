"""Renders a report in Markdown: its text with numbers and marks, its source list, its notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote, urlsplit

from ...records.report import ClaimCheck, Report
from ...records.sources import DOCUMENT_SCHEME, Source
from ..text.words import UNSPACED
from .citing import Edit, bracketed, cited_numbers, without_unknown
from .labels import Labels, all_labels
from .markers import BEFORE_BLOCK, Marker, scan
from .sanitizing import EMAIL_SIGN, sanitized, sanitized_at

LONGEST_LINK_QUOTE = 60
"""Maximum length of a quote that is completely in a link, in characters; longer ones are cut to
their two ends."""
_WORDS, _CHARACTERS = 5, 12
"""Length of each end, in words, or in characters of a script without spaces."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_LINKABLE = re.compile(r"https?://[^/?#]|file:/", re.IGNORECASE)
# An IPv6 host keeps its brackets.
_IPV6_HOST = re.compile(r"https?://\[[0-9a-f:.]+\](?=[:/?#]|$)", re.IGNORECASE)
_PLAIN_IN_LINKS = "!#$%&*+,-./:;=?@_~"
_LONGEST_TITLE = 200
_INVISIBLE = {"Cc", "Cf", "Cs"}
"""Unicode categories of control and formatting characters, and of surrogates."""
# Markdown ignores underscores within words, ampersands that begin no entity, and the brackets of
# package[extra].
_SPECIAL = re.compile(
    rf"(?P<extra>(?<=[\w.])\[[a-z]+\](?![(\[:{{]))|(?P<sign>{EMAIL_SIGN})"
    r"|[\\`*\[\]<>|~$@]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_CLASHES = {"][", "](", "!["}
"""Pairs of neighbouring characters that Markdown would read as part of a link or image."""
_FIRST_IN_BLOCK = re.compile(rf"{BEFORE_BLOCK}\[\d+\]")
"""A number in brackets that a following colon would turn into a link definition."""
_DEFINES = re.compile(
    rf"^({BEFORE_BLOCK}\[[^\[\]\n]+\]):(?=[ \t]*(?:\n[ \t>]*)?\S*\Z)", re.MULTILINE
)
"""The start of a link definition that would take the following number as its target."""
_BRACKETS = str.maketrans("【［】］", "[[]]")
_ADDRESS = re.compile(
    r"(?:[a-z]+:)?//\S+|[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?:[:/?#]\S*)?", re.IGNORECASE
)
_TABLE = re.compile(r"^\|.*(?:\n\|.*)+", re.MULTILINE)
_SECTION = re.compile(r"^## .*$", re.MULTILINE)
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


def safe_link(location: str) -> str:
    """Return a web or file address, encoded so that Markdown cannot misparse it.

    It is empty for any other address.
    """
    stripped = location.strip()
    if not _LINKABLE.match(stripped):
        return ""
    found = _IPV6_HOST.match(stripped)
    host = found.group() if found else ""
    return host + percent_encoded(
        stripped.removeprefix(host), safe=_PLAIN_IN_LINKS, errors="replace"
    )


def plain_citations(text: str) -> str:
    """Return a text with each cited number in its own brackets.

    Markdown then links it to the number's definition.
    """
    plain = ""
    was_marker = False
    for part in scan(text):
        line_start = plain.rfind("\n") + 1
        is_marker = isinstance(part, Marker)
        words = bracketed(part) if isinstance(part, Marker) else part
        if is_marker:
            start = plain.rfind("\n", 0, max(line_start - 1, 0)) + 1
            plain = plain[:start] + _DEFINES.sub(r"\1\\:", plain[start:])
        if (is_marker or was_marker) and plain[-1:] + words[:1] in _CLASHES:
            words = f" {words}"
        is_after = was_marker and words.startswith(":")
        if is_after and _FIRST_IN_BLOCK.fullmatch(plain, line_start):
            words = f"\\{words}"
        plain += words
        was_marker = is_marker
    return plain


def source_list(sources: Sequence[Source], labels: Labels, reader: str | None = None) -> str:
    """Return a Markdown list of the sources, with their link definitions below.

    It is empty if there are no sources. An entry has the number, title, path or host, kind of
    publisher, date, standing, and how the source was read unless completely. `reader` as in
    `links_of`.
    """
    if not sources:
        return ""
    lines = list[str]()
    for source in sources:
        title = shown_title(source)
        location = short_location(source)
        details = [labels.origin(source), time_line(source), labels.remark(source)]
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


def source_name(source: Source, number: int | None) -> str:
    """Return the escaped title of a source, followed by its number in the report: `A light [1]`.

    Without a number, it is the title alone.
    """
    title = _escaped(shown_title(source))
    return f"{title} [{number}]" if number else title


def short_location(source: Source) -> str:
    """Return a short name of where a source is.

    That is the path of a document in its folder, the host of a web page, or the name of an app's
    retriever.
    """
    is_document = source.kind == "document"
    if is_document and (source.address.startswith(DOCUMENT_SCHEME) or not source.location):
        folder, _, path = source.address.removeprefix(DOCUMENT_SCHEME).partition("/")
        return _visible(path or folder)
    if safe_link(source.location):
        return _visible(_site(source.location).removeprefix("www."))
    return _visible(source.location) if is_document else ""


def time_line(source: Source) -> str:
    """Return the date of a source, with its period in brackets if that differs.

    It is empty if the source has neither.
    """
    if not source.date:
        return source.period
    if not source.period or source.date.startswith(source.period):
        return source.date
    return f"{source.date} ({source.period})"


def plain_line(text: str) -> str:
    """Return untrusted text as one line with all markup escaped."""
    return _escaped(_visible(text))


def shown_title(source: Source) -> str:
    """Return the title of a source in one line, not escaped.

    If it is empty or an address, it is the host or file name.
    """
    title = _visible(source.title)
    if not title or _ADDRESS.fullmatch(title):
        # A title that looks like an address might not be the linked address.
        title = _visible(_site(source.location) or source.location)
    if len(title) > _LONGEST_TITLE:
        title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title


def _escaped(text: str) -> str:
    """Return the text with all Markdown characters escaped."""

    def escape(found: re.Match[str]) -> str:
        if found["extra"]:
            return found[0]
        if found["sign"]:
            return "`@`"
        return f"\\{found[0]}"

    return _SPECIAL.sub(escape, text.translate(_BRACKETS))


def _visible(text: str) -> str:
    """Return the text in one line, without invisible characters."""
    visible = list[str]()
    for character in text:
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE:
            visible.append(character)
    return " ".join("".join(visible).split())


def _site(location: str) -> str:
    """Return the host of a web address, or the name of a file."""
    scheme, _, rest = location.strip().partition(":")
    if scheme.lower() == "file":
        return unquote(rest.rstrip("/").rpartition("/")[2])
    return re.split(r"[/?#]", rest.removeprefix("//"))[0].rpartition("@")[2]


def with_marks(
    text: str,
    claims: Iterable[ClaimCheck],
    labels: Labels,
    sources: Sequence[Source] = (),
    *,
    doubts: bool = True,
) -> tuple[str, tuple[ClaimCheck, ...]]:
    """Return a report's text with a mark after each unsupported claim, and the claims with their
    new offsets.

    `claims` must be in text order; if `doubts` is false, no claim is marked. Notes below tables say
    which of the cited `sources` are drafts, superseded or not in force. Citations of unknown
    sources (`[0]`) are removed, and the result is sanitized.
    """
    marked = ""
    done = 0
    moved = list[ClaimCheck]()

    def copy_to(end: int) -> None:
        nonlocal marked, done
        marked += without_unknown(text[done:end])
        done = end

    notes = _notes_below_tables(text, labels, sources)
    for claim in claims:
        while notes and notes[0].start <= claim.start:
            copy_to(notes[0].start)
            marked += notes.pop(0).words
        copy_to(claim.start)
        start = len(marked)
        words = text[claim.start : claim.end]
        if words.endswith("|"):
            # In a table row, the mark is appended to the last cell.
            words = words[:-1].rstrip()
        words_end = claim.start + len(words)
        copy_to(words_end)
        is_marked = doubts and claim.verdict == "unsupported"
        if is_marked:
            marked += f" *({labels.not_verified})*"
            if text[words_end : words_end + 1].isalnum():
                # Without a space, the stars would not be emphasis.
                marked += " "
        end = len(marked) + claim.end - words_end
        update = {"start": start, "end": end, "is_marked": is_marked}
        moved.append(claim.model_copy(update=update))
    for note in notes:
        copy_to(note.start)
        marked += note.words
    copy_to(len(text))

    inert_starts = list[int]()
    for claim in moved:
        inert_starts += [claim.start, claim.end]
    inert = sanitized_at(marked, inert_starts)
    placed = list[ClaimCheck]()
    starts = inert.positions[::2]
    ends = inert.positions[1::2]
    for claim, start, end in zip(moved, starts, ends, strict=True):
        placed.append(claim.model_copy(update={"start": start, "end": end}))
    return inert.text, tuple(placed)


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
    headings = list(_SECTION.finditer(document))
    while headings and headings[-1].group() in endings:
        document = document[: headings.pop().start()]
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
    table: str = "",
    reader: str | None = None,
    title: str = "",
) -> str:
    """Return a report as a Markdown document: title, text, table, source list and notes, as far as
    there are any.

    `table` (of contradicting claims) follows the text. `was_researched` says whether the research
    found any source (see `warning_above`). `reader` as in `links_of`.
    """
    parts = [plain_citations(report.text.strip()), table]
    warning = warning_above(report, labels, was_researched=was_researched)
    if warning:
        parts.insert(0, f"*{warning}*")
    body = sanitized("\n\n".join(filter(None, parts)), links_of(cited, reader))
    blocks = [title_line(title), body, source_list(cited, labels, reader).strip()]
    if notes:
        lines = [f"## {labels.notes}", ""]
        for note in notes:
            lines.append(f"- {plain_line(note)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(filter(None, blocks))


def title_line(title: str) -> str:
    """Return the title as a first-level heading; empty if there is no title."""
    return f"# {plain_line(title)}" if title else ""


def warning_above(report: Report, labels: Labels, *, was_researched: bool) -> str:
    """Return the warning to put above a report that is mostly unverified or cites nothing.

    A report that only says that the sources have no answer (see `is_refusal`) needs no citation.
    The warning is empty for all other reports.
    """
    if report.audit and report.audit.is_unverified:
        return labels.mostly_unverified
    if report.sources:
        return ""
    if not was_researched:
        return labels.no_source
    if is_refusal(report.text):
        return ""
    return labels.no_citation


@cache
def _marks() -> re.Pattern[str]:
    """Return the pattern of the marks after sentences and the notes below tables.

    It matches those of all languages.
    """
    words = set[str]()
    for labels in all_labels().values():
        words.update(
            (
                labels.not_verified,
                labels.outdated,
                labels.draft,
                labels.to_come,
                labels.retracted,
            )
        )
    marks = "|".join(sorted(map(re.escape, words)))
    return re.compile(rf" \*\((?:{marks})\)\*|\n\n\*(?:(?:, )?\[\d+\] (?:{marks}))+\*")


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
