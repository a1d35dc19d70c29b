"""The limit of a user's runs, which holds for starts at the same time too."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError

from ...core.concurrency import Locks

until_answered: ContextVar[ExitStack] = ContextVar("until_answered")
"""What the current request holds until its response begins; not set on servers without `Guard`."""
_locks = Locks()
_starting: defaultdict[str, set[str]] = defaultdict(set)
"""Ids of runs that are being created, by user: the server may not list them yet."""


async def reserve_run(user: str, run: str, most: int, besides: str) -> bool:
    """Count a run that is about to be created among the user's active runs; returns False if there
    are already `most`.

    `besides`: a thread whose active runs the new one ends; empty if it ends none.
    """
    async with _locks.lock(user):
        others = await _active_runs(user, most, besides)
        starting = _starting[user]
        if len(others | starting) >= most:
            return False
        request = until_answered.get(None)
        if request:
            starting.add(run)
            request.callback(starting.discard, run)
        return True


async def _active_runs(user: str, most: int, besides: str) -> set[str]:
    """Return the ids of the user's running and waiting runs; some of them if there are `most`."""
    client = get_client()
    busy: list[Any] = await client.threads.search(
        metadata={"owner": user}, status="busy", limit=most + 1, select=["thread_id"]
    )
    threads = [thread["thread_id"] for thread in busy if thread["thread_id"] != besides]
    if len(threads) >= most:
        # Each has at least one.
        return set(threads)
    runs = set[str]()
    for thread in threads:
        for status in ("running", "pending"):
            # The thread may have been deleted.
            with suppress(NotFoundError):
                found: list[Any] = await client.runs.list(thread, status=status, limit=most)
                runs |= {run["run_id"] for run in found}
    return runs
