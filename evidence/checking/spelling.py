"""Cuts a sentence into numbers, words and signs, each at its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..text.words import UNSPACED, root, tokens

_PIECE = re.compile(
    r"(?P<date>\b\d{4}-\d\d?-\d\d?\b|\b\d\d?[./]\d\d?[./]\d{4}\b)"
    r"|(?P<number>\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    rf"|(?P<wide>[{UNSPACED}]+)"
    rf"|(?P<word>[^\W\d_{UNSPACED}](?:[^\W_{UNSPACED}]+(?:['’]t\b)?)?)"
    r"|(?P<sign>[%‰$€£¥°~≈<>≥≤±+-])"
)


class Piece(NamedTuple):
    """A number, a word or a sign."""

    kind: str
    """`date`, `number`, `wide` (writing without spaces), `word` or `sign`."""
    raw: str
    """As it was written."""
    start: int
    """Place of its first character."""
    word: str
    """It without case and accents."""

    @property
    def end(self) -> int:
        """Place behind its last character."""
        return self.start + len(self.raw)


NOTHING = Piece("", "", -9, "")
"""What stands before the first piece and behind the last."""


def pieces_of(text: str) -> list[Piece]:
    """The pieces of a text in order."""
    found = _PIECE.finditer(text)
    return [Piece(match.lastgroup or "", raw, match.start(), plain(raw)) for match in found if (raw := match.group())]


@lru_cache(maxsize=1 << 16)
def plain(raw: str) -> str:
    """A word without case and accents."""
    raw = raw.replace("’", "'")
    return raw.lower() if raw.isascii() else "".join(tokens(raw)) or raw.lower()


@lru_cache(maxsize=1 << 16)
def key_of(word: str) -> str:
    """What a word is compared by: itself without its commonest endings."""
    return root(word)
