"""Child processes that parse untrusted bytes.

They are shared, limited, killed if they hang, and stopped when idle.

Parsers can block the interpreter for seconds and use up all memory. The children are started with
`python -m` because multiprocessing would rerun the user's script in each, which breaks notebooks
and scripts without a main guard.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from ...concurrency import Threads
from ._recognition import PAGES
from .decode import clean_text
from .records import DocumentKind, Extract, PageLink, Unreadable
from .worker import SCANS, MessagePipe

_WORKER = "deep_research.core.reading.documents.worker"
_FILE_CHILDREN = 8
"""Maximum number of child processes for the user's files; several, since a server may index the
files of several users, and a scan takes minutes."""
_PAGE_CHILDREN = 4
"""Maximum number of child processes for web pages; several, since hostile pages may occupy some."""
_IDLE_SECONDS = 60.0
"""How long an idle child process is kept; starting one takes as long as parsing thirty pages."""
_TIMED_BYTES = 1_000_000
"""A file may take `seconds` for each chunk of this size, and again for the rest of it."""
_SCAN_FACTOR = 8
"""Time limit of a page with OCR, as a multiple of that of a file."""
_ENDING_SECONDS = 2.0
"""How long a child process may take to exit before it is killed."""
_NOTICE_SECONDS = 0.1
"""How long to wait for a worker to be idle before its child process is killed."""

# Only these environment variables are passed to the child, so no keys or tokens.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT", "TEMP",
    "TMPDIR", "PLAYWRIGHT_BROWSERS_PATH", "XDG_CACHE_HOME", "LOCALAPPDATA",
)  # fmt: skip
_SAMPLE = b"<html><body>%b</body></html>" % (
    b"<p>A page that is long enough to load all libraries.</p>" * 50
)


_PAGE_THREADS = Threads("parse", _PAGE_CHILDREN)
"""Threads that wait for child processes which parse web pages."""


class _File(NamedTuple):
    data: bytes
    name: str
    kind: DocumentKind | None = None
    charset: str = ""
    address: str = ""
    today: str = ""
    keeps_links: bool = False


class Parser:
    """Parses files in child processes, started on demand; a thread-safe context manager."""

    FILES_AT_ONCE: ClassVar = 2
    """Number of child processes that an indexing of the user's files uses at the same time."""

    def __init__(
        self,
        seconds: float,
        max_bytes: int,
        workers: int = FILES_AT_ONCE,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        """`seconds`: time limit per megabyte of a file."""
        self.max_bytes = max_bytes
        self._is_closed = False
        self._workers = [_Worker(seconds, idle_seconds) for _ in range(workers)]
        self._idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)

    @classmethod
    def of_pages(cls, seconds: float, max_bytes: int) -> Parser:
        """Return this process's shared parser for pages with these limits."""
        return _shared(seconds, max_bytes, _PAGE_CHILDREN)

    @classmethod
    def of_files(cls, seconds: float, max_bytes: int) -> Parser:
        """Return this process's shared parser for the user's files with these limits."""
        return _shared(seconds, max_bytes, _FILE_CHILDREN)

    @property
    def workers(self) -> int:
        """Maximum number of child processes."""
        return len(self._workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def parse(
        self,
        data: bytes,
        name: str,
        kind: DocumentKind | None = None,
        charset: str = "",
        address: str = "",
        keeps_links: bool = False,
    ) -> Extract:
        """Parse a file, or the page at this address; blocks until a child is free and done.

        Raises `Unreadable`, also if the parser is closed meanwhile.
        """
        file = _File(data, name, kind, charset, address, keeps_links=keeps_links)
        extract = _logged(file, self._parse_alone(file))
        if isinstance(extract, Unreadable):
            raise extract
        return extract

    async def aparse(
        self, data: bytes, name: str, kind: DocumentKind | None, charset: str, address: str
    ) -> Extract:
        """Parse the page at this address like `parse`, for async callers."""
        return await _PAGE_THREADS.run(self.parse, data, name, kind, charset, address)

    def parse_all(
        self, files: Sequence[tuple[bytes, str]], today: str = ""
    ) -> list[Extract | Unreadable]:
        """Parse (content, name) pairs in one request, which is much faster for small files.

        `today`: ISO date, later dates are not dates of a file.
        """
        if not files:
            return []
        requests = [_File(data, name, today=today) for data, name in files]
        try:
            extracts = self._parse(requests)
        except Unreadable:
            # Parse each file alone, so that one that crashes the parser or takes too long does not
            # cost the others.
            extracts = list(map(self._parse_alone, requests))
        return list(map(_logged, requests, extracts))

    def start(self) -> None:
        """Have the child processes started in advance; returns at once."""
        sample = _File(_SAMPLE, "sample.html")
        for worker in self._workers:
            if not worker.is_started:
                thread = threading.Thread(target=self._parse_alone, args=[sample], daemon=True)
                thread.start()

    def close(self) -> None:
        """Kill the child processes immediately, even while they parse."""
        self._is_closed = True
        ended: list[_Worker] = []
        while len(ended) < len(self._workers):
            try:
                # A worker is returned once the thread that uses it has noticed that its child
                # process is gone.
                ended.append(self._idle.get(timeout=_NOTICE_SECONDS))
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
        """Parse files in one child process, and once more in a new one if it crashes.

        Raises `Unreadable`.
        """
        for file in files:
            if not file.data:
                raise Unreadable("empty", "it is empty")
            if len(file.data) > self.max_bytes:
                raise Unreadable("too large", f"it is larger than {self.max_bytes} bytes")
        worker = self._idle.get()
        try:
            if self._is_closed:
                raise Unreadable("crashed", "the parser is closed")
            try:
                return worker.parse(files)
            except Unreadable as error:
                if error.reason != "crashed" or self._is_closed:
                    raise
            # Retry in a new child process, since the old one may have timed out or been killed from
            # outside.
            return worker.parse(files)
        finally:
            self._idle.put(worker)


@cache
def _shared(seconds: float, max_bytes: int, workers: int) -> Parser:
    """Return a parser whose child processes are kept for the next files until they are idle for
    long."""
    parser = Parser(seconds, max_bytes, workers)
    atexit.register(parser.close)
    return parser


class _Worker:
    """A child process, started on demand and restarted after it has exited."""

    def __init__(self, seconds: float, idle_seconds: float) -> None:
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._is_late = False

    @property
    def is_started(self) -> bool:
        """Whether there is a child process that has not exited."""
        process = self._process
        return process is not None and process.poll() is None

    def parse(self, files: Sequence[_File]) -> list[Extract | Unreadable]:
        """Parse files in the child process. Raises `Unreadable` if it takes too long or exits."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        process = self._process or start_child(_WORKER, str(self._idle_seconds))
        self._process = process
        assert process.stdin and process.stdout
        pipe = MessagePipe(process.stdout, process.stdin)
        size = sum(len(file.data) for file in files)
        seconds = self._seconds * (1 + size // _TIMED_BYTES)
        scan_seconds = _SCAN_FACTOR * seconds
        headers = list[dict[str, Any]]()
        for file in files:
            headers.append({**file._asdict(), "data": len(file.data)})
        request = {"seconds": seconds, "scan_seconds": scan_seconds, "files": headers}
        answers = list[dict[str, Any]]()
        scans = 0
        self._is_late = False
        timer = self._started_timer(seconds)
        try:
            pipe.send(request, b"".join(file.data for file in files))
            while len(answers) < len(files):
                message = pipe.receive()
                if message is None:
                    break
                answer, _ = message
                if SCANS not in answer:
                    answers.append(answer)
                elif scans <= PAGES:
                    # Each page with OCR extends the time limit, up to the maximum number of such
                    # pages.
                    scans += 1
                    seconds = scan_seconds
                    timer.cancel()
                    timer = self._started_timer(seconds)
        except OSError:
            # The child has exited, so its pipes are closed.
            pass
        finally:
            timer.cancel()
        if len(answers) == len(files) and not self._is_late:
            # Not in the loop: an error there would leave answers in the pipe, which the next files
            # would be given.
            return list(map(_extract_of, answers))
        self.stop()
        if self._is_late:
            raise Unreadable("timed out", f"reading it takes longer than {seconds:g} seconds")
        raise Unreadable("crashed", "it crashed the parser")

    def _started_timer(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        return timer

    def _expire(self) -> None:
        self._is_late = True
        self.interrupt()

    def interrupt(self) -> None:
        """Kill the child process, even while another thread waits for its response."""
        process = self._process
        if process:
            process.kill()

    def stop(self) -> None:
        """Stop an idle child process."""
        process = self._process
        self._process = None
        if process is None:
            return
        try:
            process.communicate(timeout=_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def start_child(
    module: str, *arguments: str, stderr: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Run a module of this package as a child process with pipes.

    The user's keys are not in its environment.
    """
    environment = dict[str, str]()
    for name, value in os.environ.items():
        if name in _ENVIRONMENT or name.startswith("PYTHON"):
            environment[name] = value
    # -P: a file in the working directory must not replace a module.
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
    )


def _extract_of(answer: Mapping[str, Any]) -> Extract | Unreadable:
    if "reason" in answer:
        return Unreadable(answer["reason"], answer["message"], str(answer.get("trace", "")))
    # JSON has no tuples.
    links = tuple(PageLink(*link) for link in answer["links"])
    signs = tuple(answer["signs"])
    return Extract(**{**answer, "links": links, "signs": signs})


def _logged(file: _File, extract: Extract | Unreadable) -> Extract | Unreadable:
    """Log why a file gave no text, with the traceback if a parser failed."""
    if isinstance(extract, Unreadable):
        level = logging.INFO
        if extract.reason in ("broken", "crashed", "timed out", "too large"):
            level = logging.WARNING
        why: str = extract.reason
        if extract.trace:
            # Messages from registered parsers may contain control characters.
            why = f"{extract}\n{clean_text(extract.trace)}"
        logging.getLogger(__name__).log(level, "%r gave no text: %s", file.name, why)
    return extract
