"""Leases: across all processes, only one run at a time may write to a thread.

A lease is stored in the database of the checkpoints, with the process that holds it. It ends when
it is released, when the process is gone, or when it was not renewed for `EXPIRY_SECONDS`.
Checkpoints of a run without the lease are refused within the transaction that writes them; in
SQLite by triggers of the connection.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from ..errors import ThreadBusy
from ._holder import Holder, Process, active_owners, this_process
from ._shielded import ShieldedTasks
from .pages import thread_changes

_RENEWAL_SECONDS = 5.0
"""Seconds between renewals of a lease."""
_HANDOVER_SECONDS = 2.0
"""Seconds to wait for an abandoned run of this process that is about to stop."""
TOKEN = "__deep_research_lease"  # noqa: S105 - a key of LangGraph's config, private because of its underscores
"""Key in `configurable` for the owner of a lease that the caller holds: the run uses that lease,
and takes none."""
FENCED = "the lease of this thread is held by another run"
"""Text of the database error for a refused write."""


class Lease:
    """The right of a run of this process to write to a thread, until it is released or lost."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.owner = uuid.uuid4().hex
        """Unique id of the lease."""
        self.is_lost = False
        """Whether another run has taken it."""
        self._reader: asyncio.Task[Any] | None = None
        self._cancelled: asyncio.Task[Any] | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Config for a run that uses this lease."""
        return {"configurable": {"thread_id": self.thread_id, TOKEN: self.owner}}

    def lose(self) -> None:
        """Mark the lease as lost and stop its run, whose results could not be stored."""
        if not self.is_lost and self._reader:
            self._cancelled = self._reader
            self._cancelled.cancel()
        self.is_lost = True

    async def guard(self, parts: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
        """Yield the parts of the run's stream; raises `ThreadBusy` once the lease is lost."""
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
            # Like asyncio's timeouts, raise a cancellation that did not come from `lose`.
            is_by_others = self._cancelled is None or self._cancelled.uncancel() > 0
            if isinstance(error, asyncio.CancelledError) and is_by_others:
                raise
        raise ThreadBusy(
            "Another process has taken over this run, because this one did not respond for a "
            "while; its results since then are not kept. `deep-research runs` shows the status of "
            "the run."
        )


class Leases(ABC):
    """Takes, renews and releases this process's leases in a database of runs."""

    errors: type[Exception]
    """Base class of the database's errors."""
    table = "leases"
    """Name of the table with the leases."""

    def __init__(self, shielded: ShieldedTasks) -> None:
        self._shielded = shielded
        self._held: dict[str, Lease] = {}

    def owner(self, thread_id: str) -> str | None:
        """Return the owner of the thread's lease if this process holds it, else None."""
        held = self._held.get(thread_id)
        if held is None:
            return None
        return held.owner

    @asynccontextmanager
    async def hold(self, thread_id: str, token: str = "") -> AsyncIterator[Lease]:
        """Hold the lease of a thread; raises `ThreadBusy` if another run holds it.

        `token`: owner of a lease that this process already holds; that lease is then used instead
        of a new one.
        """
        held = self._held.get(thread_id)
        if held and held.owner == token:
            yield held
            return
        lease = Lease(thread_id)
        renewing: asyncio.Task[None] | None = None
        active_owners.add(lease.owner)
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
                # Even if the release fails, for example with a full disk, the lease is stale.
                with suppress(self.errors):
                    await self._shielded.do(self._release(lease))
            finally:
                active_owners.discard(lease.owner)
                thread_changes.announce(thread_id)

    async def other_holder(self, thread_id: str, owner: str = "") -> Holder | None:
        """Return who validly holds the thread's lease; None if nobody does, or if it is the
        caller's, with this `owner`."""
        holder = await self._holder(thread_id)
        if holder is None or holder.owner == owner:
            return None
        if not await asyncio.to_thread(holder.is_alive):
            return None
        return holder

    def lose(self, thread_id: str) -> None:
        """Stop the run of this process on the thread, if any, because another run has taken its
        lease."""
        lease = self._held.get(thread_id)
        if lease:
            lease.lose()

    async def _take(self, lease: Lease) -> None:
        end = time.monotonic() + _HANDOVER_SECONDS
        stale_owner = ""
        process = await asyncio.to_thread(this_process)
        while not await self._shielded.do(self._write_taken(lease, process, stale_owner)):
            holder = await self._holder(lease.thread_id)
            if holder is None:
                stale_owner = ""
            elif not await asyncio.to_thread(holder.is_alive):
                stale_owner = holder.owner
            elif holder.process == process and time.monotonic() < end:
                await asyncio.sleep(0.01)
            else:
                raise ThreadBusy(
                    f"This run is in progress in {holder}: wait until it ends, or stop it there, "
                    "and then try again."
                )

    async def _renew(self, lease: Lease) -> None:
        while not lease.is_lost:
            await asyncio.sleep(_RENEWAL_SECONDS)
            # A database that accepts no writes now may accept them later.
            with suppress(self.errors):
                if not await self._shielded.do(self._write_renewed(lease)):
                    lease.lose()

    @abstractmethod
    async def _write_taken(self, lease: Lease, process: Process, stale_owner: str) -> bool:
        """Store the lease if the thread has none, or one of `stale_owner`; return whether it was
        stored."""

    @abstractmethod
    async def _write_renewed(self, lease: Lease) -> bool:
        """Renew the lease; return whether it was still stored, and so has not been taken by another
        run."""

    @abstractmethod
    async def _release(self, lease: Lease) -> None:
        """Delete the lease."""

    @abstractmethod
    async def _holder(self, thread_id: str) -> Holder | None:
        """Return the stored holder of a thread's lease."""
