"""The command `python -m deep_research_evaluation`."""

from __future__ import annotations

import asyncio
import os
import sys
from io import TextIOWrapper
from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False, readable=True)
_OUT = click.Path(path_type=Path, file_okay=False)
FAILED, REFUSED, INTERRUPTED = 1, 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Measure how well questions are answered.

    Exit codes: 0 done, 1 some questions failed (the same command goes on with them), 2 wrong call
    or setting, 130 stopped (the same command goes on).
    """


@cli.command("closed-corpus")
@click.option(
    "--corpus",
    type=_FOLDER,
    required=True,
    help="Folder with the documents; nothing else is searched.",
)
@click.option(
    "--questions",
    type=_FILE,
    required=True,
    help="JSON lines with `id` and `question`; where they are known also `answers`, `gold_docs`, `answer_docs`, "
    "`answerable`, and `source`, `hops`, `kind` for groups.",
)
@click.option(
    "--unanswerable",
    type=_FILE,
    help="More such lines, whose questions the documents do not answer.",
)
@click.option("--out", type=_OUT, required=True, help="Folder for the results.")
@click.option(
    "--model", default="extractive", show_default=True, help="Model that researches and writes."
)
@click.option(
    "--strategy",
    type=click.Choice(["orchestrated", "planned"]),
    default="orchestrated",
    show_default=True,
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Questions at the same time; without it one a processor core.",
)
@click.option(
    "--sample",
    "share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Ask a random share of the questions only: 0.5 is half of them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which random share.")
def closed_corpus(
    corpus: Path,
    questions: Path,
    unanswerable: Path | None,
    out: Path,
    model: str,
    strategy: str,
    jobs: int | None,
    share: float,
    seed: int,
) -> int:
    """Ask questions over a folder, and measure the reports.

    Into --out go reports/ID.md and .json, rows.jsonl (a line a question), summary.md and
    summary.json.
    """
    # Imported late, because it takes long and --help does not need it.
    from deep_research_evaluation.closed_corpus import evaluate
    from deep_research_evaluation.questions import read_questions, sample
    from deep_research_evaluation.reports import Settings

    chosen = sample(read_questions(questions, unanswerable), share, seed)
    if out.resolve().is_relative_to(corpus.resolve()):
        raise click.UsageError(
            f"--out {out} lies in the corpus, where reports would be taken for documents."
        )
    settings = Settings.model_validate(
        {"corpus": corpus.resolve(), "model": model, "strategy": strategy}
    )
    return FAILED if evaluate(chosen, settings, out, jobs or os.cpu_count() or 1) else 0


@cli.command()
@click.argument("run_a", type=_FOLDER)
@click.argument("run_b", type=_FOLDER)
def compare(run_a: Path, run_b: Path) -> int:
    """Compare two runs question by question: RUN_A and RUN_B are their --out folders."""
    from deep_research_evaluation.compare import render_comparison
    from deep_research_evaluation.summary import read_rows

    click.echo(render_comparison(read_rows(run_a), read_rows(run_b), (str(run_a), str(run_b))))
    return 0


@cli.command()
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=_OUT, required=True, help="Folder for the results.")
@click.option(
    "--model", default="extractive", show_default=True, help="Model that judges and corrects."
)
@click.option(
    "--verify", type=click.Choice(["check", "repair"]), default="check", show_default=True
)
@click.option(
    "--trust-verifier", is_flag=True, help="Use the model without testing its judgement first."
)
def checks(folder: Path, out: Path, model: str, verify: str, trust_verifier: bool) -> int:
    """Check the reports of FOLDER against their documents, and write the results.

    FOLDER has `reports/NAME.md`, each with a list of sources, and the documents in `corpora/NAME/`.
    Its file `requests.jsonl`, if there is one, names for each `report` the `request` and the `date`.
    Beside each report, `NAME.verdicts.jsonl` has a line for each unit of the draft: its shown text
    and its proof.
    """
    from deep_research import Context
    from deep_research_evaluation.checks import check_reports
    from deep_research_evaluation.reports import write_text

    context = Context.model_validate(
        {
            "models": {"verifier": model, "writer": model},
            "verify": verify,
            "trust_verifier": trust_verifier,
        }
    )
    out.mkdir(parents=True, exist_ok=True)
    for check in asyncio.run(check_reports(folder, context)):
        write_text(out / check.name, check.text)
        write_text((out / check.name).with_suffix(".verdicts.jsonl"), check.verdicts)
        audit = check.report.audit
        click.echo(
            f"{check.name}: {audit.marked} marked, {audit.corrected} corrected, {audit.input_tokens} tokens read"
        )
        for failure in audit.failures:
            click.echo(f"  {failure}")
    return 0


@cli.command()
@click.argument("folder", type=_FOLDER)
def revisions(folder: Path) -> int:
    """Extend, follow up and edit the reports of FOLDER with a scripted model, and count what is lost.

    FOLDER is as for `checks`. Exit code 1 if anything is lost.
    """
    from deep_research_evaluation.revisions import edit_reports, edits_table, revise_reports

    found = asyncio.run(revise_reports(folder))
    for text in found:
        click.echo(
            f"{text.name}: {text.sentences} sentences, {text.added} added, {text.lost_by_additions} lost by that, "
            f"{text.lost_by_follow_up} by a follow-up"
        )
    edited = asyncio.run(edit_reports(folder))
    click.echo(f"\n{edits_table(edited)}")
    is_lost = any(text.lost_by_additions or text.lost_by_follow_up for text in found)
    for edit in edited:
        if not edit.is_whole:
            is_lost = True
            click.echo(
                f"{edit.name}, {edit.kind}: {edit.changed} blocks changed, {edit.lost} statements "
                f"and {edit.lost_citations} citations lost"
            )
    return FAILED if is_lost else 0


@cli.command()
@click.argument("paths", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
@click.option("--per-report", is_flag=True, help="Print a line per report, too.")
def markers(paths: tuple[Path, ...], per_report: bool) -> int:
    """Count the citations of reports from elsewhere that `deep-research check` understands.

    PATHS are reports (Markdown, HTML, Word), folders of these, and JSON lines with `id` and
    `report`.
    """
    from deep_research_evaluation.markers import count_markers

    counted = asyncio.run(count_markers(paths))
    for report in counted:
        if per_report:
            named = "; ".join(report.not_understood)
            click.echo(
                f"{report.name}: {report.resolved} resolved, {report.without_address} without "
                f"address, not understood: {named or 'nothing'}"
            )
    resolved = sum(report.resolved for report in counted)
    without = sum(report.without_address for report in counted)
    unknown = sum(len(report.not_understood) for report in counted)
    click.echo(
        f"{len(counted)} reports: {resolved} citations resolved, {without} without address, "
        f"{unknown} not understood"
    )
    return 0


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all facts.")
@click.option(
    "--planted",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the cells in which the model hands in a wrong value.",
)
@click.option("--out", type=_OUT, help="Folder for the reports.")
def tables(names: tuple[str, ...], seed: int, planted: float, out: Path | None) -> int:
    """Run requests for tables with a scripted model, and compare the tables with the gold.

    NAMES are of requests: grants, lights, ferries, museums, dams, vessels, festivals and gauges
    over a web on loopback, contracts, invoices, minutes and products over folders; all of them
    without any. Exit code 1 if a cell is wrong and not marked.
    """
    from deep_research_evaluation.reports import write_text
    from deep_research_evaluation.tables.run import run_requests, runs_table

    runs = asyncio.run(run_requests(names, seed, planted))
    click.echo(runs_table(runs))
    for run in runs:
        for cell in run.score.wrong:
            click.echo(f"{run.name}: {cell}")
        if out:
            write_text(out / f"{run.name}.md", run.text)
    return FAILED if any(run.score.wrong for run in runs) else 0


def main() -> None:
    """Run the command; a mistake of the user ends in one line, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Ids may contain any character, also one that the terminal cannot show.
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(prog_name="python -m deep_research_evaluation", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped; the same command goes on.", err=True)
        code = INTERRUPTED
    except OSError as error:
        click.echo(
            f"Error: {error.filename or type(error).__name__}: {error.strerror or error}.", err=True
        )
        code = REFUSED
    sys.exit(code)


if __name__ == "__main__":
    main()
