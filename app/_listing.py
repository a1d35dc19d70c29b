"""The commands `runs` and `show`; LangGraph is loaded only if an overview is not current."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.dialogue.conversation import safe_text
from ..core.store.location import RunsLocation, thread_id
from ._endings import reports_errors, run_interruptibly
from ._overview import ListedRun
from ._settings import SHOWN_ID_CHARACTERS, RunName, data_folder, expand_id, unknown_thread
from ._terminal import print_output, say
from .words import DONE, Format


@reports_errors
def list_runs(data_dir: Path | None) -> int:
    """Print one line per run, latest first."""
    folder = data_folder(data_dir)
    listed = _listed(folder)
    # The shortest beginnings that are unique.
    length = SHOWN_ID_CHARACTERS
    while len({thread[:length] for thread in listed}) < len(listed):
        length += 1
    lines = list[str]()
    for thread, run in listed.items():
        if isinstance(run, ListedRun):
            lines.append(run.line(thread[:length]))
        else:
            lines.append(safe_text(f"{thread[:length]}  cannot be read: {run}"))
    if lines:
        print_output("\n".join(lines))
    else:
        say('No runs yet; start one: deep-research ask "…" --docs FOLDER')
    return DONE


def _listed(folder: Path) -> Mapping[str, ListedRun | str]:
    """Return all runs of a data folder by thread id, latest first; for one that cannot be read, the
    reason."""
    location = RunsLocation.of(folder)
    if not location.may_exist:
        return {}
    threads = location.threads()
    kept = dict[str, ListedRun | str]()
    for thread in threads or ():
        run = ListedRun.kept(thread)
        if run:
            kept[thread.thread_id] = run
    if threads is not None and len(kept) == len(threads):
        return kept
    # Loads LangGraph.
    from ._stored import read_listed

    return run_interruptibly(read_listed(folder, kept))


@reports_errors
def show_run(thread: str, output_format: Format, data_dir: Path | None) -> int:
    """Print a run with its plan, research and report."""
    name = RunName(thread, data_dir)
    run = _found(name)
    print_output(run.json() if output_format == "json" else run.page(name))
    return DONE


def _found(name: RunName) -> ListedRun:
    """Return a run; raises `UnknownThread`."""
    location = RunsLocation.of(data_folder(name.data_dir))
    thread = expand_id(safe_text(name.thread), name.data_dir)
    threads = location.threads(thread_id(thread)) if location.may_exist else []
    if threads == []:
        raise unknown_thread(thread)
    run = ListedRun.kept(threads[0]) if threads else None
    if run:
        return run
    # Loads LangGraph.
    from ._stored import read_run

    return run_interruptibly(read_run(name))
