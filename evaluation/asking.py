"""Puts one question to the corpus and brings back the report; what the processes of an evaluation do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from deep_research import Answer, errors, research
from deep_research.evaluation.questions import Question
from deep_research.evaluation.reports import Cited, Report, Settings


class Outcome(NamedTuple):
    """What came of a question."""

    question: Question
    report: Report | None = None
    """None if it failed."""
    markdown: str = ""
    """The report as a reader gets it."""
    error: str = ""
    """Why there is none, in one line."""
    is_hopeless: bool = False
    """Whether every other question would fail alike, until the user changes a setting."""


def ask(question: Question, settings: Settings) -> Outcome:
    """Research a question in the corpus alone; whatever goes wrong is told in the outcome."""
    begin = time.perf_counter()
    try:
        answer = research(
            question.question, settings.strategy, docs=(settings.corpus,), models=settings.model, engines=()
        )
    except errors.QuestionRefused as error:
        return Outcome(question, error=str(error))
    except errors.UserMistake as error:
        return Outcome(question, error=str(error), is_hopeless=True)
    except Exception as error:  # noqa: BLE001 - a question that fails is told among the others, which go on
        return Outcome(question, error=errors.failure_of(error))
    report = _report(question, answer, settings.corpus, time.perf_counter() - begin)
    return Outcome(question, report, answer.markdown)


def _report(question: Question, answer: Answer, corpus: Path, seconds: float) -> Report:
    sources = [
        Cited(n=number, path=path_below(corpus, source.location), title=source.title)
        for number, source in enumerate(answer.sources, 1)
    ]
    return Report(
        id=question.id,
        question=question.question,
        seconds=round(seconds, 3),
        text=answer.report.text,
        sources=tuple(sources),
    )


def path_below(corpus: Path, location: str) -> str:
    """The path of a document relative to the corpus, from its URI; the URI as it is if it is none of the corpus."""
    base = f"{corpus.as_uri().rstrip('/')}/"
    return unquote(location.removeprefix(base)) if location.startswith(base) else location
