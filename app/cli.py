"""The command `deep-research`."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

import click

Format = Literal["md", "json"]
"""How a report is printed."""

DONE = 0
FAILED = 1
"""Exit code of a run that failed and can be resumed."""
REFUSED = 2
"""Exit code of a call or setting that has to change."""
WAITING = 3
"""Exit code of a run that waits for an answer."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""

DATA_DIR = click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Folder for runs and document indexes."
)
FORMAT = click.option(
    "--format",
    "output_format",
    type=click.Choice(["md", "json"]),
    default="md",
    show_default=True,
    help="Output format.",
)
OUT = click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="deep-research", message="%(version)s")
def cli() -> None:
    """Research a question; get a report in which every citation can be opened.

    The report goes to standard output, progress to standard error.

    Exit codes: 0 done, 1 failed (resume goes on), 2 wrong call or setting, 3 waiting for an answer, 130 stopped.

    Every setting can also be given in the environment as DEEP_RESEARCH_<NAME>.
    """


@cli.command()
@click.argument("question")
@click.option(
    "--docs", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder to search (repeatable)."
)
@click.option(
    "--attach", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="File to search (repeatable)."
)
@click.option("--no-web", is_flag=True, help="Search your documents only (this version has no web search yet).")
@click.option("--strategy", type=click.Choice(["orchestrated"]), default="orchestrated", show_default=True)
@click.option("--model", metavar="NAME", help="Model for all roles: `extractive`, which needs no key and no network.")
@click.option("--thread", metavar="NAME", help="Name of the run; a known name continues its conversation.")
@click.option("--yes", is_flag=True, help="Never ask back; state assumptions in the report.")
@click.option("--review-plan", is_flag=True, help="Show the plan for approval first.")
@click.option("--limit", multiple=True, metavar="NAME=VALUE", help="Set a limit, e.g. max_cycles=4 (repeatable).")
@OUT
@FORMAT
@DATA_DIR
def ask(question: str, out: Path | None, output_format: Format, **options: Any) -> int:
    """Research QUESTION and print the report."""
    from deep_research.app.commands import ask_question
    from deep_research.app.delivery import Output

    return ask_question(question, output=Output(out, output_format), **options)


@cli.command()
@click.argument("thread")
@click.option("--answer", default="", help="Answer to what the run asks.")
@OUT
@FORMAT
@DATA_DIR
def resume(thread: str, answer: str, out: Path | None, output_format: Format, data_dir: Path | None) -> int:
    """Go on with a run that was stopped, or answer one that waits."""
    from deep_research.app.commands import resume_run
    from deep_research.app.delivery import Output

    return resume_run(thread, answer=answer, data_dir=data_dir, output=Output(out, output_format))


@cli.command()
@DATA_DIR
def runs(data_dir: Path | None) -> int:
    """List all runs, the latest first."""
    from deep_research.app.commands import list_runs

    return list_runs(data_dir)


@cli.command()
@click.argument("thread")
@FORMAT
@DATA_DIR
def show(thread: str, output_format: Format, data_dir: Path | None) -> int:
    """Show a run: plan, research, report."""
    from deep_research.app.commands import show_run

    return show_run(thread, output_format, data_dir)


@cli.command()
@OUT
@FORMAT
@DATA_DIR
def demo(out: Path | None, output_format: Format, data_dir: Path | None) -> int:
    """Show a run on the reference of Python; no key, no network."""
    from deep_research.app.commands import run_demo
    from deep_research.app.delivery import Output

    return run_demo(data_dir, Output(out, output_format))


def main() -> None:
    """Run the command; a mistake of the user ends in one line, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that lacks a character shows a question mark; the report is not lost for it.
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        click.echo("Stopped before anything began.", err=True)
        code = INTERRUPTED
    sys.exit(code)
