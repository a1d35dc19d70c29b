"""Asks questions over the corpus in several processes and returns the reports."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from deep_research import errors, research
from deep_research_evaluation.questions import Question
from deep_research_evaluation.reports import Cited, Report, Settings


class Outcome(NamedTuple):
    """The outcome of a question."""

    question: Question
    report: Report | None = None
    """None if it failed."""
    markdown: str = ""
    """The report as readers see it."""
    error: str = ""
    """Why there is no report, in one line."""
    is_hopeless: bool = False
    """Whether every question would fail like this until the user changes a setting."""


def ask(question: Question, settings: Settings) -> Outcome:
    """Research a question in the corpus only; errors are recorded in the outcome."""
    begin = time.perf_counter()
    try:
        answer = research(
            question.question,
            settings.strategy,
            docs=(settings.corpus,),
            models=settings.model,
            engines=(),
        )
    except errors.QuestionRefused as error:
        return Outcome(question, error=str(error))
    except errors.UserMistake as error:
        return Outcome(question, error=str(error), is_hopeless=True)
    except Exception as error:  # noqa: BLE001 - the other questions go on
        return Outcome(question, error=errors.failure_of(error))
    sources = [
        Cited(
            n=source.number, path=path_below(settings.corpus, source.location), title=source.title
        )
        for source in answer.sources
    ]
    report = Report(
        id=question.id,
        question=question.question,
        seconds=round(time.perf_counter() - begin, 3),
        text=answer.report.text,
        sources=tuple(sources),
    )
    return Outcome(question, report, answer.markdown)


def path_below(corpus: Path, location: str) -> str:
    """Return the path of a document relative to the corpus, from its URI; any other URI as it is."""
    base = f"{corpus.as_uri().rstrip('/')}/"
    return unquote(location.removeprefix(base)) if location.startswith(base) else location


def outcomes(questions: Sequence[Question], settings: Settings, jobs: int) -> Iterator[Outcome]:
    """Yield the outcomes of the questions as they finish; leaving early ends the processes."""
    # Spawned: threads and open databases of this process do not survive a fork.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_parent)
    try:
        with _ctrl_c_ignored():
            asked = {pool.submit(ask, question, settings): question for question in questions}
        for future in as_completed(asked):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield Outcome(asked[future], error="a process was killed; the same command goes on")
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when its parent ends, even in the middle of a question."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C from the start; their parent decides when they end."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
