"""The words of a report and of an answer, so that they can be found in each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

LEAD_WORDS = 120
"""Words that count as the beginning of a report."""

_ACCENTS = re.compile(r"[\u0300-\u036f]")
_ARTICLES = frozenset({"a", "an", "the"})
# Scripts without spaces between words: each character stands for itself.
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f])"
)
_MARKER = re.compile(r"\[(\d{1,6}(?:, ?\d{1,6})*)\]")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s.*$", re.MULTILINE)
_PASSAGE_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)")
_PARTS_OF_WORDS = ("L", "M", "N")


def normalized(text: str) -> str:
    """The words alone, one space between them: no case, accents, punctuation, or English articles."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    spaced = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", _ACCENTS.sub("", folded)))
    bare = "".join(char if unicodedata.category(char)[0] in _PARTS_OF_WORDS else " " for char in spaced)
    return " ".join(word for word in bare.split() if word not in _ARTICLES)


def holds(text: str, answers: Iterable[str]) -> bool:
    """Whether one of the answers stands in the text as whole words."""
    within = f" {normalized(text)} "
    return any(f" {words} " in within for answer in answers if (words := normalized(answer)))


def without_question(text: str, question: str) -> str:
    """The text without the question itself, which may name the answer among others."""
    words = question.strip().rstrip("?？. ").split()
    return re.sub(r"\s+".join(map(re.escape, words)), " ", text, flags=re.IGNORECASE) if words else text


def without_markers(text: str) -> str:
    """The text without its citations."""
    return _MARKER.sub(" ", text)


def cited_numbers(text: str) -> set[int]:
    """The numbers that a text cites."""
    return {int(number) for found in _MARKER.finditer(text) for number in found[1].split(",")}


def words_of(text: str) -> list[str]:
    """What a reader counts as words: what spaces separate, and single characters where there are none."""
    return _UNSPACED.sub(r" \1 ", without_markers(text)).split()


def lead(text: str) -> str:
    """The first words of a report, headings and citations left out."""
    return " ".join(words_of(_HEADING.sub(" ", text))[:LEAD_WORDS])


def passages(text: str) -> Iterator[str]:
    """Its paragraphs and list items."""
    return (passage for passage in _PASSAGE_END.split(text) if passage.strip())
