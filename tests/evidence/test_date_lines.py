"""A date that follows from another one and a period is proved by code."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.evidence.checking._date_lines import read_date_line
from deep_research.core.evidence.checking.proof import Grounds, Known, prove
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units

TERM = "The contract runs until 31 December 2027 and obliges Quillon to take 900 tonnes a year."
NOTICE = "Der Vertrag kann mit einer Frist von neun Monaten zum Jahresende gekündigt werden."
SOURCES = {
    "a": Known([SourceText("a", f"Summary. {TERM}")], "Summary of contracts"),
    "b": Known([SourceText("b", f"Liefervertrag. {NOTICE}")], "Liefervertrag"),
}
DAYS = st.dates(date(1950, 1, 1), date(2020, 12, 31))


@pytest.mark.parametrize(
    ("statement", "line", "fault"),
    [
        (
            "Notice is due by 31 March 2027 [1][2].",
            "31 December 2027 - 9 months = 31 March 2027",
            "",
        ),
        ("Notice is due in March 2027 [1][2].", "31.12.2027 − nine months = March 2027", ""),
        # The day lies in the month that the statement names.
        (
            "Notice is due in March 2027 [1][2].",
            "31 December 2027 - 9 months = 31 March 2027",
            "",
        ),
        # A statement with other words around the date, in a cell.
        (
            "| Risk | Decided by |\n| --- | --- |\n| Resin | 31 March 2027, for the end of 2027 [1][2] |",
            "31 December 2027 - 9 months = 31 March 2027",
            "",
        ),
        ("Notice is due by 31 March 2027 [1][2].", "", "its month"),
        # Wrong result, period, date; a number that is no date.
        (
            "Notice is due by 30 April 2027 [1][2].",
            "31 December 2027 - 9 months = 30 April 2027",
            "30 is",
        ),
        (
            "Notice is due by 30 April 2027 [1][2].",
            "31 December 2027 - 8 months = 30 April 2027",
            "30 is",
        ),
        (
            "Notice is due by 31 March 2026 [1][2].",
            "31 December 2026 - 9 months = 31 March 2026",
            "2026 is",
        ),
        ("Notice costs 31 pounds [1][2].", "31 December 2027 - 9 months = 31 March 2027", "31 is"),
    ],
)
def test_a_date_follows_from_a_date_and_a_period_of_the_sources(
    statement: str, line: str, fault: str
) -> None:
    units = report_units(statement, {1: "a", 2: "b"})
    [unit] = [unit for unit in units if unit.kind in ("statement", "cell") and unit.is_cited]
    proof = prove(unit, Grounds(f"{TERM}\n{NOTICE}", [line]), SOURCES)
    message = proof.doubt.message if proof.doubt else ""
    assert message.startswith(fault) and bool(message) == bool(fault)
    assert [found.result for found in proof.calculations] == (
        [line.split("= ")[1]] if not fault or "pounds" in statement else []
    )


@settings(max_examples=10)
@given(DAYS, st.integers(0, 900), st.sampled_from(["day", "week", "month", "year"]))
def test_a_period_added_and_subtracted_leads_back(day: date, length: int, unit: str) -> None:
    length = min(length, 50) if unit == "year" else length
    early = day.replace(day=min(day.day, 28))
    there = read_date_line(f"{early} + {length} {unit}s")
    assert there
    later = there.days[0]
    back = read_date_line(f"{later} - {length} {unit}s")
    assert back and early in back.days
    assert (later - early) >= timedelta(days=length)


@settings(max_examples=10)
@given(DAYS, st.integers(0, 600))
def test_months_keep_the_day_or_end_with_the_month(day: date, months: int) -> None:
    line = read_date_line(f"{day} + {months} months")
    assert line
    first, *others = line.days
    assert (first.year - day.year) * 12 + first.month - day.month == months
    assert first.day == day.day or ((first + timedelta(days=1)).day == 1 and first.day < day.day)
    assert all((other + timedelta(days=1)).day == 1 for other in others)


@pytest.mark.parametrize(
    "line",
    [
        "2027 - 2024 = 3",
        "31 December 2027",
        "31 December 2027 - 9",
        "31 December 2027 - 9 tonnes",
        "",
    ],
)
def test_other_lines_are_no_dates(line: str) -> None:
    assert read_date_line(line) is None


def test_a_date_beyond_the_calendar_proves_nothing() -> None:
    line = read_date_line("31 December 2027 + 999999 years = 31 December 2028")
    assert line and not line.days and not line.proved
