"""The child process that parses foreign bytes, under limits of memory and time."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, BinaryIO

from .frames import receive, send
from .parse import parse
from .records import Unreadable

MEMORY_BYTES = 1_000_000_000


def main() -> None:
    """Answer parse requests from standard input until it ends."""
    # An interrupt at the terminal reaches the whole group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # Whatever a library prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory()
    while (request := receive(requests)) is not None:
        header, data = request
        _limit_time(header["seconds"])
        start = 0
        for file in header["files"]:
            stop = start + file["data"]
            _answer(answers, file, data[start:stop])
            start = stop


def _answer(answers: BinaryIO, header: dict[str, Any], data: bytes) -> None:
    try:
        extract = parse(data, header["name"], header["kind"], header["charset"], header["address"], header["today"])
    except Unreadable as error:
        send(answers, {"reason": error.reason, "words": str(error)})
    except MemoryError:
        send(answers, {"reason": "too large", "words": "reading it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - the edge between foreign bytes and the program
        send(answers, {"reason": "broken", "words": f"it cannot be parsed ({type(error).__name__})"})
    else:
        send(answers, extract._asdict())


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    except (ImportError, ValueError, OSError):
        return  # Windows and macOS have no such limit; the parent's clock still holds.


def _limit_time(seconds: float) -> None:
    """Let the kernel end this process if the parent is no longer there to do it."""
    try:
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime + 2 * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


if __name__ == "__main__":
    main()
