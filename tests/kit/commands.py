"""The command line as a user starts it, in processes of its own."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from deep_research.app.cli import cli
from deep_research.app.embed import thread_config
from deep_research.app.runs import RunBook
from deep_research.core.records.research import Strategy
from deep_research.core.store.location import thread_id
from deep_research.core.store.pages import Pages
from kit.engines import KEY as SEARCH_KEY
from kit.engines import Answer, found
from kit.forked import Forked, run_forked
from kit.models import units_shown
from kit.openai_server import Received, Reply
from kit.runs import write_documents
from kit.server import WATCH
from kit.web import Exchange
from kit.wire import (
    END,
    FACTS,
    PADDING,
    WireLab,
    hand_out,
    plain_run,
    researched,
    role_of,
    task_of,
    wire_lab,
)

COMMAND = str(Path(sys.executable).with_name("deep-research"))
SECONDS = 300.0
STREAMS: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
}
FORKS = """
import json, os, sys
import deep_research.app.embed
from deep_research.app.cli import main
for number, (arguments, variables) in enumerate(json.loads(sys.argv[1])):
    process = os.fork()
    if not process:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream)
        os.environ.update(variables)
        sys.argv[1:] = arguments
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
"""A script that runs commands, each in a process of its own, and prints their exit codes. Most of
the time of a command is that of its imports, and there they are done."""
COMMANDS = """
import json, sys
from deep_research.app.cli import cli

for command in json.loads(sys.argv[1]):
    assert cli.main(command, standalone_mode=False) == 0
"""
"""A script that runs commands in one process, which imports a copy of the product only once."""
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
        return {
            **os.environ,
            "DEEP_RESEARCH_DATA_DIR": str(self.data),
            "TERM": "xterm",
            "COLUMNS": "100",
        }

    def run(self, *arguments: str, **settings: Any) -> Ended:
        """Run the command to its end; `settings` are those of `subprocess.run`."""
        usual = {
            **STREAMS,
            "cwd": self.folder,
            "env": self.environment,
            "encoding": "utf-8",
            "timeout": SECONDS,
        }
        result = run_forked([COMMAND, *arguments], **{**usual, **settings})
        return Ended(result.returncode, result.stdout or "", result.stderr or "")

    def run_each(self, *commands: tuple[Sequence[str], Mapping[str, str]]) -> list[Ended]:
        """Run commands, each with variables of its own, one after the other in processes that
        share their imports."""
        script = [sys.executable, "-c", FORKS, json.dumps(commands)]
        done = run_forked(
            script,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0
        ended = list[Ended]()
        for number, code in enumerate(done.stdout.split()):
            out, err = (self.folder / f"{number}.{name}" for name in ("out", "err"))
            ended.append(Ended(int(code), out.read_text("utf-8"), err.read_text("utf-8")))
        return ended

    def call(self, *arguments: str, stdin: str | None = None, **environment: str) -> Ended:
        """Run the command in this process, which takes a fraction of the time."""
        result = CliRunner(env={"DEEP_RESEARCH_DATA_DIR": str(self.data), **environment}).invoke(
            cli, arguments, stdin, standalone_mode=False
        )
        assert result.exception is None, result.exception
        return Ended(result.return_value, result.stdout, result.stderr)

    def on_terminal(self, *arguments: str) -> str:
        """Run a command that asks nothing in this process, on a terminal of its own; returns what
        it printed."""
        master, inner = pty.openpty()
        printed = bytearray()
        reader = threading.Thread(target=_read_all, args=(master, printed))
        reader.start()
        with (
            pytest.MonkeyPatch.context() as patch,
            os.fdopen(inner, "w", encoding="utf-8") as screen,
        ):
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", screen)
            patch.setattr(sys, "stderr", screen)
            code = cli.main(arguments, standalone_mode=False)
        reader.join()
        os.close(master)
        assert code == 0, printed
        return printed.decode()

    def answers_kept(self, thread: str, strategy: Strategy = "orchestrated") -> int:
        """How many answers of models are stored for the node at work, of those that work for the
        whole run."""

        async def kept() -> int:
            async with RunBook.open(self.data) as book:
                state = await book.graph(strategy).aget_state(thread_config(thread))
                pages = Pages(book.database.store, thread_id(thread))
                note = await pages.read_note(f"answers to {state.values['run'].id} ")
            return sum(map(len, json.loads(note["text"]).values())) if note else 0

        return asyncio.run(kept())

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the command, as the leader of a process group."""
        given = {**STREAMS, "cwd": self.folder, "env": self.environment | environment}
        return Forked([COMMAND, *arguments], encoding="utf-8", start_new_session=True, **given)

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The command at work, as the leader of a process group; killed at the end if it is still
        there."""
        process = self.start(*arguments, **environment)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _read_all(terminal: int, read: bytearray) -> None:
    """Read a terminal until no process has it open."""
    # Linux reports that as an error.
    with suppress(OSError):
        while data := os.read(terminal, 65_536):
            read += data


def desk_in(folder: Path) -> Desk:
    desk = Desk(folder)
    write_documents(desk.docs)
    return desk


class Terminal:
    """A command on a terminal of its own; its report goes where `stdout` says."""

    def __init__(self, desk: Desk, *arguments: str, stdout: Any = None) -> None:
        self.master, inner = pty.openpty()
        streams: Any = {
            "stdin": inner,
            "stdout": inner if stdout is None else stdout,
            "stderr": inner,
        }
        own: Any = {"cwd": desk.folder, "env": desk.environment, "start_new_session": True}
        self.process = Forked([COMMAND, *arguments], **streams, **own)
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

    def stop(self, sent: signal.Signals) -> int:
        """Send a signal and read to the end; returns the exit code.

        Python notices a signal that arrives just before it waits for a line only at the next one.
        """
        os.killpg(self.process.pid, sent)
        while True:
            readable, _, _ = select.select([self.master], [], [], RESEND_SECONDS)
            if not readable:
                os.killpg(self.process.pid, sent)
            elif not self._read():
                return self.end()

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


MODEL_KEY = "sk-live-CANARY-0123456789"
KEYS = (MODEL_KEY, SEARCH_KEY)
RESEND_SECONDS = 60.0
"""Silence after which a signal is sent again; a stop is said and done much sooner."""
HELD_SECONDS = 600.0
"""Longer than any test: what is held is let go when the servers close."""
ROUNDS = (("light", "keeper", "tides"), ("harbour",))
"""Tasks of a run; nothing is said of tides."""
CONTACTS = "contacts.txt"
_FENCE = re.compile(r"data-[0-9a-f]{8}")


class Point(NamedTuple):
    """A call to a model: who asks, on which task, after how many results of tools."""

    role: str
    task: str = ""
    """A researcher's task, or the first statement that a verifier judges; empty otherwise."""
    results: int = 0


@dataclass
class Holds:
    """Models that keep back their answer at some points, each once; the writer falls silent in
    mid-word."""

    script: Mapping[str, Any]
    points: set[Point] = field(default_factory=set)
    """Where the next call is held."""
    held: list[Received] = field(default_factory=list)
    pieces: int = 5
    """How much the writer writes before it falls silent."""
    freed: threading.Event = field(default_factory=threading.Event)
    """What the answers that are kept back wait for."""
    noted: threading.Condition = field(default_factory=threading.Condition)

    def release(self) -> None:
        """Let the answers go that are kept back."""
        self.freed.set()
        self.freed = threading.Event()

    def wait_for(self, calls: int) -> None:
        """Wait until so many calls have been held."""
        with self.noted:
            assert self.noted.wait_for(lambda: self.has_held(calls), HELD_SECONDS)

    def has_held(self, calls: int) -> bool:
        """Whether so many calls have been held."""
        return len(self.held) == calls

    def __call__(self, request: Received) -> Reply:
        point = point_of(request)
        reply: Reply = self.script[point.role](request)
        if point not in self.points:
            return reply
        self.points.remove(point)
        with self.noted:
            self.held.append(request)
            self.noted.notify_all()
        return (
            replace(reply, ending="stall", after=self.pieces)
            if point.role == "writer"
            else replace(reply, until=self.freed)
        )


@dataclass(frozen=True)
class WireDesk:
    """Three servers, and a folder whose processes talk to them."""

    lab: WireLab
    desk: Desk
    holds: Holds
    searched: Counter[str] = field(default_factory=Counter)
    """Queries that are forgotten."""

    @property
    def places(self) -> set[str]:
        """Host and port of the three servers."""
        return {
            urlsplit(url).netloc
            for url in (self.lab.models.url, self.lab.engine.url, self.lab.web.url("/"))
        }

    def contacted(self) -> set[str]:
        """Every host and port that a process of this folder reached for, and every name that it
        looked up."""
        return set((self.desk.folder / CONTACTS).read_text("utf-8").splitlines())

    def paid(self) -> Counter[str]:
        """What the three servers were asked, and how often; the random marks around foreign text
        are left out."""
        asked = [
            *map(model_call, self.lab.models.requests),
            *map(search_call, self.lab.engine.queries),
        ]
        return Counter([*asked, *map(page_call, self.fetched())])

    def fetched(self) -> list[str]:
        """Pages that the web was asked for; what a site says to robots is no page."""
        return [
            request.target for request in self.lab.web.requests if request.target != "/robots.txt"
        ]

    def forget(self) -> None:
        """Count anew."""
        self.searched.update(self.lab.engine.queries)
        self.lab.models.requests.clear()
        self.lab.engine.requests.clear()
        self.lab.web.requests.clear()

    def hold_search(self, query: str) -> None:
        """Keep back the answer to the next search for this."""
        answer = Answer([found(self.lab.web.url(f"/{query}"), query.title(), FACTS[query])])
        before = self.searched[query] + self.lab.engine.queries.count(query)
        self.lab.engine.on(query, *[answer] * before, replace(answer, delay=HELD_SECONDS), answer)

    def hold_page(self, path: str) -> None:
        """Keep back the page at this path the next time."""
        pages = self.lab.web.pages
        usual = pages[path]

        async def page(exchange: Exchange) -> None:
            pages[path] = usual
            await asyncio.sleep(HELD_SECONDS)

        pages[path] = page

    def files_with(self, *keys: str) -> list[Path]:
        """Files that hold one of these keys; there should be none."""
        files = [path for path in self.desk.folder.rglob("*") if path.is_file()]
        return [path for path in files if any(key.encode() in path.read_bytes() for key in keys)]


def point_of(request: Received) -> Point:
    """Where a run stands that asks this."""
    role = role_of(request)
    results = sum(message["role"] == "tool" for message in request.messages)
    task = ""
    if role in ("researcher", "finding"):
        task = task_of(request)
    elif "judge_units" in request.tools:
        units, _ = units_shown(request.prompt)
        task = units[0]["says"]
    return Point(role, task, results)


def model_call(request: Received) -> str:
    return _FENCE.sub("data", f"{point_of(request)} {request.json}")


def search_call(query: str) -> str:
    return f"search {query}"


def page_call(path: str) -> str:
    return f"page {path}"


@contextmanager
def wire_desk(folder: Path, **script: Any) -> Iterator[WireDesk]:
    """The servers, and this process's environment, which its children inherit; `script` by role,
    each a function."""
    holds = Holds({**plain_run(), "orchestrator": in_rounds, "researcher": researched, **script})
    with (
        pytest.MonkeyPatch.context() as patch,
        wire_lab(folder, patch, dict.fromkeys(holds.script, holds)) as lab,
    ):
        tides = found(
            lab.web.publish("/tides", f"<html><title>Tides</title><p>{PADDING}</p></html>"), "Tides"
        )
        light = found(lab.web.url("/light"), "Light", FACTS["light"])
        lab.engine.on("tides", Answer([tides]))
        lab.engine.on("light", Answer([light, tides]))
        (folder / CONTACTS).touch()
        environment = {
            "PYTHONPATH": str(WATCH),
            "WATCH_LOG": str(folder / CONTACTS),
            "OPENAI_API_KEY": MODEL_KEY,
            "DEEP_RESEARCH_MODELS": "openai:fake-1",
            "DEEP_RESEARCH_TOOL_CALLS": "native",
            "DEEP_RESEARCH_WINDOW": "100000",
            "DEEP_RESEARCH_ALLOW_PRIVATE": lab.web.netloc,
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        yield WireDesk(lab, Desk(folder), holds)


def in_rounds(request: Received) -> Reply:
    """An orchestrator that hands out one round of tasks after the other, and then has the report
    written."""
    calls = [
        call["function"]["name"]
        for message in request.messages
        for call in message.get("tool_calls") or ()
    ]
    done = calls.count("research_agent")
    for tasks in ROUNDS:
        if done == 0:
            return hand_out(*tasks)
        done -= len(tasks)
    return END
