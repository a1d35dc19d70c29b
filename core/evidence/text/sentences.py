"""Splits text into passages along headings, and Markdown into sections, paragraphs and sentences with citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..citations.markers import Marker, ScannedPart, code_lines, replace_markers, scan, settle_fences
from .words import ABBREVIATIONS, CLOSING_ABBREVIATIONS, STOP_WORDS

PAGE_END = "\f"
"""Separates the pages in the text of a document; texts without pages do not contain it."""
PRINTED_NUMBERS = "Printed page numbers: "
"""Prefix of a line at the end of a text, if printed page numbers differ from counted ones: `1 = i, 2 = ii, 3 = 1`."""
LONGEST_PASSAGE = 1200
"""Maximum length of a passage, in characters."""
_SHORTEST_PASSAGE = 400
"""Minimum length of a passage that ends at a heading or within a paragraph, in characters."""
_GAP = re.compile(r"\n[ \t]*\n\s*|\Z")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)|([^\n]+)\n(?:=+|-+|~+)[ \t]*\Z")
_MARKED_LINE = re.compile(r"#{1,6}[ \t].*(?=\n)")
SENTENCE_ENDS = ".!?…؟۔"
"""Sentence ends that are followed by a space."""
UNSPACED_ENDS = "。！？।॥။។"
"""Sentence ends of scripts that may omit the space after them."""
CLOSING_QUOTES = "\"'”’»)]"
"""Quotation marks and brackets that may follow a sentence end."""
_END = rf"[{SENTENCE_ENDS}{UNSPACED_ENDS}]"
_BREAKS = (re.compile(rf"{_END}[{re.escape(CLOSING_QUOTES)}]*(?:\s+|(?<=[{UNSPACED_ENDS}]))"), re.compile(r"\s+"))
"""Where a paragraph may be cut, best first: after a sentence, after white space."""
_HEADING_LINE = re.compile(r"\s{0,3}#{1,6}\s+(?P<words>.*?)\s*#*\s*$")
_NO_PROSE = re.compile(r"\s*(?:[>|]|#{1,6}\s|(?:(?:[-*+]|\d+[.)])\s+)?\[\d+\])")
_CODE = re.compile(r"`+[^`\n]*`+")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\n]*\)")
_QUOTE = re.compile(r"[“”„\"][^“”„\"\n]*[“”\"]|«[^«»\n]*»|»[^«»\n]*«|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》")
_SYMBOL = re.compile(r"\b\w*\d\w*\b|\b\w+[A-Z]\w*\b")
_INNER_WORD = re.compile(r"(?<=[\w,;:]\s)[^\W\d_][\w’'-]*")
_CLOSERS = r"[\"'”’»)\]」』*_]*"
# While a line is split into sentences, its citation markers are replaced by as many NUL characters.
_MARK = re.compile(rf"(?P<full_stop>\.)(?=[\s\0])|[{SENTENCE_ENDS}]{_CLOSERS}(?=[\s\0])|[{UNSPACED_ENDS}]{_CLOSERS}")
_BLANK = re.compile(r"[\s\0]*")
_BEHIND_MARKER = re.compile(r"\0\s+(?=[^\W\d_])")
_CITED = re.compile(r" ?\0+(?:(?: ?[,;]| and)? ?\0+)*")
LINE_MARK = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>)\s+)+")
"""List and quotation marks at the start of a line."""
_HEADING_MARK = re.compile(r"\s{0,3}#{1,6}\s")
_ORDINAL = re.compile(
    r"(?:^\s*|\b(?:a[mb]|bis|beim?|de[nmrs]|die|das|im|nach|seit|vo[mnr]|zu[mr]?)(?: zum| dem)? )\d{1,2}$",
    re.IGNORECASE,
)
"""A German ordinal (am 3. März, im 19. Jahrhundert), or a list item's number at the start of a line."""
_OPENING = re.compile(r"[\"'“„«(¿¡「『*_]*[^\W_a-zß-öø-ÿ]|…")
_NEAR = 60
"""Number of characters before and after a full stop that are used to classify it."""
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


def page_of(text: str, start: int) -> int:
    """Return the page (from 1) on which a passage begins; 0 if the text has no pages."""
    return text.count(PAGE_END, 0, start) + 1 if PAGE_END in text else 0


def printed_page(text: str, page: int) -> str:
    """Return the number printed on a page (from 1): as listed, or counted from the last one listed; empty if none."""
    _, _, named = text.rpartition(f"\n\n{PRINTED_NUMBERS}")
    label = ""
    for pair in named.split(", ") if PAGE_END in text and len(named) < len(text) else ():
        first, _, printed = pair.partition(" = ")
        if first.isdigit() and int(first) <= page:
            figures = re.search(r"\d*$", printed)[0]  # type: ignore[index]  # it always matches
            counted = str(int(figures) + page - int(first)) if figures else ""
            label = printed.removesuffix(figures) + counted
    return label


class TextSpan(NamedTuple):
    """A passage of a text."""

    start: int
    """Offset in the text, in characters."""
    end: int
    heading: str
    """The headings above it, outermost first, joined with ` › `."""


def split_passages(text: str) -> list[TextSpan]:
    """Split a text into passages of at most `LONGEST_PASSAGE` characters, between paragraphs where possible."""
    passages: list[TextSpan] = []
    headings: list[str] = []
    start = end = 0
    above = ""
    for block_start, block_end in _blocks(text):
        found = _HEADING.match(text, block_start, block_end)
        length = end - start
        is_full = block_end - start > LONGEST_PASSAGE or bool(found and length >= _SHORTEST_PASSAGE)
        if length and is_full:
            passages.append(TextSpan(start, end, above))
            length = 0
        if found:
            marks, name, underlined = found.groups()
            del headings[(len(marks) if marks else 2) - 1 :]
            headings.append((name or underlined).split("\n")[0].strip(" #"))
        if not length:
            start, above = block_start, " › ".join(headings)
        end = block_end
    return [*passages, TextSpan(start, end, above)] if end > start else passages


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of headings and paragraphs; paragraphs longer than a passage are cut."""
    start = 0
    for gap in _GAP.finditer(text):
        end = gap.start()
        if heading := _MARKED_LINE.match(text, start, end):
            yield start, heading.end()
            start = heading.end() + 1
        while end - start > LONGEST_PASSAGE:
            first, last = start + _SHORTEST_PASSAGE, start + LONGEST_PASSAGE
            cuts = ([found.end() for found in gaps.finditer(text, first, last)] for gaps in _BREAKS)
            cut = next((ends[-1] for ends in cuts if ends), last)
            yield start, cut
            start = cut
        if text[start:end].strip():
            yield start, end
        start = gap.end()


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
    sections, start = [Section(0, "", "")], 0
    lines = re.split(r"(?<=\n)", markdown)
    for line, is_code in zip(lines, code_lines(settle_fences(markdown).split("\n")), strict=True):
        heading = None if is_code else _HEADING_LINE.match(line)
        if heading:
            sections.append(Section(start, line, heading["words"]))
        else:
            sections[-1] = sections[-1]._replace(text=sections[-1].text + line)
        start += len(line)
    return [section for section in sections if section.text.strip()]


def paragraphs_of(section: Section) -> Iterator[Section]:
    """Yield the paragraphs of a section, which blank lines separate; each has the section's heading."""
    for match in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|$))+", section.text):
        yield Section(section.start + match.start(), match[0], section.heading)


def prose_of(markdown: str) -> str:
    """Return a Markdown text without headings, code, tables, quotations, links, citations and source lists."""
    lines, prose = settle_fences(markdown).split("\n"), list[str]()
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if not is_code and not _NO_PROSE.match(line):
            plain = _QUOTE.sub(" ", _ADDRESS.sub(" ", _LINK.sub(" ", _CODE.sub(" ", line))))
            prose.append(replace_markers(plain, " "))
    return "\n".join(prose).strip()


def without_names(prose: str) -> str:
    """Return a text without words with digits or inner capitals, and without capitalised words within sentences."""
    return _INNER_WORD.sub(lambda word: "" if word[0][0].isupper() else word[0], _SYMBOL.sub("", prose))


class Sentence(NamedTuple):
    """A sentence, or a line without a full stop."""

    raw: str
    """As written, with its citation markers."""
    text: str
    """Its text without markers and list marks; empty for headings, and for lines that begin with a marker."""
    numbers: tuple[int, ...]
    """The distinct source numbers in its markers, in order."""
    start: int
    """Offset in the text, in characters."""


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences of a text in order; a line break ends a sentence, and code blocks are skipped.

    Citation markers belong to the sentence before them. Headings stay whole, and so do lines that begin with a marker,
    since they are entries of a source list. Offsets refer to the text after `settle_fences`.
    """
    sentences, start = list[Sentence](), 0
    lines = settle_fences(text).split("\n")
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        of_line = () if is_code else _sentences_in(line)
        sentences += (sentence._replace(start=start + sentence.start) for sentence in of_line)
        start += len(line) + 1
    return sentences


def _sentences_in(line: str) -> Iterator[Sentence]:
    """Yield the sentences of a line, with their offsets in the line."""
    parts = scan(line)
    plain = "".join(map(_hidden, parts))
    is_entry = LINE_MARK.sub("", plain).startswith("\0") or bool(_HEADING_MARK.match(plain))
    starts = accumulate((len(_hidden(part)) for part in parts), initial=0)
    markers = [(at, part) for at, part in zip(starts, parts, strict=False) if isinstance(part, Marker)]
    for start, end in _trimmed_spans(line, () if is_entry else _ends(plain)):
        words = "" if is_entry else LINE_MARK.sub("", _CITED.sub("", " ".join(plain[start:end].split())))
        numbers = dict.fromkeys(number for at, marker in markers if start <= at < end for number in marker.numbers)
        yield Sentence(line[start:end], " ".join(words.split()), tuple(numbers), start)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the sentences of a text without citations; a line break ends a sentence."""
    spans, begin = list[tuple[int, int]](), 0
    for line in text.split("\n"):
        spans += ((begin + start, begin + end) for start, end in _trimmed_spans(line, _ends(line.replace("\0", " "))))
        begin += len(line) + 1
    return spans


def _trimmed_spans(line: str, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of a line's parts between these offsets, without white space around them."""
    for start, end in pairwise(sorted({0, *ends, len(line)})):
        words = line[start:end].strip()
        if words:
            first = start + line[start:end].index(words)
            yield first, first + len(words)


def ends_sentence(before: str, following: str) -> bool:
    """Whether a full stop between two texts ends a sentence, and not just an abbreviation, initial or ordinal."""
    if not _may_open(following) or _ORDINAL.search(before):
        return False
    last = (before.split()[-1:] or [""])[0].strip("(\"'“”‘’").lower()
    is_letter = len(last) == 1 and last.isalpha()
    if is_letter or _DOTTED.fullmatch(last) or last in CLOSING_ABBREVIATIONS:
        return not following or following.split()[0].lower() in STOP_WORDS
    return not following or last not in ABBREVIATIONS


def _hidden(part: ScannedPart) -> str:
    """Return a part of a line with NUL characters instead of a citation marker, in the same length."""
    return "\0" * len(part.raw) if isinstance(part, Marker) else part.replace("\0", " ")


def _ends(plain: str) -> Iterator[int]:
    """Yield the offsets at which the sentences of a line end, behind their markers (see `_hidden`)."""
    for match in _MARK.finditer(plain):
        gap = _BLANK.match(plain, match.end())
        end = gap.end() if gap else match.end()
        before, following = plain[max(0, match.start() - _NEAR) : match.start()], plain[end : end + _NEAR]
        if ends_sentence(before, following) if match["full_stop"] else _may_open(following):
            yield end
    for match in _BEHIND_MARKER.finditer(plain):
        if not plain[match.end()].islower():
            yield match.end()


def _may_open(following: str) -> bool:
    """Whether a sentence may begin with this text, or the line ends here."""
    return not following or bool(_OPENING.match(following))


def cited_sentences(text: str, share: float) -> str:
    """Return the first cited sentence, and the later ones that fit into `share` (0 to 1) of the text's length."""
    room = share * len(text)
    kept: list[str] = []
    for sentence in sentences_of(text):
        if sentence.numbers and (not kept or len(sentence.raw) <= room):
            kept.append(sentence.raw)
            room -= len(sentence.raw) + 1
    return " ".join(kept)
