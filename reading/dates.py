"""Dates as people and programs write them, in a few languages, to ISO 8601: a day, a month or a year."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from deep_research.reading.month_names import MONTHS

FIRST_YEAR, LAST_YEAR = 1900, 2100

# The first day of a clock that was never set, and the day on which the template of a program was made.
_OF_A_PROGRAM = {
    "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01", "1999-11-30", "2000-01-01",
    "2013-01-27", "2013-12-23",
}  # fmt: skip
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_GAP = r"[\s._-]*"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_OF = r"(?:(?:de|del|of|di)\s+)?"


class WrittenDate(NamedTuple):
    """A date, and where its words stand."""

    iso: str
    start: int
    end: int


def iso_date(words: str, is_day_first: bool = False) -> str:
    """The date that a field begins with; empty if there is none, or one that a program put there by itself."""
    found = date_at(words.strip(), 0, is_day_first)
    return found.iso if found and found.iso not in _OF_A_PROGRAM else ""


def date_at(words: str, place: int, is_day_first: bool = False) -> WrittenDate | None:
    """The date whose words begin at this place."""
    for form in _forms():
        found = form.match(words, place)
        if found and (iso := _iso(found, is_day_first)):
            return WrittenDate(iso, *found.span())
    return None


def dates_in(words: str) -> Iterator[WrittenDate]:
    """All dates from left to right, none inside a longer one, number or word."""
    place = 0
    while place < len(words):
        is_start = not place or not (words[place - 1].isalnum() and words[place].isalnum()) or _turns(words, place)
        found = date_at(words, place) if is_start else None
        if found:
            yield found
        place = found.end if found else place + 1


def _turns(words: str, place: int) -> bool:
    """Whether letters end and digits begin: IMG20240501."""
    return words[place].isdigit() and words[place - 1].isalpha()


def _iso(found: re.Match[str], is_day_first: bool) -> str:
    parts = found.groupdict()
    year, month, day = parts["year"], _month(parts), int(parts.get("day") or 0)
    if not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return ""
    if "first" in parts:
        return _slashed(int(year), int(parts["first"]), int(parts["second"]), is_day_first)
    if not month:
        return year
    return _day(int(year), month, day) if day else _day(int(year), month, 1)[:7]


def _month(parts: dict[str, str]) -> int:
    if "name" in parts:
        return MONTHS[parts["name"].casefold()]
    return int(parts.get("month") or 0)


def _slashed(year: int, first: int, second: int, is_day_first: bool) -> str:
    """03/05/2024: what it means depends on the country; where that is not known, the year is sure."""
    if is_day_first or first > 12 or first == second:
        return _day(year, second, first)
    return _day(year, first, second) if second > 12 else str(year)


def _day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


@lru_cache
def _forms() -> tuple[re.Pattern[str], ...]:
    """The longest first, so that no date is taken for a part of itself."""
    name = f"(?P<name>{'|'.join(sorted(map(re.escape, MONTHS), key=len, reverse=True))})"
    day, month = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
    end, word_end = r"(?![.,]?\d)", r"(?![^\W_])"
    return tuple(
        re.compile(form, re.IGNORECASE)
        for form in (
            rf"{_YEAR}([-/.]){month}\2{day}(?!\d)",
            rf"{_YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>[0-2]\d|3[01])(?=\d{{6}}(?!\d)|(?!\d))",
            rf"{_YEAR}\s?[年년]\s?{month}\s?[月월](?:\s?{day}\s?[日일])?",
            rf"{day}{_ORDINAL}{_GAP}{_OF}{name}\.?,?{_GAP}{_OF}{_YEAR}{end}",
            rf"{name}\.?{_GAP}{day}{_ORDINAL},?{_GAP}{_YEAR}{end}",
            rf"{name}\.?,?{_GAP}{_OF}{_YEAR}{end}",
            rf"{_YEAR}{_GAP}{name}{word_end}",
            rf"{day}\.\s?{month}\.\s?{_YEAR}{end}",
            rf"(?P<first>\d{{1,2}})([/-])(?P<second>\d{{1,2}})\2{_YEAR}{end}",
            rf"{_YEAR}[-/]{month}(?![-/.]?\d)",
            rf"{month}[-/.]{_YEAR}{end}",
            rf"{_YEAR}(?![-/.,]?\d){word_end}",
        )
    )
