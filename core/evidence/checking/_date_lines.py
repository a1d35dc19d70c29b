"""Derives dates and periods: verifies lines such as `31 December 2027 - 9 months = 31 March 2027`,
and finds the dates between which a period lies."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import combinations, islice
from typing import NamedTuple

from ..citations.citing import Edit, with_edits
from ..text.numbers import Number, measures_in, numbers_in, uniform_numbers
from ..text.words import WrittenDate, dates_in

_STEP = re.compile(r"\s*(?P<sign>[-+])\s*(?P<period>[^-+]+)")
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12}
_MONTHS_PER_YEAR = 12
_DAYS_PER_MONTH = 365.25 / _MONTHS_PER_YEAR
_MOST_DATES = 8
"""Maximum number of dates of which each pair is tried; a longer list has any period."""
_ISO_DAY, _ISO_MONTH, _ISO_YEAR = len("2027-12-31"), len("2027-12"), len("2027")


class Period(NamedTuple):
    """A number of days, weeks, months or years."""

    length: int
    """Negative if it is subtracted."""
    unit: str
    """`day`, `week`, `month` or `year`."""


class DateLine(NamedTuple):
    """A line that derives a date."""

    formula: str
    """The date and the periods, as written."""
    start: date
    """The date that it starts from."""
    written_start: str
    """That date as written."""
    periods: tuple[Period, ...]
    """What is added to it, in order."""
    result: str
    """The result as written; empty if there is none."""

    @property
    def days(self) -> Sequence[date]:
        """The days to which it leads: with months, the same day of the month, or the last one of a
        shorter month; from the last day of a month also to the last one of another. Empty beyond
        the calendar.
        """
        day = self.start
        for period in self.periods:
            shifted = _shifted(day, period)
            if shifted is None:
                return ()
            day = shifted
        has_months = all(period.unit in _MONTHS for period in self.periods)
        if has_months and _is_last_of_month(self.start):
            return list(dict.fromkeys([day, _last_of_month(day)]))
        return [day]

    @property
    def proved(self) -> Sequence[str]:
        """The date that it leads to, in ISO form and as precise as it is written; empty if it
        leads to another one."""
        for written in dates_in(self.result):
            if any(day.isoformat().startswith(written.iso) for day in self.days):
                return [written.iso]
            break
        return []

    def starts_from(self, dates: Collection[str]) -> bool:
        """Whether its start is one of these dates (ISO), or the first or last day of a month or
        year that is."""
        iso = self.start.isoformat()
        if iso in dates:
            return True
        is_border = self.start.day == 1 or _is_last_of_month(self.start)
        if is_border and iso[:_ISO_MONTH] in dates:
            return True
        return iso[_ISO_YEAR:] in ("-01-01", "-12-31") and iso[:_ISO_YEAR] in dates


class DatePair(NamedTuple):
    """Two dates of a text, between which a period lies."""

    start: WrittenDate
    end: WrittenDate
    dates: str
    """Both as written."""

    def lasts(self, number: Number, unit: str) -> bool:
        """Whether a number in a unit (see `Period`) is its length, rounded; it is no more precise
        than its dates."""
        precision = min(len(self.start.iso), len(self.end.iso))
        first = date.fromisoformat(_as_day(self.start.iso[:precision]))
        last = date.fromisoformat(_as_day(self.end.iso[:precision]))
        months = (last.year - first.year) * _MONTHS_PER_YEAR + last.month - first.month
        lengths = list[float]()
        if unit in _DAYS and precision == _ISO_DAY:
            lengths.append((last - first).days / _DAYS[unit])
        elif unit in _MONTHS:
            exact = months + (last.day - first.day) / _DAYS_PER_MONTH
            lengths.append(exact / _MONTHS[unit])
            if precision == _ISO_MONTH and (months + 1) % _MONTHS_PER_YEAR == 0:
                # January to December are twelve months.
                lengths.append((months + 1) / _MONTHS[unit])
        tolerance = min(number.step, 1) / 2
        return any(abs(length - number.value) <= tolerance for length in lengths if length > 0)


def date_pairs_in(text: str) -> Iterator[DatePair]:
    """Yield each pair of dates of a text; none if it has many dates."""
    dates = list(islice(dates_in(text), _MOST_DATES + 1))
    if len(dates) > _MOST_DATES:
        return
    for both in combinations(dates, 2):
        start, end = sorted(both, key=lambda written: written.iso)
        words = [text[written.start : written.end] for written in (start, end)]
        yield DatePair(start, end, " – ".join(words))


def unit_of_time(unit: str) -> str:
    """Return the name of a unit of time as written (see `Period`); empty for any other."""
    for measure in measures_in(unit):
        if measure in (*_DAYS, *_MONTHS):
            return measure
    return ""


def read_date_line(text: str) -> DateLine | None:
    """Return a line of a model as one that derives a date; None if it is anything else."""
    formula, _, result = text.partition("=")
    plain = uniform_numbers(formula).strip(" :")
    start = next(dates_in(plain), None)
    if start is None or start.start or len(start.iso) != _ISO_DAY:
        return None
    periods = list[Period]()
    position = start.end
    while position < len(plain):
        step = _STEP.match(plain, position)
        numbers = numbers_in(step["period"]) if step else []
        if step is None or not _is_period(numbers, step["period"]):
            return None
        length = int(numbers[0].value)
        if step["sign"] == "-":
            length = -length
        periods.append(Period(length, numbers[0].measure))
        position = step.end()
    if not periods:
        return None
    day = date.fromisoformat(start.iso)
    written_start = plain[start.start : start.end]
    return DateLine(formula.strip(" :"), day, written_start, tuple(periods), result.strip())


def without_dates(text: str, dates: Collection[str]) -> str:
    """Return a text with spaces in place of these dates (ISO), and of the months and years that
    they are in, so that all offsets stay."""
    edits = list[Edit]()
    for written in dates_in(text) if dates else ():
        if any(each.startswith(written.iso) for each in dates):
            spaces = " " * (written.end - written.start)
            edits.append(Edit(written.start, written.end, spaces))
    return with_edits(text, edits)


def known_dates(texts: Iterable[str]) -> frozenset[str]:
    """Return the dates of these texts (ISO), and the months and years of those that are days."""
    return frozenset().union(*map(_dates_of, texts))


# The request and the report stand around each statement that is proved.
@lru_cache(maxsize=64)
def _dates_of(text: str) -> frozenset[str]:
    known = set[str]()
    for written in dates_in(text):
        known.update((written.iso, written.iso[:_ISO_MONTH], written.iso[:_ISO_YEAR]))
    return frozenset(known)


def _as_day(iso: str) -> str:
    """Return the first day of a date in ISO form that may be a month or year."""
    return iso + "0000-01-01"[len(iso) :]


def _is_period(numbers: Sequence[Number], text: str) -> bool:
    """Whether all of a text is a whole number of days, weeks, months or years."""
    if len(numbers) != 1 or numbers[0].words.strip() != text.strip(" ."):
        return False
    [number] = numbers
    return number.value.is_integer() and number.measure in (*_DAYS, *_MONTHS)


def _shifted(day: date, period: Period) -> date | None:
    """Return the day that is a period later; None beyond the calendar."""
    try:
        if period.unit in _DAYS:
            return day + timedelta(days=period.length * _DAYS[period.unit])
        months = day.year * _MONTHS_PER_YEAR + day.month - 1 + period.length * _MONTHS[period.unit]
        year, month = divmod(months, _MONTHS_PER_YEAR)
        first = date(year, month + 1, 1)
    except (OverflowError, ValueError):
        return None
    return first.replace(day=min(day.day, _last_of_month(first).day))


def _last_of_month(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _is_last_of_month(day: date) -> bool:
    return day == _last_of_month(day)
