"""The command `closed-corpus`: asks a set of questions and measures the reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import click
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deep_research import Context, Library, errors
from deep_research.evaluation.asking import Outcome, outcomes
from deep_research.evaluation.baseline import Baseline, markdown_of, open_baseline
from deep_research.evaluation.measures import Figures, judge
from deep_research.evaluation.questions import Mistake, Question, find_gold, first_fault
from deep_research.evaluation.reports import Report, Settings, Shelf, claim_folder, file_name, write_text
from deep_research.evaluation.summary import Row, cell, summarize, summary_page, write_rows

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


class Plan(NamedTuple):
    """What an evaluation does."""

    settings: Settings
    out: Path
    jobs: int
    """Processes at work at the same time."""
    is_fresh: bool
    """Whether reports that are there are written anew."""
    has_baseline: bool


def evaluate(questions: Sequence[Question], plan: Plan) -> int:
    """Ask the questions that have no report yet, measure all, write and print the summary; returns how many failed.

    Raises `Mistake` where an option or a setting has to change.
    """
    shelf = claim_folder(plan.out, plan.settings, plan.is_fresh)
    with progress_view() as view:
        questions = _with_gold(questions, plan.settings.corpus, view)
        library = _indexed(plan.settings.corpus, view)
        found = _reports(questions, shelf, plan, view)
        with _baseline(library, plan) as baseline:
            rows = [_row(question, found[question.id], baseline, plan.out) for question in questions]
    write_rows(plan.out, rows)
    settings = {**plan.settings.model_dump(mode="json"), "jobs": plan.jobs}
    summary = summarize(rows, settings)
    page = summary_page(summary)
    write_text(plan.out / "summary.json", json.dumps(summary.data(), ensure_ascii=False, indent=2) + "\n")
    write_text(plan.out / "summary.md", page)
    click.echo(page)
    return len(summary.failed)


def _with_gold(questions: Sequence[Question], corpus: Path, view: Lines) -> Sequence[Question]:
    """The questions with the documents that are there; tells which are not: perhaps this is another corpus."""
    gold = find_gold(questions, corpus)
    if gold.found_below:
        name, path = next(iter(gold.found_below.items()))
        count = len(gold.found_below)
        view.say(
            f"{count} of {gold.named} gold documents lie deeper than named; the first: {cell(name)} is {cell(path)}"
        )
    if gold.missing:
        first = f"{cell(gold.missing[0].path)} of question {cell(gold.missing[0].question)}"
        view.say(
            f"{len(gold.missing)} of {gold.named} gold documents are not in the corpus; the first: {first}. What is "
            f"cited is not measured for {gold.unmeasured} of {len(questions)} questions."
        )
    return gold.questions


def _indexed(corpus: Path, view: Lines) -> Library:
    """The documents, indexed once so that no process has to."""
    try:
        library = Library(Context(docs=(corpus,)))
        status = library.refresh(view.indexed)
    except errors.UserMistake as error:
        raise Mistake(str(error)) from error
    except ValidationError as error:
        raise Mistake(f"A setting in the environment is wrong: {first_fault(error)}.") from error
    except SettingsError as error:
        raise Mistake(f"A setting in the environment is wrong: {error}.") from error
    if status.left_out:
        first = status.left_out[0]
        view.say(f"{len(status.left_out)} files cannot be read; the first: {first.path}: {first.reason}")
    return library


def _reports(questions: Sequence[Question], shelf: Shelf, plan: Plan, view: Lines) -> dict[str, Outcome]:
    """What came of each question, now or before."""
    kept = {one.id: Outcome(one, shelf.read(one.id, one.question)) for one in questions}
    found = {key: outcome for key, outcome in kept.items() if outcome.report}
    if found:
        view.say(f"{len(found)} of {len(questions)} reports are kept from before; --fresh writes all anew.")
    missing = [one for one in questions if one.id not in found]
    for outcome in outcomes(missing, plan.settings, plan.jobs):
        if outcome.is_hopeless:
            raise Mistake(outcome.error)
        if outcome.report:
            shelf.write(outcome.report, outcome.markdown)
        found[outcome.question.id] = outcome
        view.asked(outcome, len(found), len(questions))
    return found


@contextmanager
def _baseline(library: Library, plan: Plan) -> Iterator[Baseline | None]:
    if not plan.has_baseline:
        yield None
        return
    with open_baseline(library, plan.settings.corpus) as baseline:
        yield baseline


def _row(question: Question, outcome: Outcome, baseline: Baseline | None, out: Path) -> Row:
    return Row(
        id=question.id,
        is_answerable=question.is_answerable,
        groups=question.groups,
        report=file_name(question.id),
        error=outcome.error,
        run=judge(question, outcome.report),
        baseline=_beside(question, baseline, Shelf(out / "baseline")) if baseline else None,
    )


def _beside(question: Question, baseline: Baseline, shelf: Shelf) -> Figures:
    report: Report = baseline.report(question.id, question.question)
    shelf.write(report, markdown_of(report))
    return judge(question, report)
