"""Units of measure and money as they are written."""

from __future__ import annotations

from ..text.cues import SIGNS, UNITS
from ..text.tables import word_tables
from .spelling import Piece

_WORDS = word_tables(__package__)


def _listed(lines: str) -> dict[str, str]:
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()}


_MORE_UNITS = _WORDS["more_units"]
_MONEY = _WORDS["money"]
MONEY = _listed(_MONEY)
"""Currencies as they are written, each with the word that stands for it; crowns are those of all countries."""
_PLAIN = UNITS | _listed(_MORE_UNITS) | MONEY | {"fahrenheit": "fahrenheit"}

_DIMENSIONS = _listed(_WORDS["dimensions"])
_LENGTHS = {"metre", "kilometre", "centimetre", "millimetre", "decimetre", "mile", "foot", "inch", "yard"}


def _with_dimensions() -> dict[str, str]:
    """Areas and volumes in one word: km2, Quadratmeter, Kubikmeter."""
    lengths = {word: unit for word, unit in _PLAIN.items() if unit in _LENGTHS}
    areas = {form: f"square {unit}" for word, unit in lengths.items() for form in (f"{word}2", f"quadrat{word}")}
    volumes = {form: f"cubic {unit}" for word, unit in lengths.items() for form in (f"{word}3", f"kubik{word}")}
    return areas | volumes


MEASURES = _PLAIN | _with_dimensions()
"""Units as they are written, each with the one that stands for it."""
UNIT_SIGNS = SIGNS | {"‰": "per mille"}
"""Signs of units; ¥ is that of two."""


def unit_of(piece: Piece, following: Piece) -> str:
    """What is measured by a number before these two pieces; empty if it is no known unit."""
    if unit := UNIT_SIGNS.get(piece.raw) or MEASURES.get(piece.word):
        dimension = _DIMENSIONS.get(following.word)
        return f"{dimension} {unit}" if dimension else unit
    if (dimension := _DIMENSIONS.get(piece.word)) and following.word in MEASURES:
        return f"{dimension} {MEASURES[following.word]}"
    # Money goes by the name of its country: 300 Swedish kronor.
    return MONEY.get(following.word, "") if piece.raw[:1].isupper() else ""
