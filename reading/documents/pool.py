"""The child processes that parse foreign bytes: shared, limited, killed when they hang, ended when idle.

Parsers of foreign bytes hold the interpreter for seconds and sometimes eat all memory, so they run elsewhere. The
children are started by `python -m` and not by multiprocessing: its spawn would run the
user's own script again in each child, which breaks scripts without a main guard, and notebooks.
"""

from __future__ import annotations

import atexit
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

from ...run.concurrency import Threads
from ..fetch import Fetched
from ..records import Extract, Kind, Link, Unreadable
from .frames import receive, send

WORKERS = 2
ENDING_SECONDS = 2.0
NOTICE_SECONDS = 0.1

# Everything else stays here: the child has no use for keys and tokens.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT", "TEMP", "TMPDIR")


class _File(NamedTuple):
    data: bytes
    name: str
    kind: Kind | None = None
    charset: str = ""
    address: str = ""
    today: str = ""


class Parser:
    """Parses files in a few child processes; a context manager that may be used from several threads."""

    def __init__(self, seconds: float, max_bytes: int, workers: int = WORKERS, today: str = "") -> None:
        """`today` is an ISO date: days that come after it are no dates of files."""
        self.max_bytes = max_bytes
        self._today = today
        self._is_closed = False
        self._workers = [_Worker(seconds) for _ in range(workers)]
        self._idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        """Nothing happens yet: children are started when there is something to read."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the children."""
        self.close()

    def parse(self, data: bytes, name: str, kind: Kind | None = None, charset: str = "", address: str = "") -> Extract:
        """Read a file of this name, or the page at this address; blocks until a child is free and done.

        Raises `Unreadable`, also when the parser is closed meanwhile.
        """
        self._check(data)
        (answer,) = self._answers([_File(data, name, kind, charset, address, self._today)])
        return _extract(answer)

    def parse_all(self, files: Sequence[tuple[bytes, str]]) -> list[Extract | Unreadable]:
        """Read files of these names in one go, which for small ones is much faster than one by one."""
        try:
            for data, _ in files:
                self._check(data)
            return (
                [
                    _read(answer)
                    for answer in self._answers([_File(data, name, today=self._today) for data, name in files])
                ]
                if files
                else []
            )
        except Unreadable:
            # One of them is the reason. It must not cost the others their texts, nor their share of the time.
            return [self._alone(*file) for file in files]

    def _alone(self, data: bytes, name: str) -> Extract | Unreadable:
        try:
            return self.parse(data, name)
        except Unreadable as error:
            return error

    def _check(self, data: bytes) -> None:
        if not data:
            raise Unreadable("empty", "it is empty")
        if len(data) > self.max_bytes:
            raise Unreadable("too large", f"it is larger than {self.max_bytes} bytes")

    def _answers(self, files: Sequence[_File]) -> list[dict[str, Any]]:
        worker = self._idle.get()
        try:
            return self._asked(worker, files)
        finally:
            self._idle.put(worker)

    def _asked(self, worker: _Worker, files: Sequence[_File]) -> list[dict[str, Any]]:
        if self._is_closed:
            raise Unreadable("crashed", "the parser is closed")
        try:
            return worker.answers(files)
        except Unreadable as error:
            if error.reason != "crashed" or self._is_closed:
                raise
        # Once more in a fresh child: the first may have been killed for reasons that are not the file's.
        return worker.answers(files)

    def close(self) -> None:
        """End the children, at once also those that still parse."""
        self._is_closed = True
        ended: list[_Worker] = []
        while len(ended) < len(self._workers):
            try:
                # A worker comes back when the thread that uses it has noticed that its child is gone.
                ended.append(self._idle.get(timeout=NOTICE_SECONDS))
            except queue.Empty:
                for worker in self._workers:
                    if worker not in ended:
                        worker.interrupt()
        for worker in ended:
            worker.stop()
            self._idle.put(worker)


class _Worker:
    """One child process, started when first needed and again after it was killed."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def answers(self, files: Sequence[_File]) -> list[dict[str, Any]]:
        process = self._process = self._process or _start()
        is_late = threading.Event()
        clock = threading.Timer(self._seconds, _kill, (process, is_late))
        clock.daemon = True
        clock.start()
        try:
            answers = _ask(process, files, self._seconds)
        finally:
            clock.cancel()
        if answers is not None and not is_late.is_set():
            return answers
        self.stop()
        if is_late.is_set():
            raise Unreadable("timed out", f"reading it takes longer than {self._seconds:g} seconds")
        raise Unreadable("crashed", "reading it ended the parser")

    def interrupt(self) -> None:
        """Kill the child at its work; may be called while another thread waits for its answer."""
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _start() -> subprocess.Popen[bytes]:
    names = [name for name in os.environ if name in _ENVIRONMENT or name.startswith("PYTHON")]
    # -P: a file in the working folder must not stand in for a module.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "deep_research.reading.documents.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in names},
    )


def _ask(process: subprocess.Popen[bytes], files: Sequence[_File], seconds: float) -> list[dict[str, Any]] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    headers = [{**file._asdict(), "data": len(file.data)} for file in files]
    try:
        send(process.stdin, {"seconds": seconds, "files": headers}, b"".join(file.data for file in files))
        answers = [receive(process.stdout) for _ in files]
    except OSError:
        return None
    return [answer[0] for answer in answers if answer] if all(answers) else None


def _kill(process: subprocess.Popen[bytes], is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def _extract(answer: dict[str, Any]) -> Extract:
    if "reason" in answer:
        raise Unreadable(answer["reason"], answer["words"])
    links = tuple(Link(*link) for link in answer["links"])
    return Extract(**{**answer, "links": links, "signs": tuple(answer["signs"])})


def _read(answer: dict[str, Any]) -> Extract | Unreadable:
    try:
        return _extract(answer)
    except Unreadable as error:
        return error


CHILDREN = 4
"""Most children for all readers with the same limits: those kept busy by hostile pages must not stop the rest."""
IDLE_SECONDS = 60.0
"""How long children wait for the next reader: starting one costs as much as parsing thirty pages."""

_SAMPLE = b"<html><body>%b</body></html>" % (b"<p>A page as long as it takes to have all libraries loaded.</p>" * 50)


@dataclass(eq=False)
class _Shared:
    parser: Parser
    threads: Threads = field(default_factory=lambda: Threads("parse", CHILDREN))
    users: int = 0
    end: threading.Timer | None = None


_lock = threading.Lock()
_shared: dict[tuple[float, int], _Shared] = {}


class Parsers:
    """One reader's part in the children; they are started when there is something to parse."""

    def __init__(self, seconds: float, max_bytes: int, idle_seconds: float = IDLE_SECONDS) -> None:
        """`seconds` are those of one page; for `idle_seconds` the children outlast the last reader."""
        self._limits, self._idle_seconds = (seconds, max_bytes), idle_seconds
        self._used: _Shared | None = None

    def open(self) -> None:
        """Take part."""
        with _lock:
            if self._limits not in _shared:
                _shared[self._limits] = _Shared(Parser(*self._limits, CHILDREN))
            self._used = _shared[self._limits]
            self._used.users += 1
            if self._used.end:
                self._used.end.cancel()

    def close(self) -> None:
        """Take part no longer."""
        used, self._used = self._used, None
        if used is None:
            return
        with _lock:
            used.users -= 1
            if not used.users:
                used.end = threading.Timer(self._idle_seconds, _end, (self._limits, used))
                used.end.daemon = True
                used.end.start()

    def start_early(self) -> None:
        """Have a child started for each processor, so that the first pages need not wait for it; returns at once."""
        for _ in range(min(CHILDREN, os.cpu_count() or 1)):
            threading.Thread(target=self._start_one, daemon=True, name="parse").start()

    def _start_one(self) -> None:
        other = Parsers(*self._limits, self._idle_seconds)
        other.open()
        assert other._used is not None
        try:
            with suppress(Unreadable):
                other._used.parser.parse(_SAMPLE, "sample.html", "html")
        finally:
            other.close()

    async def parse(self, fetched: Fetched, name: str) -> Extract:
        """Parse a page when a child is free. Raises `Unreadable`."""
        assert self._used is not None
        work = partial(self._used.parser.parse, fetched.data, name, fetched.kind, fetched.charset, fetched.address)
        return await self._used.threads.run(work)


def _end(limits: tuple[float, int], shared: _Shared) -> None:
    """End the children, at once also those that still parse, unless somebody has come to use them."""
    with _lock:
        if shared.users or _shared.get(limits) is not shared:
            return
        del _shared[limits]
    shared.parser.close()


@atexit.register
def _end_all() -> None:
    with _lock:
        ended = [*_shared.values()]
        _shared.clear()
    for shared in ended:
        shared.parser.close()
