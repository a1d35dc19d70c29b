"""Splits a text with markers into sentences, each with what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..citations.markers import Marker, Part, code_lines, settle_fences
from ..citations.scanner import scan
from .words import ABBREVIATIONS, CLOSING_ABBREVIATIONS, STOP_WORDS

_CLOSERS = r"[\"'”’»)\]」』*_]*"
# In a line that is split, a NUL stands for each character of a marker, so that places stay the same.
_MARK = re.compile(rf"(?P<full_stop>\.)(?=[\s\0])|(?:[.!?…]{_CLOSERS}(?=[\s\0])|[。！？]{_CLOSERS})")
_GAP = re.compile(r"[\s\0]*")
_BEHIND_MARKER = re.compile(r"\0\s+(?=[^\W\d_])")
_CITED = re.compile(r" ?\0+(?:(?: ?[,;]| and)? ?\0+)*")
LINE_MARK = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>)\s+)+")
"""What stands before the words of a line: marks of lists and quotations."""
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_ORDINAL = re.compile(
    r"\b(?:a[mb]|bis|beim?|de[nmrs]|die|das|im|nach|seit|vo[mnr]|zu[mr]?)(?: zum| dem)? \d{1,2}$", re.IGNORECASE
)
"""A German ordinal: am 3. März, im 19. Jahrhundert."""
_OPENING = re.compile(r"[\"'“„«(¿¡「『*_]*[^\W_a-zß-öø-ÿ]|…")
_NEAR = 60
"""Characters around a full stop by which it is classified."""
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


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
            sentences += _cut(line, place)
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


def _cut(line: str, place: int) -> Iterator[Sentence]:
    parts = scan(line)
    plain = "".join(map(_hidden, parts))
    is_entry = LINE_MARK.sub("", plain).startswith("\0") or bool(_HEADING.match(plain))
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
        gap = _GAP.match(plain, match.end())
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
