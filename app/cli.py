"""The command `deep-research`: its options, and which function carries out each command."""

from __future__ import annotations

import gc
import logging
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

import click

from ..core.run.env_file import load_env_file
from .words import INTERRUPTED, NOTHING_BEGAN, REFUSED, STRATEGIES, Evidence, ExportFormat, Format

if TYPE_CHECKING:
    from .check_file import CheckFormat
    from .commands import Outlet
    from .terminal import Output


MODEL = click.option(
    "--model",
    metavar="NAME",
    help="Model for all roles: `openai:NAME` at OpenAI or the server of OPENAI_BASE_URL, another provider's by "
    "`PROVIDER:NAME`, or `extractive`, which needs no key and no network.",
)
LIMIT = click.option(
    "--limit",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a limit, e.g. max_cycles=4 (repeatable); `deep-research limits` lists all.",
)
NO_TRACE = click.option(
    "--no-trace", is_flag=True, help="Send no prompts and passages to the tracing that the environment switches on."
)
OPTIONS = (
    click.option("--docs", multiple=True, type=click.Path(), metavar="DIR", help="Folder to search (repeatable)."),
    click.option("--attach", multiple=True, type=click.Path(), metavar="FILE", help="File to search (repeatable)."),
    click.option("--no-web", is_flag=True, help="Search your documents only."),
    click.option(
        "--engine",
        multiple=True,
        metavar="NAME",
        help="Search by this engine (repeatable; the results of several are fused): tavily, brave, exa, serper, "
        "searxng, duckduckgo, wikipedia, arxiv, openalex, crossref, europepmc, one that a package adds, or a LangChain "
        "retriever or tool as package.module:Class. Without: Tavily if TAVILY_API_KEY is set, else DuckDuckGo unless "
        "documents are given.",
    ),
    click.option(
        "--domain", multiple=True, metavar="NAME", help="Search and read this domain of the web only (repeatable)."
    ),
    click.option(
        "--not-domain", multiple=True, metavar="NAME", help="Leave this domain of the web alone (repeatable)."
    ),
    click.option(
        "--mix-private",
        is_flag=True,
        help="Let web queries use words that only your documents say (a limited number); without, they are left out.",
    ),
    click.option(
        "--no-open-copies", is_flag=True, help="Ask nobody for copies of closed papers and pages that are gone."
    ),
    click.option("--earlier", is_flag=True, help="Search what your finished runs have read, too."),
    click.option("--after", metavar="YYYY-MM-DD", help="Leave out web pages that are known to be older."),
    click.option(
        "--language", metavar="NAME", help="Language of the report, by its name or code. Without: that of the question."
    ),
    click.option(
        "--verify",
        type=click.Choice(["off", "check", "repair"]),
        help="Hold each sentence of the report against its sources: not at all, only to mark those that are not "
        "supported, or to mend them first (the default).",
    ),
    MODEL,
    click.option("--window", metavar="TOKENS", help="Tokens that the model reads, where that is not known."),
    click.option(
        "--allow-small-window", is_flag=True, help="Run a model that reads less than 50 000 tokens, down to 8 000."
    ),
    click.option(
        "--small",
        type=click.Choice(["auto", "on", "off"]),
        help="Ask the model for little at once: facts, short forms, few rounds. Without: where it seems to need that.",
    ),
    LIMIT,
    NO_TRACE,
)
GARBAGE = (50_000, 50)
"""New objects from which on the youngest are searched for garbage, and such searches until older ones are, too."""
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
REPORT_FORMAT = click.option(
    "--format",
    "output_format",
    type=click.Choice(["md", "json"]),
    help="Output format: the report as text, or with its sources as data. Without it, what the name of the file says,"
    " as for `export` (there .json is the whole run), else md.",
)
JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print packets as JSON lines in place of progress and report."
)
STANDARD_OUTPUT = Path("-")
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the report to this file; `-`: print it.",
)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that are settings of a run."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="deep-research", message="%(version)s")
@click.option(
    "--log",
    type=click.File("a", encoding="utf-8"),
    help="Append the log to this file: what failed, with tracebacks, and what a run decides.",
)
def cli(log: TextIO | None) -> None:
    """Research a question; get a report in which every citation can be opened.

    The report goes to standard output, progress to standard error.

    Exit codes: 0 done, 1 failed (resume goes on), 2 wrong call or setting, 3 waiting for an answer, 4 at work in
    another process, 130 stopped.

    Every setting can also be given in the environment as DEEP_RESEARCH_<NAME>, or in a file .env of the working
    directory, which also takes OPENAI_API_KEY and the like.
    """
    if fault := load_env_file():
        click.echo(f"Error: {fault}", err=True)
        click.get_current_context().exit(REFUSED)
    if log:
        logging.basicConfig(stream=log, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("deep_research").setLevel(logging.INFO)


@cli.command()
@click.argument("question", nargs=-1, required=True)
@with_settings
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="How a new run works: orchestrated (the default; rounds of research until nothing is missing) or planned (a "
    "plan of steps, carried out within max_seconds_planned).",
)
@click.option(
    "--depth",
    type=click.Choice(["quick", "standard", "deep", "auto"]),
    help="How much the question is worth: quick (one search, two calls of models), standard (the default), deep (wider "
    "limits), or auto (quick for a small question, else standard).",
)
@click.option("--thread", metavar="NAME", help="Name of the run; a known name continues its conversation.")
@click.option("--yes", is_flag=True, help="Never ask back; state assumptions in the report.")
@click.option("--review-plan", is_flag=True, help="Show the plan for approval first.")
@click.option(
    "--estimate",
    "is_estimate",
    is_flag=True,
    help="Make the plan only, and tell what it will cost: calls, tokens, money, time. `resume` carries it out.",
)
@OUT
@REPORT_FORMAT
@JSON
@DATA_DIR
def ask(
    question: tuple[str, ...], out: Path | None, output_format: Format | None, as_json: bool, **options: Any
) -> int:
    """Research QUESTION and print the report."""
    if len(question) > 1:
        raise click.UsageError(f'Put the question in quotes: deep-research ask "{" ".join(question)}" …')
    if options["yes"] and options["review_plan"]:
        raise click.UsageError("--yes and --review-plan exclude each other: one never asks, the other asks.")
    outlet = _outlet(out, output_format, as_json)
    from .commands import ask_question

    return ask_question(question[0], outlet=outlet, **options)


@cli.command()
@click.argument("thread")
@click.argument("words", required=False, default="")
@click.option("--answer", default="", help="Answer to what the run asks; WORDS does the same.")
@click.option(
    "--from-last-good",
    is_flag=True,
    help="Drop what is stored of the run and cannot be read, and go on from what was stored before it.",
)
@MODEL
@LIMIT
@NO_TRACE
@OUT
@REPORT_FORMAT
@JSON
@DATA_DIR
def resume(
    thread: str, words: str, answer: str, out: Path | None, output_format: Format | None, as_json: bool, **options: Any
) -> int:
    """Go on with a run that was stopped, or answer one that waits.

    WORDS are the answer, or what the researchers of a stopped run should mind from now on.
    """
    if words and answer:
        raise click.UsageError("WORDS and --answer say the same: give one of them.")
    outlet = _outlet(out, output_format, as_json)
    from .commands import resume_run

    return resume_run(thread, answer=words or answer, outlet=outlet, **options)


@cli.command()
@DATA_DIR
def runs(data_dir: Path | None) -> int:
    """List all runs, the latest first."""
    from .stored import list_runs

    return list_runs(data_dir)


@cli.command()
@click.argument("words")
@DATA_DIR
def search(words: str, data_dir: Path | None) -> int:
    """Search what your finished runs have read: passages with their sources, the best first."""
    from .stored import search_runs

    return search_runs(words, data_dir)


@cli.command()
@click.argument("thread")
@FORMAT
@click.option("--json", "as_json", is_flag=True, help="Print its packets as JSON lines, as they were emitted.")
@DATA_DIR
def show(thread: str, output_format: Format, as_json: bool, data_dir: Path | None) -> int:
    """Show a run: plan, research, report."""
    if as_json and output_format == "json":
        raise click.UsageError("--json prints packets alone; leave out --format, or --json for the run as data.")
    from .progress import PacketLines
    from .stored import print_packets, show_run

    return print_packets(thread, data_dir, PacketLines()) if as_json else show_run(thread, output_format, data_dir)


@cli.command()
@click.argument("thread")
@OUT
@click.option(
    "--format",
    "export_format",
    type=click.Choice(get_args(ExportFormat)),
    help="Output format; without it what the name of the file says (.md, .html, .docx, .pdf, .bib, .json), else md.",
)
@click.option(
    "--evidence",
    type=click.Choice(get_args(Evidence)),
    help="What html, docx and pdf show of the check: none, short (the statements that were corrected, marked or not "
    "verified; the default of docx and pdf), or full (each sentence with its passages; the default of html).",
)
@DATA_DIR
def export(thread: str, out: Path | None, **options: Any) -> int:
    """Write a finished run.

    Its report with sources (md); as a page with the passage behind each citation (html), for Word (docx), for paper
    (pdf); its sources for a reference manager (bibtex, csl-json); or all of it as data (json).
    """
    from .stored import export_run

    return export_run(thread, path=_file(out), **options)


@cli.command("open")
@click.argument("thread")
@DATA_DIR
def open_page(thread: str, data_dir: Path | None) -> int:
    """Open the report of a finished run in the browser, with the passage behind each citation."""
    from .stored import open_run

    return open_run(thread, data_dir)


@cli.command()
@click.argument("thread")
@click.option("--yes", is_flag=True, help="Do not ask whether to delete it.")
@DATA_DIR
def delete(thread: str, yes: bool, data_dir: Path | None) -> int:
    """Delete a run and the texts that were kept of its sources."""
    from .stored import delete_run

    return delete_run(thread, data_dir, is_confirmed=yes)


@cli.command()
@click.argument("thread")
@click.option(
    "--model",
    metavar="NAME",
    help="Judge each part again with this model; without it, the stored verdicts are shown.",
)
@DATA_DIR
def audit(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Show what is known of each part of a finished report, and whether the texts behind it are what was read.

    Exit codes: 0 each sentence is supported by its source, or marked; 1 one is not, or a text is not what was read.
    """
    from .check_report import audit_run

    return audit_run(thread, model, data_dir)


@cli.command()
@click.argument("file")
@click.option("--docs", multiple=True, type=click.Path(), metavar="DIR", help="Folder of cited files (repeatable).")
@click.option("--repair", is_flag=True, help="Mend what its sources contradict; else no word is changed.")
@click.option("--format", "output_format", type=click.Choice(["md", "html", "json"]), help="Output format.")
@MODEL
@LIMIT
@NO_TRACE
@OUT
def check(file: str, output_format: CheckFormat | None, out: Path | None, repair: bool, **options: Any) -> int:
    """Check a report from elsewhere against the sources that it cites.

    FILE is Markdown, HTML or a Word document (`-`: Markdown from standard input) with numbered markers and a list of
    sources, footnotes, or links. The report is written with marks and a table of verdicts.

    Exit codes: 0 nothing is wrong; 1 a source contradicts a statement or does not say it; 2 wrong call or setting.
    """
    from .check_file import check_path
    from .settings import settings_from_options

    given = settings_from_options(verify="repair" if repair else "check", **options)
    return check_path(file, given, output_format, _file(out))


@cli.command()
@click.argument("thread")
@MODEL
@LIMIT
@NO_TRACE
@OUT
@DATA_DIR
@click.option(
    "--if-changed",
    is_flag=True,
    help="Print and write nothing unless a sentence does not hold or, where the file of --out is there, unless that "
    "says something else.",
)
def refresh(thread: str, out: Path | None, data_dir: Path | None, if_changed: bool, **options: Any) -> int:
    """Read the sources of a finished report again and say sentence by sentence what holds, as Markdown.

    The passage of then is shown beside that of now. The run itself stays as it is, and its settings hold; --model
    extractive compares the words of the sources alone, offline but for the web pages of the report.

    Exit codes: 0 all sentences hold; 1 a sentence changed or can no longer be checked; 2 wrong call or setting. With
    --if-changed: 0 nothing new; 5 something new; 1 it failed; 2 wrong call or setting.
    """
    from .refresh import refresh_run
    from .settings import settings_from_options

    return refresh_run(thread, settings_from_options(**options), data_dir, _file(out), is_for_news=if_changed)


@cli.command()
@OUT
@REPORT_FORMAT
@DATA_DIR
def demo(out: Path | None, output_format: Format | None, data_dir: Path | None) -> int:
    """Show a run on short articles about lighthouses; no key, no network."""
    from .commands import run_demo

    return run_demo(data_dir, _output(out, output_format))


@cli.command()
@with_settings
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; others need tokens.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen at. Without: 2024, or another that is free."
)
@DATA_DIR
def serve(**options: Any) -> int:
    """Start the page in the browser, and the server behind it.

    It prints the address with its token, and runs until Ctrl-C. The options hold for all runs of the server; without
    --docs the documents of the demo can be searched, if it was run.
    """
    from .server.serve import serve

    return serve(**options)


@cli.command()
def limits() -> int:
    """List all limits with the values that hold now, and what they mean."""
    from .doctor import list_limits

    return list_limits()


@cli.command()
@with_settings
@DATA_DIR
def mcp(**options: Any) -> int:
    """Serve research to other agents by the Model Context Protocol, over standard input and output.

    Over HTTP, `serve` offers the same at /mcp.
    """
    from .mcp.command import serve_mcp

    return serve_mcp(**options)


@cli.command()
@with_settings
@click.option(
    "--try",
    "is_trial",
    is_flag=True,
    help="Call the model a few times and see what it can do; search once by each engine (one credit each).",
)
@DATA_DIR
def doctor(is_trial: bool, **options: Any) -> int:
    """Tell what is configured, what is missing, and which setting mends it.

    Exit codes: 0 a run can start, 2 something has to change.
    """
    from .doctor import examine

    return examine(is_trial=is_trial, **options)


def _outlet(out: Path | None, output_format: Format | None, as_json: bool) -> Outlet:
    if not as_json:
        return _output(out, output_format)
    if out not in (None, STANDARD_OUTPUT):
        raise click.UsageError(
            "--json prints packets alone; write the report by: deep-research export THREAD --out FILE"
        )
    if output_format == "json":
        raise click.UsageError("--json prints packets alone; leave out --format, or --json for the report as data.")
    from .progress import PacketLines

    return PacketLines()


def _output(out: Path | None, output_format: Format | None) -> Output:
    from .terminal import Output

    return Output(_file(out), output_format)


def _file(out: Path | None) -> Path | None:
    return None if out == STANDARD_OUTPUT else out


def main() -> None:
    """Run the command; a mistake of the user ends in one line, never in a traceback."""
    # What is imported makes 250 000 objects and no garbage: to look for it takes a tenth of the start.
    gc.set_threshold(*GARBAGE)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
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
        click.echo(NOTHING_BEGAN, err=True)
        code = INTERRUPTED
    sys.exit(code)
