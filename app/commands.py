"""What the commands do, each from its options to its exit code."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from deep_research.app.cli import INTERRUPTED, WAITING
from deep_research.app.demo import QUESTION, write_documents
from deep_research.app.embed import in_one_line, thread_id
from deep_research.app.output import report_json, report_markdown, run_line, run_page
from deep_research.app.progress import progress_view
from deep_research.app.runs import Ended, RunBook, open_runs
from deep_research.run.checkpoints import FILE_NAME, unusable
from deep_research.run.context import Context
from deep_research.run.errors import DeepResearchError
from deep_research.run.limits import Limits


def ask_question(
    question: str,
    *,
    docs: tuple[Path, ...],
    attach: tuple[Path, ...],
    no_web: bool,
    strategy: str,
    model: str | None,
    thread: str | None,
    yes: bool,
    review_plan: bool,
    limit: tuple[str, ...],
    out: Path | None,
    output_format: str,
    data_dir: Path | None,
) -> None:
    """Put a question and print the report."""
    del no_web, strategy  # documents are all that this version searches, and there is one strategy
    given: dict[str, Any] = {"limits": _limits(limit)}
    if docs or attach:
        given["docs"] = (*docs, *attach)
    if model:
        given["models"] = model
    if yes:
        given["clarify"] = "assume"
    if review_plan:
        given["review_plan"] = True
    context = _settings(data_dir, **given)
    _run(_ask(question, thread or str(uuid.uuid4()), context, out, output_format), context)


def resume_run(thread: str, *, answer: str, out: Path | None, output_format: str, data_dir: Path | None) -> None:
    """Go on with a run and print the report."""
    context = _settings(data_dir)
    _run(_resume(thread, answer, context, out, output_format), context)


def list_runs(data_dir: Path | None) -> None:
    """Print a line a run."""

    async def work() -> int:
        async with open_runs(context) as book:
            for name in await book.names():
                ended = await book.read(name)
                click.echo(run_line(ended.state, name, await book.is_unfinished(name)))
        return 0

    context = _settings(data_dir)
    _run(work(), context)


def show_run(thread: str, output_format: str, data_dir: Path | None) -> None:
    """Print a run."""

    async def work() -> int:
        async with open_runs(context) as book:
            ended, name = await book.read(thread), thread_id(thread)
            is_unfinished = await book.is_unfinished(thread)
        state = ended.state
        click.echo(report_json(state, name) if output_format == "json" else run_page(state, name, is_unfinished))
        return 0

    context = _settings(data_dir)
    _run(work(), context)


def run_demo(out: Path | None, output_format: str) -> None:
    """Answer a question over the language reference, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="deep-research-demo-") as folder:
        documents = Path(folder) / "reference"
        documents.mkdir()
        count = write_documents(documents)
        click.echo(f"Question: {QUESTION}\nDocuments: {count} topics of the Python language reference", err=True)
        context = _settings(Path(folder) / "data", docs=(documents,), models="extractive", clarify="off")
        _run(_ask(QUESTION, "demo", context, out, output_format), context)


async def _ask(question: str, thread: str, context: Context, out: Path | None, output_format: str) -> int:
    async with open_runs(context) as book:
        with progress_view(sys.stderr.isatty()) as view:
            ended = await book.ask(thread, question, context, view)
        return await _finish(book, thread, ended, context, out, output_format)


async def _resume(thread: str, answer: str, given: Context, out: Path | None, output_format: str) -> int:
    async with open_runs(given) as book:
        await book.read(thread)
        context = (await book.settings(thread)).model_copy(update={"data_dir": given.data_dir})
        with progress_view(sys.stderr.isatty()) as view:
            ended = await book.resume(thread, answer, context, view)
        return await _finish(book, thread, ended, context, out, output_format)


async def _finish(
    book: RunBook, thread: str, ended: Ended, context: Context, out: Path | None, output_format: str
) -> int:
    """Ask the user what the run asks, as long as it asks, then print the report."""
    while ended.question:
        if not sys.stdin.isatty():
            click.echo(
                f"{ended.question}\n\nWaiting for your answer: deep-research resume {thread} --answer TEXT", err=True
            )
            return WAITING
        click.echo(f"\n{ended.question}\n", err=True)
        answer = await asyncio.to_thread(click.prompt, "Your answer", err=True)
        with progress_view(sys.stderr.isatty()) as view:
            ended = await book.resume(thread, answer, context, view)
    text = report_json(ended.state, thread_id(thread)) if output_format == "json" else report_markdown(ended.state)
    if out:
        out.write_text(text + "\n", encoding="utf-8")
        click.echo(f"Report written to {out}", err=True)
    else:
        click.echo(text)
    return 0


def _run(work: Coroutine[Any, Any, int], context: Context) -> None:
    """Carry out a command; errors become one line and an exit code."""
    try:
        code = asyncio.run(work)
    except KeyboardInterrupt:
        click.echo("Stopped. What was found is kept; `deep-research runs` lists what `resume` can continue.", err=True)
        code = INTERRUPTED
    except DeepResearchError as error:
        click.echo(f"Error: {error}", err=True)
        code = error.exit_code
    except sqlite3.Error as error:
        click.echo(f"Error: {unusable(context.data_dir / FILE_NAME, error)}", err=True)
        code = 2
    except OSError as error:
        click.echo(f"Error: {error.filename or 'file'}: {error.strerror or error}", err=True)
        code = 2
    except Exception as error:  # noqa: BLE001 - the last place before the user
        click.echo(
            f"Error: {type(error).__name__}: {error}. The run is kept; `deep-research resume` goes on.", err=True
        )
        code = 1
    sys.exit(code)


def _settings(data_dir: Path | None, **given: Any) -> Context:
    try:
        return Context(**(given | ({"data_dir": data_dir} if data_dir else {})))
    except ValidationError as error:
        _fail(in_one_line(error))
        raise


def _limits(pairs: tuple[str, ...]) -> Limits:
    try:
        return Limits(**dict(_pair(pair) for pair in pairs))  # type: ignore[arg-type]
    except ValidationError as error:
        _fail(in_one_line(error).replace("setting", "limit"))
        raise


def _pair(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition("=")
    if not sign:
        _fail(f"--limit takes NAME=VALUE, not {pair!r}.")
    return name.strip().lower(), value.strip()


def _fail(message: str) -> None:
    click.echo(f"Error: {message}", err=True)
    sys.exit(2)
