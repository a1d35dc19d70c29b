"""The child process in which the server reads and checks reports from elsewhere.

Such a report may take seconds of CPU, which in the server's own process would slow down all other
requests and runs. The process answers requests from standard input, one at a time; its parent is in
`_check_pool.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple

from pydantic import TypeAdapter

from ...core.errors import DeepResearchError, log_failure
from ...core.records.research import Spent
from ...core.settings.installed import load_all
from ...core.settings.server_settings import UserSettings
from ..check_file import CheckedFile, ReportFile

READ, CHECK, STOP = "read", "check", "stop"
"""What a request asks for: to read a report, to check one that was read, to stop the check."""
_NICENESS = 10
"""Added to the niceness of the process, so that other users' runs come first."""


class CheckedPage(NamedTuple):
    """A checked report and how it is shown."""

    checked: CheckedFile
    html: str
    """The report as an HTML page."""


REPORT = TypeAdapter(ReportFile)
CHECKED = TypeAdapter(CheckedPage)


def header_of(fields: Mapping[str, Any], body: bytes) -> bytes:
    """Return the line of JSON that precedes the body of a message."""
    return json.dumps({**fields, "bytes": len(body)}).encode("ascii") + b"\n"


class _Worker:
    """Answers requests until standard input is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sent: IO[bytes]) -> None:
        self._loop = loop
        self._sent = sent
        self._work: asyncio.Task[None] | None = None
        self._costs: Mapping[str, Spent] = {}

    def listen(self, received: IO[bytes]) -> None:
        """Pass requests to the event loop; ends the process when there are no more."""
        while line := received.readline():
            request = json.loads(line)
            body = received.read(request.pop("bytes"))
            self._loop.call_soon_threadsafe(self._begin, request, body)
        # The server has ended, or does not need this process any more.
        os._exit(0)

    def _begin(self, request: dict[str, Any], body: bytes) -> None:
        if request["do"] != STOP:
            self._work = self._loop.create_task(self._answer(request, body))
        elif self._work:
            self._work.cancel()

    async def _answer(self, request: dict[str, Any], body: bytes) -> None:
        """Answer a request; the last message of each answer has the costs."""
        self._costs = {}
        outcome = dict[str, Any]()
        answer = b""
        try:
            answer = await self._result(request, body)
        except asyncio.CancelledError:
            outcome["error"] = "CancelledError"
        except DeepResearchError as error:
            outcome.update(error=type(error).__name__, words=str(error))
        except Exception as error:  # noqa: BLE001 - the process goes on with the next report
            log_failure(__name__, error, "A check failed with an error")
            outcome.update(
                error="DeepResearchError",
                words="The check failed with an error, which is in the server's log.",
            )
        costs = {key: spent.model_dump(mode="json") for key, spent in self._costs.items()}
        self._send({**outcome, "costs": costs}, answer)

    async def _result(self, request: dict[str, Any], body: bytes) -> bytes:
        context = await asyncio.to_thread(UserSettings().context_of, request["user"])
        name = request["name"]
        if request["do"] == READ:
            return REPORT.dump_json(await ReportFile.read(body, name, context))
        report = REPORT.validate_json(body)
        checked = await report.check(
            context.model_copy(update={"verify": "check"}),
            lambda words: self._send({"notice": words}),
            request["request"],
            self._keep_costs,
        )
        html = await asyncio.to_thread(checked.html, name)
        return CHECKED.dump_json(CheckedPage(checked, html))

    def _keep_costs(self, costs: Mapping[str, Spent]) -> None:
        self._costs = costs

    def _send(self, fields: Mapping[str, Any], body: bytes = b"") -> None:
        self._sent.write(header_of(fields, body) + body)
        self._sent.flush()


async def _serve(received: IO[bytes], sent: IO[bytes]) -> None:
    worker = _Worker(asyncio.get_running_loop(), sent)
    threading.Thread(target=worker.listen, args=(received,), daemon=True).start()
    await asyncio.Event().wait()


def main() -> None:
    """Answer requests from standard input until it is closed."""
    # Ctrl-C reaches the whole process group, but the parent decides when this process stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Windows has no niceness.
    with suppress(AttributeError, OSError):
        os.nice(_NICENESS)
    # Keep libraries' output out of the answers.
    sent = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    load_all()
    asyncio.run(_serve(sys.stdin.buffer, sent))


if __name__ == "__main__":
    main()
