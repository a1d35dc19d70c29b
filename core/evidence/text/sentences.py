"""Splits Markdown into sections, paragraphs and sentences with citations, and finds the page of a
passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ..citations.markers import (
    BEFORE_NOTE,
    NOTE_REFERENCE,
    Marker,
    code_lines,
    replace_markers,
    scan,
    settle_fences,
)
from .words import ABBREVIATIONS, CLOSING_ABBREVIATIONS, STOP_WORDS

PAGE_END = "\f"
"""Separates the pages in the text of a document; texts without pages do not contain it."""
PRINTED_NUMBERS = "Printed page numbers: "
"""Prefix of a line at the end of a text, if printed page numbers differ from counted ones: `1 = i,
2 = ii, 3 = 1`."""
MESSAGE_FIELDS = "E-mail: "
"""Prefix of the line with the sender, the recipients and the date of an e-mail: data about it, not
what it says."""
SENTENCE_ENDS = ".!?…؟۔"
"""Sentence ends that are followed by a space."""
UNSPACED_ENDS = "。！？।॥။។"
"""Sentence ends of scripts that may omit the space after them."""
CLOSING_QUOTES = "\"'”’»)]"
"""Quotation marks and brackets that may follow a sentence end."""
_NO_PROSE = re.compile(r"\s*(?:[>|]|#{1,6}\s|(?:(?:[-*+]|\d+[.)])\s+)?\[\d+\])")
_CODE = re.compile(r"`+[^`\n]*`+")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\n]*\)")
_QUOTE = re.compile(r"[“”„\"][^“”„\"]*+[“”\"]|«[^«»]*+»|»[^«»]*+«")
_QUOTE_OPENING = re.compile(r"[“”„\"«»「『《]")
_EAST_ASIAN_QUOTES = {"「": "」", "『": "』", "《": "》"}
"""Quotation marks within which others of their kind may be opened, by the opening one."""
_SYMBOL = re.compile(r"\b\w*\d\w*\b|\b\w+[A-Z]\w*\b")
_INNER_WORD = re.compile(r"(?<=[\w,;:]\s)[^\W\d_][\w’'-]*")
_CLOSERS = r"[\"'”’»)\]」』*_]*"
# While a line is split into sentences, its citation markers and footnote references are replaced by
# as many NUL characters.
_MARK = re.compile(
    # A set of signs comes first, since `re` scans for it.
    rf"[{SENTENCE_ENDS}{UNSPACED_ENDS}](?:(?<=[{UNSPACED_ENDS}]){_CLOSERS}|{_CLOSERS}(?=[\s\0]))"
)
_BLANK = re.compile(r"[\s\0]*")
_BEHIND_MARKER = re.compile(r"\0\s+(?=[^\W\d_])")
_CITED = re.compile(r" ?\0+(?:(?: ?[,;]| and)? ?\0+)*")
LINE_MARK = re.compile(rf"^\s*(?:(?:(?:[-*+•]|\d{{1,3}}[.)]|>)\s+)+|{BEFORE_NOTE})")
"""List and quotation marks, or the label of a footnote, at the start of a line."""
_HEADING_MARK = re.compile(r"\s{0,3}#{1,6}\s")
_ORDINAL = re.compile(
    r"(?:^\s*|\b(?:a[mb]|bis|beim?|de[nmrs]|die|das|im|nach|seit|vo[mnr]|zu[mr]?)(?: zum| dem)? )"
    r"\d{1,2}$",
    re.IGNORECASE,
)
"""A German ordinal (am 3. März, im 19. Jahrhundert), or a list item's number at the start of a
line."""
_OPENING = re.compile(r"[\"'“„«(¿¡「『*_]*[^\W_a-zß-öø-ÿ]|…")
_NEAR = 60
"""Number of characters before and after a full stop that are used to classify it."""
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


class Page(NamedTuple):
    """A page of a document."""

    number: int
    """From 1; 0 if the document has no pages."""
    printed: str
    """The number printed on it; empty if the text lists no printed numbers."""


def page_at(text: str, position: int) -> Page:
    """Return the page on which an offset of a text is."""
    if PAGE_END not in text:
        return Page(0, "")
    number = text.count(PAGE_END, 0, position) + 1
    return Page(number, _printed_number(text, number))


def _printed_number(text: str, page: int) -> str:
    """Return the number printed on a page (from 1), as listed or counted from the last one listed.

    It is empty if the text lists no printed numbers.
    """
    before = f"\n\n{PRINTED_NUMBERS}"
    start = text.rfind(before)
    if start < 0:
        return ""
    label = ""
    for pair in text[start + len(before) :].split(", "):
        first, _, printed = pair.partition(" = ")
        if first.isdigit() and int(first) <= page:
            figures = re.search(r"\d*$", printed)[0]  # type: ignore[index]  # it always matches
            label = printed
            if figures:
                counted = int(figures) + page - int(first)
                label = f"{printed.removesuffix(figures)}{counted}"
    return label


class Section(NamedTuple):
    """A part of a Markdown text, below one heading or above the first one."""

    start: int
    """Offset in the text, in characters."""
    text: str
    """The part as written, including its heading."""
    heading: str
    """Text of its heading; empty before the first heading."""

    @property
    def end(self) -> int:
        """Offset of its end."""
        return self.start + len(self.text)


def sections_of(markdown: str) -> list[Section]:
    """Split a text before each of its headings; blank sections are left out."""
    starts = [0]
    headings = [""]
    start = 0
    lines = re.split(r"(?<=\n)", markdown)
    are_code = code_lines(settle_fences(markdown).split("\n"))
    for line, is_code in zip(lines, are_code, strict=True):
        heading = None if is_code else _heading_of(line)
        if heading is not None:
            starts.append(start)
            headings.append(heading)
        start += len(line)
    sections = list[Section]()
    for (first, last), heading in zip(pairwise([*starts, start]), headings, strict=True):
        text = markdown[first:last]
        if text.strip():
            sections.append(Section(first, text, heading))
    return sections


def _heading_of(line: str) -> str | None:
    """Return the words of a heading without its marks; None if a line is no heading."""
    mark = _HEADING_MARK.match(line)
    if mark is None:
        return None
    return line[mark.end() :].strip().rstrip("#").rstrip()


def paragraphs_of(section: Section) -> Iterator[Section]:
    """Yield the paragraphs of a section, which blank lines separate.

    Each has the section's heading.
    """
    for match in re.finditer(r"(?m)^(?:[^\S\n]*+\S[^\n]*+(?:\n|\Z))+", section.text):
        yield Section(section.start + match.start(), match[0], section.heading)


def prose_of(markdown: str) -> str:
    """Return the prose of a Markdown text.

    Headings, code, tables, quotations, links, citations and source lists are left out.
    """
    lines = settle_fences(markdown).split("\n")
    prose = list[str]()
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if is_code or _NO_PROSE.match(line):
            continue
        plain = line
        for pattern in (_CODE, _LINK, _ADDRESS):
            plain = pattern.sub(" ", plain)
        prose.append(replace_markers(_without_quotations(plain), " "))
    return "\n".join(prose).strip()


def _without_quotations(line: str) -> str:
    """Return a line with a space in place of each quotation."""
    kept = list[str]()
    done = 0
    unclosed = set[str]()
    for opening in _QUOTE_OPENING.finditer(line):
        sign = opening.group()
        start = opening.start()
        # No sign of a kind is searched again once none closes it.
        if start < done or sign in unclosed:
            continue
        if sign in _EAST_ASIAN_QUOTES:
            end = line.find(_EAST_ASIAN_QUOTES[sign], start) + 1
            if not end:
                unclosed.add(sign)
        else:
            quotation = _QUOTE.match(line, start)
            end = quotation.end() if quotation else 0
        if end:
            kept += [line[done:start], " "]
            done = end
    return "".join([*kept, line[done:]])


def without_names(prose: str) -> str:
    """Return a text without words that may be names.

    These are words with digits or inner capitals, and capitalised words within sentences.
    """

    def uncapitalised(word: re.Match[str]) -> str:
        return "" if word[0][0].isupper() else word[0]

    return _INNER_WORD.sub(uncapitalised, _SYMBOL.sub("", prose))


class Sentence(NamedTuple):
    """A sentence, or a line without a full stop."""

    raw: str
    """As written, with its citation markers."""
    text: str
    """Its text without markers and list marks; empty for headings, and for lines that begin with a
    marker."""
    numbers: tuple[int, ...]
    """The distinct source numbers in its markers, in order."""
    start: int
    """Offset in the text, in characters."""


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences of a text in order.

    A line break ends a sentence, and code blocks are skipped. Citation markers belong to the
    sentence before them. Headings stay whole, and so do lines that begin with a marker, since they
    are entries of a source list. Offsets refer to the text after `settle_fences`.
    """
    sentences = list[Sentence]()
    start = 0
    lines = settle_fences(text).split("\n")
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if not is_code:
            for sentence in _sentences_in(line):
                sentences.append(sentence._replace(start=start + sentence.start))
        start += len(line) + 1
    return sentences


def _sentences_in(line: str) -> Iterator[Sentence]:
    """Yield the sentences of a line, with their offsets in the line."""
    hidden = list[str]()
    markers = list[tuple[int, Marker]]()
    position = 0
    for part in scan(line):
        if isinstance(part, Marker):
            markers.append((position, part))
            hidden.append("\0" * len(part.raw))
        else:
            hidden.append(part.replace("\0", " "))
        position += len(hidden[-1])
    plain = NOTE_REFERENCE.sub(lambda found: "\0" * len(found[0]), "".join(hidden))

    # A heading or an entry of a source list stays whole.
    is_entry = LINE_MARK.sub("", plain).startswith("\0")
    is_whole = is_entry or _HEADING_MARK.match(plain) is not None
    ends: Iterable[int] = ()
    if not is_whole:
        ends = _ends(plain)
    following = 0
    for start, end in _trimmed_spans(line, ends):
        words = ""
        if not is_whole:
            words = _CITED.sub("", " ".join(plain[start:end].split()))
            words = " ".join(LINE_MARK.sub("", words).split())
        numbers = list[int]()
        # Markers and sentences are both in order.
        while following < len(markers) and markers[following][0] < end:
            offset, marker = markers[following]
            following += 1
            if offset >= start:
                numbers += marker.numbers
        yield Sentence(line[start:end], words, tuple(dict.fromkeys(numbers)), start)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the sentences of a text without citations.

    A line break ends a sentence.
    """
    spans = list[tuple[int, int]]()
    line_start = 0
    for line in text.split("\n"):
        for start, end in _trimmed_spans(line, _ends(line.replace("\0", " "))):
            spans.append((line_start + start, line_start + end))
        line_start += len(line) + 1
    return spans


def _trimmed_spans(line: str, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of a line's parts between these offsets, without white space
    around them."""
    for start, end in pairwise(sorted({0, *ends, len(line)})):
        words = line[start:end].strip()
        if words:
            first = start + line[start:end].index(words)
            yield first, first + len(words)


def ends_sentence(before: str, following: str) -> bool:
    """Whether a full stop between two texts ends a sentence.

    It may also belong to an abbreviation, an initial or an ordinal.
    """
    if not _may_open(following) or _ORDINAL.search(before):
        return False
    last = next(reversed(before.split()), "").strip("(\"'“”‘’").lower()
    is_letter = len(last) == 1 and last.isalpha()
    if is_letter or _DOTTED.fullmatch(last) or last in CLOSING_ABBREVIATIONS:
        return not following or following.split()[0].lower() in STOP_WORDS
    return not following or last not in ABBREVIATIONS


def _ends(plain: str) -> Iterator[int]:
    """Yield the offsets at which the sentences of a line end, behind their markers.

    In `plain`, NUL characters stand for the markers, in the same length.
    """
    for sign in _MARK.finditer(plain):
        end = sign.end()
        blank = _BLANK.match(plain, end)
        if blank:
            end = blank.end()
        following = plain[end : end + _NEAR]
        if sign[0] == ".":
            before = plain[max(0, sign.start() - _NEAR) : sign.start()]
            is_end = ends_sentence(before, following)
        else:
            is_end = _may_open(following)
        if is_end:
            yield end
    for gap in _BEHIND_MARKER.finditer(plain):
        if not plain[gap.end()].islower():
            yield gap.end()


def _may_open(following: str) -> bool:
    """Whether a sentence may begin with this text, or the line ends here."""
    return not following or bool(_OPENING.match(following))


def cited_sentences(text: str, share: float) -> str:
    """Return the first cited sentence, and the later ones that fit into `share` (0 to 1) of the
    text's length."""
    room = share * len(text)
    kept: list[str] = []
    for sentence in sentences_of(text):
        if sentence.numbers and (not kept or len(sentence.raw) <= room):
            kept.append(sentence.raw)
            room -= len(sentence.raw) + 1
    return " ".join(kept)
