"""Puts one question to the corpus and brings back the report; what the processes of an evaluation do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
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


END_SECONDS = 5.0
"""Seconds that a process has to end before it is killed."""


def outcomes(questions: Sequence[Question], settings: Settings, jobs: int) -> Iterator[Outcome]:
    """What comes of the questions, in the order in which they are done; leaving early ends the processes."""
    waiting = deque(questions)
    crew = [_Process(settings) for _ in range(min(jobs, len(questions)))]
    try:
        while True:
            for process in crew:
                if process.question is None and waiting:
                    process.give(waiting.popleft())
            busy = [process for process in crew if process.question]
            if not busy:
                return
            heard = wait([process.connection for process in busy])
            for process in busy:
                if process.connection in heard:
                    yield process.take()
    finally:
        for process in crew:
            process.end()


class _Process:
    """A process that answers one question at a time; begun anew if it breaks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.question: Question | None = None
        """What it is at work on."""
        self._begin()

    def give(self, question: Question) -> None:
        self.question = question
        try:
            self.connection.send(question)
        except OSError:
            # The question before has ended it, or somebody has since; this one has no part in it.
            self._begin()
            self.connection.send(question)

    def take(self) -> Outcome:
        question, self.question = self.question, None
        assert question is not None
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            return Outcome(question, error=f"the process at work on it ended (exit code {self.end()})")
        return outcome

    def end(self) -> int | None:
        self.connection.close()
        self._process.terminate()
        self._process.join(END_SECONDS)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return self._process.exitcode

    def _begin(self) -> None:
        # Spawned: threads and open databases of this process do not survive a fork.
        spawn = multiprocessing.get_context("spawn")
        self.connection, inner = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(inner, self._settings), daemon=True)
        with _deaf_to_ctrl_c():
            self._process.start()
        # Whoever holds the other end hears when this one is gone.
        inner.close()


def serve(connection: Connection, settings: Settings) -> None:
    """Answer questions until there are none, or nobody is there to ask."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        connection.send(ask(question, settings))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A process that is begun within ignores Ctrl-C from its first moment: who began it decides when it ends."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
