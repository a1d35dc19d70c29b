"""The command `replay`: a recorded run carried out again, with all calls to the outside answered from its file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..core.run.errors import UnknownSetting, failure_of
from ..core.run.recording import Difference, Replay, read_recording
from ..core.run.store.database import FILE_NAME
from .endings import reported, run_interruptibly
from .live_view import progress_view
from .output import report_text
from .recorded import save_abilities, settings_of
from .runs import StoredRun, open_runs
from .terminal import Output, check_output, complain, deliver, is_terminal, say
from .words import DONE, FAILED, counted

NAMES, TRANSFERS = ("socket.getaddrinfo", "socket.gethostbyname"), ("socket.connect", "socket.sendto", "socket.sendmsg")


def replay_run(file: Path, docs: Sequence[Path], output: Output, *, with_diff: bool) -> int:
    """Carry out a recorded run again, print its report, and say what was not as recorded."""

    def work() -> int:
        folders = [path.expanduser().absolute() for path in docs]
        replay = read_recording(file, folders)
        if not replay.runs[0]["is_new"]:
            raise UnknownSetting(
                f"{str(file)!r} begins in the middle of a run, so that it can be read, but not replayed: record a run "
                "from its beginning (ask --record)."
            )
        check_output(output.path)
        with TemporaryDirectory(prefix="deep-research-") as folder, _offline():
            stored, failure = run_interruptibly(_carry_out(replay, Path(folder), folders))
        is_delivered = _show(stored, failure, output)
        return DONE if _compare(replay, stored, failure, with_diff=with_diff) and is_delivered else FAILED

    return reported(work)


async def _carry_out(replay: Replay, data_dir: Path, folders: Sequence[Path]) -> tuple[StoredRun | None, str]:
    """Carry out all parts of the run; returns how it stands, and why its last part failed."""
    stored, failure = None, ""
    await save_abilities(replay, data_dir)
    # The user's own runs, in whichever database, are left alone.
    async with open_runs(data_dir, place=data_dir / FILE_NAME) as book:
        for part, run in enumerate(replay.runs):
            replay.part = part
            failure, thread, words = "", run["thread"], run["words"]
            given = {**settings_of(replay, folders), "data_dir": data_dir}
            try:
                with progress_view("Replay", is_terminal(sys.stderr)) as view:
                    if run["way"] == "question":
                        stored = await book.ask(thread, words, given, view, run["strategy"])
                    elif run["way"] or stored is None or stored.is_unfinished:
                        answer = words if stored is None or stored.asks else ""
                        stored = await book.resume(thread, answer, given, view)
            except Exception as error:  # noqa: BLE001 - the recorded run may have failed alike, and gone on
                failure = failure_of(error)
    return stored, failure


@contextmanager
def _offline() -> Iterator[None]:
    """Refuse all connections of this process within the block."""
    is_offline = True

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if is_offline and (event in NAMES or (event in TRANSFERS and isinstance(arguments[1], tuple))):
            raise PermissionError("a replay makes no connection")

    # It cannot be taken off again.
    sys.addaudithook(refuse)
    try:
        yield
    finally:
        is_offline = False


def _show(stored: StoredRun | None, failure: str, output: Output) -> bool:
    if failure:
        complain(failure)
    elif stored and stored.asks:
        say(f"\n{stored.asks}\n")
    elif stored:
        return deliver(report_text(stored, output.format or "md"), output.path)
    return True


def _compare(replay: Replay, stored: StoredRun | None, failure: str, *, with_diff: bool) -> bool:
    """Say what was not as recorded; returns whether all was."""
    differences = list(replay.differences)
    if end := replay.end:
        report, asks = (stored.report, stored.asks) if stored and not failure else ("", "")
        now = replay.clean.cleaned({"report": report, "asks": asks, "failure": failure})
        differences += [
            Difference(f"the {name} at the end", end[name], words) for name, words in now.items() if end[name] != words
        ]
    for one in differences:
        say(f"{one.place}: {'not recorded' if one.recorded is None else 'not as recorded'}")
        if with_diff:
            before, after = (one.recorded or "").splitlines(), one.asked.splitlines()
            say("\n".join(unified_diff(before, after, "recorded", "replayed", lineterm="")))
    unlike = f"{len(differences)} not as recorded" if differences else "all as recorded"
    say(f"Replayed {counted(replay.answered, 'call')}: {unlike}.{_hint(differences, with_diff)}")
    return not differences


def _hint(differences: Sequence[Difference], with_diff: bool) -> str:
    return " --diff shows the words." if differences and not with_diff else ""
