"""Parses dates as people and programs write them, in a few languages, to ISO 8601: a day, a month or a year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from typing import NamedTuple

from .words import all_month_names, sure_month_names

FIRST_YEAR, LAST_YEAR = 1900, 2100
YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_ANY_YEAR = re.compile(rf"(?={YEAR})")
LONGEST = 40
"""Characters of a date before its year, at most."""
_GAP = r"(?:[^\S\n]|[._-])*"
"""A date does not span lines."""
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_OF = r"(?:(?:de|del|of|di)\s+)?"
_WORD_END = r"(?![^\W_])"


class WrittenDate(NamedTuple):
    """A date and its place in the text."""

    iso: str
    """A year, a month or a day: 2024, 2024-05, 2024-05-03."""
    start: int
    end: int


def date_at(words: str, place: int) -> WrittenDate | None:
    """Return the date whose words begin at this place of a text."""
    for form in _forms():
        found = form.match(words, place)
        if found and (iso := _iso(found)):
            return WrittenDate(iso, *found.span())
    return None


def dates_in(words: str) -> Iterator[WrittenDate]:
    """Yield the dates from left to right, none inside a longer date, number or word."""
    place = 0
    # There is no date without a year.
    for year in _ANY_YEAR.finditer(words):
        place = max(place, year.start() - LONGEST)
        while place <= year.start():
            found = date_at(words, place) if _may_begin(words, place) else None
            if found:
                yield found
            place = found.end if found else place + 1


def _may_begin(words: str, place: int) -> bool:
    """Whether a word begins here, or digits after letters: IMG20240501."""
    if not words[place].isalnum():
        return False
    before = words[place - 1 : place]
    return not before.isalnum() or (words[place].isdigit() and before.isalpha())


def _iso(found: re.Match[str]) -> str:
    parts = found.groupdict()
    year, month, day = int(parts["year"]), _month(parts), int(parts.get("day") or 0)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return ""
    if "until" in parts:
        return _season(year, parts["until"] or parts["short"])
    if "first" in parts:
        return _slashed(year, int(parts["first"]), int(parts["second"]))
    if not month:
        return str(year)
    return _day(year, month, day) if day else _day(year, month, 1)[:7]


def _month(parts: dict[str, str]) -> int:
    if "name" in parts:
        # Without regard to case, the pattern takes a dotless "ı" for an "i", which the table does not.
        return all_month_names().get(parts["name"].casefold(), 0)
    return int(parts.get("month") or 0)


def _season(year: int, until: str) -> str:
    """Return the year in which a season begins: 2026/27, or 2010-11, which may be a month."""
    return str(year) if (int(until) > year if len(until) > 2 else int(until) == (year + 1) % 100) else ""


def _slashed(year: int, first: int, second: int) -> str:
    """Parse 03/05/2024; only the year is certain if both numbers can be a month."""
    if first > 12 or first == second:
        return _day(year, second, first)
    return _day(year, first, second) if second > 12 else str(year)


def _day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _one_of(names: Iterable[str]) -> str:
    return f"(?P<name>{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    """Return the forms of dates, the longest first, so that no date is taken for a part of itself."""
    name, sure_name = _one_of(all_month_names()), _one_of(sure_month_names())
    day, month = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
    end = r"(?![.,]?\d)"
    return tuple(
        re.compile(form, re.IGNORECASE)
        for form in (
            rf"{YEAR}([-/._]){month}\2{day}(?!\d)",
            rf"{YEAR}(?: ?[-–/] ?(?P<until>(?:19|20|21)\d\d)|[-–/](?P<short>\d\d))(?![-/.,]?\d)",
            rf"{YEAR} (?P<month>0[1-9]|1[0-2]) (?P<day>[0-2]\d|3[01])(?!\d)",
            rf"{YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>[0-2]\d|3[01])(?=\d{{6}}(?!\d)|(?!\d))",
            rf"{YEAR}\s?[年년]\s?{month}\s?[月월](?:\s?{day}\s?[日일])?",
            rf"{day}{_ORDINAL}{_GAP}{_OF}{name}\.?,?{_GAP}{_OF}{YEAR}{end}",
            rf"{sure_name}\.?{_GAP}{day}{_ORDINAL},?{_GAP}{YEAR}{end}",
            rf"{sure_name}\.?,?{_GAP}{_OF}{YEAR}{end}",
            rf"{YEAR}{_GAP}{sure_name}{_WORD_END}",
            rf"{day}\.\s?{month}\.\s?{YEAR}{end}",
            rf"(?P<first>\d{{1,2}})([/_-])(?P<second>\d{{1,2}})\2{YEAR}{end}",
            rf"{YEAR}[-/_]{month}(?![-/._]?\d)",
            rf"{month}[-/.]{YEAR}{end}",
            rf"{YEAR}(?![-/.,]?\d){_WORD_END}",
        )
    )
