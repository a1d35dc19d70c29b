"""Dates as they are written; the date of a file by its fields, text or name, its kind, and the
reporting period."""

from __future__ import annotations

from datetime import date

import pytest
from babel.dates import get_month_names
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.words import all_month_names, dates_in
from deep_research.core.reading.documents._dating import dated
from deep_research.core.reading.documents._parse_text import iso_date
from deep_research.core.reading.documents.worker import parse
from deep_research.core.records.sources import time_of

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
def test_a_season_is_of_its_first_year_and_no_day_is_of_another_line(
    words: str, found: list[tuple[str, str]]
) -> None:
    assert [(date.iso, words[date.start : date.end]) for date in dates_in(words)] == found


def test_the_names_of_the_months_are_those_of_the_tables_for_all_languages() -> None:
    for language in ("en", "de", "fr", "es", "it", "pt", "nl"):
        for width in ("wide", "abbreviated"):
            for number, name in get_month_names(width, locale=language).items():
                assert all_month_names()[name.casefold().rstrip(".")] == number


@pytest.mark.parametrize(
    ("field", "iso"),
    [
        ("2021-03-04T10:00:00Z", "2021-03-04"),
        ("2021", "2021"),
        ("4. März 2021", "2021-03-04"),
        ("1er mai 2021", "2021-05-01"),
        ("13/04/2021", "2021-04-13"),
        ("31.02.2021", ""),
        ("2023-02-29", ""),
        ("1899-12-31", ""),
        # The day of a template.
        ("2013-12-23T23:15:00Z", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_a_field_gives_its_date_unless_a_program_made_it_up(field: str, iso: str) -> None:
    assert iso_date(field) == iso


def test_a_file_has_the_date_in_its_name() -> None:
    names = (
        "board/20240501 minutes.txt",
        "minutes_2024_05_01.txt",
        "fees (2024).pdf",
        "12320240501.txt",
        "2024/a.txt",
    )
    assert [parse(b"It was lit.", name, "text").date for name in names] == [
        "2024-05-01",
        "2024-05-01",
        "2024",
        "",
        "",
    ]


def test_a_files_fields_win_over_its_text_and_its_text_over_its_name() -> None:
    line = "# Light\n\nDate: 2022-02-02\n"
    assert (
        parse(
            f"---\nupdated: 3 May 2021\ndate: 2020-01-02\n---\n{line}".encode(), "2023-03.md"
        ).date
        == "2021-05-03"
    )
    assert parse(b"# Light", "light 2023-03.md").date == "2023-03"
    assert parse(line.encode(), "light 2023-03.md").date == "2022-02-02"
    assert parse(line.encode(), "light.md").date == "2022-02-02"
    # The date of the first record is not that of the file.
    assert parse(b"date,ship\n2022-02-02,Velm\n", "ships.csv").date == ""
    assert parse(b'{"date": "2022-02-02"}\n{"date": "2022-02-03"}\n', "ships.jsonl").date == ""
    page = b"<meta property='article:modified_time' content='2021-05-03'><p>Lit.</p>"
    assert parse(page, "light 2023.html").date == "2021-05-03"
    # A web page has no file name, and its dates may be those of its subject.
    assert (
        parse(line.encode(), "2023-03.md", address="https://lights.example/2023-03.md").date == ""
    )


LINKED = "<script type='application/ld+json'>%s</script><p>Lit.</p>"


@pytest.mark.parametrize(
    ("page", "iso"),
    [
        (
            "<meta name='citation_publication_date' content='2024/03/05'><p>Lit in 2001-01-01.</p>",
            "2024-03-05",
        ),
        (LINKED % '{"datePublished": "2023-04-05T10:00Z"}', "2023-04-05"),
        ("<time pubdate datetime='2020-02-03T10:00'>today</time><p>Lit.</p>", "2020-02-03"),
        ("<h1>Light</h1><p>Published on 5 March 2022 by the editors</p><p>Lit.</p>", "2022-03-05"),
        (
            "<h1>Light</h1><p>The keeper of the light wrote on 5 March 2022 that it had burned all night.</p>",
            "",
        ),
        ("<h1>Light</h1><p>Next meeting: 5 March 2099</p>", ""),
        ("<h1>Light</h1><p>5 March 2022</p><p>Lit.</p>", "2022-03-05"),
        (
            "<h1>Eruption of 18 May 1980</h1><table><tr><td>Date</td><td>18 May 1980</td></tr></table>",
            "",
        ),
        ("<p>Born: 15 March 1950 (age 74)</p><p>Deadline: 5 March 2021</p>", ""),
        ("<meta property='og:image' content='/uploads/2015/03/02/logo.png'><p>Lit.</p>", ""),
        (LINKED % '{"datePublished": "2001-10-26", "dateModified": "2025-04-05"}', "2025-04-05"),
        (LINKED % '{"@graph": [{"review": {"datePublished": "2014-02-03"}}]}', ""),
        ("<p>Lit.</p><footer>© 2021-02-03 The keepers of the light</footer>", ""),
    ],
)
def test_a_web_page_has_the_date_that_it_states_as_its_own(page: str, iso: str) -> None:
    data = f"<html><body>{page}{'<p>It stands there.</p>' * 40}</body></html>".encode()
    assert (
        parse(data, "light.html", address="https://lights.example/light", today="2026-01-02").date
        == iso
    )


TODAY = "2026-11-23"
NO_DATE = ("", "", "")


@pytest.mark.parametrize(
    ("title", "text", "found"),
    [
        # The period of a report is not its date.
        ("Annual report 2025", "Held on 3 May 2024.", ("", "", "2025")),
        (
            "Annual report 2023",
            "Published 4 April 2024. Good.",
            ("2024-04-04", "publication", "2023"),
        ),
        (
            "Q3 2025 fleet results",
            "Prepared by A. Ames, 4 October 2025",
            ("2025-10-04", "document", "2025-Q3"),
        ),
        ("Memo", "Date: 05/17/2026\nRe: 1Q26 sales", ("2026-05-17", "document", "2026-Q1")),
        ("Launch", "It is planned for Q4 2026.", NO_DATE),
        (
            "Rapport, 1er semestre 2026",
            "Lyon, le 20 juillet 2026",
            ("2026-07-20", "document", "2026-H1"),
        ),
        (
            "Umsatz 2. Quartal 2026",
            "Erstellt am 14.07.2026 von Udo",
            ("2026-07-14", "document", "2026-Q2"),
        ),
        ("Verkoopcijfers, derde kwartaal 2025", "", ("", "", "2025-Q3")),
        (
            "Informe, primer trimestre de 2026",
            "Elaborado el 3 de mayo de 2026",
            ("2026-05-03", "document", "2026-Q1"),
        ),
        ("2025年年度报告", "发布日期：2026年3月28日", ("2026-03-28", "publication", "2025")),
        (
            "Accounts",
            "Year ended 31 March 2025\nSigned 4 June 2025",
            ("2025-06-04", "document", "2024-04/2025-03"),
        ),
        (
            "Bericht 2024/25",
            "Geschäftsjahr von Oktober 2024 bis September 2025.",
            ("", "", "2024-10/2025-09"),
        ),
        ("Season 2026/27", "", ("", "", "2026/2027")),
        ("Roadmap 2028", "", ("", "", "2028")),
        ("Monthly report May 2026", "", ("", "", "2026-05")),
        # The date that the document states as its own.
        (
            "Dress policy (2022)",
            "Superseded by the policy of 2 October 2024.",
            ("2022", "document", ""),
        ),
        ("Tariff", "Valid from 1 March 2027.", ("2027-03-01", "in_force", "")),
        ("Prices", "Effective date: 1 May 2026", ("2026-05-01", "in_force", "")),
        (
            "Heat plan",
            "Heat plan, version 1\nMay 2024. Level 1 is called at 32 degrees.",
            ("2024-05", "document", ""),
        ),
        ("Handbuch", "Version 3.0 vom 2. Mai 2026", ("2026-05-02", "document", "")),
        (
            "Minutes",
            "Board, 3 November 2026. The fee rises from 1 January 2027.",
            ("2026-11-03", "document", ""),
        ),
        ("Report on the fire of 3 May 2026", "Date: 8 June 2026", ("2026-06-08", "document", "")),
        (
            "Beschluss vom 3. Mai 2026",
            "Veröffentlicht am 5. Mai 2026.",
            ("2026-05-03", "document", ""),
        ),
        (
            "Study",
            "Received 3 March 2024. First published online 9 June 2024.",
            ("2024-06-09", "publication", ""),
        ),
        (
            "Notice",
            "Posted by the crew.\n" * 40 + "\nLast updated: 4 May 2026",
            ("2026-05-04", "publication", ""),
        ),
        ("Register", "Situation au 31 décembre 2025", ("2025-12-31", "as_of", "")),
        (
            "Resolution",
            "On 5 March 2026 the board closed the pier.",
            ("2026-03-05", "document", ""),
        ),
        (
            "取締役会議事録",
            "2026年4月10日、取締役会は埠頭を閉じた。",
            ("2026-04-10", "document", ""),
        ),
        ("Roster, 05/06/2025", "Crew: six.", NO_DATE),
        ("Roster, 05/06/2025", "Leeds, United Kingdom. Crew: six.", ("2025-06-05", "document", "")),
        ("Roster, 05/06/2025", "Next on 06/20/2025.", ("2025-05-06", "document", "")),
        ("Compte rendu, 05/06/2025", "Présents : tous.", ("2025-06-05", "document", "")),
        # A date of the subject is not the document's date.
        (
            "The lamp",
            "It was lit on 3 May 1999 and out in 2021. The keeper left on 4 June 2014.",
            NO_DATE,
        ),
        ("The pier", "In May 2025: 312 visitors.", NO_DATE),
        (
            "The book",
            "Hemingway published it on 3 May 2001. The book was published on 4 May 2001.",
            NO_DATE,
        ),
        ("Anna Berg", "Anna Berg (3 May 1961 – 4 June 2019) was a painter.", NO_DATE),
        ("Offer", "Valid until 31 October 2026. Next meeting: 2 October 2026", NO_DATE),
        ("2014 Harbour Cup", "The cup was sailed off the pier.", NO_DATE),
        ("Accord", "The accord entered into force on 3 May 1998.", NO_DATE),
    ],
)
def test_a_document_has_the_date_and_period_that_it_states(
    title: str, text: str, found: tuple[str, str, str]
) -> None:
    assert dated(title, "a.md", text, TODAY) == found


def test_the_kind_of_a_date_says_where_it_was_found() -> None:
    report = dated("Plant report", "plant_report_2025.md", "Plant report, 31 March 2025", TODAY)
    assert report == ("2025-03-31", "document", "2025")
    assert parse(b"The pier is closed.", "log_2025-08-09.txt").date_kind == "file_name"
    assert (
        parse(b"---\npublished: 2026-02-17\n---\nThe pier is closed.", "a.md").date_kind
        == "publication"
    )
    assert (
        parse(
            b"From: a@b.example\nDate: Fri, 06 Jun 2025 10:20:00 +0200\n\nYes.", "a.eml"
        ).date_kind
        == "document"
    )
    assert (
        parse(b"Tariff from 2026-05-01;;\nBoat;Fee;Unit\nGig;3;EUR", "a.csv").date_kind
        == "in_force"
    )
    page = b"<h1>Pier</h1><p>It is closed.</p><footer>Page last updated: 2 May 2026.</footer>"
    found = parse(page, "pier.html", address="https://pier.example/", today=TODAY)
    assert (found.date, found.date_kind) == ("2026-05-02", "publication")


def test_documents_are_ordered_by_their_date_or_the_end_of_their_period() -> None:
    assert time_of("2026-05-03", "2025") == "2026-05-03"
    periods = ("2025-Q1", "2025-05", "2025-07/2026-06", "2024/2035", "")
    expected = ["2025", "2025-05", "2026-06", "2024", ""]
    assert [time_of("", period) for period in periods] == expected
