"""The commands for stored runs: `search`, `export`, `open`, `include`, `delete` and the
packets of `show`.

Also reads runs in full for `runs` and `show` (`_listing`).
"""

from __future__ import annotations

import webbrowser
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import click

from ..core.dialogue.conversation import safe_text
from ..core.errors import DatabaseUnusable, StateUnreadable, UnknownSetting
from ..core.events.packets import AnyPacket
from ..core.records.sources import Source
from ..core.store.location import OVERVIEW_NOTE, thread_id
from ..core.store.pages import Pages
from ..core.writing.versions import ThreadVersions
from ._endings import exit_code_of, reports_errors, run_interruptibly
from ._overview import ListedRun
from ._progress import PacketLines
from ._rechecking import faults_of
from ._settings import (
    SHOWN_ID_CHARACTERS,
    RunName,
    data_folder,
    expand_id,
    unknown_thread,
)
from ._terminal import OutputUnusable, can_ask, check_output, deliver, print_output, say
from .exports.formats import ExportFormat, chosen_format, export_formats
from .output import listed_run
from .runs import RunBook, StoredRun, has_runs
from .stream import replay
from .words import DONE, FAILED, EvidenceShown


async def read_listed(
    folder: Path, kept: Mapping[str, ListedRun | str]
) -> dict[str, ListedRun | str]:
    """Return all runs of a data folder by thread id, latest first; for one that cannot be read, the
    reason.

    Runs that are not in `kept` are read in full, and their overviews kept.
    """
    async with RunBook.open(folder) as book:
        listed = dict[str, ListedRun | str]()
        for thread in await book.database.saver.thread_ids():
            listed[thread] = kept.get(thread) or await _read_if_possible(book, thread)
        return listed


async def _read_if_possible(book: RunBook, thread: str) -> ListedRun | str:
    """Return a run, or why it cannot be read, in one line."""
    try:
        stored = await book.read(thread)
    except Exception as error:  # noqa: BLE001 - an unreadable run must not hide the others
        return " ".join(str(error).split())
    return await keep_overview(book, stored)


async def read_run(name: RunName) -> ListedRun:
    """Read a run and keep its overview."""
    async with open_stored_run(name) as (book, stored):
        return await keep_overview(book, stored)


async def keep_overview(book: RunBook, stored: StoredRun) -> ListedRun:
    """Keep the overview of a run, so that it can be listed and shown without LangGraph; return the
    run as it is listed."""
    run = listed_run(stored)
    if stored.version:
        note = {OVERVIEW_NOTE: run.overview.note(stored.version)}
        # A database that accepts no writes can still be listed.
        with suppress(DatabaseUnusable):
            await Pages(book.database.store, stored.thread).note(note)
    return run


@reports_errors
def search_runs(words: str, data_dir: Path | None) -> int:
    """Print the best-matching passages from pages that finished runs have read."""
    folder = data_folder(data_dir)

    async def search() -> list[str]:
        async with RunBook.open(folder) as book:
            results = list[str]()
            for source, thread, _, passage in await book.search(words):
                read = f"read on {source.read_at[:10]} by {thread[:SHOWN_ID_CHARACTERS]}"
                results.append(f"{source.title} ({read})\n{source.location}\n{passage}")
            return results

    results = run_interruptibly(search()) if has_runs(folder) else []
    if results:
        print_output(safe_text("\n\n".join(results)))
    else:
        say("No finished run has read anything about that.")
    return DONE


def print_packets(thread: str, data_dir: Path | None) -> int:
    """Print the packets of a run's latest question as JSON lines."""
    lines = PacketLines()

    def work() -> int:
        for packet in read_packets(thread, data_dir):
            lines(packet)
        return DONE

    return exit_code_of(work, outlet=lines)


@reports_errors
def export_run(
    thread: str,
    data_dir: Path | None,
    path: Path | None,
    export_format: str | None,
    evidence: EvidenceShown | None,
    version: int | None,
    answer: int | None,
) -> int:
    """Write a run's report, or the whole run as data, to a file or standard output.

    `version` is the number of a version of the report, by default the latest; `answer` that of an
    answer about it, which is exported instead.
    """
    chosen = chosen_format(export_format, path)
    check_output(path)
    name = RunName(safe_text(thread), data_dir)
    stored, is_as_checked = run_interruptibly(_read_for_export(name, version, answer))
    content = export_content(stored, chosen, name, evidence)
    if path is None and isinstance(content, bytes):
        raise OutputUnusable(
            f"--format {chosen.name} cannot be printed: name a file with --out "
            f"FILE{chosen.suffixes[0]}"
        )
    if not is_as_checked:
        say(
            "Warning: a source text of this report is gone or has changed since the check: "
            f"{name.command('audit')}"
        )
    return DONE if deliver(content, path) else FAILED


def export_content(
    stored: StoredRun,
    export_format: ExportFormat,
    name: RunName,
    evidence: EvidenceShown | None = None,
) -> str | bytes:
    """Return a run's report, or the whole run, in an export format; raises `NoReportYet` or
    `ExtraMissing`.

    `evidence` replaces the format's default amount of verdicts.
    """
    stored.finished_report(name)
    return export_format.write(stored, evidence)


@reports_errors
def open_run(thread: str, data_dir: Path | None) -> int:
    """Write the latest version of a run's report to the data folder as an HTML page, and open it in
    the browser."""
    name = RunName(safe_text(thread), data_dir)
    stored, _ = run_interruptibly(_read_for_export(name, None, None))
    content = export_content(stored, export_formats()["html"], name)
    page = data_folder(data_dir) / "pages" / f"{stored.thread}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(str(content), encoding="utf-8")
    if webbrowser.open(page.as_uri()):
        say(f"Opened {page}")
    else:
        say(f"No browser was found; open it yourself: {page}")
    return DONE


@reports_errors
def delete_run(thread: str, data_dir: Path | None, *, is_confirmed: bool) -> int:
    """Delete a run, even if its stored data cannot be read; asks for confirmation unless
    `is_confirmed`."""
    name = RunName(safe_text(thread), data_dir)
    stored = run_interruptibly(_read_if_readable(name))
    if stored:
        shown = stored.name or RunName(stored.thread, None).shown
        about = f': "{stored.question[:80]}"'
    else:
        shown = name.shown
        about = ", which cannot be read"
    if not is_confirmed:
        if not can_ask():
            raise UnknownSetting(
                "Deleting a run needs confirmation, but there is no terminal to ask on: use --yes."
            )
        if not click.confirm(f"Delete {shown}{about}?", err=True):
            return DONE

    async def delete() -> None:
        async with RunBook.open(data_folder(data_dir)) as book:
            await book.delete(thread_id(expand_id(name.thread, data_dir)))

    run_interruptibly(delete())
    say(f"Deleted {shown}.")
    return DONE


@reports_errors
def include_sources(thread: str, names: Sequence[str], data_dir: Path | None) -> int:
    """Use excluded sources of a run again, and say which."""
    name = RunName(thread, data_dir)

    async def include() -> list[Source]:
        async with open_stored_run(name) as (book, stored):
            return await book.include(stored.name or stored.thread, names)

    say_sources("Included", run_interruptibly(include()))
    return DONE


def say_sources(done: str, sources: Iterable[Source]) -> None:
    """Say for each source that something was done with it."""
    for source in sources:
        number = f"[{source.number}] " if source.number else ""
        say(f"{done}: {number}{source.shown_title}")


@asynccontextmanager
async def open_stored_run(name: RunName) -> AsyncIterator[tuple[RunBook, StoredRun]]:
    """Open the data folder of a run and yield its runs, and the run itself; raises
    `UnknownThread`."""
    folder = data_folder(name.data_dir)
    if not has_runs(folder):
        raise unknown_thread(name.thread)
    async with RunBook.open(folder) as book:
        yield book, await book.read(expand_id(safe_text(name.thread), name.data_dir))


async def _read_if_readable(name: RunName) -> StoredRun | None:
    try:
        return await _read(name)
    except StateUnreadable:
        return None


async def _read(name: RunName) -> StoredRun:
    async with open_stored_run(name) as (_, stored):
        return stored


def read_packets(thread: str, data_dir: Path | None) -> list[AnyPacket]:
    """Return the packets of a stored run's latest question, in order."""

    async def packets() -> list[AnyPacket]:
        async with open_stored_run(RunName(thread, data_dir)) as (book, stored):
            return await replay(book.database.store, stored.thread, stored.state)

    return run_interruptibly(packets())


async def _read_for_export(
    name: RunName, version: int | None, answer: int | None
) -> tuple[StoredRun, bool]:
    """Return a run at a version of its report (by default the latest) or at an answer about it, and
    whether its source texts are unchanged since this was checked."""
    async with open_stored_run(name) as (book, stored):
        number = version if answer is None else answer
        if number is None:
            _say_what_follows(stored)
        stored = await book.at_version(stored, number, is_answer=answer is not None)
        report = stored.state.report
        return stored, report is None or not faults_of(report, await book.texts(stored, report))


def _say_what_follows(stored: StoredRun) -> None:
    """Say what of a thread came after the latest version of its report, which is exported by
    default."""
    latest = ThreadVersions(stored.state).latest
    if latest is None or latest.question_id == stored.state.run.id:
        return
    words = "the question after it has no report yet."
    last = stored.versions[-1]
    if last.question_id == stored.state.run.id:
        words = f"the short answer after it: --answer {last.number}"
    say(f"This is version {latest.number}; {words}")
