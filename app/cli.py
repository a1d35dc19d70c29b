"""The command `deep-research`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

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

    Exit codes: 0 done, 1 failed (resume goes on), 2 wrong call or setting, 3 waiting for an answer, 130 stopped.
    Every setting can also be given in the environment as DEEP_RESEARCH_<NAME>.
    """


@cli.command()
@click.argument("question")
@click.option("--docs", multiple=True, type=click.Path(path_type=Path), help="Folder to search (repeatable).")
@click.option("--attach", multiple=True, type=click.Path(path_type=Path), help="File to search as well (repeatable).")
@click.option("--no-web", is_flag=True, help="Search your documents only (this version has no web search yet).")
@click.option("--strategy", type=click.Choice(["orchestrated"]), default="orchestrated", show_default=True)
@click.option("--model", help="Model for all roles; `extractive` needs no key and no network.")
@click.option("--thread", help="Name of the run; a known name continues its conversation.")
@click.option("--yes", is_flag=True, help="Never ask back; state assumptions in the report.")
@click.option("--review-plan", is_flag=True, help="Show the plan for approval first.")
@click.option("--limit", multiple=True, metavar="NAME=VALUE", help="Set a limit, e.g. max_cycles=4 (repeatable).")
@OUT
@FORMAT
@DATA_DIR
def ask(question: str, **options: Any) -> None:
    """Research QUESTION and print the report."""
    from deep_research.app.commands import ask_question

    ask_question(question, **options)


@cli.command()
@click.argument("thread")
@click.option("--answer", default="", help="Answer to what the run asks.")
@OUT
@FORMAT
@DATA_DIR
def resume(thread: str, **options: Any) -> None:
    """Go on with a run that was stopped, or answer one that waits."""
    from deep_research.app.commands import resume_run

    resume_run(thread, **options)


@cli.command()
@DATA_DIR
def runs(data_dir: Path | None) -> None:
    """List all runs, the latest first."""
    from deep_research.app.commands import list_runs

    list_runs(data_dir)


@cli.command()
@click.argument("thread")
@FORMAT
@DATA_DIR
def show(thread: str, output_format: str, data_dir: Path | None) -> None:
    """Show a run: plan, research, report."""
    from deep_research.app.commands import show_run

    show_run(thread, output_format, data_dir)


@cli.command()
@OUT
@FORMAT
def demo(out: Path | None, output_format: str) -> None:
    """Answer a question about Python from its own language reference; no key, no network."""
    from deep_research.app.commands import run_demo

    run_demo(out, output_format)


def main() -> None:
    """Run the command; a mistake of the user ends in one line, never in a traceback."""
    import sys

    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)
