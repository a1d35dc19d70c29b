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
_known: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
"""Ids of the active runs of each thread, by user, as of the last start; they may have ended."""


async def reserve_run(user: str, run: str, thread: str, most: int, *, ends_others: bool) -> bool:
    """Count a run that is about to be created among the user's active runs; returns False if there
    are already `most`.

    `thread`: the run's thread, empty for a run without one. `ends_others`: the run ends those that
    are active on its thread.
    """
    async with _locks.lock(user):
        by_thread = await _active_runs(user, most)
        others = set[str](_starting[user])
        for other, runs in by_thread.items():
            if other != thread or not ends_others:
                others |= runs
        if len(others) >= most:
            return False
        by_thread.setdefault(thread, set()).add(run)
        request = until_answered.get(None)
        if request:
            _starting[user].add(run)
            request.callback(_starting[user].discard, run)
        return True


async def _active_runs(user: str, most: int) -> dict[str, set[str]]:
    """Return the ids of the user's running and waiting runs by thread."""
    client = get_client()
    busy: list[Any] = await client.threads.search(
        metadata={"owner": user}, status="busy", limit=most + 1, select=["thread_id"]
    )
    by_thread = dict[str, set[str]]()
    for thread, runs in _known[user].items():
        if runs & _starting[user]:
            by_thread[thread] = runs
    for found in busy:
        thread = found["thread_id"]
        runs = _known[user].get(thread, set())
        # A busy thread has at least one run, so that a single known run is still active. Asking
        # the server about each thread at each start would cost more than the start itself.
        if len(runs) != 1:
            runs = await _listed_runs(thread, most)
        by_thread[thread] = runs
    _known[user] = by_thread
    return by_thread


async def _listed_runs(thread: str, most: int) -> set[str]:
    """Return the ids of a thread's running and waiting runs, at most `most` of each kind."""
    client = get_client()
    listed = set[str]()
    for status in ("running", "pending"):
        # The thread may have been deleted.
        with suppress(NotFoundError):
            runs: list[Any] = await client.runs.list(thread, status=status, limit=most)
            listed |= {run["run_id"] for run in runs}
    return listed
