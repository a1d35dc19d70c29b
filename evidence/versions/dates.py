"""Dates and years in names and questions, as the beginnings of ISO dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from deep_research.evidence.support.number_words import MONTHS

_YEAR = r"(?:19|20)\d\d"
_TYPES = frozenset(("model", "type", "series", "typ", "modell", "serie", "modele", "modelo", "room", "raum", "route"))
"""Words behind which such a number is no year."""


class FoundDate(NamedTuple):
    """A date in a text."""

    iso: str
    """A year, a month or a day: 2024, 2024-05, 2024-05-03."""
    start: int
    end: int


def dates_in(text: str) -> Iterator[FoundDate]:
    """The dates of the years 1900 to 2099, in order; the text is in lower case and without accents."""
    for found in _dates().finditer(text):
        before = text[: found.start()].rstrip(" -_").rpartition(" ")[2]
        if before not in _TYPES:
            yield FoundDate(_iso(found), found.start(), found.end())


def _iso(found: re.Match[str]) -> str:
    parts = {name: value for name, value in found.groupdict().items() if value}
    year = next(value for name, value in parts.items() if name.startswith("year"))
    month = next((value for name, value in parts.items() if name.startswith("month")), "")
    day = next((value for name, value in parts.items() if name.startswith("day")), "")
    number = MONTHS.get(month) or int(month or 0)
    if not 1 <= number <= 12:
        return year
    return f"{year}-{number:02}-{int(day):02}" if day and 1 <= int(day) <= 31 else f"{year}-{number:02}"


@cache
def _dates() -> re.Pattern[str]:
    months = "|".join(sorted(MONTHS, key=len, reverse=True))
    forms = (
        rf"(?P<year_1>{_YEAR})[-_./ ](?P<month_1>0[1-9]|1[0-2])[-_./ ](?P<day_1>[0-2]\d|3[01])",
        rf"(?P<year_2>{_YEAR})(?P<month_2>0[1-9]|1[0-2])(?P<day_2>[0-2]\d|3[01])",
        rf"(?P<day_3>\d{{1,2}})[._/-] ?(?P<month_3>\d{{1,2}})[._/-] ?(?P<year_3>{_YEAR})",
        rf"(?:(?P<day_4>\d{{1,2}})(?:\.|st|nd|rd|th)?[ _-]+(?:de )?)?\b(?P<month_4>{months})\b\.?[ _-]+(?:de )?"
        rf"(?P<year_4>{_YEAR})",
        rf"\b(?P<month_5>{months})\b\.? (?P<day_5>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year_5>{_YEAR})",
        rf"(?P<year_6>{_YEAR})年(?P<month_6>\d{{1,2}})月(?:(?P<day_6>\d{{1,2}})日)?",
        rf"(?P<year_7>{_YEAR})[-_/](?P<month_7>0[1-9]|1[0-2])",
        # A school year or a season counts from its beginning.
        rf"(?P<year_8>{_YEAR})(?: ?[-–/] ?(?:{_YEAR}|\d\d))?(?:年[版度]?)?",
    )
    return re.compile(rf"(?<![\d.])(?:{'|'.join(forms)})(?!\d)")
