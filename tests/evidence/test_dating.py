"""The date of a document, its kind, and the period that the document reports on."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.dating import dated
from deep_research.core.reading.documents.worker import parse
from deep_research.core.records.sources import time_of

TODAY = "2026-11-23"


@pytest.mark.parametrize(
    ("title", "name", "text", "found"),
    [
        ("Annual report 2025", "a.md", "Held on 3 May 2024.", ("", "", "2025")),
        ("Annual report 2023", "a.md", "Published 4 April 2024. Good.", ("2024-04-04", "publication", "2023")),
        ("Q3 2025 fleet results", "f.md", "Prepared by A. Ames, 4 October 2025", ("2025-10-04", "document", "2025-Q3")),
        ("Memo", "m.md", "Date: 05/17/2026\nRe: 1Q26 sales", ("2026-05-17", "document", "2026-Q1")),
        ("Launch", "l.md", "It is planned for Q4 2026.", ("", "", "")),
        (
            "Rapport d'activité, 1er semestre 2026",
            "r.md",
            "Lyon, le 20 juillet 2026",
            ("2026-07-20", "document", "2026-H1"),
        ),
        ("Umsatz 2. Quartal 2026", "u.md", "Erstellt am 14.07.2026 von Udo", ("2026-07-14", "document", "2026-Q2")),
        ("Verkoopcijfers, derde kwartaal 2025", "v.md", "", ("", "", "2025-Q3")),
        (
            "Informe, primer trimestre de 2026",
            "i.md",
            "Elaborado el 3 de mayo de 2026",
            ("2026-05-03", "document", "2026-Q1"),
        ),
        ("2025年年度报告", "n.md", "发布日期：2026年3月28日", ("2026-03-28", "publication", "2025")),
        (
            "Annual accounts",
            "c.md",
            "For the year ended 31 March 2025\nSigned 4 June 2025",
            ("2025-06-04", "document", "2024-04/2025-03"),
        ),
        (
            "Bericht 2024/25",
            "b.md",
            "Das Geschäftsjahr läuft von Oktober 2024 bis September 2025.",
            ("", "", "2024-10/2025-09"),
        ),
        ("Season 2026/27", "s.md", "", ("", "", "2026/2027")),
        ("Roadmap 2028", "r.md", "", ("", "", "2028")),
        ("Plant report", "plant_report_2025.md", "Plant report, 31 March 2025", ("2025-03-31", "document", "2025")),
        ("Monthly report May 2026", "m.md", "", ("", "", "2026-05")),
    ],
)
def test_the_period_of_a_report_is_not_its_date(title: str, name: str, text: str, found: tuple[str, str, str]) -> None:
    assert dated(title, name, text, TODAY) == found


@pytest.mark.parametrize(
    ("title", "text", "found"),
    [
        ("Dress policy (2022)", "Superseded by the policy of 2 October 2024.", ("2022", "document", "")),
        ("Tariff", "Valid from 1 March 2027.", ("2027-03-01", "in_force", "")),
        ("Prices", "Effective date: 1 May 2026", ("2026-05-01", "in_force", "")),
        ("Heat plan", "Heat plan, version 1\nMay 2024. Level 1 is called at 32 degrees.", ("2024-05", "document", "")),
        ("Handbuch", "Version 3.0 vom 2. Mai 2026", ("2026-05-02", "document", "")),
        ("Minutes", "Board, 3 November 2026. The fee rises from 1 January 2027.", ("2026-11-03", "document", "")),
        ("Report on the fire of 3 May 2026", "Date: 8 June 2026", ("2026-06-08", "document", "")),
        ("Beschluss vom 3. Mai 2026", "Veröffentlicht am 5. Mai 2026.", ("2026-05-03", "document", "")),
        ("Study", "Received 3 March 2024. First published online 9 June 2024.", ("2024-06-09", "publication", "")),
        ("Notice", "Posted by the crew.\n" * 40 + "\nLast updated: 4 May 2026", ("2026-05-04", "publication", "")),
        ("Register", "Situation au 31 décembre 2025", ("2025-12-31", "as_of", "")),
        ("Resolution", "On 5 March 2026 the board closed the pier.", ("2026-03-05", "document", "")),
        ("取締役会議事録", "2026年4月10日、取締役会は埠頭を閉じた。", ("2026-04-10", "document", "")),
        ("Roster, 05/06/2025", "Crew: six.", ("", "", "")),
        ("Roster, 05/06/2025", "Leeds, United Kingdom. Crew: six.", ("2025-06-05", "document", "")),
        ("Roster, 05/06/2025", "Next on 06/20/2025.", ("2025-05-06", "document", "")),
        ("Compte rendu, 05/06/2025", "Présents : tous.", ("2025-06-05", "document", "")),
    ],
)
def test_a_document_has_the_date_that_it_states(title: str, text: str, found: tuple[str, str, str]) -> None:
    assert dated(title, "a.md", text, TODAY) == found


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The lamp", "It was lit on 3 May 1999 and out in 2021. The keeper left on 4 June 2014."),
        ("The pier", "In May 2025: 312 visitors."),
        ("The book", "Hemingway published it on 3 May 2001. The book was published on 4 May 2001."),
        ("Anna Berg", "Anna Berg (3 May 1961 – 4 June 2019) was a painter."),
        ("Offer", "Valid until 31 October 2026. Next meeting: 2 October 2026"),
        ("2014 Harbour Cup", "The cup was sailed off the pier."),
        ("Accord", "The accord entered into force on 3 May 1998."),
    ],
)
def test_a_date_of_the_subject_is_not_the_documents_date(title: str, text: str) -> None:
    assert dated(title, "a.md", text, TODAY) == ("", "", "")


def test_the_kind_of_a_date_says_where_it_was_found() -> None:
    assert parse(b"The pier is closed.", "log_2025-08-09.txt").date_kind == "file_name"
    assert parse(b"---\npublished: 2026-02-17\n---\nThe pier is closed.", "a.md").date_kind == "publication"
    assert parse(b"From: a@b.example\nDate: Fri, 06 Jun 2025 10:20:00 +0200\n\nYes.", "a.eml").date_kind == "document"
    assert parse(b"Tariff from 2026-05-01;;\nBoat;Fee;Unit\nGig;3;EUR", "a.csv").date_kind == "in_force"
    page = b"<h1>Pier</h1><p>It is closed.</p><footer>Page last updated: 2 May 2026.</footer>"
    found = parse(page, "pier.html", address="https://pier.example/", today=TODAY)
    assert (found.date, found.date_kind) == ("2026-05-02", "publication")


@pytest.mark.parametrize(
    ("date", "period", "time"),
    [
        ("2026-05-03", "2025", "2026-05-03"),
        ("", "2025-Q1", "2025"),
        ("", "2025-05", "2025-05"),
        ("", "2025-07/2026-06", "2026-06"),
        ("", "", ""),
    ],
)
def test_documents_are_ordered_by_their_date_or_the_end_of_their_period(date: str, period: str, time: str) -> None:
    assert time_of(date, period) == time
