"""Tells by whose rules the words of a document are cut: in microseconds for most, offline for all."""

from __future__ import annotations

from ..evidence.text.inflection.common_words import IN_TEXT, evident
from ..evidence.text.inflection.stems import ALGORITHMS
from ..evidence.text.inflection.wording import words_and_pieces
from ..evidence.text.language import language_of

SAMPLE = 600
"""Characters that are looked at, at the beginning and again in the middle."""
IDENTIFIED = 400
"""Characters of these that are shown to the identifier, which is slow."""
LEAST = 100
"""Characters below which the identifier could only guess."""
PIECES_SHARE = 1.0
"""Pieces of unspaced scripts for each word of others, from which on there are no endings to cut."""


def stemmed_in(text: str) -> str:
    """ISO 639-1 code of the text's language, if its words are cut by rules of their own; else empty."""
    middle = max(SAMPLE, len(text) // 2)
    words, pieces = words_and_pieces(f"{text[:SAMPLE]} {text[middle : middle + SAMPLE]}")
    code = evident(words, IN_TEXT)
    if not code and len(text) >= LEAST and len(pieces) < PIECES_SHARE * len(words):
        code = language_of(text[:IDENTIFIED])
    return code if code in ALGORITHMS else ""
