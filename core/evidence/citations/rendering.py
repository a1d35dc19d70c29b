"""Renders a report: its text with numbers and marks, its list of sources, its notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit
from urllib.parse import quote as percent_encoded

from ...records.report import ClaimCheck, Report
from ...records.sources import DOCUMENT_SCHEME, Source
from ..text.sentences import Sentence
from ..text.words import UNSPACED
from .citing import Edit, bracketed, cited_numbers, end_of_words, without_unknown
from .labels import Labels, all_labels
from .markers import Marker
from .sanitizing import EMAIL_SIGN, sanitized, sanitized_at
from .scanner import scan

WHOLE = 60
"""Characters up to which a quote is named as a whole; of a longer one its beginning and its end."""
_WORDS = 5
_CHARACTERS = 12
_UNSPACED = re.compile(f"[{UNSPACED}]")
_ALLOWED = re.compile(r"https?://[^/?#]|file:/", re.IGNORECASE)
# Only here brackets belong to an address as they are.
_NUMBERED = re.compile(r"https?://\[[0-9a-f:.]+\](?=[:/?#]|$)", re.IGNORECASE)
_PLAIN_IN_LINKS = "!#$%&*+,-./:;=?@_~"
_LONGEST_TITLE = 200
_INVISIBLE = {"Cc", "Cf", "Cs"}
# An underscore within a word, an ampersand that begins no entity and the brackets of package[extra] mean nothing to
# Markdown.
_SPECIAL = re.compile(
    rf"(?P<extra>(?<=[\w.])\[[a-z]+\](?![(\[:{{]))|(?P<sign>{EMAIL_SIGN})|[\\`*\[\]<>|~$@]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_CLASHES = {"][", "](", "!["}
"""What Markdown would read as one: a text and its link, or an image."""
_BEFORE_BLOCK = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
_FIRST_IN_BLOCK = re.compile(rf"{_BEFORE_BLOCK}\[\d+\]")
"""A number that a colon behind it would make a definition."""
_DEFINES = re.compile(rf"^({_BEFORE_BLOCK}\[[^\[\]\n]+\]):(?=[ \t]*(?:\n[ \t>]*)?\S*\Z)", re.MULTILINE)
"""What would make a number that follows the place that a definition leads to."""
_BRACKETS = str.maketrans("【［】］", "[[]]")
_ADDRESS = re.compile(r"(?:[a-z]+:)?//\S+|[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?:[:/?#]\S*)?", re.IGNORECASE)
_TABLE = re.compile(r"^\|.*(?:\n\|.*)+", re.MULTILINE)
_SECTION = re.compile(r"^## .*$", re.MULTILINE)
_QUOTED = "“[^”]+”"


def link_to(source: Source, quote: str = "", page: int = 0) -> str:
    """Return the address at which a reader opens a source at the quote; empty if it cannot be opened.

    A document with pages opens at the `page` (from 1; 0: not known), by the parameter of RFC 8118 for PDF files. The
    quote goes into the address of a web page as a text fragment (WICG draft, "Scroll to Text Fragment"); a browser that
    does not support it, or a page that has changed, shows the page from its beginning.
    """
    # A quote is found in the text that was read.
    link = safe_link(source.copy_address if quote and source.copy_address else source.location)
    is_file = link.lower().startswith("file:")
    if is_file and source.kind != "document":
        return ""
    if page:
        return f"{link.partition('#')[0]}#page={page}" if link else ""
    directive = "" if is_file or not link or urlsplit(link).path.lower().endswith(".pdf") else _directive(quote)
    if not directive:
        return link
    return f"{link}{'' if '#' in link else '#'}:~:text={directive}"


def _directive(quote: str) -> str:
    # What extraction adds to the words of a page, marks of headings and bounds of cells, is not found there.
    words = max(re.split(r"\n|^#+ | \| ", quote.strip()), key=len).split()
    text = " ".join(words)
    if len(text) <= WHOLE:
        return _encoded(text)
    if _UNSPACED.search(text):
        return f"{_encoded(text[:_CHARACTERS])},{_encoded(text[-_CHARACTERS:])}"
    begin, end = words[:_WORDS], words[max(_WORDS, len(words) - _WORDS) :]
    return ",".join(_encoded(" ".join(part)) for part in (begin, end) if part)


def _encoded(text: str) -> str:
    # A hyphen and a comma separate the parts of the directive.
    return percent_encoded(text.strip(), safe="", errors="replace").replace("-", "%2D")


def safe_link(location: str) -> str:
    """Return a link that Markdown cannot misread; empty unless it is a web address or a file."""
    stripped = location.strip()
    if not _ALLOWED.match(stripped):
        return ""
    found = _NUMBERED.match(stripped)
    begin = found.group() if found else ""
    return begin + quote(stripped.removeprefix(begin), safe=_PLAIN_IN_LINKS, errors="replace")


def plain_citations(text: str) -> str:
    """Give each cited number brackets of its own, so that Markdown links each to its definition and to nothing else."""
    plain, was_marker = "", False
    for part in scan(text):
        is_marker = isinstance(part, Marker)
        words = bracketed(part) if isinstance(part, Marker) else part
        line = plain.rfind("\n") + 1
        if is_marker:
            start = plain.rfind("\n", 0, max(line - 1, 0)) + 1
            plain = plain[:start] + _DEFINES.sub(r"\1\\:", plain[start:])
        if (is_marker or was_marker) and plain[-1:] + words[:1] in _CLASHES:
            words = f" {words}"
        elif was_marker and words.startswith(":") and _FIRST_IN_BLOCK.fullmatch(plain, line):
            words = f"\\{words}"
        plain += words
        was_marker = is_marker
    return plain


def source_list(sources: Sequence[Source], labels: Labels, reader: str | None = None) -> str:
    """Return a list of the sources by their numbers, with the definitions of their links below; empty without sources.

    Each is shown with its title, path or host, kind and date, whether it is in force, and how it was read if not to its
    end.
    `reader` as in `links_of`.
    """
    if not sources:
        return ""
    lines = [_line(source, labels) for source in sources]
    # What looks like an entity in an address is none.
    plain = {number: _ENTITY.sub("&amp;", link) for number, link in links_of(sources, reader).items()}
    links = [f"[{number}]: <{link}>" for number, link in plain.items()]
    return "\n".join([f"## {labels.sources}", "", *lines, "", *links]).rstrip() + "\n"


def links_of(sources: Sequence[Source], reader: str | None = None) -> dict[str, str]:
    """Return the links of sources by their numbers, for those that have one.

    `reader` is the beginning of the address of a page that shows a document by its number in the thread; empty if there
    is no such page, none where the reader can open the file.
    """
    links = {}
    for source in sources:
        link = safe_link(source.location)
        if reader is not None and link.lower().startswith("file:"):
            link = f"{reader}{source.number}" if reader else ""
        if link:
            links[str(source.number)] = link
    return links


def source_name(source: Source, number: int | None) -> str:
    """Return the title of a source, with its number in the report if it has one."""
    return _escaped(shown_title(source)) + (f" [{number}]" if number else "")


def source_place(source: Source) -> str:
    """Return where a source stands, in short: the path of a document in its folder, the host of a page, a retriever."""
    if source.kind == "document" and (source.address.startswith(DOCUMENT_SCHEME) or not source.location):
        folder, _, path = source.address.removeprefix(DOCUMENT_SCHEME).partition("/")
        return _visible(path or folder)
    other = source.location if source.kind == "document" else ""
    return _visible(_site(source.location).removeprefix("www.") if safe_link(source.location) else other)


def time_line(source: Source) -> str:
    """Return the date of a source, with its period in brackets where that is another; empty if it states neither."""
    is_other = source.period and not source.date.startswith(source.period)
    return f"{source.date} ({source.period})" if source.date and is_other else source.date or source.period


def plain_line(text: str) -> str:
    """Return untrusted text as one line in which nothing is markup."""
    return _escaped(_visible(text))


def _line(source: Source, labels: Labels) -> str:
    title, place = shown_title(source), source_place(source)
    details = (place if place != title else "", labels.origin(source), time_line(source), labels.remark(source))
    facts = ", ".join(filter(None, details))
    return f"- [{source.number}] {_escaped(title)}" + (f" — {_escaped(facts)}" if facts else "")


def shown_title(source: Source) -> str:
    """Return the title of a source as one line, not escaped; a title that reads like an address is replaced."""
    title = _visible(source.title)
    if not title or _ADDRESS.fullmatch(title):
        # A title that reads like an address could name another place than the one that is linked.
        title = _visible(_site(source.location) or source.location)
    if len(title) > _LONGEST_TITLE:
        title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title


def _escaped(text: str) -> str:
    return _SPECIAL.sub(_escape, text.translate(_BRACKETS))


def _escape(found: re.Match[str]) -> str:
    if found["extra"]:
        return found[0]
    return "`@`" if found["sign"] else f"\\{found[0]}"


def _visible(text: str) -> str:
    kept = (char for char in text if char.isspace() or unicodedata.category(char) not in _INVISIBLE)
    return " ".join("".join(kept).split())


def _site(location: str) -> str:
    scheme, _, rest = location.strip().partition(":")
    if scheme.lower() == "file":
        return unquote(rest.rstrip("/").rpartition("/")[2])
    return re.split(r"[/?#]", rest.removeprefix("//"))[0].rpartition("@")[2]


def with_marks(
    text: str, claims: Iterable[ClaimCheck], labels: Labels, sources: Sequence[Source] = (), *, doubts: bool = True
) -> tuple[str, tuple[ClaimCheck, ...]]:
    """Return the text with marks behind claims that are not supported, and the claims with their places in it.

    With `doubts` false, no claim is marked. Below a table stands which of its `sources` are not in force. The claims
    are in the order of the text. Citations that name no source (`[0]`) are removed, and whatever that would make active
    is made inert.
    """
    pieces, done, length, moved = list[str](), 0, 0, list[ClaimCheck]()
    notes = list(_notes_below_tables(text, sources, labels))
    for claim in claims:
        while notes and notes[0].start <= claim.start:
            pieces += [without_unknown(text[done : notes[0].start]), notes[0].words]
            done, length = notes.pop(0).start, length + len(pieces[-2]) + len(pieces[-1])
        mark = f" *({labels.not_verified})*" if doubts and claim.verdict == "unsupported" else ""
        place = claim.start + end_of_words(text[claim.start : claim.end])
        if mark and text[place : place + 1].isalnum():
            # Without a space, the stars would be no mark but stars.
            mark += " "
        before, words = without_unknown(text[done : claim.start]), without_unknown(text[claim.start : place]) + mark
        start = length + len(before)
        end = start + len(words) + claim.end - place
        moved.append(claim.model_copy(update={"start": start, "end": end, "is_marked": bool(mark)}))
        pieces += [before, words]
        done, length = place, start + len(words)
    for note in notes:
        pieces += [without_unknown(text[done : note.start]), note.words]
        done = note.start
    places = [place for claim in moved for place in (claim.start, claim.end)]
    marked = sanitized_at("".join([*pieces, without_unknown(text[done:])]), places)
    bounds = zip(marked.places[::2], marked.places[1::2], strict=True)
    return marked.text, tuple(
        claim.model_copy(update={"start": start, "end": end}) for claim, (start, end) in zip(moved, bounds, strict=True)
    )


def _notes_below_tables(text: str, sources: Sequence[Source], labels: Labels) -> Iterator[Edit]:
    standings = {source.number: words for source in sources if (words := labels.standing(source))}
    for table in _TABLE.finditer(text):
        said = [f"[{number}] {standings[number]}" for number in sorted(cited_numbers(table[0], standings))]
        if said:
            yield Edit(table.end(), table.end(), f"\n\n*{', '.join(said)}*")


def read_body(document: str) -> str:
    """Return the body of a document made by `write_document`, with its marks but without list of sources and notes."""
    headings = list(_SECTION.finditer(document))
    while headings and headings[-1].group() in _endings():
        document = document[: headings.pop().start()]
    return _comparisons().sub("", document).strip()


def without_marks(text: str) -> str:
    """Return the text without the marks behind its sentences and below its tables."""
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
    """Return the report in Markdown, below its title if it has one.

    `cited` are its sources, `notes` what a reader should know about the run, `table` one
    of claims that contradict each other, which follows the answer if related passages come after it. `was_researched`
    says whether any source was found at all; see `said_above`. `reader` as in `links_of`.
    """
    answer, heading, rest = report.text.partition(f"## {labels.related}\n")
    texts = [answer.strip(), table, f"{heading}{rest}"]
    parts = [part if part is table else plain_citations(part) for part in texts]
    if above := said_above(report, labels, was_researched=was_researched):
        parts.insert(0, f"*{above}*")
    body = sanitized("\n\n".join(part for part in parts if part), links_of(cited, reader))
    parts = [title_line(title), body, source_list(cited, labels, reader).strip()]
    if notes:
        parts.append("\n".join([f"## {labels.notes}", "", *(f"- {plain_line(note)}" for note in notes)]))
    return "\n\n".join(part for part in parts if part)


def title_line(title: str) -> str:
    """Return the title as a heading of the first level; empty without one."""
    return f"# {plain_line(title)}" if title else ""


def said_above(report: Report, labels: Labels, *, was_researched: bool) -> str:
    """Return the line above a report without citations, or one most of which is not verified; empty if it adds nothing.

    It says whether any source was found at all. A report that only says that the documents do not answer has nothing to
    cite.
    """
    if report.audit and report.audit.is_unverified:
        return labels.mostly_unverified
    if report.sources or (was_researched and is_refusal(report.text)):
        return ""
    return labels.no_citation if was_researched else labels.no_source


@cache
def _endings() -> frozenset[str]:
    """Return the headings below the body, in any language."""
    own = ((labels.contradictions, labels.sources, labels.notes) for labels in all_labels().values())
    return frozenset(f"## {words}" for three in own for words in three)


@cache
def _comparisons() -> re.Pattern[str]:
    """Return the pattern of tables of contradictions below the answer, in any language."""
    headings = "|".join(sorted(re.escape(labels.contradictions) for labels in all_labels().values()))
    return re.compile(rf"^## (?:{headings})\n\n(?:\|.*(?:\n|$))+\n?", re.MULTILINE)


@cache
def _marks() -> re.Pattern[str]:
    """Return the pattern of the marks behind sentences and below tables, in any language."""
    names = ("not_verified", "outdated", "draft", "to_come", "retracted")
    every = ((getattr(own, name) for name in names) for own in all_labels().values())
    marks = "|".join(sorted({re.escape(words) for own in every for words in own}))
    return re.compile(rf" \*\((?:{marks})\)\*|\n\n\*(?:(?:, )?\[\d+\] (?:{marks}))+\*")


class Refusals(NamedTuple):
    """Where such paragraphs stand in a text."""

    spans: tuple[tuple[int, int], ...]

    def hold(self, sentence: Sentence) -> bool:
        """Return whether the sentence is part of a refusal, which says what was sought in vain and claims nothing."""
        return any(start <= sentence.start and sentence.end <= end for start, end in self.spans)


def refusals_in(text: str) -> Refusals:
    """Return the refusals in a text, whatever its language."""
    return Refusals(tuple(match.span() for match in _refusal().finditer(text)))


def is_refusal(text: str) -> bool:
    """Whether a report says this alone."""
    return bool(_refusal().fullmatch(text.strip()))


@cache
def _refusal() -> re.Pattern[str]:
    # Only the whole line counts, so that nothing else is passed by which a writer says in the same breath.
    return re.compile(rf"^(?:{'|'.join(map(_as_pattern, all_labels().values()))})$", re.MULTILINE)


def _as_pattern(labels: Labels) -> str:
    before, _, behind = labels.nothing_on.partition("{names}")
    nothing = rf"{re.escape(before)}{_QUOTED}(?:, {_QUOTED})*{re.escape(behind)}"
    return rf"(?:{re.escape(labels.unanswered)}\s?)?{nothing}(?:\s?{nothing})*"
