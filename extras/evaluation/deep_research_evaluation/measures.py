"""The measures of a report's quality, given the known answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from deep_research_evaluation.questions import Question
from deep_research_evaluation.reports import Report
from deep_research_evaluation.wording import (
    cited_numbers,
    contains_answer,
    lead,
    passages,
    without_markers,
    without_question,
    words_of,
)

Figures = dict[str, float]
"""Figures of a report by measure key; a measure is missing if the question lacks the data for it.
"""


class Measure(NamedTuple):
    """A measure."""

    key: str
    title: str
    is_share: bool
    """Whether it is shown in percent."""
    better: Literal["more", "less", "neither"]
    """Direction of an improvement."""


MEASURES = (
    Measure("answer", "Answer found", True, "more"),
    Measure("answer_in_lead", "Answer in the first 120 words", True, "more"),
    Measure(
        "answer_grounded", "Answer in a passage that cites a document stating it", True, "more"
    ),
    Measure("gold_recall", "Gold documents cited", True, "more"),
    Measure("all_gold", "All gold documents cited", True, "more"),
    Measure("precision", "Cited documents that are gold", True, "more"),
    Measure(
        "abstained_rightly",
        "Says of an unanswerable question that there is no answer",
        True,
        "more",
    ),
    Measure("abstained_wrongly", "Says so of an answerable question", True, "less"),
    Measure("abstained", "Says so of a question of which it is not known", True, "neither"),
    Measure("cited", "Documents cited", False, "neither"),
    Measure("words", "Words", False, "neither"),
    Measure("seconds", "Seconds", False, "less"),
)
BY_KEY = {measure.key: measure for measure in MEASURES}
_OF_ABSTENTION = {True: "abstained_wrongly", False: "abstained_rightly", None: "abstained"}


def measure_report(question: Question, report: Report | None) -> Figures:
    """Return the figures of a report; without a report nothing was found."""
    figures = dict(_gold_figures(question, report))
    figures[_OF_ABSTENTION[question.is_answerable]] = float(
        report is not None and not report.answered
    )
    if report:
        cited, words = len(_cited(report)), len(words_of(report.text))
        figures |= {"cited": float(cited), "words": float(words), "seconds": report.seconds}
    return figures


def _gold_figures(question: Question, report: Report | None) -> Iterator[tuple[str, float]]:
    if question.is_answerable is False:
        return
    text = without_question(report.text, question.question) if report else ""
    if question.answers:
        yield "answer", float(contains_answer(without_markers(text), question.answers))
        yield "answer_in_lead", float(contains_answer(lead(text), question.answers))
    if question.answers and question.gold_docs:
        yield "answer_grounded", float(_is_grounded(text, question, report))
    if question.gold_docs:
        gold, cited = set(question.gold_docs), _cited(report)
        yield "gold_recall", len(gold & cited) / len(gold)
        yield "all_gold", float(gold <= cited)
        yield "precision", len(gold & cited) / max(1, len(cited))


def _cited(report: Report | None) -> set[str]:
    """Return the documents that the text cites."""
    numbers = cited_numbers(report.text) if report else set()
    return {source.path for source in report.sources if source.n in numbers} if report else set()


def _is_grounded(text: str, question: Question, report: Report | None) -> bool:
    stating = set(question.answer_docs or question.gold_docs)
    numbers = {source.n for source in report.sources if source.path in stating} if report else set()
    return any(
        numbers & cited_numbers(passage)
        and contains_answer(without_markers(passage), question.answers)
        for passage in passages(text)
    )
