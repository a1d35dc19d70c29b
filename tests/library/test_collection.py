"""Questions in three languages over a collection with versions, reprints and a conflict, each asked by a whole run."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from collection_files import QUESTIONS, write_collection
from shelf import Place

from deep_research import Answer, research
from deep_research.core.evidence.citations.labels import all_labels
from deep_research_evaluation.wording import cited_numbers, contains_answer, lead

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

    place: Place
    answers: dict[str, Answer]

    def ask(self, question: str) -> Answer:
        return research(question, docs=(self.place.docs,), models="extractive", engines=(), data_dir=self.place.data)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("collection")
    place = Place(write_collection(folder / "documents"), folder / "data")
    asked = Collection(place, {})
    asked.answers.update((question["id"], asked.ask(question["question"])) for question in ASKED)
    return asked


def questions(**wanted: bool) -> list[Any]:
    """The questions that have, or have not, these fields."""
    chosen = [one for one in ASKED if all(bool(one.get(name)) == has for name, has in wanted.items())]
    return [pytest.param(one, id=one["id"]) for one in chosen]


def all_but(*still_open: str, **wanted: bool) -> list[Any]:
    """The same; these are expected to fail."""
    marks = {name: [pytest.mark.xfail(reason=OPEN[name])] for name in still_open}
    return [pytest.param(*one.values, id=one.id, marks=marks.get(str(one.id), [])) for one in questions(**wanted)]


def cited(answer: Answer, text: str) -> list[str]:
    """The documents that a part of a report cites, by their paths in the collection."""
    paths = [source.location.rpartition("/documents/")[2] for source in answer.sources]
    return [paths[number - 1] for number in sorted(cited_numbers(text))]


@pytest.mark.fault(50)
@pytest.mark.parametrize("question", all_but("old-before", answers=True))
def test_a_report_begins_with_the_answer(collection: Collection, question: dict[str, Any]) -> None:
    text = collection.answers[question["id"]].report.text
    if question.get("wants_all"):
        assert [answer for answer in question["answers"] if not contains_answer(text, [answer])] == []
    else:
        assert contains_answer(lead(text), question["answers"])


@pytest.mark.parametrize("question", all_but("old-before", answers=True))
def test_a_report_cites_the_documents_that_are_needed(collection: Collection, question: dict[str, Any]) -> None:
    answer = collection.answers[question["id"]]
    assert set(question.get("gold_docs", ())) <= set(cited(answer, answer.report.text))


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
