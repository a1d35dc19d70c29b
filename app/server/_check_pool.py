"""The server's child processes that read and check reports from elsewhere; see
`_check_worker.py`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...core import errors
from ...core.accounts.ledger import Account
from ...core.concurrency import PerLoop, in_thread, slot
from ...core.errors import DeepResearchError
from ...core.records.research import Spent
from ...core.settings.server_settings import UserSettings
from ...core.store.pages import Pages
from ._check_worker import CHECK, CHECKED, READ, STOP, CheckedPage, header_of

_WORKER = "deep_research.app.server._check_worker"
_CHILDREN = 4
"""Maximum number of processes, which is that of users whose reports are checked at the same
time."""
_IDLE_SECONDS = 60.0
"""How long an idle process is kept; starting one takes two seconds of CPU."""
_STOP_SECONDS = 5.0
"""How long a stopped check may take to say what it has cost, before its process is killed."""
_LINE_BYTES = 4_000_000
"""Maximum length of the first line of a message, which lists the cost of each call."""
_ENDED = "The check ended unexpectedly; its process may have run out of memory."


class _Message(NamedTuple):
    fields: Mapping[str, Any]
    body: bytes


class _Child:
    """A child process; it answers one request at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.expiry: asyncio.TimerHandle | None = None
        """Ends the process if it stays idle."""

    @classmethod
    async def started(cls) -> _Child:
        """Start a process with the server's environment, and with its import path, since settings
        may name engines and models as `module:Name`."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            _WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            limit=_LINE_BYTES,
        )
        return cls(process)

    @property
    def is_alive(self) -> bool:
        """Whether the process has not exited."""
        return self._process.returncode is None

    async def send(self, fields: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a request; if the process has exited, `receive` says so."""
        assert self._process.stdin
        with suppress(ConnectionError):
            self._process.stdin.write(header_of(fields, body))
            self._process.stdin.write(body)
            await self._process.stdin.drain()

    async def receive(self) -> _Message:
        """Return the next message; raises `DeepResearchError` if the process has exited."""
        assert self._process.stdout
        try:
            fields = json.loads(await self._process.stdout.readuntil())
            body = await self._process.stdout.readexactly(fields.pop("bytes"))
        except asyncio.IncompleteReadError as error:
            raise DeepResearchError(_ENDED) from error
        return _Message(fields, body)

    async def last_message(self, on_notice: Callable[[str], None]) -> _Message:
        """Return the message that ends an answer; `on_notice` receives the lines before it."""
        while True:
            message = await self.receive()
            if "notice" not in message.fields:
                return message
            on_notice(message.fields["notice"])

    def end(self) -> None:
        """Let an idle process exit."""
        assert self._process.stdin
        self._process.stdin.close()

    async def exited(self) -> None:
        """Wait until the process has exited."""
        await self._process.wait()

    def kill(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            self._process.kill()


class CheckPool:
    """Child processes, started on demand and ended when idle."""

    def __init__(self) -> None:
        self._idle = list[_Child]()

    async def ask(
        self,
        fields: Mapping[str, Any],
        body: bytes,
        on_notice: Callable[[str], None] = lambda _: None,
        account: Pages | None = None,
    ) -> bytes:
        """Return the answer to a request; raises the `DeepResearchError` of the process.

        The costs are charged to the user's `account`, if given, also if the caller is cancelled,
        which stops the work.
        """
        async with slot("processes that check reports", _CHILDREN):
            child = await self._free_child()
            message: _Message | None = None
            try:
                await child.send(fields, body)
                message = await child.last_message(on_notice)
            except asyncio.CancelledError:
                with suppress(TimeoutError, DeepResearchError):
                    async with asyncio.timeout(_STOP_SECONDS):
                        await child.send({"do": STOP})
                        message = await child.last_message(lambda _: None)
                raise
            finally:
                if message is None:
                    child.kill()
                else:
                    self._keep(child)
                    await _charge(message, account)
        if "error" in message.fields:
            error = getattr(errors, message.fields["error"], DeepResearchError)
            raise error(message.fields["words"])
        return message.body

    async def close(self) -> None:
        """Let the idle processes exit, and wait for that."""
        ended = list(self._idle)
        self._idle.clear()
        for child in ended:
            assert child.expiry
            child.expiry.cancel()
            child.end()
        for child in ended:
            await child.exited()

    async def _free_child(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            assert child.expiry
            child.expiry.cancel()
            if child.is_alive:
                return child
        return await _Child.started()

    def _keep(self, child: _Child) -> None:
        self._idle.append(child)
        loop = asyncio.get_running_loop()
        child.expiry = loop.call_later(_IDLE_SECONDS, self._let_go, child)

    def _let_go(self, child: _Child) -> None:
        self._idle.remove(child)
        child.end()


async def _charge(message: _Message, account: Pages | None) -> None:
    if account:
        costs = dict[str, Spent]()
        for key, spent in message.fields["costs"].items():
            costs[key] = Spent.model_validate(spent)
        await Account(account).charge(costs)


_pools = PerLoop(CheckPool)


async def end_idle_checkers() -> None:
    """End the idle processes of the running event loop."""
    await _pools.get().close()


class UserChecks:
    """Reads and checks reports for a user of the server, with the user's settings; one report at a
    time."""

    def __init__(self, user: str, account: Pages) -> None:
        """`account`: pages of any thread of the user, whose account is charged."""
        self._user = user
        self._account = account

    async def read(self, data: bytes, name: str) -> bytes:
        """Read a report and return it in the form that `check` accepts; see `ReportFile.read`."""
        async with self._account.lock(f"reading for {self._user}"):
            request = {"do": READ, "user": self._user, "name": name}
            return await _pools.get().ask(request, data)

    async def check(
        self, report: bytes, name: str, asked: str, on_notice: Callable[[str], None]
    ) -> CheckedPage:
        """Check a report that was read; `asked` is what it was asked for, empty if unknown.

        `on_notice` receives lines on the progress and warnings. Raises `DailyLimitReached`, and the
        errors of `ReportFile.check`.
        """
        async with self._account.lock(f"check for {self._user}"):
            settings = await asyncio.to_thread(UserSettings().context_of, self._user)
            await Account(self._account).check(settings)
            request = {"do": CHECK, "user": self._user, "name": name, "request": asked}
            answer = await _pools.get().ask(request, report, on_notice, self._account)
        return await in_thread(CHECKED.validate_json, answer)
