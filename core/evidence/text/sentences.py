"""Splits texts: into passages along headings, and Markdown into sections, paragraphs and sentences with citations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..citations.markers import Marker, Part, code_lines, settle_fences
from ..citations.scanner import scan
from .words import ABBREVIATIONS, CLOSING_ABBREVIATIONS, STOP_WORDS

PAGE_END = "\f"
"""Separates the pages of a document; texts without pages have none."""
PRINTED_NUMBERS = "Printed page numbers: "
"""Starts the last line of a text whose printed page numbers differ from the page index: `1 = i, 2 = ii, 3 = 1`."""
LEAST = 400
MOST = 1200
_GAP = re.compile(r"\n[ \t]*\n\s*|\Z")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)|([^\n]+)\n(?:=+|-+|~+)[ \t]*\Z")
_MARKED_LINE = re.compile(r"#{1,6}[ \t].*(?=\n)")
SENTENCE_ENDS = ".!?…؟۔"
"""What ends a sentence in scripts that put a space behind it."""
UNSPACED_ENDS = "。！？।॥။។"
"""What ends a sentence in other scripts, with a space behind it or without."""
CLOSERS = "\"'”’»)]"
"""What may follow it."""
_END = rf"[{SENTENCE_ENDS}{UNSPACED_ENDS}]"
_BREAKS = (re.compile(rf"{_END}[{re.escape(CLOSERS)}]*(?:\s+|(?<=[{UNSPACED_ENDS}]))"), re.compile(r"\s+"))
_HEADING_LINE = re.compile(r"\s{0,3}#{1,6}\s+(?P<words>.*?)\s*#*\s*$")
_NO_PROSE = re.compile(r"\s*(?:[>|]|#{1,6}\s|(?:(?:[-*+]|\d+[.)])\s+)?\[\d+\])")
_CODE = re.compile(r"`+[^`\n]*`+")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\n]*\)")
_QUOTE = re.compile(r"[“”„\"][^“”„\"\n]*[“”\"]|«[^«»\n]*»|»[^«»\n]*«|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》")
_SYMBOL = re.compile(r"\b\w*\d\w*\b|\b\w+[A-Z]\w*\b")
_INNER_WORD = re.compile(r"(?<=[\w,;:]\s)[^\W\d_][\w’'-]*")
_CLOSERS = r"[\"'”’»)\]」』*_]*"
# In a line that is split, a NUL stands for each character of a marker, so that places stay the same.
_MARK = re.compile(rf"(?P<full_stop>\.)(?=[\s\0])|[{SENTENCE_ENDS}]{_CLOSERS}(?=[\s\0])|[{UNSPACED_ENDS}]{_CLOSERS}")
_BLANK = re.compile(r"[\s\0]*")
_BEHIND_MARKER = re.compile(r"\0\s+(?=[^\W\d_])")
_CITED = re.compile(r" ?\0+(?:(?: ?[,;]| and)? ?\0+)*")
LINE_MARK = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>)\s+)+")
"""What stands before the words of a line: marks of lists and quotations."""
_HEADING_MARK = re.compile(r"\s{0,3}#{1,6}\s")
_ORDINAL = re.compile(
    r"(?:^\s*|\b(?:a[mb]|bis|beim?|de[nmrs]|die|das|im|nach|seit|vo[mnr]|zu[mr]?)(?: zum| dem)? )\d{1,2}$",
    re.IGNORECASE,
)
"""A German ordinal: am 3. März, im 19. Jahrhundert; or the number of an item, at the beginning."""
_OPENING = re.compile(r"[\"'“„«(¿¡「『*_]*[^\W_a-zß-öø-ÿ]|…")
_NEAR = 60
"""Characters around a full stop by which it is classified."""
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


def page_of(text: str, start: int) -> int:
    """Return the page on which a passage begins, from 1; 0 if the text has no pages."""
    return text.count(PAGE_END, 0, start) + 1 if PAGE_END in text else 0


def printed_page(text: str, page: int) -> str:
    """Return the printed number of a page, counted from the last listed one; empty if the text lists none."""
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
    """Start and end of a passage in the text, and the headings above it."""

    start: int
    end: int
    heading: str


def split_passages(text: str) -> list[TextSpan]:
    """Split the text into passages of up to `MOST` characters, between paragraphs where possible."""
    passages: list[TextSpan] = []
    headings: list[str] = []
    start = end = 0
    above = ""
    for block_start, block_end in _blocks(text):
        found = _HEADING.match(text, block_start, block_end)
        length = end - start
        is_full = block_end - start > MOST or bool(found and length >= LEAST)
        if length and is_full:
            passages.append(TextSpan(start, end, above))
            length = 0
        if found:
            _enter(headings, found)
        if not length:
            start, above = block_start, " › ".join(headings)
        end = block_end
    return [*passages, TextSpan(start, end, above)] if end > start else passages


def _enter(headings: list[str], found: re.Match[str]) -> None:
    marks, name, underlined = found.groups()
    level = len(marks) if marks else 2
    del headings[level - 1 :]
    headings.append((name or underlined).split("\n")[0].strip(" #"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _GAP.finditer(text):
        end = gap.start()
        if heading := _MARKED_LINE.match(text, start, end):
            yield start, heading.end()
            start = heading.end() + 1
        while end - start > MOST:
            cut = _cut(text, start)
            yield start, cut
            start = cut
        if text[start:end].strip():
            yield start, end
        start = gap.end()


def _cut(text: str, start: int) -> int:
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, start + LEAST, start + MOST)]
        if ends:
            return ends[-1]
    return start + MOST


class Section(NamedTuple):
    """A part of a Markdown text."""

    start: int
    """Where it begins in the text."""
    text: str
    """As written, with its heading."""
    heading: str
    """Words of its heading; empty before the first one."""

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.start + len(self.text)


def sections_of(markdown: str) -> list[Section]:
    """Return the parts from heading to heading; joined, they are the text."""
    sections, place = [Section(0, "", "")], 0
    for line, is_code in zip(_lines(markdown), code_lines(settle_fences(markdown).split("\n")), strict=True):
        heading = None if is_code else _HEADING_LINE.match(line)
        if heading:
            sections.append(Section(place, line, heading["words"]))
        else:
            sections[-1] = sections[-1]._replace(text=sections[-1].text + line)
        place += len(line)
    return [section for section in sections if section.text.strip()]


def paragraphs_of(section: Section) -> Iterator[Section]:
    """Yield its paragraphs, separated by blank lines, as sections of their own."""
    for match in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|$))+", section.text):
        yield Section(section.start + match.start(), match[0], section.heading)


def prose_of(markdown: str) -> str:
    """Return the text without headings, code, tables, quotations, links, citations and lists of sources."""
    lines = settle_fences(markdown).split("\n")
    own = (line for line, is_code in zip(lines, code_lines(lines), strict=True) if not is_code)
    return "\n".join(_own_words(line) for line in own if not _NO_PROSE.match(line)).strip()


def without_names(prose: str) -> str:
    """Return the text without words that contain figures or capitals, since names come from any language.

    Words that begin a sentence are kept.
    """
    return _INNER_WORD.sub(lambda word: "" if word[0][0].isupper() else word[0], _SYMBOL.sub("", prose))


def _lines(text: str) -> list[str]:
    return re.split(r"(?<=\n)", text)


def _own_words(line: str) -> str:
    line = _QUOTE.sub(" ", _ADDRESS.sub(" ", _LINK.sub(" ", _CODE.sub(" ", line))))
    return "".join(" " if isinstance(part, Marker) else part for part in scan(line))


class Sentence(NamedTuple):
    """A sentence, or a line without an end."""

    raw: str
    """As written, with its markers."""
    text: str
    """Its words, without markers and without the mark of a list; none if its line begins with a marker."""
    numbers: tuple[int, ...]
    """The numbers that it cites, in order, each once."""
    start: int
    """Where it begins in the text, in characters."""

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.start + len(self.raw)


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences of a text in order; each is within one line.

    Markers belong to the sentence before them; a line that begins with one is an entry of a list of sources and stays
    whole. Blocks of code are left out. Places are those of the text after `settle_fences`.
    """
    sentences, place, lines = list[Sentence](), 0, settle_fences(text).split("\n")
    for line, is_code in zip(lines, code_lines(lines), strict=True):
        if not is_code:
            sentences += _line_sentences(line, place)
        place += len(line) + 1
    return sentences


def spans_of(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text without markers begin and end, without surrounding white space."""
    spans, begin = list[tuple[int, int]](), 0
    for line in text.split("\n"):
        plain = line.replace("\0", " ")
        for start, end in pairwise(sorted({0, *_ends(plain), len(line)})):
            words = line[start:end].strip()
            if words:
                first = begin + start + line[start:end].index(words)
                spans.append((first, first + len(words)))
        begin += len(line) + 1
    return spans


def ends_sentence(before: str, following: str) -> bool:
    """Whether a full stop between these two ends a sentence, not an abbreviation, initial or ordinal."""
    if not _may_open(following) or _ORDINAL.search(before):
        return False
    last = (before.split()[-1:] or [""])[0].strip("(\"'“”‘’").lower()
    is_letter = len(last) == 1 and last.isalpha()
    if is_letter or _DOTTED.fullmatch(last) or last in CLOSING_ABBREVIATIONS:
        return not following or following.split()[0].lower() in STOP_WORDS
    return not following or last not in ABBREVIATIONS


def _line_sentences(line: str, place: int) -> Iterator[Sentence]:
    parts = scan(line)
    plain = "".join(map(_hidden, parts))
    is_entry = LINE_MARK.sub("", plain).startswith("\0") or bool(_HEADING_MARK.match(plain))
    places = accumulate((len(_hidden(part)) for part in parts), initial=0)
    markers = [(at, part) for at, part in zip(places, parts, strict=False) if isinstance(part, Marker)]
    for start, end in pairwise(sorted({0, *([] if is_entry else _ends(plain)), len(plain)})):
        numbers = (number for at, marker in markers if start <= at < end for number in marker.numbers)
        words = "" if is_entry else LINE_MARK.sub("", _CITED.sub("", " ".join(plain[start:end].split())))
        if raw := line[start:end].strip():
            begin = place + start + len(line[start:end]) - len(line[start:end].lstrip())
            yield Sentence(raw, " ".join(words.split()), tuple(dict.fromkeys(numbers)), begin)


def _hidden(part: Part) -> str:
    return "\0" * len(part.raw) if isinstance(part, Marker) else part.replace("\0", " ")


def _ends(plain: str) -> Iterator[int]:
    for match in _MARK.finditer(plain):
        gap = _BLANK.match(plain, match.end())
        place = gap.end() if gap else match.end()
        before, following = plain[max(0, match.start() - _NEAR) : match.start()], plain[place : place + _NEAR]
        if ends_sentence(before, following) if match["full_stop"] else _may_open(following):
            yield place
    for match in _BEHIND_MARKER.finditer(plain):
        if not plain[match.end()].islower():
            yield match.end()


def _may_open(following: str) -> bool:
    return not following or bool(_OPENING.match(following))


def cited_sentences(text: str, share: float) -> str:
    """Return the first sentences with a citation, at least one, up to this share of the text."""
    room = share * len(text)
    kept: list[str] = []
    for sentence in sentences_of(text):
        if sentence.numbers and (not kept or len(sentence.raw) <= room):
            kept.append(sentence.raw)
            room -= len(sentence.raw) + 1
    return " ".join(kept)
