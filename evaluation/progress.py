"""Tells on standard error how far an evaluation is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deep_research.evaluation.asking import Outcome
from deep_research.evaluation.tables import cell

STEPS = 10
"""Lines that tell how far a long task is."""


class Lines:
    """Plain lines, for a pipe or a log."""

    def __enter__(self) -> Self:
        """Nothing has to be prepared."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing has to be put away."""

    def say(self, words: str) -> None:
        """Tell something once."""
        click.echo(words, err=True)

    def indexed(self, done: int, total: int) -> None:
        """So many documents are indexed."""
        if done == total or done % max(1, total // STEPS) == 0:
            self.say(f"documents indexed: {done} of {total}")

    def asked(self, outcome: Outcome, done: int, total: int) -> None:
        """A question is done."""
        self.say(f"{done} of {total}: {cell(outcome.question.id)}: {_came_of(outcome)}")


class Bar(Lines):
    """A bar that moves; what failed is told above it."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._documents = self._progress.add_task("documents indexed", total=None, visible=False)
        self._questions = self._progress.add_task("questions asked", total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        self._progress.stop()

    def say(self, words: str) -> None:
        """Tell something once, above the bar."""
        self._progress.console.print(escape(words), highlight=False)

    def indexed(self, done: int, total: int) -> None:
        """So many documents are indexed."""
        self._progress.update(self._documents, completed=done, total=total, visible=done < total)

    def asked(self, outcome: Outcome, done: int, total: int) -> None:
        """A question is done."""
        if outcome.error:
            self.say(f"{cell(outcome.question.id)}: {_came_of(outcome)}")
        self._progress.update(self._questions, completed=done, total=total)


def progress_view() -> Lines:
    """The view that fits standard error."""
    return Bar() if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else Lines()


def _came_of(outcome: Outcome) -> str:
    if outcome.report is None:
        return f"failed: {cell(outcome.error)}"
    return f"{'answered' if outcome.report.answered else 'no answer'}, {outcome.report.seconds:.1f} s"
