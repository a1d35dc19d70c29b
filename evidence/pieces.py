"""Cuts a sentence into dates, numbers, words and signs."""

from __future__ import annotations

import re
from typing import NamedTuple

from .cues import UNITS
from .vocabulary import STOP_WORDS
from .words import tokens

_MONTH = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    "Nov(?:ember)?|Dec(?:ember)?"
)
_YEAR = r"(?:1\d{3}|20\d{2}|2100)(?![\d'’]|[.,]\d)"
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_PIECE = re.compile(
    rf"(?P<iso>\b{_YEAR}-\d\d-\d\d\b)"
    rf"|(?P<date>\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?)?(?P<month>{_MONTH})\b\.?"
    rf"(?: (?P<late>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>{_YEAR}\b))?)"
    rf"|(?P<bare>\b{_YEAR}(?!\w| (?:{_UNIT})\b|[%°]))"
    rf"|(?P<number>\b(?:\d{{1,3}}(?: \d{{3}})+(?!\d)|\d+(?:[.,'’]\d+)*)(?=(?:{_UNIT})?\b))"
    r"|(?P<word>\w+(?:['’.]\w+)*)"
    r"|(?P<sign>\S)"
)
DATES = frozenset({"iso", "date", "bare"})
"""Kinds of dates: 1844-05-03; with the name of a month, perhaps without a year; a year alone."""


class Piece(NamedTuple):
    """A piece of a sentence."""

    kind: str
    """`number`, `word`, `sign`, or one of `DATES`."""
    raw: str
    """As it was written."""
    groups: dict[str, str]
    """Of a date: its `day` or `late` day, `month` and `year`, as far as they are said."""

    @property
    def word(self) -> str:
        """It without case and accents."""
        return "".join(tokens(self.raw)) or self.raw

    @property
    def is_telling(self) -> bool:
        """Whether it is a word that carries meaning."""
        return self.kind == "word" and self.word not in STOP_WORDS


NOTHING = Piece("", "", {})
"""What stands before the first piece and behind the last."""


def pieces_of(sentence: str) -> list[Piece]:
    """The pieces of a sentence in order."""
    found = _PIECE.finditer(" ".join(sentence.split()))
    return [Piece(match.lastgroup or "", match.group(), match.groupdict(default="")) for match in found]
