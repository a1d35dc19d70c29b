"""The lease of a thread: of all the runs at work on it, in whatever process, one writes.

A lease stands beside the checkpoints and names the process that holds it. It ends when it is given back, when that
process is gone, or when it was not renewed for `EXPIRY_SECONDS`. The database refuses checkpoints of whoever does not
hold the lease, in the transaction that would write them: SQLite by triggers of the connection.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import aiosqlite

from ..concurrency import ShieldedTasks
from ..errors import ThreadBusy
from .changes import announce

RENEWAL_SECONDS = 5.0
EXPIRY_SECONDS = 60.0
"""Longer than a process may have to wait for the database before it can renew its lease."""
HANDOVER_SECONDS = 2.0
"""Seconds to wait for a run of this process that was left a moment ago and is about to stop."""
TOKEN = "__deep_research_lease"  # noqa: S105 - a key of LangGraph's config; it keeps those with underscores to itself
"""Where a run finds the lease that it is to use in place of one of its own."""
FENCED = "the lease of this thread is held by another run"
"""Why the database refuses a write."""

_at_work: set[str] = set()
"""Owners of the leases that runs of this process hold: it knows of its own that have ended without a word."""

_REFUSE = f"""
WHEN (SELECT owner FROM main.leases WHERE thread_id = NEW.thread_id)
    IS NOT (SELECT owner FROM held WHERE thread_id = NEW.thread_id)
BEGIN SELECT RAISE(ABORT, '{FENCED}'); END
"""  # noqa: S608 - made of constants
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS leases (
    thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL, machine TEXT NOT NULL,
    since TEXT NOT NULL, renewed REAL NOT NULL
);
CREATE TEMP TABLE held (thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE TEMP TRIGGER fence_checkpoints BEFORE INSERT ON main.checkpoints {_REFUSE};
CREATE TEMP TRIGGER fence_writes BEFORE INSERT ON main.writes {_REFUSE};
"""
_TAKE = """
INSERT INTO leases (thread_id, owner, pid, birth, machine, since, renewed) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread_id) DO UPDATE SET owner = excluded.owner, pid = excluded.pid, birth = excluded.birth,
    machine = excluded.machine, since = excluded.since, renewed = excluded.renewed
WHERE leases.owner = ?
"""


class Process(NamedTuple):
    """A process of a machine."""

    pid: int
    birth: str
    """When it began, in the system's own count: the id of a process is given again to later ones."""
    machine: str
    """Where its id has a meaning."""


class Holder(NamedTuple):
    """The holder of a lease."""

    owner: str
    """Of which no two are the same."""
    process: Process
    since: str
    """When it was taken (ISO 8601), for the user."""
    age: float
    """Seconds since it was renewed; negative if the clock has begun anew since then."""

    def is_alive(self) -> bool:
        """Whether its run may still be going on: its process is there and has renewed the lease in time."""
        if self.process == _this_process() and self.owner not in _at_work:
            return False
        if self.process.machine == _machine() and self.process.birth != _birth(self.process.pid):
            return False
        return 0 <= self.age < EXPIRY_SECONDS

    def __str__(self) -> str:
        pid = self.process.pid
        since = f"{datetime.fromisoformat(self.since).astimezone():%Y-%m-%d %H:%M:%S}"
        return f"{'this' if pid == os.getpid() else 'another'} process ({pid}) since {since}"


class Lease:
    """The right to write to a thread, until it is given back or lost."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id, self.owner = thread_id, uuid.uuid4().hex
        self.is_lost = False
        self._reader: asyncio.Task[Any] | None = None
        self._cancelled: asyncio.Task[Any] | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Names the thread to a graph whose run is to use this lease."""
        return {"configurable": {"thread_id": self.thread_id, TOKEN: self.owner}}

    def lose(self) -> None:
        """Stop the run: what it would pay for could not be kept."""
        if not self.is_lost and self._reader:
            self._cancelled = self._reader
            self._cancelled.cancel()
        self.is_lost = True

    async def guard(self, parts: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
        """Pass on the run's stream; raises `ThreadBusy` once the lease is lost."""
        try:
            while not self.is_lost:
                self._reader = asyncio.current_task()
                try:
                    part = await anext(parts)
                finally:
                    self._reader = None
                yield part
        except StopAsyncIteration:
            return
        except GeneratorExit:
            raise
        except BaseException as error:
            if not self.is_lost:
                raise
            # As with a deadline of asyncio, a cancellation by others stays one.
            is_by_others = self._cancelled is None or self._cancelled.uncancel() > 0
            if isinstance(error, asyncio.CancelledError) and is_by_others:
                raise
        raise ThreadBusy(
            "Another process has taken this run over, for this one was not heard of for a while: what it did since is "
            "not kept. `deep-research runs` says how the run stands."
        )


class Leases(ABC):
    """The leases in a database of runs, as this process takes them."""

    errors: type[Exception]
    """What the database raises."""
    table = "leases"

    def __init__(self, unbroken: ShieldedTasks) -> None:
        self._unbroken = unbroken
        self._held: dict[str, Lease] = {}

    def owner(self, thread_id: str) -> str | None:
        """Return the owner of the lease that is held here."""
        held = self._held.get(thread_id)
        return held.owner if held else None

    @asynccontextmanager
    async def hold(self, thread_id: str, token: str = "") -> AsyncIterator[Lease]:
        """Hold the lease of a thread; raises `ThreadBusy` if another run does.

        With the `token` of a lease that is held here it is that one.
        """
        held = self._held.get(thread_id)
        if held and held.owner == token:
            yield held
            return
        lease = Lease(thread_id)
        renewing: asyncio.Task[None] | None = None
        _at_work.add(lease.owner)
        try:
            await self._take(lease)
            self._held[thread_id] = lease
            renewing = asyncio.create_task(self._renew(lease))
            yield lease
        finally:
            if renewing:
                renewing.cancel()
            if self._held.get(thread_id) is lease:
                del self._held[thread_id]
            try:
                # One that cannot be given back, because the disk is full, is nobody's all the same.
                with suppress(self.errors):
                    await self._unbroken.do(self._give_back(lease))
            finally:
                _at_work.discard(lease.owner)
                announce(thread_id)

    async def other(self, thread_id: str, lease: Lease | None = None) -> Holder | None:
        """Return who is at work on a thread, other than the one who holds this lease."""
        holder = await self._holder(thread_id)
        is_ours = holder and lease and holder.owner == lease.owner
        return holder if holder and not is_ours and await asyncio.to_thread(holder.is_alive) else None

    def lose(self, thread_id: str) -> None:
        """Record that another run has the lease now."""
        if lease := self._held.get(thread_id):
            lease.lose()

    async def _take(self, lease: Lease) -> None:
        end, before = time.monotonic() + HANDOVER_SECONDS, ""
        process = await asyncio.to_thread(_this_process)
        while not await self._unbroken.do(self._write_taken(lease, process, before)):
            holder = await self._holder(lease.thread_id)
            if holder is None or not await asyncio.to_thread(holder.is_alive):
                before = holder.owner if holder else ""
            elif holder.process == process and time.monotonic() < end:
                await asyncio.sleep(0.01)
            else:
                raise ThreadBusy(
                    f"This run is at work in {holder}: wait until it ends, or stop it there, and then call this again."
                )

    async def _renew(self, lease: Lease) -> None:
        while not lease.is_lost:
            await asyncio.sleep(RENEWAL_SECONDS)
            # A database that takes nothing at the moment may later.
            with suppress(self.errors):
                if not await self._unbroken.do(self._write_renewed(lease)):
                    lease.lose()

    @abstractmethod
    async def _write_taken(self, lease: Lease, process: Process, before: str) -> bool:
        """Write the lease down, in the place of that of the owner `before`; return whether it could be."""

    @abstractmethod
    async def _write_renewed(self, lease: Lease) -> bool:
        """Renew the lease; return whether it still was this one."""

    @abstractmethod
    async def _give_back(self, lease: Lease) -> None:
        """Delete the lease."""

    @abstractmethod
    async def _holder(self, thread_id: str) -> Holder | None:
        """Return who holds the lease of a thread."""


class SqliteLeases(Leases):
    """The leases in a file of runs, as one connection to it takes them."""

    errors = sqlite3.Error

    def __init__(self, connection: aiosqlite.Connection, lock: asyncio.Lock, unbroken: ShieldedTasks) -> None:
        super().__init__(unbroken)
        self._connection, self._lock = connection, lock

    async def setup(self) -> None:
        """Prepare the file, which has its tables of checkpoints already, and the connection."""
        async with self._lock:
            await self._connection.executescript(_SCHEMA)

    async def _write_taken(self, lease: Lease, process: Process, before: str) -> bool:
        since = datetime.now(UTC).isoformat()
        async with self._transaction():
            row = (lease.thread_id, lease.owner, *process, since, time.monotonic(), before)
            cursor = await self._connection.execute(_TAKE, row)
            if cursor.rowcount < 1:
                return False
            await self._connection.execute("INSERT OR REPLACE INTO held VALUES (?, ?)", row[:2])
            return True

    async def _write_renewed(self, lease: Lease) -> bool:
        async with self._transaction():
            query = "UPDATE leases SET renewed = ? WHERE thread_id = ? AND owner = ?"
            row = (time.monotonic(), lease.thread_id, lease.owner)
            return (await self._connection.execute(query, row)).rowcount > 0

    async def _give_back(self, lease: Lease) -> None:
        async with self._transaction():
            row = (lease.thread_id, lease.owner)
            await self._connection.execute("DELETE FROM leases WHERE thread_id = ? AND owner = ?", row)
            await self._connection.execute("DELETE FROM held WHERE thread_id = ? AND owner = ?", row)

    async def _holder(self, thread_id: str) -> Holder | None:
        query = "SELECT owner, pid, birth, machine, since, renewed FROM leases WHERE thread_id = ?"
        async with self._lock, self._connection.execute(query, (thread_id,)) as rows:
            row = await rows.fetchone()
        # By the clock that nobody can set; it begins anew with the machine.
        return Holder(row[0], Process(*row[1:4]), row[4], time.monotonic() - row[5]) if row else None

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        async with self._lock:
            try:
                yield
                await self._connection.commit()
            except sqlite3.Error:
                await self._connection.rollback()
                raise


def _this_process() -> Process:
    return Process(os.getpid(), _birth(os.getpid()), _machine())


def _birth(pid: int) -> str:
    """Return when a process started; empty if there is none, or only a zombie."""
    try:
        # The name of its program, in brackets, may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return ""
    if os.name != "posix":
        return "unknown"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "unknown"


@cache
def _machine() -> str:
    try:
        # A container counts its processes for itself.
        space = Path("/proc/self/ns/pid").readlink()
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text('ascii').strip()} {space}"
    except OSError:
        return platform.node()
