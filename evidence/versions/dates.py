"""Dates and years in names and questions, as the beginnings of ISO dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from ..dates import YEAR, WrittenDate
from ..dates import dates_in as written_in

_TYPES = frozenset(("model", "type", "series", "typ", "modell", "serie", "modele", "modelo", "room", "raum", "route"))
"""Words behind which such a number is no year."""
# A school year or a season counts from its beginning.
_YEAR_ALONE = re.compile(rf"{YEAR}(?: ?[-–/] ?(?:(?:19|20|21)\d\d|\d\d))?(?:年[版度]?)?(?!\d)")
NEAR = 40
"""Characters before a date in which stands what tells how it is meant."""
_NUMBER = re.compile(r"\d{1,2}\.\d{4}")
"""A version of that number as much as a month."""


def dates_in(text: str) -> Iterator[WrittenDate]:
    """The dates of the years 1900 to 2100 in a text, in order."""
    for found in written_in(text, _YEAR_ALONE):
        before = text[max(0, found.start - NEAR) : found.start]
        is_number = before.endswith(".") or _NUMBER.fullmatch(text, found.start, found.end)
        if before.rstrip(" -_").rpartition(" ")[2].lower() not in _TYPES and not is_number:
            yield found


def agree(dates: Iterable[str], others: Iterable[str]) -> bool:
    """Whether one of the dates is, or lies within, one of the others, or the other way round."""
    return any(one.startswith(other) or other.startswith(one) for one, other in product(dates, others))
