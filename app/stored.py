"""The commands that only read what is stored: `runs`, `show` and `export`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..evidence.checking.reaudit import faults_of
from ..run.conversation import clean, mark_of
from ..run.events.packets import AnyPacket
from .endings import reported, reports_errors, run_interruptibly
from .export import chosen_format, export_content
from .output import report_text, run_json, run_line, run_page
from .progress import PacketLines, PlainLines
from .replay import UNFINISHED
from .run_name import RunName, whole_name
from .runs import RunBook, Standing, has_runs, open_runs, unknown_thread
from .settings import data_folder
from .terminal import check_output, deliver, put_out, say
from .words import DONE, FAILED, ExportFormat, Format


@reports_errors
def list_runs(data_dir: Path | None) -> int:
    """Print a line a run."""

    async def lines() -> list[str]:
        folder = data_folder(data_dir)
        if not has_runs(folder):
            return []
        async with open_runs(folder) as book:
            return [await _line(book, thread) for thread in await book.ids()]

    found = run_interruptibly(lines())
    put_out("\n".join(found)) if found else say('No runs yet; start one: deep-research ask "…" --docs FOLDER')
    return DONE


@reports_errors
def show_run(thread: str, output_format: Format, data_dir: Path | None) -> int:
    """Print a run."""
    standing = run_interruptibly(_read(RunName(thread, data_dir)))
    put_out(run_json(standing) if output_format == "json" else run_page(standing, RunName(thread, data_dir)))
    return DONE


def replay_run(thread: str, data_dir: Path | None, lines: PacketLines | None) -> int:
    """Show a run as it was shown while it worked, and print its report or what it asks; or its packets alone."""

    def work() -> int:
        standing, packets = read_packets(thread, data_dir)
        view = lines or PlainLines("\n".join([f"Run {clean(thread)}", *_conversation(standing)]))
        view.begin()
        for packet in packets:
            view(packet)
        if lines is None:
            _print_end(standing, RunName(clean(thread), data_dir))
        return DONE

    return reported(work, lines=lines)


@reports_errors
def export_run(thread: str, data_dir: Path | None, path: Path | None, wanted: ExportFormat | None) -> int:
    """Write a run's report, or all of it as data, to a file or to standard output."""
    export_format = chosen_format(wanted, path)
    check_output(path)
    name = RunName(clean(thread), data_dir)
    standing, is_as_checked = run_interruptibly(_to_export(name))
    content = export_content(standing, export_format, name)
    if not is_as_checked:
        which = name.command("audit")
        say(f"Warning: a text behind this report is gone or has changed since it was checked: {which}")
    return DONE if deliver(content, path) else FAILED


def _conversation(standing: Standing) -> Iterator[str]:
    """Yield what was asked back about the latest question, and the answer; nothing if nothing was."""
    messages = list(standing.state.messages)
    if standing.state.report or standing.asks:
        # What is said at the end comes there.
        messages.pop()
    ends = [place for place, message in enumerate(messages) if mark_of(message) == "report"]
    since = messages[ends[-1] + 1 if ends else 0 :]
    if not any(mark_of(message) for message in since):
        return
    for message in since:
        yield f"{'it asked' if mark_of(message) else 'you wrote'}: {message.text}"


def _print_end(standing: Standing, name: RunName) -> None:
    """Print the report, or what the run asks; say of one that was stopped how it is resumed."""
    if words := report_text(standing, "md") or standing.asks:
        put_out(words)
    elif standing.runner:
        say(f"The run is at work in {standing.runner}.")
    elif standing.is_unfinished:
        say(f"{standing.failure or UNFINISHED} Go on: {name.command('resume')}")


@asynccontextmanager
async def kept_run(name: RunName) -> AsyncIterator[tuple[RunBook, Standing]]:
    """Open a run of this name, or whose id begins so, with the book that it stands in; raises `UnknownThread`."""
    folder = data_folder(name.data_dir)
    if not has_runs(folder):
        raise unknown_thread(name.thread)
    async with open_runs(folder) as book:
        yield book, await book.read(whole_name(clean(name.thread), name.data_dir))


async def _read(name: RunName) -> Standing:
    async with kept_run(name) as (_, standing):
        return standing


def read_packets(thread: str, data_dir: Path | None) -> tuple[Standing, list[AnyPacket]]:
    """Return a stored run, and the packets of its latest question."""

    async def both() -> tuple[Standing, list[AnyPacket]]:
        async with kept_run(RunName(thread, data_dir)) as (book, standing):
            return standing, await book.packets(standing)

    return run_interruptibly(both())


async def _to_export(name: RunName) -> tuple[Standing, bool]:
    """Return a run, and whether the texts behind its report are those that it was checked against."""
    async with kept_run(name) as (book, standing):
        report = standing.state.report
        return standing, report is None or not faults_of(report, await book.texts(standing, report))


async def _line(book: RunBook, thread: str) -> str:
    try:
        return run_line(await book.read(thread))
    except Exception as error:  # noqa: BLE001 - one run that cannot be read must not hide the others
        return clean(f"{thread}  cannot be read: {' '.join(str(error).split())}")
