"""The command `python -m deep_research.evaluation`."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path

import click

FAILED = 1
"""Exit code where a question has no report."""
REFUSED = 2
"""Exit code of a call or setting that has to change."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Measure how well questions are answered.

    Exit codes: 0 done, 1 some questions failed (the same command goes on with them), 2 wrong call or setting, 130
    stopped (the same command goes on).
    """


@cli.command("closed-corpus")
@click.option("--corpus", type=_FOLDER, required=True, help="Folder with the documents; nothing else is searched.")
@click.option(
    "--questions",
    type=_FILE,
    required=True,
    help="JSON lines with `id` and `question`; where they are known also `answers`, `gold_docs`, `answer_docs`, "
    "`answerable`, and `source`, `hops`, `kind` for groups.",
)
@click.option("--unanswerable", type=_FILE, help="More such lines, whose questions the documents do not answer.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the results.")
@click.option("--model", default="extractive", show_default=True, help="Model that researches and writes.")
@click.option("--strategy", type=click.Choice(["orchestrated", "planned"]), default="orchestrated", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Questions at the same time; without it one a processor core.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Ask a random share of the questions only: 0.5 is half of them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which random share.")
@click.option("--rest", is_flag=True, help="Ask those questions that --sample leaves out.")
@click.option("--limit", type=click.IntRange(1), help="Ask the first questions only.")
@click.option("--baseline/--no-baseline", default=True, show_default=True, help="Measure plain BM25 beside it.")
@click.option("--fresh", is_flag=True, help="Write reports anew that are there; without it they are kept.")
def closed_corpus(
    corpus: Path,
    questions: Path,
    unanswerable: Path | None,
    out: Path,
    model: str,
    strategy: str,
    jobs: int | None,
    sample: float,
    seed: int,
    rest: bool,
    limit: int | None,
    baseline: bool,
    fresh: bool,
) -> int:
    """Ask questions over a folder, and measure the reports.

    Into --out go reports/ID.md and .json, rows.jsonl (a line a question), summary.md and summary.json.
    """
    # What researches takes long to import, and help does without it.
    from deep_research.evaluation.closed_corpus import Plan, evaluate
    from deep_research.evaluation.questions import Mistake, Sample, choose, read_questions
    from deep_research.evaluation.reports import Settings

    chosen = choose(read_questions(questions, unanswerable), Sample(sample, seed, rest, limit))
    if out.resolve().is_relative_to(corpus.resolve()):
        raise Mistake(f"--out {out} lies in the corpus, where the reports would be taken for documents: name another.")
    settings = Settings.model_validate({"corpus": corpus.resolve(), "model": model, "strategy": strategy})
    plan = Plan(settings, out, jobs or os.cpu_count() or 1, fresh, baseline)
    return FAILED if evaluate(chosen, plan) else 0


@cli.command()
@click.argument("run_a", type=_FOLDER)
@click.argument("run_b", type=_FOLDER)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the comparison to this file too.")
def compare(run_a: Path, run_b: Path, out: Path | None) -> int:
    """Compare two runs question by question: RUN_A and RUN_B are their --out folders."""
    from deep_research.evaluation.compare import comparison_page
    from deep_research.evaluation.questions import Mistake
    from deep_research.evaluation.reports import write_text
    from deep_research.evaluation.summary import read_rows

    page = comparison_page(read_rows(run_a), read_rows(run_b), (str(run_a), str(run_b)))
    if out:
        try:
            write_text(out, page)
        except OSError as error:
            raise Mistake(f"--out {out}: it cannot be written: {error.strerror}.") from error
    click.echo(page)
    return 0


@cli.command("checks")
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the results.")
@click.option("--model", default="extractive", show_default=True, help="Model that judges and corrects.")
@click.option("--verify", type=click.Choice(["check", "repair"]), default="check", show_default=True)
def checks(folder: Path, out: Path, model: str, verify: str) -> int:
    """Check the reports of FOLDER against their documents, and write what becomes of them.

    FOLDER has `reports/NAME.md`, each with a list of sources, and the documents in `corpora/NAME/`.
    """
    import asyncio

    from deep_research import Context
    from deep_research.evaluation.checks import check_reports
    from deep_research.evaluation.reports import write_text

    context = Context(models={"verifier": model, "writer": model}, verify=verify)  # type: ignore[arg-type] # checked above
    out.mkdir(parents=True, exist_ok=True)
    for one in asyncio.run(check_reports(folder, context)):
        write_text(out / one.name, one.text)
        audit = one.report.audit
        click.echo(f"{one.name}: {audit.marked} marked, {audit.repaired} corrected, {audit.input_tokens} tokens read")
    return 0


@cli.command("judge")
@click.argument("folder", type=_FOLDER)
@click.option("--port", type=click.IntRange(1, 65535), default=8799, show_default=True)
@click.option("--noise", type=click.FloatRange(0, 1), default=0.0, help="Share of the verdicts that are wrong.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which ones.")
@click.option("--strict", is_flag=True, help="A source that bears out only a part is not enough.")
@click.option("--by-passage", is_flag=True, help="What is not shown is not known.")
def judge(folder: Path, port: int, noise: float, seed: int, strict: bool, by_passage: bool) -> int:
    """Serve a model that knows the labels of FOLDER, which has them in `units.jsonl`, for `checks`.

    Set OPENAI_BASE_URL to http://127.0.0.1:PORT/v1 and name the model openai:gpt-4o, which is not tried out first.
    """
    from deep_research.evaluation.checks import load

    server = load(folder)
    server.serve(server.Judge([folder], noise, seed, strict, by_passage), port, None)
    return 0


def main() -> None:
    """Run the command; a mistake of the user ends in one line, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Ids may hold any character, also one that the terminal lacks.
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(prog_name="python -m deep_research.evaluation", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped; the same command goes on.", err=True)
        code = INTERRUPTED
    except OSError as error:
        click.echo(f"Error: {error.filename or type(error).__name__}: {error.strerror or error}.", err=True)
        code = REFUSED
    sys.exit(code)


if __name__ == "__main__":
    main()
