"""The command `closed-corpus`: asks a set of questions and measures the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from pydantic import ValidationError
from pydantic_settings import SettingsError

from deep_research import Context, Library, errors
from deep_research.evaluation.asking import Outcome
from deep_research.evaluation.baseline import Baseline, markdown_of, open_baseline
from deep_research.evaluation.gold import find_gold
from deep_research.evaluation.measures import Figures, judge
from deep_research.evaluation.mistakes import Mistake, first_fault
from deep_research.evaluation.processes import outcomes
from deep_research.evaluation.progress import Lines, progress_view
from deep_research.evaluation.questions import Question
from deep_research.evaluation.reports import Report, Settings, Shelf, claim_folder, file_name, write_text
from deep_research.evaluation.rows import Row, write_rows
from deep_research.evaluation.summary import summarize
from deep_research.evaluation.tables import cell, summary_page


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
