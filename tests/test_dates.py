"""Dates as they are written; and the date of a file: from its fields, its name or a line near its top."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date

import pytest
from babel.dates import get_month_names
from hypothesis import given
from hypothesis import strategies as st

from deep_research.evidence.dates import WrittenDate, dates_in
from deep_research.evidence.months import all_month_names
from deep_research.evidence.versions.dates import dates_in as dates_of_versions
from deep_research.reading.dates import iso_date
from deep_research.reading.parse import parse
from deep_research.reading.stated_dates import date_in_name, date_near_top

DAYS = st.dates(date(1900, 1, 1), date(2100, 12, 31))
FORMS = (
    "{0:%Y-%m-%d}", "{0:%Y%m%d}", "{0:%Y/%m/%d}", "{0:%Y.%m.%d}", "{0.day}.{0.month}.{0.year}", "{0:%d %B %Y}",
    "{0:%B %d, %Y}", "{0:%b. %d %Y}", "{0.year}年{0.month}月{0.day}日",
)  # fmt: skip


@given(DAYS, st.sampled_from(FORMS))
def test_a_day_is_read_however_it_is_written(day: date, form: str) -> None:
    (found,) = dates_in(f"on {form.format(day)}, it says")
    assert found.iso == day.isoformat()


@given(st.text("0123456789-./ vMaye", max_size=30))
def test_what_is_read_as_a_date_is_one(words: str) -> None:
    for found in dates_in(words):
        parts = [int(part) for part in found.iso.split("-")]
        assert date(*(*parts, 1, 1)[:3])
        assert 1900 <= parts[0] <= 2100
        assert found.start < found.end


@pytest.mark.parametrize("read", [dates_in, dates_of_versions], ids=["in files", "of versions"])
@pytest.mark.parametrize(
    ("words", "iso"),
    [
        ("3/5/2024", "2024"),
        ("13/5/2024", "2024-05-13"),
        ("5-13-2024", "2024-05-13"),
        ("3.5.2024", "2024-05-03"),
        ("29.02.2024", "2024-02-29"),
        ("2024_05", "2024-05"),
        ("2024_05_03", "2024-05-03"),
        ("2024 05 03", "2024-05-03"),
        ("maggio 2024", "2024-05"),
        ("3 mei 2024", "2024-05-03"),
        ("3 de março de 2024", "2024-03-03"),
        ("3 DE MARCO DE 2024", "2024-03-03"),
        ("jänner 2024", "2024-01"),
        ("12 set 2024", "2024-09-12"),
        ("set 2024", "2024"),
        ("2024年5月", "2024-05"),
        ("2024", "2024"),
        ("19240", ""),
        ("12024", ""),
    ],
)
def test_a_date_in_a_file_and_one_of_a_version_are_read_by_one_rule(
    read: Callable[[str], Iterable[WrittenDate]], words: str, iso: str
) -> None:
    assert [found.iso for found in read(words)] == ([iso] if iso else [])


@pytest.mark.parametrize("read", [dates_in, dates_of_versions], ids=["in files", "of versions"])
def test_no_day_is_read_that_does_not_exist(read: Callable[[str], Iterable[WrittenDate]]) -> None:
    assert not [found.iso for found in read("31.02.2024, 2023-02-29 and 31 April 2024") if len(found.iso) > 7]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("season 2024/25 of the fleet", [("2024", "2024/25")]),
        ("tariff 2024 - 2026", [("2024", "2024 - 2026")]),
        ("2024年版 の料金", [("2024", "2024年版")]),
        ("the 2020s", [("2020", "2020")]),
        ("model 2000", []),
        ("Typ 2000 of 2024", [("2024", "2024")]),
        ("tool 1.2024", []),
    ],
)
def test_a_version_is_dated_by_the_beginning_of_its_season(words: str, found: list[tuple[str, str]]) -> None:
    assert [(one.iso, words[one.start : one.end]) for one in dates_of_versions(words)] == found


def test_the_names_of_the_months_are_those_of_the_tables_for_all_languages() -> None:
    known = all_month_names()
    for language in ("en", "de", "fr", "es", "it", "pt", "nl"):
        for width in ("wide", "abbreviated"):
            for number, name in get_month_names(width, locale=language).items():
                assert known[name.casefold().rstrip(".")] == number


@pytest.mark.parametrize(
    ("field", "iso"),
    [
        ("2021-03-04T10:00:00Z", "2021-03-04"),
        ("2021-03", "2021-03"),
        ("2021", "2021"),
        ("4. März 2021", "2021-03-04"),
        ("1er mai 2021", "2021-05-01"),
        ("4 de marzo de 2021", "2021-03-04"),
        ("4 mars 2021", "2021-03-04"),
        ("13/04/2021", "2021-04-13"),
        # Who wrote this counts days or months first: nobody can tell.
        ("03/04/2021", "2021"),
        ("31.02.2021", ""),
        ("1899-12-31", ""),
        ("2101-01-01", ""),
        # Clocks that were never set, and the day of a template.
        ("1980-01-01T00:00:00Z", ""),
        ("2013-12-23T23:15:00Z", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_a_field_gives_its_date_unless_a_program_made_it_up(field: str, iso: str) -> None:
    assert iso_date(field) == iso


@pytest.mark.parametrize(
    ("name", "iso"),
    [
        ("2024-05-01.md", "2024-05-01"),
        ("board/20240501 minutes.txt", "2024-05-01"),
        ("IMG20240501_1234.txt", "2024-05-01"),
        ("minutes_2024_05_01.txt", "2024-05-01"),
        ("minutes 3.5.2024.txt", "2024-05-03"),
        ("minutes-2024-05.md", "2024-05"),
        ("handbook v2026-01.md", "2026-01"),
        ("board-may-2024.txt", "2024-05"),
        ("report 2024.pdf", "2024"),
        ("report (2024).pdf", "2024"),
        # A year, or two of them: the first is sure.
        ("season_2010-11.txt", "2010"),
        ("v2024.txt", ""),
        ("app v2024.1.3.txt", ""),
        ("app-2024.05.1.txt", ""),
        ("app 1.2024.txt", ""),
        ("RFC 2026.txt", ""),
        ("rfc2026.txt", ""),
        ("EN_1992.txt", ""),
        ("order-2031.txt", ""),
        ("CVE-2024-12345.txt", ""),
        ("strategy 2025-2030.txt", ""),
        ("from 2023-11-01 to 2023-11-02.txt", ""),
        ("12320240501.txt", ""),
        ("1990s.txt", ""),
        ("2024/report.txt", ""),
    ],
)
def test_a_date_in_a_name_is_told_from_versions_and_numbers(name: str, iso: str) -> None:
    assert date_in_name(name) == iso


@pytest.mark.parametrize(
    ("line", "iso"),
    [
        ("Date: 3 May 2024", "2024-05-03"),
        ("**Last updated:** 2024-05-03", "2024-05-03"),
        ("Updated 2024-05-03", "2024-05-03"),
        ("Published on Friday, 3 May 2024 by Ada Moran", "2024-05-03"),
        ("Last modified: 2024-05-03T10:11:12Z", "2024-05-03"),
        ("Stand: 3. Mai 2024", "2024-05-03"),
        ("Zuletzt geändert am 03.05.2024", "2024-05-03"),
        ("Mis à jour le 3 mai 2024", "2024-05-03"),
        ("Date de publication : 12 août 2023", "2023-08-12"),
        ("Fecha: 3/5/2024", "2024-05-03"),
        ("Última actualización: 3 de mayo de 2024", "2024-05-03"),
        ("| Date | 3 May 2024 |", "2024-05-03"),
        (":Date: 2024-05-03", "2024-05-03"),
        ("Berlin, den 3. Mai 2024", "2024-05-03"),
        ("3 May 2024", "2024-05-03"),
        ("May 2024", "2024-05"),
        ("2024年5月3日", "2024-05-03"),
        ("As of 2024 the harbour was closed.", ""),
        ("The lamp was lit on 3 May 2024.", ""),
        ("Standard 2024", ""),
        ("## 3 May 1944", ""),
        ("1911", ""),
        ("2024-05-03 12:00:01 ERROR it is out", ""),
    ],
)
def test_a_line_that_tells_the_date_is_told_from_one_that_mentions_one(line: str, iso: str) -> None:
    assert date_near_top(f"# The light\n\nBy Ada.\n{line}\n\nIt was lit.") == iso


def test_a_date_far_below_dates_nothing() -> None:
    assert date_near_top(f"# The light\n\n{'It was lit. ' * 200}\n\nDate: 3 May 2024") == ""
    assert date_near_top("x\n" * 60 + "Date: 3 May 2024") == ""


def test_what_the_file_states_comes_before_its_name_and_that_before_its_text() -> None:
    line = "# Light\n\nDate: 2022-02-02\n"
    assert parse(f"---\nupdated: 3 May 2021\ndate: 2020-01-02\n---\n{line}".encode(), "2023-03.md").date == "2021-05-03"
    assert parse(line.encode(), "light 2023-03.md").date == "2023-03"
    assert parse(line.encode(), "light.md").date == "2022-02-02"
    # The first of many records dates itself only.
    assert parse(b"date,ship\n2022-02-02,Velm\n", "ships.csv").date == ""
    assert parse(b'{"date": "2022-02-02"}\n{"date": "2022-02-03"}\n', "ships.jsonl").date == ""
    page = b"<meta name='dcterms.modified' content='2021-05-03'><p>Lit.</p>"
    assert parse(page, "light 2023.html").date == "2021-05-03"
    # A page of the web has no name, and its lines may be anybody's.
    assert parse(line.encode(), "2023-03.md", address="https://lights.example/2023-03.md").date == ""
