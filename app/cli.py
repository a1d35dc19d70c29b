"""The `deep-research` command: its subcommands and their options."""

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

from ..core.settings.env_file import load_env_file
from .exports.formats import FORMATS, export_formats
from .words import INTERRUPTED, NOTHING_BEGAN, REFUSED, STRATEGIES, EvidenceShown, Format

if TYPE_CHECKING:
    from ._progress import Outlet
    from .check_file import CheckFormat


_ENGINES = ", ".join(
    sorted(file.stem for file in Path(__file__).parents[1].glob("tools/engines/[!_]*.py"))
)
"""Names of our search engines, read from their file names because importing them would slow down
`--help`."""
_SUFFIXES = ", ".join(export_format.suffixes[0] for export_format in FORMATS)
"""The usual suffix of each of our export formats."""
_LABELS = "; ".join(f"{export_format.name}: {export_format.label}" for export_format in FORMATS)
_MODEL = click.option(
    "--model",
    metavar="NAME",
    help=(
        "Model for all roles: `openai:NAME` (OpenAI, or the server at OPENAI_BASE_URL), "
        "`PROVIDER:NAME` for another provider, or `extractive`, which needs no key and no network."
    ),
)
_LIMIT = click.option(
    "--limit",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a limit, e.g. max_cycles=4 (repeatable); `deep-research limits` lists them all.",
)
_NO_TRACE = click.option(
    "--no-trace",
    is_flag=True,
    help="Do not send prompts and passages to the tracing service set in the environment.",
)
_SETTINGS_OPTIONS = (
    click.option(
        "--docs",
        multiple=True,
        type=click.Path(),
        metavar="DIR",
        help="Folder to search (repeatable).",
    ),
    click.option(
        "--attach",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="File to search (repeatable).",
    ),
    click.option("--no-web", is_flag=True, help="Search your documents only."),
    click.option(
        "--engine",
        multiple=True,
        metavar="NAME",
        help=(
            "Search with this engine (repeatable; results of several engines are merged): "
            f"{_ENGINES}, an engine from an installed package, or a LangChain retriever or tool as "
            "package.module:Class. Default: Tavily if TAVILY_API_KEY is set; otherwise DuckDuckGo, "
            "or no web search if documents are given."
        ),
    ),
    click.option(
        "--domain",
        multiple=True,
        metavar="NAME",
        help="Only search and read this web domain (repeatable).",
    ),
    click.option(
        "--not-domain",
        multiple=True,
        metavar="NAME",
        help="Do not search or read this web domain (repeatable).",
    ),
    click.option(
        "--mix-private",
        is_flag=True,
        help=(
            "Allow web queries to contain a few of the words that only your documents contain. "
            "Default: no such word."
        ),
    ),
    click.option(
        "--no-open-copies",
        is_flag=True,
        help=(
            "Do not look for open-access copies of paywalled papers, or for archived copies of "
            "pages that are gone."
        ),
    ),
    click.option(
        "--earlier", is_flag=True, help="Also search the pages that your finished runs have read."
    ),
    click.option(
        "--after", metavar="YYYY-MM-DD", help="Ignore web pages known to be older than this date."
    ),
    click.option(
        "--language",
        metavar="NAME",
        help="Language of the report, as a name or code. Default: the language of the question.",
    ),
    click.option(
        "--outline",
        metavar="FILE",
        help=(
            "Markdown file with the sections of the report: a heading such as `## Risks` for each, "
            "and below it what belongs there, with its number of words if you like."
        ),
    ),
    click.option(
        "--verify",
        type=click.Choice(["off", "check", "repair"]),
        help=(
            "Whether to check each sentence of the report against its sources: off (no check), "
            "check (mark unsupported sentences), or repair (correct them, and mark the rest; the "
            "default)."
        ),
    ),
    _MODEL,
    click.option(
        "--window",
        metavar="TOKENS",
        help="Context window of the model in tokens, if deep-research does not know it.",
    ),
    click.option(
        "--allow-small-window",
        is_flag=True,
        help="Allow models with a context window of 8 000 to 50 000 tokens.",
    ),
    click.option(
        "--small",
        type=click.Choice(["auto", "on", "off"]),
        help=(
            "Give the model small tasks (single facts, short forms, few rounds). Default: only if "
            "it seems to need them."
        ),
    ),
    _LIMIT,
    _NO_TRACE,
)
_VERSION = click.option(
    "--version",
    "version",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="A version of the report; `show` lists them. Default: the latest, not an answer about it.",
)
_ANSWER = click.option(
    "--answer",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="A short answer about the report, instead of the report.",
)
_DATA_DIR = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for runs and document indexes.",
)
_REPORT_FORMAT = click.option(
    "--format",
    "output_format",
    type=click.Choice(["md", "json"]),
    help=(
        "Output format: the report as Markdown, or the report and its sources as JSON. Default: "
        f"from the suffix of the --out file, as for `export` ({_SUFFIXES}; .json then means the "
        f"whole run), otherwise {FORMATS[0].name}."
    ),
)
_JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print packets (the events of the run) as JSON lines instead of progress and report.",
)
_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    callback=lambda _context, _option, path: None if path == Path("-") else path,
    help="Write the result to this file (`-`: standard output).",
)


def _known_format(
    _context: click.Context, _option: click.Parameter, name: str | None
) -> str | None:
    """Return the name of an export format; raises `BadParameter` if neither we nor an installed
    package has it."""
    if name is None:
        return None
    # Not looked up earlier, because reading the installed packages would slow down `--help`.
    formats = export_formats()
    if name not in formats:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(map(repr, formats))}.")
    return name


def _formats_showing(evidence: EvidenceShown) -> str:
    """Return the names of our formats that show this amount of verdicts by default."""
    return " and ".join(
        export_format.name for export_format in FORMATS if export_format.evidence == evidence
    )


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the settings of a run to a command."""
    for option in reversed(_SETTINGS_OPTIONS):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="deep-research", message="%(version)s")
@click.option(
    "--log",
    type=click.File("a", encoding="utf-8"),
    help="Append the log to this file: errors with tracebacks, and the decisions of a run.",
)
def cli(log: TextIO | None) -> None:
    """Research a question and get a report in which every citation can be opened.

    The report goes to standard output, progress to standard error.

    Exit codes: 0 done, 1 failed (`resume` continues it), 2 wrong usage or setting, 3 waiting for an
    answer, 4 running in another process, 130 stopped.

    Every setting can also be set as an environment variable DEEP_RESEARCH_<NAME>, or in a .env file
    in the working directory. API keys such as OPENAI_API_KEY can be set there too.
    """
    fault = load_env_file()
    if fault:
        click.echo(f"Error: {fault}", err=True)
        click.get_current_context().exit(REFUSED)
    if log:
        logging.basicConfig(stream=log, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("deep_research").setLevel(logging.INFO)


@cli.command()
@click.argument("question", nargs=-1, required=True)
@_with_settings
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help=(
        "Strategy of a new run: orchestrated (the default; rounds of research until nothing is "
        "missing), planned (a plan of steps, executed within max_seconds_planned), or table (for "
        "lists: finds the rows of a table and fills their cells)."
    ),
)
@click.option(
    "--depth",
    type=click.Choice(["quick", "standard", "deep", "auto"]),
    help=(
        "How much effort to spend: quick (one search, two model calls), standard (the default), "
        "deep (higher limits), or auto (quick for a small question, otherwise standard)."
    ),
)
@click.option(
    "--thread",
    metavar="NAME",
    help="Name of the run. The name of an existing run continues its conversation.",
)
@click.option(
    "--yes", is_flag=True, help="Do not ask clarifying questions; state assumptions in the report."
)
@click.option("--review-plan", is_flag=True, help="Show the plan for approval first.")
@click.option(
    "--estimate",
    "is_estimate",
    is_flag=True,
    help=(
        "Stop after planning and print the plan, with what earlier runs like it took. `resume` "
        "executes the plan."
    ),
)
@_OUT
@_REPORT_FORMAT
@_JSON
@_DATA_DIR
def ask(
    question: tuple[str, ...],
    out: Path | None,
    output_format: Format | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Research QUESTION and print the report."""
    if len(question) > 1:
        raise click.UsageError(
            f'Put the question in quotes: deep-research ask "{" ".join(question)}" …'
        )
    if options["yes"] and options["review_plan"]:
        raise click.UsageError("--yes and --review-plan exclude each other: --yes never asks.")
    outlet = _outlet(out, output_format, as_json)
    from .commands import ask_question

    return ask_question(question[0], outlet=outlet, **options)


@cli.command()
@click.argument("thread")
@click.argument("words", required=False, default="")
@click.option("--answer", default="", help="Your answer to the run's question; same as WORDS.")
@_MODEL
@_LIMIT
@_NO_TRACE
@_OUT
@_REPORT_FORMAT
@_JSON
@_DATA_DIR
def resume(
    thread: str,
    words: str,
    answer: str,
    out: Path | None,
    output_format: Format | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Resume a run that was stopped or failed, or answer one that is waiting.

    WORDS is your answer, or a hint for the researchers of a stopped run.
    """
    if words and answer:
        raise click.UsageError("WORDS and --answer mean the same thing: use only one of them.")
    outlet = _outlet(out, output_format, as_json)
    from .commands import resume_run

    return resume_run(thread, answer=words or answer, outlet=outlet, **options)


@cli.command()
@click.argument("thread")
@click.argument("words", nargs=-1, required=True)
@_MODEL
@_LIMIT
@_NO_TRACE
@_OUT
@_REPORT_FORMAT
@_JSON
@_DATA_DIR
def edit(
    thread: str,
    words: tuple[str, ...],
    out: Path | None,
    output_format: Format | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Change the report of a finished run as WORDS say, and print it.

    All that you do not ask to change stays as it is, with its citations. Facts that no source has
    are researched first. The settings of the run apply; it needs a language model.
    """
    if len(words) > 1:
        raise click.UsageError(
            f'Put the change in quotes: deep-research edit {thread} "{" ".join(words)}".'
        )
    outlet = _outlet(out, output_format, as_json)
    from .commands import edit_run

    return edit_run(thread, words[0], outlet=outlet, **options)


@cli.command()
@_DATA_DIR
def runs(data_dir: Path | None) -> int:
    """List all runs, latest first."""
    from ._listing import list_runs

    return list_runs(data_dir)


@cli.command()
@click.argument("words")
@_DATA_DIR
def search(words: str, data_dir: Path | None) -> int:
    """Search the pages that your finished runs have read, and print passages with their sources,
    best first."""
    from ._stored import search_runs

    return search_runs(words, data_dir)


@cli.command()
@click.argument("thread")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["md", "json"]),
    default="md",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the packets of the run as JSON lines, as they were emitted.",
)
@click.option(
    "--version",
    "version",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Show only this version of the report. Default: the whole run, with a list of versions.",
)
@_ANSWER
@click.option(
    "--diff",
    type=(click.IntRange(min=1), click.IntRange(min=1)),
    metavar="OLD NEW",
    help="Show what differs between two versions of the report, by block and word.",
)
@_DATA_DIR
def show(
    thread: str,
    output_format: Format,
    as_json: bool,
    version: int | None,
    answer: int | None,
    diff: tuple[int, int] | None,
    data_dir: Path | None,
) -> int:
    """Show a run: its plan, research and report, or one version of its report."""
    if as_json and output_format == "json":
        raise click.UsageError(
            "--json prints only packets: drop --format, or drop --json to get the run as data."
        )
    chosen = [choice for choice in (version, answer, diff) if choice is not None]
    if len(chosen) + as_json > 1:
        raise click.UsageError(
            "--version, --answer, --diff and --json exclude each other: use only one of them."
        )
    if chosen:
        from ._versions import show_difference, show_version

        if diff:
            return show_difference(thread, diff, output_format, data_dir)
        if answer:
            return show_version(thread, answer, output_format, data_dir, is_answer=True)
        if version:
            return show_version(thread, version, output_format, data_dir, is_answer=False)
    if as_json:
        from ._stored import print_packets

        return print_packets(thread, data_dir)
    from ._listing import show_run

    return show_run(thread, output_format, data_dir)


@cli.command()
@click.argument("thread")
@_OUT
@click.option(
    "--format",
    "export_format",
    metavar=f"[{'|'.join(export_format.name for export_format in FORMATS)}]",
    callback=_known_format,
    help=(
        f"Output format ({_LABELS}), or one that an installed package adds. Default: from the "
        f"suffix of the --out file ({_SUFFIXES}, or that of an installed package), otherwise "
        f"{FORMATS[0].name}."
    ),
)
@click.option(
    "--evidence",
    type=click.Choice(get_args(EvidenceShown)),
    help=(
        "Verdicts to include, in formats that show them: none, short (on statements that were "
        f"corrected, marked or not verified; default for {_formats_showing('short')}), or full (on "
        f"each sentence, with its passages; default for {_formats_showing('full')})."
    ),
)
@_VERSION
@_ANSWER
@_DATA_DIR
def export(
    thread: str, out: Path | None, version: int | None, answer: int | None, **options: Any
) -> int:
    """Export a finished run: its report, its sources for a reference manager, or the whole run as
    data."""
    if version and answer:
        raise click.UsageError("--version and --answer exclude each other: use only one of them.")
    from ._stored import export_run

    return export_run(thread, path=out, version=version, answer=answer, **options)


@cli.command()
@click.argument("thread")
@click.argument("version", type=click.IntRange(min=1))
@_DATA_DIR
def revert(thread: str, version: int, data_dir: Path | None) -> int:
    """Go back to a version of a report: make a new version with its text.

    Exports, follow-ups and edits then use it. No version is lost; `show` lists them.
    """
    from ._versions import revert_run

    return revert_run(thread, version, data_dir)


@cli.command()
@click.argument("thread")
@_DATA_DIR
def finish(thread: str, data_dir: Path | None) -> int:
    """End the research of a run, and have its report written from what was found.

    The run may be in progress in another terminal: its calls are completed first. A stopped run
    writes its report when you resume it.
    """
    from ._research import finish_run

    return finish_run(thread, data_dir)


@cli.command("open")
@click.argument("thread")
@_DATA_DIR
def open_page(thread: str, data_dir: Path | None) -> int:
    """Open the report of a finished run in the browser, with the passage behind each citation."""
    from ._stored import open_run

    return open_run(thread, data_dir)


@cli.command()
@click.argument("thread")
@click.argument("sources", nargs=-1, required=True)
@click.option("--because", metavar="TEXT", default="", help="Why; kept with the run.")
@click.option(
    "--replace",
    "is_replacing",
    is_flag=True,
    help=(
        "Also find other sources for what the excluded ones alone support, and add what they say; "
        "also for sources that are excluded already."
    ),
)
@_MODEL
@_LIMIT
@_NO_TRACE
@_OUT
@_REPORT_FORMAT
@_JSON
@_DATA_DIR
def exclude(
    thread: str,
    sources: tuple[str, ...],
    because: str,
    is_replacing: bool,
    out: Path | None,
    output_format: Format | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Exclude sources of a finished run, and print a version of its report without them.

    SOURCES: their numbers in the report, addresses, domains (all their pages) or file names.
    Statements that the other sources they cite support stay; what these do not support is taken
    out, which is shown before and after. What rests on the excluded sources alone is in nothing
    that follows on the thread. Undo it with `include`.
    """
    outlet = _outlet(out, output_format, as_json)
    from .commands import exclude_sources

    return exclude_sources(
        thread, sources, because, is_replacing=is_replacing, outlet=outlet, **options
    )


@cli.command()
@click.argument("thread")
@click.argument("sources", nargs=-1, required=True)
@_DATA_DIR
def include(thread: str, sources: tuple[str, ...], data_dir: Path | None) -> int:
    """Use excluded sources of a run again; SOURCES as for `exclude`."""
    from ._stored import include_sources

    return include_sources(thread, sources, data_dir)


@cli.command()
@click.argument("thread")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_DATA_DIR
def delete(thread: str, yes: bool, data_dir: Path | None) -> int:
    """Delete a run, including the stored texts of its sources."""
    from ._stored import delete_run

    return delete_run(thread, data_dir, is_confirmed=yes)


@cli.command()
@click.argument("thread")
@click.option(
    "--model",
    metavar="NAME",
    help="Judge each statement again with this model. Default: show the stored verdicts.",
)
@_DATA_DIR
def audit(thread: str, model: str | None, data_dir: Path | None) -> int:
    """Show the verdicts on a finished report, and whether the stored source texts are unchanged.

    Exit codes: 0 every sentence is supported by its source or marked; 1 at least one is neither, or
    a stored text has changed.
    """
    from ._audit import audit_run

    return audit_run(thread, model, data_dir)


@cli.command()
@click.argument("file")
@click.option(
    "--docs",
    multiple=True,
    type=click.Path(),
    metavar="DIR",
    help="Folder with the cited files (repeatable).",
)
@click.option(
    "--request",
    metavar="TEXT",
    default="",
    help=(
        "What the report was asked for, such as the prompt of another tool. The report may use and "
        "calculate with its figures."
    ),
)
@click.option(
    "--repair",
    is_flag=True,
    help="Rewrite statements that their sources contradict. Default: change nothing.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["md", "html", "json"]),
    help="Output format. Default: from the suffix of the --out file (.html, .json), otherwise md.",
)
@_MODEL
@_LIMIT
@_NO_TRACE
@_OUT
def check(
    file: str,
    request: str,
    output_format: CheckFormat | None,
    out: Path | None,
    repair: bool,
    **options: Any,
) -> int:
    """Check a report from elsewhere against the sources it cites.

    FILE is Markdown, HTML or a Word document (`-`: Markdown from standard input). It cites its
    sources by markers (numbers, letters, keys, or authors and years) with a list of sources, as
    footnotes, or as links to web pages or to files below --docs. The output is the report with
    unsupported statements marked, and a table of verdicts. Citations that are not understood are
    listed.

    Exit codes: 0 nothing is wrong; 1 a source contradicts a statement or does not say it; 2 wrong
    usage or setting; 6 no source of a statement could be read, or a citation was not understood.
    """
    from ._endings import run_with_settings

    def start(given: dict[str, Any]) -> int:
        from .check_file import check_path

        return check_path(file, request, output_format, out, given)

    return run_with_settings(start, {**options, "verify": "repair" if repair else "check"})


@cli.command()
@click.argument("thread")
@_MODEL
@_LIMIT
@_NO_TRACE
@_OUT
@_DATA_DIR
@click.option(
    "--if-changed",
    is_flag=True,
    help=(
        "Print and write nothing if there is nothing new: the --out file exists and the result is "
        "the same, or there is no such file and all sentences still hold."
    ),
)
def refresh(
    thread: str, out: Path | None, data_dir: Path | None, if_changed: bool, **options: Any
) -> int:
    """Read the sources of a finished report again and list, as Markdown, the sentences that no
    longer hold.

    Old and new passages are shown together. The run itself stays unchanged, and its settings apply.
    --model extractive only compares the wording of the sources, and needs the network only for the
    web pages that the report cites.

    Exit codes: 0 all sentences hold; 1 a sentence changed or can no longer be checked; 2 wrong
    usage or setting. With --if-changed: 0 nothing new; 5 something new; 1 failed; 2 wrong usage or
    setting.
    """
    from ._endings import run_with_settings

    def start(given: dict[str, Any]) -> int:
        from ._refresh import refresh_run

        return refresh_run(thread, data_dir, out, given, is_for_news=if_changed)

    return run_with_settings(start, options)


@cli.command()
@_OUT
@_REPORT_FORMAT
@_DATA_DIR
def demo(out: Path | None, output_format: Format | None, data_dir: Path | None) -> int:
    """Run a demo on short articles about lighthouses; needs no key and no network."""
    from ._terminal import Output
    from .commands import run_demo

    return run_demo(data_dir, Output(out, output_format))


@cli.command()
@_with_settings
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Any non-local address requires tokens.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port to listen on. Default: 2024, or a free port if it is taken.",
)
@_DATA_DIR
def serve(host: str, port: int | None, data_dir: Path | None, **options: Any) -> int:
    """Start the server with the web page.

    Prints the address of the page and runs until Ctrl-C; the address ends in an access token,
    unless you have set tokens. The options apply to all runs on the server. Without --docs, the
    server searches the documents of `deep-research demo`, if you have run it.
    """
    from ._endings import run_with_settings

    def start(given: dict[str, Any]) -> int:
        from ._serving import run_server

        return run_server(given, host, port)

    # Absolute, because the server runs in another working directory.
    folder = data_dir and data_dir.absolute()
    return run_with_settings(start, {**options, "data_dir": folder})


@cli.command()
def limits() -> int:
    """List all limits with their current values and meanings."""
    from ._doctor import list_limits

    return list_limits()


@cli.command()
@_with_settings
@_DATA_DIR
def mcp(**options: Any) -> int:
    """Serve research to other agents through the Model Context Protocol, over standard input and
    output.

    `serve` offers the same over HTTP, at /mcp.
    """
    from ._endings import run_with_settings

    def start(given: dict[str, Any]) -> int:
        from ._serving import run_mcp

        return run_mcp(given)

    return run_with_settings(start, options)


@cli.command()
@_with_settings
@click.option(
    "--try",
    "is_trial",
    is_flag=True,
    help=(
        "Have each model answer and call a tool, and search once with each engine (one credit "
        "each)."
    ),
)
@_DATA_DIR
def doctor(is_trial: bool, **options: Any) -> int:
    """Check whether a run with these options could start: what is set, what is missing, what to
    change.

    Exit codes: 0 a run can start, 2 something must be fixed first.
    """
    from ._endings import run_with_settings

    def start(given: dict[str, Any]) -> int:
        from ._doctor import examine

        return examine(given, is_trial=is_trial)

    return run_with_settings(start, options)


def _outlet(out: Path | None, output_format: Format | None, as_json: bool) -> Outlet:
    """Return where the report or the packets go; raises `UsageError` for options that exclude each
    other."""
    from ._progress import PacketLines
    from ._terminal import Output

    if not as_json:
        return Output(out, output_format)
    if out:
        raise click.UsageError(
            "--json prints only packets; to write the report: deep-research export THREAD --out "
            "FILE"
        )
    if output_format == "json":
        raise click.UsageError(
            "--json prints packets only: drop --format, or drop --json to choose a format."
        )
    return PacketLines()


def main() -> None:
    """Run the command; report usage errors in one line, without a traceback."""
    # Imports create 250 000 objects and no garbage: the default thresholds would cost a tenth of
    # the start-up time.
    gc.set_threshold(50_000, 50)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Characters that the terminal cannot encode become question marks instead of errors.
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
