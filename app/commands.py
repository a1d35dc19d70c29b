"""What the commands do, each from its options to its exit code."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from deep_research.app.cli import DONE, FAILED, INTERRUPTED, REFUSED, WAITING, Format
from deep_research.app.delivery import Output, check_output, deliver
from deep_research.app.demo import QUESTION, write_documents
from deep_research.app.embed import read_context
from deep_research.app.interrupt import run_interruptibly
from deep_research.app.live_view import progress_view
from deep_research.app.options import data_folder, settings_of
from deep_research.app.output import report_text, run_line, run_text
from deep_research.app.progress import Progress
from deep_research.app.runs import RunBook, Standing, open_runs
from deep_research.app.terminal import RunName, ask, can_ask, complain, is_terminal, put_out, say
from deep_research.run.conversation import clean
from deep_research.run.errors import DeepResearchError, UserMistake

Step = Callable[[RunBook, Progress], Awaitable[Standing]]


def ask_question(question: str, *, thread: str | None, data_dir: Path | None, output: Output, **options: Any) -> int:
    """Put a question and print the report."""
    name = _named(thread, data_dir)

    def work() -> int:
        given = settings_of(**options) | ({"data_dir": data_dir} if data_dir else {})
        return _start(name, clean(question), given, output)

    return _reported(name, work)


def resume_run(thread: str, *, answer: str, data_dir: Path | None, output: Output) -> int:
    """Go on with a run and print the report."""
    name = _named(thread, data_dir)
    return _reported(
        name, lambda: _research(name, data_folder(data_dir), output, _going_on(name.thread, clean(answer)))
    )


def list_runs(data_dir: Path | None) -> int:
    """Print a line a run."""
    name = RunName("", data_dir)

    async def lines() -> list[str]:
        async with open_runs(data_folder(data_dir)) as book:
            return [await _line(book, thread) for thread in await book.ids()]

    def work() -> int:
        found = run_interruptibly(lines(), _stopped(name))
        put_out("\n".join(found)) if found else say('No runs yet; start one: deep-research ask "…" --docs FOLDER')
        return DONE

    return _reported(name, work)


def show_run(thread: str, output_format: Format, data_dir: Path | None) -> int:
    """Print a run."""
    name = RunName("", data_dir)

    async def text() -> str:
        async with open_runs(data_folder(data_dir)) as book:
            return run_text(await book.read(clean(thread)), output_format)

    def work() -> int:
        put_out(run_interruptibly(text(), _stopped(name)))
        return DONE

    return _reported(name, work)


def run_demo(data_dir: Path | None, output: Output) -> int:
    """Answer a question over the language reference, which is kept so that the citations can be opened."""
    name = _named(None, data_dir)

    def work() -> int:
        folder = data_folder(data_dir)
        documents = folder / "demo" / "python-reference"
        count = write_documents(documents)
        say(f"Question: {QUESTION}\nDocuments: {count} topics of the Python language reference in {documents}")
        given = {"data_dir": folder, "docs": (documents,), "models": "extractive", "clarify": "off"}
        return _start(name, QUESTION, given, output)

    return _reported(name, work)


def _named(thread: str | None, data_dir: Path | None) -> RunName:
    # An argument that is no valid text holds characters that no database takes.
    return RunName(clean(thread or "").strip() or str(uuid.uuid4()), data_dir)


def _start(name: RunName, question: str, given: dict[str, Any], output: Output) -> int:
    async def step(book: RunBook, view: Progress) -> Standing:
        return await book.ask(name.thread, question, given, view)

    # What is wrong in the settings is said before a database is made.
    return _research(name, read_context(given).data_dir, output, step)


def _going_on(thread: str, answer: str) -> Step:
    async def step(book: RunBook, view: Progress) -> Standing:
        view.recall((await book.read(thread)).state)
        return await book.resume(thread, answer, view)

    return step


def _research(name: RunName, data_dir: Path, output: Output, step: Step) -> int:
    """Carry out a run up to its report, asking the user what it asks."""
    check_output(output)
    standing = _carry_out(name, data_dir, step)
    while standing.asks and can_ask() and (answer := ask(standing.asks)):
        standing = _carry_out(name, data_dir, _going_on(name.thread, answer))
    text = report_text(standing, output.format)
    if not standing.asks:
        return DONE if deliver(text, output) else FAILED
    if output.format == "json":
        put_out(text)
    if not can_ask():
        say(f"\n{standing.asks}\n")
    say(f"Waiting for your answer: {name.command('resume')} --answer TEXT")
    return WAITING


def _carry_out(name: RunName, data_dir: Path, step: Step) -> Standing:
    async def work() -> Standing:
        async with open_runs(data_dir) as book:
            with progress_view(f"Run {name.thread}", is_terminal(sys.stderr)) as view:
                return await step(book, view)

    return run_interruptibly(work(), _stopped(name))


async def _line(book: RunBook, thread: str) -> str:
    try:
        return run_line(await book.read(thread))
    except Exception as error:  # noqa: BLE001 - one run that cannot be read must not hide the others
        return clean(f"{thread}  cannot be read: {' '.join(str(error).split())}")


def _reported(name: RunName, work: Callable[[], int]) -> int:
    """Carry out a command; what stops it becomes one line and an exit code."""
    try:
        return work()
    except KeyboardInterrupt:
        say(_stopped(name))
        return INTERRUPTED
    except UserMistake as error:
        complain(error)
        return REFUSED
    except OSError as error:
        complain(f"{error.filename or type(error).__name__}: {error.strerror or error}.{_go_on(name)}")
        return REFUSED
    except DeepResearchError as error:
        complain(f"{error}{_go_on(name)}")
    except Exception as error:  # noqa: BLE001 - the last place before the user
        complain(f"{type(error).__name__}: {error}.{_go_on(name)}")
    return FAILED


def _stopped(name: RunName) -> str:
    return f"Stopped.{_go_on(name)}"


def _go_on(name: RunName) -> str:
    return f" What was found is kept; go on: {name.command('resume')}" if name.thread else ""
