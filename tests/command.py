"""The installed command, run as a user runs it: in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner
from lab import write_documents

from deep_research.app.cli import cli

COMMAND = str(Path(sys.executable).with_name("deep-research"))
SECONDS = 60.0
SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


class Desk(NamedTuple):
    """A folder with documents and a data folder."""

    folder: Path

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DEEP_RESEARCH_DATA_DIR": str(self.data), "TERM": "xterm", "COLUMNS": "100"}

    def run(self, *arguments: str, **settings: Any) -> Ended:
        """Run the command to its end; `settings` are those of `subprocess.run`."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        result = subprocess.run(
            [COMMAND, *arguments],
            **{**streams, "cwd": self.folder, "env": self.environment, **settings},
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        return Ended(result.returncode, result.stdout or "", result.stderr or "")

    def call(self, *arguments: str, **environment: str) -> Ended:
        """Run the command in this process, which takes a fraction of the time."""
        result = CliRunner(env={"DEEP_RESEARCH_DATA_DIR": str(self.data), **environment}).invoke(
            cli, arguments, standalone_mode=False
        )
        assert result.exception is None, result.exception
        return Ended(result.return_value, result.stdout, result.stderr)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the command, as the leader of a process group."""
        return subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The command at work, as the leader of a process group; killed at the end if it is still there."""
        process = self.start(*arguments, **environment)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def desk_in(folder: Path) -> Desk:
    desk = Desk(folder)
    write_documents(desk.docs)
    return desk


def with_notes(desk: Desk, count: int) -> Desk:
    """Put more documents there, so that indexing and searching take a moment."""
    for number in range(count):
        text = f"# Gannets {number}\n\n" + f"On day {number} the gannets of that rock were counted twice. " * 200
        (desk.docs / f"note{number}.md").write_text(text, encoding="utf-8")
    return desk


def lines_until(process: subprocess.Popen[str], words: str) -> list[str]:
    """The lines of progress up to the one that holds these words."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} was never printed, but {lines}")


class Terminal:
    """A command on a terminal of its own; its report goes where `stdout` says."""

    def __init__(self, desk: Desk, *arguments: str, stdout: Any = None) -> None:
        self.master, inner = pty.openpty()
        self.process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=desk.folder,
            env=desk.environment,
            stdin=inner,
            stdout=inner if stdout is None else stdout,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self.raw = ""

    @property
    def seen(self) -> str:
        """What was printed, without the sequences that move the cursor."""
        return SEQUENCES.sub("", self.raw).replace("\r", "")

    def wait_for(self, words: str) -> None:
        """Read until these words were printed."""
        while words not in self.seen:
            assert self._read(), f"{words!r} was never printed, but {self.seen!r}"

    def write(self, words: str) -> None:
        os.write(self.master, words.encode())

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        while self._read():
            pass
        os.close(self.master)
        return self.process.wait(SECONDS)

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)
