"""Whole runs over collections: versions, reprints, a conflict, and quotations that stand in the
files they open."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from kit.files import quotations, stands_in_its_file
from openpyxl import Workbook
from pptx import Presentation

from deep_research import Answer, Context, build_graph, research
from deep_research.app.commands import DOCUMENTS, QUESTION
from deep_research_evaluation.wording import cited_numbers, contains_answer, lead

COLLECTION = Path(__file__).parents[1] / "collection"


def write_collection(folder: Path) -> Path:
    """The whole collection, with the office documents made from `office.json`."""
    shutil.copytree(COLLECTION / "documents", folder)
    office = json.loads((COLLECTION / "office.json").read_text("utf-8"))
    for text in office["word"]:
        document = Document()
        document.core_properties.title = text["title"]
        document.core_properties.created = datetime.fromisoformat(text["date"])
        document.core_properties.modified = document.core_properties.created
        document.add_heading(text["title"], 1)
        for heading, paragraph in text["sections"].items():
            document.add_heading(heading, 2)
            document.add_paragraph(paragraph)
        document.save(str(folder / text["path"]))
    book = Workbook()
    book.properties.title = "Winches of RV Tordalk"
    book.properties.modified = datetime(2025, 6, 30, tzinfo=UTC)
    book.active.title = "Winches"
    for row in office["winches"]:
        book.active.append(row)
    book.save(folder / "labs" / "winches.xlsx")
    deck = Presentation()
    deck.core_properties.title = "Open day 2026"
    deck.core_properties.modified = datetime(2026, 2, 16)
    for heading, lines in office["open_day"].items():
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(lines)
    deck.save(str(folder / "web" / "open-day.pptx"))
    return folder


pytestmark = pytest.mark.slow

ASKED: list[dict[str, Any]] = [
    json.loads(line) for line in (COLLECTION / "questions.jsonl").read_text("utf-8").splitlines()
]
OPEN = {
    "old-before": "a time before a year",
    "old-edition": "an older edition that is asked for does not come before the newest",
    "old-word-de": "a word for an older version",
    "reprint": "the answer shares no word with the question",
    "version-archive-de": "nothing but the name of a folder tells which document is in force",
}
"""Questions that are not answered as they should be yet, and what they turn on."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """The answers to all questions, by id."""
    folder = tmp_path_factory.mktemp("collection")
    docs, data_dir = write_collection(folder / "documents"), folder / "data"
    settings: dict[str, Any] = {
        "docs": (docs,),
        "models": "extractive",
        "engines": (),
        "data_dir": data_dir,
    }
    return {question["id"]: research(question["question"], **settings) for question in ASKED}


def questions(*still_open: str, **wanted: bool) -> list[Any]:
    """The questions that have, or have not, these fields; those that are still open are expected to
    fail."""
    chosen = [
        question
        for question in ASKED
        if all(bool(question.get(name)) == has for name, has in wanted.items())
    ]
    marks = {name: [pytest.mark.xfail(reason=OPEN[name])] for name in still_open}
    return [
        pytest.param(question, id=question["id"], marks=marks.get(question["id"], []))
        for question in chosen
    ]


def cited(answer: Answer, text: str) -> list[str]:
    """The documents that a part of a report cites, by their paths in the collection."""
    paths = [source.location.rpartition("/documents/")[2] for source in answer.sources]
    return [paths[number - 1] for number in sorted(cited_numbers(text))]


@pytest.mark.fault(50)
@pytest.mark.parametrize("question", questions("old-before", "reprint", answers=True))
def test_a_report_begins_with_the_answer_and_cites_the_documents_that_are_needed(
    answers: dict[str, Answer], question: dict[str, Any]
) -> None:
    text = answers[question["id"]].report.text
    if question.get("wants_all"):
        assert [
            answer for answer in question["answers"] if not contains_answer(text, [answer])
        ] == []
    else:
        assert contains_answer(lead(text), question["answers"])
    assert set(question.get("gold_docs", ())) <= set(cited(answers[question["id"]], text))


@pytest.mark.parametrize(
    "question",
    questions("old-before", "old-word-de", "old-edition", "version-archive-de", outdated=True),
)
def test_the_requested_version_is_quoted_before_any_other(
    answers: dict[str, Answer], question: dict[str, Any]
) -> None:
    text = answers[question["id"]].report.text
    assert contains_answer(text, question["answers"])
    assert not contains_answer(text.partition(" [")[0], question["outdated"])


def test_of_two_reprints_one_is_cited(answers: dict[str, Answer]) -> None:
    answer = answers["reprint"]
    reprints = {"web/press-release-multibeam.html", "web/harbour-gazette.html"}
    assert len(reprints.intersection(cited(answer, answer.report.text))) == 1


QUESTIONS = 3


async def report_on(question: str, folder: Path, data: Path) -> str:
    context = Context(docs=(folder,), models="extractive", data_dir=data, clarify="assume")
    result = await build_graph().ainvoke({"messages": [("user", question)]}, context=context)
    return str(result["messages"][-1].text)


async def test_the_demo_cites_at_least_three_documents_and_each_sentence_is_found_in_its_own(
    tmp_path: Path,
) -> None:
    found = quotations(await report_on(QUESTION, DOCUMENTS, tmp_path / "data"))
    assert len(found) >= 5
    assert len({quotation.path for quotation in found}) >= 3
    assert [quotation for quotation in found if not stands_in_its_file(quotation)] == []


async def test_reports_over_four_kinds_of_files_quote_what_stands_there(
    shared_data: Path, tmp_path: Path
) -> None:
    kept, corpus = shared_data / "multihop", tmp_path / "corpus"
    lines = (kept / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:QUESTIONS]
    asked = [json.loads(line) for line in lines]
    # An eighth of the documents, and what the questions need: to index all takes most of the time.
    shutil.copytree(kept / "corpus" / "00", corpus / "00")
    for name in [name for question in asked for name in question["gold_docs"]]:
        (corpus / name).parent.mkdir(exist_ok=True)
        shutil.copy(kept / "corpus" / name, corpus / name)
    for question in asked:
        found = quotations(await report_on(question["question"], corpus, tmp_path / "data"))
        assert found, question
        assert [quotation for quotation in found if not stands_in_its_file(quotation)] == []
