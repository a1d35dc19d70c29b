"""Opens the database of runs (checkpoints, texts and leases): an SQLite file or a PostgreSQL
database. `usable_saver` adapts a saver that an app passes instead, and `lease_for` holds the lease
of a thread."""

from __future__ import annotations

import asyncio
import copy
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import BaseStore

from ..concurrency import in_thread
from ..errors import DatabaseUnusable
from ..settings.installed import code_version
from ._lease import TOKEN, Lease, Leases
from ._saver import RunSaver
from ._serializer import StrictSerializer
from ._sqlite import PageStore, SqliteRunSaver
from .location import (
    APPLICATION_ID,
    BUSY_SECONDS,
    LAYOUT,
    SQLITE_ERRORS,
    RunsLocation,
    import_postgres,
    sqlite_unusable,
)

_CACHED_STATEMENTS = 8
"""Statements that a connection keeps prepared. LangGraph's statement for the updates of a thread
differs with each checkpoint, and takes up to a megabyte; the default (128) would keep them all."""


class Database(NamedTuple):
    """An open database of runs."""

    saver: RunSaver
    """Stores checkpoints and leases."""
    store: BaseStore
    """Stores texts and notes; see `Pages`."""


@asynccontextmanager
async def open_database(location: RunsLocation) -> AsyncIterator[Database]:
    """Open the database (a new file if it is missing), for the running event loop.

    Raises `DatabaseUnusable` if the file is corrupt, not one of ours, locked or read-only, or
    the database is unreachable, and `ExtraMissing` if the packages for PostgreSQL are not
    installed.
    """
    target = location.target
    if isinstance(target, str):
        await asyncio.to_thread(import_postgres)
        from ._postgres import open_postgres

        async with open_postgres(target) as database:
            yield Database(*database)
        return
    await asyncio.to_thread(_prepare, target)
    connection = aiosqlite.connect(
        target, timeout=BUSY_SECONDS, cached_statements=_CACHED_STATEMENTS
    )
    # A database that an app never closes must not keep the process alive.
    connection._thread.daemon = True
    try:
        async with connection, AsyncExitStack() as resources:
            for pragma in ("trusted_schema = OFF", "journal_mode = WAL", "synchronous = FULL"):
                await connection.execute(f"PRAGMA {pragma}")
            store = await asyncio.to_thread(PageStore, target)
            resources.callback(store.close)
            saver = SqliteRunSaver(connection, target)
            await saver.setup()
            await saver.leases.setup()
            resources.push_async_callback(saver.shielded.end)
            yield Database(saver, store)
    except sqlite3.Error as error:
        raise sqlite_unusable(target, error) from error


def _prepare(path: Path) -> None:
    """Create the folder (0700) and the file (0600), and check that the file is ours and has the
    current layout."""
    code_version()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # An existing file is not opened here: closing it would drop this process's locks on it, and
        # the next process to close the database would think that it is the last one and delete the
        # unmerged log.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with sqlite3.connect(path, timeout=BUSY_SECONDS) as connection:
            known = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not known:
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
                # Written last: after a kill before it, the file still counts as new.
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                known = APPLICATION_ID
            layout = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.close()
    except OSError as error:
        raise DatabaseUnusable(
            f"The database {str(path)!r} cannot be opened: {error.strerror} (setting data_dir)."
        ) from error
    except SQLITE_ERRORS as error:
        raise sqlite_unusable(path, error) from error
    if known != APPLICATION_ID:
        raise DatabaseUnusable(
            f"{str(path)!r} is a database of another program (setting data_dir)."
        )
    if layout != LAYOUT:
        age, remedy = (
            ("newer", "update it") if layout > LAYOUT else ("much older", "use that version")
        )
        raise DatabaseUnusable(
            f"{str(path)!r} was written by a {age} version of deep-research than this one, "
            f"{code_version()} (layout {layout}; this one knows {LAYOUT}): {remedy}, or use "
            "another folder (setting data_dir)."
        )


def usable_saver(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """Return an app's saver, or an adapted copy of it: with our serializer instead of LangGraph's,
    and async methods.

    A serializer of the app's own is kept.
    """
    serde: Any = saver.serde
    if isinstance(serde, EncryptedSerializer) and isinstance(serde.serde, JsonPlusSerializer):
        serde = EncryptedSerializer(serde.cipher, StrictSerializer())
    elif isinstance(serde, JsonPlusSerializer) and not isinstance(serde, StrictSerializer):
        serde = StrictSerializer()
    if serde is not saver.serde:
        saver = copy.copy(saver)
        saver.serde = serde
    # SqliteSaver has async methods that raise.
    has_no_async = type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple
    if has_no_async or isinstance(saver, SqliteSaver):
        return ThreadedSaver(saver)
    return saver


def lease_for(
    saver: object, configurable: Mapping[str, Any]
) -> AbstractAsyncContextManager[Lease | None]:
    """Return a context that holds the lease of the thread in a run's `configurable`; None instead
    if the run has no thread, or the saver is not of our databases."""
    leases: Leases | None = getattr(saver, "leases", None)
    if leases is None or not configurable.get("thread_id"):
        return nullcontext()
    return leases.hold(str(configurable["thread_id"]), configurable.get(TOKEN, ""))


def _in_thread(name: str) -> Callable[..., Any]:
    """Return an async method that calls the sync method of this name in a thread."""

    # LangGraph inspects the signature.
    @wraps(getattr(BaseCheckpointSaver, f"a{name}"))
    async def method(self: ThreadedSaver, *args: Any, **settings: Any) -> Any:
        return await in_thread(getattr(self.saver, name), *args, **settings)

    return method


class ThreadedSaver(BaseCheckpointSaver[Any]):
    """Gives a saver with sync methods the async ones, which run the sync ones in threads."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver
        self.get_next_version = saver.get_next_version  # type: ignore[method-assign]  # each saver has its own versions

    aget_tuple = _in_thread("get_tuple")
    aput = _in_thread("put")
    aput_writes = _in_thread("put_writes")
    adelete_thread = _in_thread("delete_thread")

    async def alist(self, *args: Any, **filters: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, latest first."""
        for checkpoint in await in_thread(lambda: list(self.saver.list(*args, **filters))):
            yield checkpoint
