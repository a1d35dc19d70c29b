"""Carries out `ask`, `resume`, `edit` and `demo`: runs until there is a report, and delivers it;
and `finish`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.dialogue.conversation import safe_text
from ..core.records import tool_names
from ..core.records.research import Strategy
from ..core.store.location import thread_id
from ..core.writing.versions import ThreadVersions
from ._endings import reports_errors, run_interruptibly
from ._live_view import progress_view
from ._progress import Outlet, PacketLines, PlainLines, ProgressView
from ._settings import RunName
from ._stored import (
    export_content,
    keep_overview,
    open_stored_run,
    read_packets,
    say_sources,
)
from ._terminal import (
    Output,
    ask_at_terminal,
    can_ask,
    deliver,
    print_error,
    print_output,
    print_report,
    say,
    typed_lines,
)
from ._versions import difference_text
from .exports.formats import chosen_format
from .output import end_line, report_json
from .runs import RunBook, StoredRun
from .words import DONE, FAILED, WAITING

Step = Callable[[RunBook, ProgressView], Awaitable[StoredRun]]
"""Starts or resumes a run, and returns it when it is finished or waits for an answer."""


def ask_step(
    thread: str,
    question: str,
    given: Mapping[str, Any],
    strategy: Strategy | None,
    *,
    is_estimate: bool = False,
) -> Step:
    """Return the step that asks a question on a thread."""

    async def step(book: RunBook, view: ProgressView) -> StoredRun:
        return await book.ask(thread, question, given, view, strategy, is_estimate=is_estimate)

    return step


def resume_step(
    thread: str, answer: str, given: Mapping[str, Any], *, is_estimate: bool = False
) -> Step:
    """Return the step that resumes a run, showing its earlier progress first."""

    async def step(book: RunBook, view: ProgressView) -> StoredRun:
        view.recall((await book.read(thread)).state)
        return await book.resume(thread, answer, given, view, is_estimate=is_estimate)

    return step


def edit_step(thread: str, words: str, given: Mapping[str, Any]) -> Step:
    """Return the step that changes the report of a finished run."""

    async def step(book: RunBook, view: ProgressView) -> StoredRun:
        stored = await book.edit(thread, words, given, view)
        if stored.state.run.done:
            say(safe_text(stored.state.run.done))
        return stored

    return step


def exclude_step(
    thread: str,
    names: Sequence[str],
    because: str,
    given: Mapping[str, Any],
    *,
    is_replacing: bool,
) -> Step:
    """Return the step that excludes sources of a finished run, and makes a version of its report
    without them if it cites them, or with others in their place."""

    async def step(book: RunBook, view: ProgressView) -> StoredRun:
        sources = await book.exclude(thread, names, because, is_replacing=is_replacing)
        say_sources("Excluded", sources)
        stored = await book.read(thread)
        words = stored.words_without(sources, because)
        before = ThreadVersions(stored.state).latest
        if not words or before is None:
            return stored
        stored = await book.edit(thread, words, given, view)
        after = ThreadVersions(stored.state).latest
        if after and after.number > before.number:
            differences = await book.differences(stored, before.number, after.number)
            say(f"Before and after:\n\n{difference_text(differences, is_styled=False)}\n")
        return stored

    return step


def run_to_report(
    name: RunName, data_dir: Path, outlet: Outlet, step: Step, *, is_estimate: bool = False
) -> int:
    """Run until there is a report, or a plan if `is_estimate`; return the exit code.

    At a terminal, the questions of the run are passed on to the user; otherwise they end the
    command.
    """
    if isinstance(outlet, PacketLines):
        stored = _run_step(name, data_dir, step, outlet)
        name = _name_of(stored, name)
        # A finished or waiting run is not resumed, so it has emitted nothing yet.
        if not outlet.has_stopped:
            for packet in read_packets(name.thread, data_dir):
                outlet(packet)
        if is_estimate and stored.is_planned:
            return DONE
        if stored.asks:
            return _wait(name, stored.asks)
        return _exit_code(stored)
    export_format = chosen_format(outlet.format, outlet.path)
    stored = _run_step(name, data_dir, step)
    name = _name_of(stored, name)
    while stored.asks and not (is_estimate and stored.is_planned) and can_ask():
        answer = ask_at_terminal(stored.asks, is_plan=stored.is_planned)
        if not answer:
            break
        step = resume_step(name.thread, answer, {}, is_estimate=is_estimate)
        stored = _run_step(name, data_dir, step)
        name = _name_of(stored, name)
    if is_estimate and stored.is_planned:
        return _deliver_plan(stored, outlet, name)
    if stored.asks:
        if outlet.format == "json":
            print_output(report_json(stored))
        return _wait(name, "" if can_ask() else stored.asks)
    if outlet.format == "json":
        return _deliver(stored, report_json(stored), outlet)
    return _deliver(stored, export_content(stored, export_format, name), outlet)


def _name_of(stored: StoredRun, name: RunName) -> RunName:
    """Return the name of a run: the given one, unless the answer has begun another run."""
    if stored.thread == thread_id(name.thread):
        return name
    return name._replace(thread=stored.name)


def _deliver(stored: StoredRun, content: str | bytes, outlet: Output) -> int:
    """Write or print the report of a finished run, with a line about the run; return the exit
    code."""
    if outlet.path:
        say(end_line(stored))
        if not deliver(content, outlet.path):
            return FAILED
        return _exit_code(stored)
    if outlet.format == "json":
        print_output(str(content))
    else:
        print_report(str(content))
    # Printed below the report, where the user sees it.
    say(end_line(stored))
    return _exit_code(stored)


def _exit_code(stored: StoredRun) -> int:
    """Return the exit code of a finished run: `FAILED`, with an error, if all its searches failed
    and found nothing."""
    report = stored.state.report
    searches = [action for action in stored.state.own_actions if action.tool != tool_names.OPEN_URL]
    if not searches or (report and report.sources):
        return DONE
    for search in searches:
        has_failed = search.fault or search.broken or search.failed
        if not has_failed or search.found:
            return DONE
    why = " ".join(searches[-1].broken or searches[-1].problems)
    print_error(f"All searches failed, so the report has no sources: {why}")
    return FAILED


def _deliver_plan(stored: StoredRun, output: Output, name: RunName) -> int:
    """Print or write the plan, with what earlier runs like it cost, if known; return the exit
    code."""
    state = stored.state
    assert state.plan is not None
    if output.format == "json":
        return DONE if deliver(report_json(stored), output.path) else FAILED
    text = state.plan.text
    if stored.estimate:
        text += f"\n\n{stored.estimate}"
    is_delivered = deliver(text, output.path)
    say(f"Execute the plan: {name.command('resume')}")
    return DONE if is_delivered else FAILED


def _wait(name: RunName, question: str) -> int:
    """Print the question of the run, if it is not empty, and how to answer it; return the exit
    code."""
    if question:
        say(f"\n{question}\n")
    say(f"Waiting for your answer: {name.command('resume')} --answer TEXT")
    return WAITING


def _run_step(
    name: RunName, data_dir: Path, step: Step, lines: PacketLines | None = None
) -> StoredRun:
    """Carry out a step and show its progress: as packets on `lines`, or else in words on standard
    error."""

    async def main() -> StoredRun:
        async with RunBook.open(data_dir) as book:
            progress = lines or progress_view(f"Run {name.shown}")
            with progress as view, typed_lines() as view.typed:
                work = step(book, view)
                if isinstance(view, PlainLines):
                    work = view.during(work)
                stored = await work
                await keep_overview(book, stored)
                if view.typed:
                    typed = " ".join(view.typed)
                    say(f"Not sent, since you typed it too late for this report: {typed}")
                return stored

    return run_interruptibly(main(), name)


@reports_errors
def finish_run(thread: str, data_dir: Path | None) -> int:
    """End the research of a run, which another process may be at work on."""
    name = RunName(safe_text(thread), data_dir)

    async def finish() -> StoredRun:
        async with open_stored_run(name) as (book, stored):
            await book.finish(stored)
            return stored

    stored = run_interruptibly(finish())
    if stored.runner:
        say("The calls in progress are completed; then the report is written.")
    else:
        say(f"The report is written when you resume the run: {name.command('resume')}")
    return DONE
