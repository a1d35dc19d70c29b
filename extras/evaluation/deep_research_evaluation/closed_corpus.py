"""The command `closed-corpus`: asks a set of questions and measures the reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from pydantic import ValidationError
from pydantic_settings import SettingsError

from deep_research import Context, Library, errors
from deep_research_evaluation.asking import Outcome, outcomes
from deep_research_evaluation.baseline import Baseline, open_baseline, render_report
from deep_research_evaluation.measures import measure_report
from deep_research_evaluation.questions import (
    Question,
    first_fault,
    missing_documents,
    without_documents,
)
from deep_research_evaluation.reports import (
    ReportFolder,
    Settings,
    file_name,
    open_reports,
    write_text,
)
from deep_research_evaluation.summary import Row, cell, render_summary, summarize, write_rows


def evaluate(questions: Sequence[Question], settings: Settings, out: Path, jobs: int) -> int:
    """Ask the questions that have no report yet, measure all, and write and print the summary.

    Returns how many failed. Raises `UsageError` where an option or a setting has to change.
    """
    reports = open_reports(out, settings)
    questions = _with_known_documents(questions, settings.corpus)
    library = _open_library(settings.corpus)
    found = _ask_missing(questions, reports, settings, jobs)
    with open_baseline(library, settings.corpus) as baseline:
        beside = ReportFolder(out / "baseline")
        rows = [_row(question, found[question.id], baseline, beside) for question in questions]
    write_rows(out, rows)
    summary = summarize(rows, {**settings.model_dump(mode="json"), "jobs": jobs})
    page = render_summary(summary)
    write_text(out / "summary.json", summary.model_dump_json(indent=2) + "\n")
    write_text(out / "summary.md", page)
    click.echo(page)
    return len(summary.failed)


def _with_known_documents(questions: Sequence[Question], corpus: Path) -> list[Question]:
    """Return the questions without missing gold documents, and print which are missing."""
    missing = missing_documents(questions, corpus)
    if missing:
        path, question = next(iter(missing.items()))
        _say(
            f"{len(missing)} gold documents are not in the corpus; the first: {cell(path)} of question "
            f"{cell(question)}. What is cited is not measured for the questions that name them."
        )
    return [without_documents(question, {*missing}) for question in questions]


def _open_library(corpus: Path) -> Library:
    """Return the documents, indexed once for all processes."""
    try:
        library = Library(Context(docs=(corpus,)))
        status = library.refresh()
    except errors.UserMistake as error:
        raise click.UsageError(str(error)) from error
    except ValidationError as error:
        raise click.UsageError(
            f"A setting in the environment is wrong: {first_fault(error)}."
        ) from error
    except SettingsError as error:
        raise click.UsageError(f"A setting in the environment is wrong: {error}.") from error
    if status.left_out:
        first = status.left_out[0]
        _say(
            f"{len(status.left_out)} files cannot be read; the first: {first.path}: {first.reason}"
        )
    return library


def _ask_missing(
    questions: Sequence[Question], reports: ReportFolder, settings: Settings, jobs: int
) -> dict[str, Outcome]:
    """Return the outcome of each question, from this run or an earlier one."""
    kept = {
        question.id: Outcome(question, report)
        for question in questions
        if (report := reports.read(question.id, question.question))
    }
    if kept:
        _say(f"{len(kept)} of {len(questions)} reports are kept from before.")
    found = dict(kept)
    for outcome in outcomes(
        [question for question in questions if question.id not in kept], settings, jobs
    ):
        if outcome.is_hopeless:
            raise click.UsageError(outcome.error)
        if outcome.report:
            reports.write(outcome.report, outcome.markdown)
        found[outcome.question.id] = outcome
        _say(f"{len(found)} of {len(questions)}: {cell(outcome.question.id)}: {_result(outcome)}")
    return found


def _result(outcome: Outcome) -> str:
    if outcome.report is None:
        return f"failed: {cell(outcome.error)}"
    return (
        f"{'answered' if outcome.report.answered else 'no answer'}, {outcome.report.seconds:.1f} s"
    )


def _row(question: Question, outcome: Outcome, baseline: Baseline, beside: ReportFolder) -> Row:
    plain = baseline.report(question.id, question.question)
    beside.write(plain, render_report(plain))
    return Row(
        id=question.id,
        is_answerable=question.is_answerable,
        groups=question.groups,
        report=file_name(question.id),
        error=outcome.error,
        run=measure_report(question, outcome.report),
        baseline=measure_report(question, plain),
    )


def _say(text: str) -> None:
    click.echo(text, err=True)
