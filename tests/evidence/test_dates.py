"""Dates as they are written, and the date of a file by its fields, text or name."""

from __future__ import annotations

from datetime import date

import pytest
from babel.dates import get_month_names
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.words import all_month_names, dates_in
from deep_research.core.reading.documents.parse_text import iso_date
from deep_research.core.reading.documents.worker import parse

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
def test_every_date_found_is_valid(words: str) -> None:
    for found in dates_in(words):
        parts = [int(part) for part in found.iso.split("-")]
        assert date(*(*parts, 1, 1)[:3])
        assert 1900 <= parts[0] <= 2100
        assert found.start < found.end


@pytest.mark.parametrize(
    ("words", "iso"),
    [
        ("3/5/2024", "2024"),
        ("13/5/2024", "2024-05-13"),
        ("3.5.2024", "2024-05-03"),
        ("2024_05_03", "2024-05-03"),
        ("maggio 2024", "2024-05"),
        ("3 de março de 2024", "2024-03-03"),
        ("12 set 2024", "2024-09-12"),
        ("set 2024", "2024"),
        ("2024年5月", "2024-05"),
        ("2024", "2024"),
        ("19240", ""),
    ],
)
def test_a_date_is_as_exact_as_it_is_written(words: str, iso: str) -> None:
    assert [found.iso for found in dates_in(words)] == ([iso] if iso else [])


def test_no_day_is_read_that_does_not_exist() -> None:
    assert not [found.iso for found in dates_in("31.02.2024, 2023-02-29 and 31 April 2024") if len(found.iso) > 7]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("season 2024/25 of the fleet", [("2024", "2024/25")]),
        ("tariff 2024 - 2026", [("2024", "2024 - 2026")]),
        ("season_2010-11", [("2010", "2010-11")]),
        ("minutes 2024-05", [("2024-05", "2024-05")]),
        ("version 1\nMay 2024. Level 1", [("2024-05", "May 2024")]),
    ],
)
def test_a_season_is_of_its_first_year_and_no_day_is_taken_from_another_line(
    words: str, found: list[tuple[str, str]]
) -> None:
    assert [(date.iso, words[date.start : date.end]) for date in dates_in(words)] == found


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
        ("2021", "2021"),
        ("4. März 2021", "2021-03-04"),
        ("1er mai 2021", "2021-05-01"),
        ("13/04/2021", "2021-04-13"),
        ("31.02.2021", ""),
        ("1899-12-31", ""),
        # The day of a template.
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
        ("board/20240501 minutes.txt", "2024-05-01"),
        ("minutes_2024_05_01.txt", "2024-05-01"),
        ("fees (2024).pdf", "2024"),
        ("12320240501.txt", ""),
        ("2024/report.txt", ""),
    ],
)
def test_a_file_has_the_date_in_its_name(name: str, iso: str) -> None:
    assert parse(b"It was lit.", name, "text").date == iso


def test_a_files_fields_win_over_its_text_and_its_text_over_its_name() -> None:
    line = "# Light\n\nDate: 2022-02-02\n"
    assert parse(f"---\nupdated: 3 May 2021\ndate: 2020-01-02\n---\n{line}".encode(), "2023-03.md").date == "2021-05-03"
    assert parse(b"# Light", "light 2023-03.md").date == "2023-03"
    assert parse(line.encode(), "light 2023-03.md").date == "2022-02-02"
    assert parse(line.encode(), "light.md").date == "2022-02-02"
    # The date of the first record is not that of the file.
    assert parse(b"date,ship\n2022-02-02,Velm\n", "ships.csv").date == ""
    assert parse(b'{"date": "2022-02-02"}\n{"date": "2022-02-03"}\n', "ships.jsonl").date == ""
    page = b"<meta property='article:modified_time' content='2021-05-03'><p>Lit.</p>"
    assert parse(page, "light 2023.html").date == "2021-05-03"
    # A web page has no file name, and its dates may be those of its subject.
    assert parse(line.encode(), "2023-03.md", address="https://lights.example/2023-03.md").date == ""


LINKED = "<script type='application/ld+json'>%s</script><p>Lit.</p>"


@pytest.mark.parametrize(
    ("page", "iso"),
    [
        ("<meta name='citation_publication_date' content='2024/03/05'><p>Lit in 2001-01-01.</p>", "2024-03-05"),
        (LINKED % '{"datePublished": "2023-04-05T10:00Z"}', "2023-04-05"),
        ("<time pubdate datetime='2020-02-03T10:00'>today</time><p>Lit.</p>", "2020-02-03"),
        ("<h1>Light</h1><p>Published on 5 March 2022 by the editors</p><p>Lit.</p>", "2022-03-05"),
        ("<h1>Light</h1><p>The keeper of the light wrote on 5 March 2022 that it had burned all night.</p>", ""),
        ("<h1>Light</h1><p>Next meeting: 5 March 2099</p>", ""),
        ("<h1>Light</h1><p>5 March 2022</p><p>Lit.</p>", "2022-03-05"),
        ("<h1>Eruption of 18 May 1980</h1><table><tr><td>Date</td><td>18 May 1980</td></tr></table>", ""),
        ("<p>Born: 15 March 1950 (age 74)</p><p>Deadline: 5 March 2021</p>", ""),
        ("<meta property='og:image' content='/uploads/2015/03/02/logo.png'><p>Lit.</p>", ""),
        (LINKED % '{"datePublished": "2001-10-26", "dateModified": "2025-04-05"}', "2025-04-05"),
        (LINKED % '{"@graph": [{"review": {"datePublished": "2014-02-03"}}]}', ""),
        ("<p>Lit.</p><footer>© 2021-02-03 The keepers of the light</footer>", ""),
    ],
)
def test_a_web_page_has_the_date_that_it_states_as_its_own(page: str, iso: str) -> None:
    data = f"<html><body>{page}{'<p>It stands there.</p>' * 40}</body></html>".encode()
    assert parse(data, "light.html", address="https://lights.example/light", today="2026-01-02").date == iso


def test_a_paper_has_the_title_of_its_citation_data() -> None:
    page = b"<head><title>Journal | 12</title><meta name='citation_title' content='On lights'></head><p>Lit.</p>"
    assert parse(page, "light.html").title == "On lights"
