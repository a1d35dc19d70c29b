"""Finds an answer in a report, and recognises reports that say there is no answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from deep_research.core.evidence.citations.labels import all_labels

LEAD_WORDS = 120
"""Number of words that count as the beginning of a report."""

_ACCENTS = re.compile(r"[\u0300-\u036f]")
_ARTICLES = frozenset({"a", "an", "the"})
# Scripts without spaces between words: each character counts as a word.
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f])"
)
_MARKER = re.compile(r"\[(\d{1,6}(?:, ?\d{1,6})*)\]")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s.*$", re.MULTILINE)
_PASSAGE_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?:\s*\[\d[\d, ]*\])*\s+|(?<=[。！？])(?:\s*\[\d[\d, ]*\])*|\n+"
)


def normalized(text: str) -> str:
    """Return lower-case words separated by spaces, without accents, punctuation and English
    articles."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    spaced = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", _ACCENTS.sub("", folded)))
    bare = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in spaced)
    return " ".join(word for word in bare.split() if word not in _ARTICLES)


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether the text contains one of the answers as whole words."""
    within = f" {normalized(text)} "
    return any(f" {words} " in within for answer in answers if (words := normalized(answer)))


def without_question(text: str, question: str) -> str:
    """Return the text without the question, which may mention the answer."""
    words = question.strip().rstrip("?？. ").split()
    return (
        re.sub(r"\s+".join(map(re.escape, words)), " ", text, flags=re.IGNORECASE)
        if words
        else text
    )


def without_markers(text: str) -> str:
    """Return the text without its citations."""
    return _MARKER.sub(" ", text)


def cited_numbers(text: str) -> set[int]:
    """Return the numbers that a text cites."""
    return {int(number) for found in _MARKER.finditer(text) for number in found[1].split(",")}


def words_of(text: str) -> list[str]:
    """Return the words of a text; in scripts without spaces, its characters."""
    return _UNSPACED.sub(r" \1 ", without_markers(text)).split()


def lead(text: str) -> str:
    """Return the first words of a report, headings and citations left out."""
    return " ".join(words_of(_HEADING.sub(" ", text))[:LEAD_WORDS])


def passages(text: str) -> Iterator[str]:
    """Return its paragraphs and list items."""
    return (passage for passage in _PASSAGE_END.split(text) if passage.strip())


_DOCUMENTS = r"\b(?:documents?|sources?|corpus|material|files?|texts?|passages?|evidence|findings?|research)\b"
_SAY = (
    r"(?:answer|say|state|contain|mention|cover|tell|give|name|identify|provide|specify|establish|include|support|"
    r"indicate|address|show|reveal)"
)
_NOT = r"(?:\s+not|n['’]t)"
_NEAR = r"[^.!?]{0,60}?"
# These are about the documents, and may cite one that says too little.
_OF_DOCUMENTS = re.compile(
    rf"{_DOCUMENTS}{_NEAR}\b(?:do|does|did){_NOT}\s+(?:\w+\s+){{0,2}}{_SAY}\b"
    rf"|{_DOCUMENTS}{_NEAR}\b{_SAY}s?\s+(?:no|nothing|neither)\b"
    rf"|\bnot\s+(?:be\s+)?(?:found|answered|stated|mentioned|given|covered)\s+(?:in|by)\s+(?:\w+\s+){{0,2}}{_DOCUMENTS}"
    rf"|\b(?:no|none of the)\s+(?:\w+\s+)?{_DOCUMENTS}{_NEAR}\b(?:answer|say|state|contain|mention|name|give)s?\b",
    re.IGNORECASE,
)
# These may also be a document's statement about its subject, and then have a citation.
_OF_ANYTHING = re.compile(
    r"\bno\s+(?:\w+\s+){0,2}(?:answer|information|evidence|record|mention)\b"
    r"|\bnothing\b[^.!?]{0,40}\b(?:was|is|could be)\s+found\b"
    rf"|\b(?:can|could)(?:{_NOT}|not)\s+be\s+(?:\w+\s+)?(?:found|answered|determined|established|confirmed|identified)\b"
    r"|\b(?:unable|not possible)\s+to\s+(?:find|answer|determine|establish|identify)\b"
    r"|\bunanswerable\b|\binsufficient\s+(?:information|evidence)\b",
    re.IGNORECASE,
)


def abstains(text: str) -> bool:
    """Whether the beginning of a report says that the documents do not answer the question.

    English wordings vary; in other languages only the wording of this project's reports counts.
    """
    own = tuple(labels.unanswered for labels in all_labels().values())
    return any(
        sentence.strip().startswith(own)
        or _OF_DOCUMENTS.search(sentence)
        or (not cited_numbers(sentence) and _OF_ANYTHING.search(sentence))
        for sentence in _first_sentences(text)
    )


def _first_sentences(text: str) -> Iterator[str]:
    """Yield the sentences that begin within the lead, with their citations, without headings."""
    begin, count = 0, 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence, begin = text[begin:end], end
        if count < LEAD_WORDS and not sentence.lstrip().startswith("#"):
            yield sentence
            count += len(words_of(sentence))
