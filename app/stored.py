"""The commands that only read what is stored: list, show, play again, export."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from ..evidence.checking.reaudit import faults_of
from ..run.conversation import clean, mark_of
from ..run.events.packets import AnyPacket
from .begun import whole_name
from .endings import reported, run_interruptibly, stopped
from .export import chosen_format, export_content
from .options import data_folder
from .output import report_text, run_json, run_line, run_page
from .progress import PacketLines, PlainLines
from .replay import UNFINISHED
from .runs import RunBook, Standing, has_runs, open_runs, unknown_thread
from .terminal import RunName, check_output, deliver, put_out, say
from .words import DONE, FAILED, ExportFormat, Format


def list_runs(data_dir: Path | None) -> int:
    """Print a line a run."""
    name = RunName("", data_dir)

    async def lines() -> list[str]:
        folder = data_folder(data_dir)
        if not has_runs(folder):
            return []
        async with open_runs(folder) as book:
            return [await _line(book, thread) for thread in await book.ids()]

    def work() -> int:
        found = run_interruptibly(lines(), partial(stopped, name))
        put_out("\n".join(found)) if found else say('No runs yet; start one: deep-research ask "…" --docs FOLDER')
        return DONE

    return reported(name, work)


def show_run(thread: str, output_format: Format, data_dir: Path | None) -> int:
    """Print a run."""

    def work() -> int:
        standing = _read(thread, data_dir)
        put_out(run_json(standing) if output_format == "json" else run_page(standing, RunName(thread, data_dir)))
        return DONE

    return reported(RunName("", data_dir), work)


def replay_run(thread: str, data_dir: Path | None, lines: PacketLines | None) -> int:
    """Tell a run again as it was told while it worked, and print its report or what it asks; or its packets alone."""

    def work() -> int:
        standing, packets = read_packets(thread, data_dir)
        view = lines or PlainLines("\n".join([f"Run {clean(thread)}", *_talk(standing)]))
        view.begin()
        for packet in packets:
            view(packet)
        if lines is None:
            _tell_end(standing, RunName(clean(thread), data_dir))
        return DONE

    return reported(RunName("", data_dir), work, lines)


def _talk(standing: Standing) -> Iterator[str]:
    """What was asked back about the latest question, and the answer; nothing if nothing was."""
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


def _tell_end(standing: Standing, name: RunName) -> None:
    """Print the report, or what the run asks; say of one that was stopped how to go on."""
    if words := report_text(standing, "md") or standing.asks:
        put_out(words)
    elif standing.runner:
        say(f"The run is at work in {standing.runner}.")
    elif standing.is_unfinished:
        say(f"{standing.failure or UNFINISHED} Go on: {name.command('resume')}")


def export_run(thread: str, data_dir: Path | None, path: Path | None, wanted: ExportFormat | None) -> int:
    """Write a run's report, or all of it as data, to a file or to standard output."""

    def work() -> int:
        export_format = chosen_format(wanted, path)
        check_output(path)
        name = RunName(clean(thread), data_dir)
        standing, is_as_checked = run_interruptibly(_to_export(name), partial(stopped, RunName("", data_dir)))
        content = export_content(standing, export_format, name)
        if not is_as_checked:
            which = name.command("audit")
            say(f"Warning: a text behind this report is gone or has changed since it was checked: {which}")
        return DONE if deliver(content, path) else FAILED

    return reported(RunName("", data_dir), work)


@asynccontextmanager
async def kept_run(name: RunName) -> AsyncIterator[tuple[RunBook, Standing]]:
    """A run of this name, or whose id begins so, and the book that it stands in; raises `UnknownThread`."""
    folder = data_folder(name.data_dir)
    if not has_runs(folder):
        raise unknown_thread(name.thread)
    async with open_runs(folder) as book:
        yield book, await book.read(whole_name(clean(name.thread), name.data_dir))


async def _to_export(name: RunName) -> tuple[Standing, bool]:
    """A run, and whether the texts behind its report are those that it was checked against."""
    async with kept_run(name) as (book, standing):
        report = standing.state.report
        return standing, report is None or not faults_of(report, await book.texts(standing, report))


def _read(thread: str, data_dir: Path | None) -> Standing:
    async def standing() -> Standing:
        async with kept_run(RunName(thread, data_dir)) as (_, found):
            return found

    return run_interruptibly(standing(), partial(stopped, RunName("", data_dir)))


def read_packets(thread: str, data_dir: Path | None) -> tuple[Standing, list[AnyPacket]]:
    """A stored run, and the packets of its latest question."""

    async def both() -> tuple[Standing, list[AnyPacket]]:
        async with kept_run(RunName(thread, data_dir)) as (book, standing):
            return standing, await book.packets(standing)

    return run_interruptibly(both(), partial(stopped, RunName("", data_dir)))


async def _line(book: RunBook, thread: str) -> str:
    try:
        return run_line(await book.read(thread))
    except Exception as error:  # noqa: BLE001 - one run that cannot be read must not hide the others
        return clean(f"{thread}  cannot be read: {' '.join(str(error).split())}")
