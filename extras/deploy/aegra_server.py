"""What `aegra.json` names: both graphs over our PostgreSQL, users by token, and runs taken over from dead processes.

Aegra keeps lists of threads and runs, and streams. Who may do what, the lease of a thread and what is stored of a run
are the project's own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NoReturn

from aegra_api.api.runs import active_runs, execute_run_async
from aegra_api.core.orm import _get_session_maker
from aegra_api.models import User
from fastapi import FastAPI
from langgraph_sdk import Auth
from sqlalchemy import text
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.app.embed import LeasedGraph, compile_graph
from deep_research.app.server.auth import check_run, check_unclaimed
from deep_research.app.server.guard import AllowedOrigins, Guard
from deep_research.app.server.users import server_settings, token_in, user_of
from deep_research.app.words import Strategy
from deep_research.core.run.context import Context
from deep_research.core.run.errors import ThreadBusy, UnknownSetting
from deep_research.core.run.imports import frozen_imports
from deep_research.core.run.limits import DATABASE
from deep_research.core.run.registered import load_all
from deep_research.core.run.store.database import Database, open_database, place_of_runs
from deep_research.core.run.store.lease import EXPIRY_SECONDS, TOKEN, Lease
from deep_research.core.run.user_settings import UserSettings

LOOK_SECONDS = 5.0
"""Between two looks for runs whose process is gone."""
PLACE = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns"})
"""What a client may name in `configurable` and `checkpoint`."""
RUN = re.compile(r"/threads/([^/]+)/runs(?:/stream|/wait)?")
THREAD = re.compile(r"/threads/([^/]+)")
_UNFINISHED = """
SELECT runs.run_id, runs.thread_id, assistant.graph_id, runs.user_id, runs.input, runs.config, runs.context
FROM runs JOIN assistant USING (assistant_id) WHERE runs.status IN ('pending', 'running')
"""
_OWNER = "SELECT user_id FROM thread WHERE thread_id = :thread"
_BUSY = """
SELECT count(*) FILTER (WHERE user_id = :user), count(*) FILTER (WHERE thread_id = :thread)
FROM runs WHERE status IN ('pending', 'running') AND (user_id = :user OR thread_id = :thread)
"""
_log = logging.getLogger(__name__)

with frozen_imports():
    load_all()

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict[str, str]) -> Auth.types.MinimalUserDict:
    """Return the user whose token a request carries; the guard has refused all others."""
    user = user_of(token_in(headers), "")
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="A token is needed.")
    return {"identity": user}


class ServedGraph(LeasedGraph):
    """A graph that keeps our saver and store, which Aegra would replace by its own."""

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """Return a copy with all that is to be changed but saver and store."""
        kept = ("checkpointer", "store")
        return super().copy({name: one for name, one in (update or {}).items() if name not in kept})

    async def astream(self, input: Any, config: Any = None, **settings: Any) -> AsyncGenerator[Any, None]:
        """Stream as `LeasedGraph` does; input without content goes on with what the thread has begun."""
        given = dict((config or {}).get("configurable", {}))
        user = given.pop("langgraph_auth_user", {})
        # Under this name the owner of a checkpoint stands beside it, and the user's account is found.
        given["langgraph_auth_user_id"] = user["identity"]
        config = {**config, "configurable": given}
        # A kill then repeats nothing but the calls under way.
        settings = {**settings, "durability": "sync"}
        async for part in super().astream(input or None, config, **settings):
            yield part


class Shared:
    """What all requests of the process use: the database, opened when it is first needed."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._database: Database | None = None
        self._open: Any = None

    async def database(self) -> Database:
        """Return the open database."""
        async with self._opening:
            if self._database is None:
                # Folders are looked up here, once.
                await asyncio.to_thread(lambda: UserSettings().operator)
                place = place_of_runs(Context().data_dir)
                if not isinstance(place, str):
                    raise UnknownSetting(f"{DATABASE}: name the PostgreSQL database that all processes use.")
                self._open = open_database(place)
                self._database = await self._open.__aenter__()
            return self._database

    async def close(self) -> None:
        """Close the database."""
        if self._database:
            await self._open.__aexit__(None, None, None)


_shared = Shared()


async def served(strategy: Strategy) -> ServedGraph:
    """Return the graph of a strategy over our database."""
    saver, store = await _shared.database()
    graph: Any = compile_graph(strategy)
    graph = graph.copy({"context_schema": UserSettings, "checkpointer": saver, "store": store})
    graph.__class__ = ServedGraph
    return graph  # type: ignore[no-any-return]


deep_research = partial(served, "orchestrated")
planned_research = partial(served, "planned")


async def _rows(query: str, **values: str) -> list[Any]:
    async with _get_session_maker()() as session:
        return list(await session.execute(text(query), values))


class Owned:
    """Refuses what Aegra would let a user do with threads of others, and what no client of ours does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the reason."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        path, user = scope["path"].rstrip("/"), user_of(token_in(dict(request.headers)), "") or ""
        body = await request.body()
        try:
            await _check(scope["method"], path, user, body)
        except Auth.exceptions.HTTPException as error:
            await JSONResponse({"detail": error.detail}, status_code=error.status_code)(scope, receive, send)
            return

        async def replay() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        deleted = THREAD.fullmatch(path) if scope["method"] == "DELETE" else None

        async def watched(message: Message) -> None:
            if deleted and message.get("status") == 200:
                # Aegra leaves checkpoints and texts where they are.
                await (await _shared.database()).saver.adelete_thread(deleted[1])
            await send(message)

        await self._app(scope, replay, watched)


async def _check(method: str, path: str, user: str, body: bytes) -> None:
    if path.startswith("/assistants") and path not in ("/assistants/search", "/assistants/count"):
        _refuse("The graphs are served as they are: assistants of your own are not.", 403)
    if path.startswith("/runs"):
        _refuse("A run is created on a thread.", 403)
    try:
        given = json.loads(body) if body else {}
    except ValueError:
        _refuse("The body of a request is JSON.", 422)
    if path == "/threads" and method == "POST" and isinstance(given, dict):
        await check_unclaimed(user, given)
    if method != "POST" or not (found := RUN.fullmatch(path)):
        return
    if not isinstance(given, dict):
        _refuse("The body of a run is an object.", 422)
    thread = found[1]
    await check_run(user, {"kwargs": {**given, "input": given.get("input") or None}, "thread_id": thread})
    for part in ((given.get("config") or {}).get("configurable") or {}, given.get("checkpoint") or {}):
        if not part.keys() <= PLACE or str(part.get("thread_id") or thread) != thread:
            _refuse(f"configurable, checkpoint: only {', '.join(sorted(PLACE))}, and of this thread.", 422)
    if (given.get("config") or {}).keys() - {"configurable", "recursion_limit", "tags", "metadata"}:
        _refuse("config: only configurable, recursion_limit, tags and metadata.", 422)
    owners = [row[0] for row in await _rows(_OWNER, thread=thread)]
    if owners not in ([], [user]):
        _refuse(f"There is no thread {thread}.", 404)
    await check_unclaimed(user, {"thread_id": thread})
    [(of_user, of_thread)] = await _rows(_BUSY, user=user, thread=thread)
    if of_thread:
        _refuse("The thread is at work: wait until its run ends, or cancel it.", 409)
    if of_user >= server_settings().user_runs:
        _refuse(f"{user} has {of_user} runs at work, as many as one user may have.", 429)


def _refuse(words: str, status: int) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=words)


class TakeOver:
    """Goes on with runs whose process is gone, under their own ids."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch(self) -> None:
        """Look again and again, to the end of the process."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except Exception:  # noqa: BLE001 - whatever the database raises
                # A database that does not answer at the moment may later.
                _log.exception("Runs of other processes could not be looked up.")

    async def _look(self) -> None:
        saver = (await _shared.database()).saver
        found = {row.run_id: row for row in await _rows(_UNFINISHED) if row.run_id not in active_runs}
        leased = {row[0] for row in await saver.rows("SELECT thread_id FROM research_leases")}
        now = time.monotonic()
        # A run of another process has no lease before its first step and after its last.
        self._seen = {name: self._seen.get(name, now) for name, row in found.items() if row.thread_id not in leased}
        for name, row in found.items():
            if now - self._seen.get(name, now) < (0 if row.thread_id in leased else EXPIRY_SECONDS):
                continue
            task = active_runs[name] = asyncio.create_task(self._go_on(row))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _go_on(self, row: Any) -> None:
        try:
            saver = (await _shared.database()).saver
            with suppress(ThreadBusy):
                async with saver.leases.hold(row.thread_id) as lease:
                    # Whoever had it may have ended it meanwhile.
                    if row.run_id in {other.run_id for other in await _rows(_UNFINISHED)}:
                        _log.warning("Run %s goes on here: its process is gone.", row.run_id)
                        await self._execute(row, lease)
        finally:
            active_runs.pop(row.run_id, None)

    async def _execute(self, row: Any, lease: Lease) -> None:
        config: dict[str, Any] = row.config or {}
        place: Any = {"configurable": {"thread_id": row.thread_id}}
        saver = (await _shared.database()).saver
        stored = await saver.aget_tuple(place)
        has_begun = bool(stored and stored.metadata.get("run_id") == row.run_id)
        config = {**config, "configurable": {**config.get("configurable", {}), TOKEN: lease.owner}}
        await execute_run_async(
            row.run_id,
            row.thread_id,
            row.graph_id,
            {} if has_begun else row.input or {},
            User(identity=row.user_id),
            config,
            row.context or {},
            ["values"],
        )


@asynccontextmanager
async def _lifespan(_: Any) -> AsyncIterator[None]:
    os.umask(0o077)
    await _shared.database()
    watching = asyncio.create_task(TakeOver().watch())
    try:
        yield
    finally:
        watching.cancel()
        await _shared.close()


app = FastAPI(
    lifespan=_lifespan,
    middleware=[Middleware(AllowedOrigins), Middleware(Guard), Middleware(Owned)],
    docs_url=None,
    redoc_url=None,
)
"""Aegra puts its routes into this app, behind its middleware."""


@app.get("/ok")
async def ok() -> Mapping[str, bool]:
    """Say that the process answers."""
    return {"ok": True}
