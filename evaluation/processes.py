"""Answers questions in several processes at once, none of which outlives its work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait

from deep_research.evaluation.asking import Outcome, ask
from deep_research.evaluation.questions import Question
from deep_research.evaluation.reports import Settings

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
