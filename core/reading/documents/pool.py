"""The child processes that parse foreign bytes: shared, limited, killed when they hang; they end when they are idle.

Parsers of foreign bytes hold the interpreter for seconds and sometimes eat all memory, so they run elsewhere. The
children are started by `python -m` and not by multiprocessing: its spawn would run the
user's own script again in each child, which breaks scripts without a main guard, and notebooks.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import IO, Any, NamedTuple, Self

from ..records import Extract, Kind, PageLink, Unreadable
from .decode import clean
from .recognition import PAGES
from .worker import SCANS, receive, send

WORKER = "deep_research.core.reading.documents.worker"
WORKERS = 2
CHILDREN = 4
"""Most children for all readers of pages with the same limits: those that hostile pages keep busy must not stop the
rest."""
IDLE_SECONDS = 60.0
"""How long a child waits for more to parse: starting one costs as much as parsing thirty pages."""
TIMED_BYTES = 1_000_000
"""Bytes for which the time of one file is meant; larger files are given it again for each further such piece."""
SCAN_FACTOR = 8
"""How many times as long as reading another file recognising one page may take."""
ENDING_SECONDS = 2.0
NOTICE_SECONDS = 0.1

# Everything else stays here: the child has no use for keys and tokens.
_ENVIRONMENT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT", "TEMP", "TMPDIR"),
    *("PLAYWRIGHT_BROWSERS_PATH", "XDG_CACHE_HOME", "LOCALAPPDATA"),
)
_SAMPLE = b"<html><body>%b</body></html>" % (b"<p>A page as long as it takes to have all libraries loaded.</p>" * 50)


class _File(NamedTuple):
    data: bytes
    name: str
    kind: Kind | None = None
    charset: str = ""
    address: str = ""
    today: str = ""
    keeps_links: bool = False


class Parser:
    """Parses files in a few child processes; a context manager that may be used from several threads.

    Children are started when there is something to parse.
    """

    def __init__(
        self,
        seconds: float,
        max_bytes: int,
        workers: int = WORKERS,
        today: str = "",
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`today` is an ISO date: days that come after it are no dates of files."""
        self.max_bytes = max_bytes
        self._today = today
        self._is_closed = False
        self._workers = [_Worker(seconds, idle_seconds) for _ in range(workers)]
        self._idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        """Return the parser itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the children."""
        self.close()

    def parse(
        self,
        data: bytes,
        name: str,
        kind: Kind | None = None,
        charset: str = "",
        address: str = "",
        keeps_links: bool = False,
    ) -> Extract:
        """Parse a file of this name, or the page at this address; blocks until a child is free and done.

        Raises `Unreadable`, also when the parser is closed meanwhile.
        """
        file = _File(data, name, kind, charset, address, self._today, keeps_links)
        extract = _noted(file, self._parse_alone(file))
        if isinstance(extract, Unreadable):
            raise extract
        return extract

    def parse_all(self, files: Sequence[tuple[bytes, str]]) -> list[Extract | Unreadable]:
        """Parse files of these names in one go, which for small ones is much faster than one by one."""
        requests = [_File(data, name, today=self._today) for data, name in files]
        try:
            extracts = self._parse(requests) if files else []
        except Unreadable:
            # One of them is the reason. It must not cost the others their texts, nor their share of the time.
            extracts = [self._parse_alone(request) for request in requests]
        return list(map(_noted, requests, extracts))

    def start(self) -> None:
        """Have a child started for each processor, so that the first pages need not wait for it; returns at once."""
        for _ in range(min(len(self._workers), os.cpu_count() or 1)):
            threading.Thread(target=self._parse_alone, args=[_File(_SAMPLE, "sample.html")], daemon=True).start()

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

    def _parse_alone(self, file: _File) -> Extract | Unreadable:
        try:
            return self._parse([file])[0]
        except Unreadable as error:
            return error

    def _parse(self, files: Sequence[_File]) -> list[Extract | Unreadable]:
        for file in files:
            if not file.data:
                raise Unreadable("empty", "it is empty")
            if len(file.data) > self.max_bytes:
                raise Unreadable("too large", f"it is larger than {self.max_bytes} bytes")
        worker = self._idle.get()
        try:
            return self._ask(worker, files)
        finally:
            self._idle.put(worker)

    def _ask(self, worker: _Worker, files: Sequence[_File]) -> list[Extract | Unreadable]:
        if self._is_closed:
            raise Unreadable("crashed", "the parser is closed")
        try:
            return worker.parse(files)
        except Unreadable as error:
            if error.reason != "crashed" or self._is_closed:
                raise
        # Once more in a fresh child: the first may have been idle for too long, or killed for other reasons.
        return worker.parse(files)


@cache
def shared_parser(seconds: float, max_bytes: int) -> Parser:
    """Return the parser of this process for pages with these limits."""
    parser = Parser(seconds, max_bytes, CHILDREN)
    atexit.register(parser.close)
    return parser


class _Worker:
    """One child process, started when first needed and again after it has ended."""

    def __init__(self, seconds: float, idle_seconds: float) -> None:
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, files: Sequence[_File]) -> list[Extract | Unreadable]:
        """Raises `Unreadable` if the child takes too long or ends."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        process = self._process = self._process or start_child(WORKER, str(self._idle_seconds))
        size = sum(len(file.data) for file in files)
        with _Clock(process, self._seconds * (1 + size // TIMED_BYTES)) as clock:
            answers = _ask(process, files, clock)
        if answers is not None and not clock.is_late:
            return [_extract(answer) for answer in answers]
        self.stop()
        if clock.is_late:
            raise Unreadable("timed out", f"reading it takes longer than {clock.seconds:g} seconds")
        raise Unreadable("crashed", "reading it ended the parser")

    def interrupt(self) -> None:
        """Kill the child at its work; may be called while another thread waits for its answer."""
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """End the child, which is not at work."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class _Clock:
    """Kills a child that takes too long; a context manager."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.seconds = seconds
        """What the child is given for the files, or for a page that it recognises."""
        self.scan_seconds = SCAN_FACTOR * seconds
        self.is_late = False
        self._process = process
        self._scans = 0

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    def scan(self) -> None:
        """Give the child time for one page, which it may ask for once a page."""
        self._scans += 1
        if self._scans <= PAGES + 1:
            self._timer.cancel()
            self.seconds = self.scan_seconds
            self._begin()

    def _begin(self) -> None:
        self._timer = threading.Timer(self.seconds, self._kill)
        self._timer.daemon = True
        self._timer.start()

    def _kill(self) -> None:
        self.is_late = True
        self._process.kill()


def start_child(module: str, *arguments: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start one of our modules as a process of its own that is spoken to by pipes."""
    names = [name for name in os.environ if name in _ENVIRONMENT or name.startswith("PYTHON")]
    # -P: a file in the working folder must not stand in for a module.
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={name: os.environ[name] for name in names},
    )


def _ask(process: subprocess.Popen[bytes], files: Sequence[_File], clock: _Clock) -> list[dict[str, Any]] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    headers = [{**file._asdict(), "data": len(file.data)} for file in files]
    try:
        limits = {"seconds": clock.seconds, "scan_seconds": clock.scan_seconds}
        send(process.stdin, {**limits, "files": headers}, b"".join(file.data for file in files))
        answers = [_receive(process.stdout, clock) for _ in files]
    except OSError:
        return None
    return [answer for answer in answers if answer] if all(answers) else None


def _receive(answers: IO[bytes], clock: _Clock) -> dict[str, Any] | None:
    """Return the answer for one file; none if the child has ended."""
    while answer := receive(answers):
        if SCANS not in answer[0]:
            return answer[0]
        clock.scan()
    return None


def _noted(file: _File, extract: Extract | Unreadable) -> Extract | Unreadable:
    """Log why a file gave no text; where that is a failure, with the place in the parser."""
    if isinstance(extract, Unreadable):
        is_failure = extract.reason in ("broken", "crashed", "timed out", "too large")
        # Parsers of other packages choose their words.
        why = f"{extract}\n{clean(extract.trace)}" if extract.trace else extract.reason
        level = logging.WARNING if is_failure else logging.INFO
        logging.getLogger(__name__).log(level, "%r gave no text: %s", file.name, why)
    return extract


def _extract(answer: dict[str, Any]) -> Extract | Unreadable:
    if "reason" in answer:
        return Unreadable(answer["reason"], answer["words"], str(answer.get("trace", "")))
    links = tuple(PageLink(*link) for link in answer["links"])
    return Extract(**{**answer, "links": links, "signs": tuple(answer["signs"])})
