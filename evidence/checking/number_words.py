"""Numbers and months as they are written in words."""

from __future__ import annotations

from ..text.months import month_names
from ..text.tables import word_tables

_WORDS = word_tables(__package__)

_SMALL = _WORDS["small"]
SMALL = {word: int(line.split()[0]) for line in _SMALL.strip().splitlines() for word in line.split()[1:]}
"""Small numbers in words; some words mean something else as well and count only in lower case."""
_POWERS = _WORDS["powers"]
POWERS = {word: int(line.split()[0]) for line in _POWERS.strip().splitlines() for word in line.split()[1:]}
"""Words behind a number that multiply it, each with its power of ten."""

MONTHS = month_names(("en", "de", "fr", "es"), ("en", "de"))
"""Names of months that a claim may write: short ones of other languages are words of these, as the Spanish "ago"."""

_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
ORDINALS = {word: number for number, word in enumerate(_ORDINALS.split(), 3)}
"""Places in an order, in words; the second one is also a measure of time, and the first one often none."""
ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
"""What makes a place in an order of a number."""
