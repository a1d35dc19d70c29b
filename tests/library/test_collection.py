"""Questions in three languages over a collection with versions, reprints and a conflict, each asked by a whole run."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from docx import Document
from kit.files import Papers
from openpyxl import Workbook
from pptx import Presentation

from deep_research import Answer, research
from deep_research.core.evidence.citations.labels import all_labels
from deep_research_evaluation.wording import cited_numbers, contains_answer, lead

COLLECTION = Path(__file__).parents[1] / "collection"
DOCUMENTS = COLLECTION / "documents"
QUESTIONS = COLLECTION / "questions.jsonl"

TRAVEL = (
    ("Fahrtkosten", "Für Fahrten mit dem eigenen Wagen werden 0,38 Euro je Kilometer erstattet. Bahnfahrten werden in "
     "der zweiten Klasse bezahlt, ab fünf Stunden in der ersten."),
    ("Tagegeld", "Das Tagegeld beträgt 28 Euro für einen vollen Tag. An Bord der Tordalk wird kein Tagegeld gezahlt."),
    ("Fristen", "Der Antrag ist binnen sechs Wochen nach der Reise zu stellen."),
    ("Geltung", "Diese Ordnung gilt ab dem 1. Juli 2025 und ersetzt die Fassung vom 1. Februar 2023."),
)  # fmt: skip
HANDBOOK = (
    ("Before you sail", "Send the list of your equipment to the mate four weeks before the cruise. Bring boots with "
     "steel caps; everything else that is worn on deck is lent by the ship."),
    ("Cabins", "Scientists sleep in seven double cabins on the lower deck. Sheets are changed on Sundays."),
    ("Alarm", "The muster station of the scientific party is the mess on the main deck. A drill is held within "
     "twenty-four hours of sailing."),
)  # fmt: skip
MINUTES = (
    ("Anwesend", "Brock, Brandis, Renedo, Wickmann. Entschuldigt: Solvang."),
    ("Probenlager", "Okke Brandis gibt die Schlüssel zum Probenlager ab sofort gegen Unterschrift aus."),
    ("Rosette", "Die Ersatzrosette kommt erst im April, weil ein Ventil nachgeliefert werden muss."),
)
WINCHES = (
    ("Winch", "Wire length (m)", "Safe working load (t)", "Last load test"),
    ("Port hydrographic winch", 3000, 2.5, "2025-06-10"),
    ("Starboard hydrographic winch", 4000, 2.5, "2025-06-11"),
    ("Deep-sea cable winch", 8200, 7.5, "2024-11-28"),
    ("Capstan", 120, 1.2, "2025-06-11"),
)
OPEN_DAY = (
    ("Open day at Hall 3", ("Saturday, 18 April 2026, from 10 to 16", "Entrance is free.")),
    ("The core store", ("The core store holds 1,310 sediment cores.", "Paula Renedo shows how a core is split.")),
    ("The ship", ("RV Tordalk lies at the quay.", "Guided tours every half hour.")),
)


def write_collection(folder: Path) -> Path:
    """The whole collection."""
    shutil.copytree(DOCUMENTS, folder)
    _write_docx(
        folder / "verwaltung" / "reisekostenordnung-2025.docx", "Reisekostenordnung", datetime(2025, 6, 20), TRAVEL
    )
    _write_docx(folder / "ship" / "handbook.docx", "Handbook for the scientific party", datetime(2025, 3, 9), HANDBOOK)
    _write_docx(
        folder / "protokolle" / "protokoll-2026-01-20.docx",
        "Protokoll der Sitzung vom 20. Januar 2026",
        datetime(2026, 1, 21),
        MINUTES,
    )
    _write_xlsx(folder / "labs" / "winches.xlsx")
    _write_pptx(folder / "web" / "open-day.pptx")
    return folder


def _write_docx(file: Path, title: str, date: datetime, sections: tuple[tuple[str, str], ...]) -> None:
    document = Document()
    document.core_properties.title = title
    document.core_properties.created = document.core_properties.modified = date
    document.add_heading(title, 1)
    for heading, text in sections:
        document.add_heading(heading, 2)
        document.add_paragraph(text)
    document.save(str(file))


def _write_xlsx(file: Path) -> None:
    book = Workbook()
    book.properties.title = "Winches of RV Tordalk"
    book.properties.modified = datetime(2025, 6, 30, tzinfo=UTC)
    sheet = book.active
    sheet.title = "Winches"
    for row in WINCHES:
        sheet.append(row)
    book.save(file)


def _write_pptx(file: Path) -> None:
    deck = Presentation()
    deck.core_properties.title = "Open day 2026"
    deck.core_properties.modified = datetime(2026, 2, 16)
    for heading, lines in OPEN_DAY:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(lines)
    deck.save(str(file))


pytestmark = pytest.mark.slow

ASKED: list[dict[str, Any]] = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
OPEN = {
    "old-before": "a time before a year",
    "old-word-de": "a word for an older version",
    "version-archive-de": "nothing but the name of a folder tells which document is in force",
}
"""Questions that are not answered as they should be yet, and what they turn on."""


class Collection(NamedTuple):
    """The collection, indexed, and the reports on its questions."""

    papers: Papers
    answers: dict[str, Answer]

    def ask(self, question: str) -> Answer:
        return research(question, docs=(self.papers.docs,), models="extractive", engines=(), data_dir=self.papers.data)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("collection")
    papers = Papers(write_collection(folder / "documents"), folder / "data")
    asked = Collection(papers, {})
    asked.answers.update((question["id"], asked.ask(question["question"])) for question in ASKED)
    return asked


def questions(**wanted: bool) -> list[Any]:
    """The questions that have, or have not, these fields."""
    chosen = [question for question in ASKED if all(bool(question.get(name)) == has for name, has in wanted.items())]
    return [pytest.param(question, id=question["id"]) for question in chosen]


def all_but(*still_open: str, **wanted: bool) -> list[Any]:
    """The same; these are expected to fail."""
    marks = {name: [pytest.mark.xfail(reason=OPEN[name])] for name in still_open}
    return [
        pytest.param(*question.values, id=question.id, marks=marks.get(str(question.id), []))
        for question in questions(**wanted)
    ]


def cited(answer: Answer, text: str) -> list[str]:
    """The documents that a part of a report cites, by their paths in the collection."""
    paths = [source.location.rpartition("/documents/")[2] for source in answer.sources]
    return [paths[number - 1] for number in sorted(cited_numbers(text))]


@pytest.mark.fault(50)
@pytest.mark.parametrize("question", all_but("old-before", answers=True))
def test_a_report_begins_with_the_answer_and_cites_the_documents_that_are_needed(
    collection: Collection, question: dict[str, Any]
) -> None:
    text = collection.answers[question["id"]].report.text
    if question.get("wants_all"):
        assert [answer for answer in question["answers"] if not contains_answer(text, [answer])] == []
    else:
        assert contains_answer(lead(text), question["answers"])
    assert set(question.get("gold_docs", ())) <= set(cited(collection.answers[question["id"]], text))


@pytest.mark.parametrize("question", questions(answers=False))
def test_a_question_that_the_documents_do_not_answer_is_not_answered(
    collection: Collection, question: dict[str, Any]
) -> None:
    text = collection.answers[question["id"]].report.text
    assert text.startswith(tuple(words.unanswered for words in all_labels().values()))


@pytest.mark.parametrize("question", all_but("old-before", "old-word-de", "version-archive-de", outdated=True))
def test_the_version_that_is_asked_for_is_told_before_any_other(
    collection: Collection, question: dict[str, Any]
) -> None:
    text = collection.answers[question["id"]].report.text
    assert contains_answer(text, question["answers"])
    assert not contains_answer(text.partition(" [")[0], question["outdated"])


def test_of_two_reprints_one_is_cited(collection: Collection) -> None:
    answer = collection.answers["reprint"]
    reprints = {"web/press-release-multibeam.html", "web/harbour-gazette.html"}
    assert len(reprints.intersection(cited(answer, answer.report.text))) == 1
