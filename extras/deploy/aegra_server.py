"""The objects in `aegra.json`: users by token and their permissions, and both graphs on the
project's PostgreSQL.

Aegra lists threads and runs, streams, and restarts the runs of a killed process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, NoReturn

from aegra_api.core.database import db_manager
from aegra_api.core.orm import Run, _get_session_maker
from fastapi import FastAPI
from langgraph_sdk import Auth
from sqlalchemy import func, or_, select
from starlette.middleware import Middleware

from deep_research.app.embed import LeasedGraph, compile_graph
from deep_research.app.server.auth import check_run, check_unclaimed
from deep_research.app.server.guard import AllowedOrigins, Guard
from deep_research.app.server.users import server_settings, user_of
from deep_research.core.errors import UnknownSetting
from deep_research.core.records.research import Strategy
from deep_research.core.settings.context import Context
from deep_research.core.settings.installed import load_all
from deep_research.core.settings.limits import DATABASE
from deep_research.core.settings.server_settings import UserSettings
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation
from deep_research.tools.run_engines import SearchEngines

PLACE = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns"})
"""Keys that a client may set in `configurable` and `checkpoint`."""
CONFIG = frozenset({"configurable", "recursion_limit", "tags", "metadata"})
"""Keys that a client may set in `config`."""

load_all()

auth = Auth()
opened = AsyncExitStack()
"""Keeps the database open until the process ends, because Aegra drains its runs last."""


@auth.authenticate
async def authenticate(headers: dict[str, str]) -> Auth.types.MinimalUserDict:
    """Return the user of a request's token; the guard has refused other requests."""
    user = user_of(headers, "")
    if user is None:
        _refuse("A token is needed.", 401)
    return {"identity": user}


@auth.on
async def allowed(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001 - the server passes them by name
    """Let users see the graphs and use their threads; refuse store, schedules and custom
    assistants."""
    # Aegra only searches a user's own threads.
    return ctx.resource == "threads" or (
        ctx.resource == "assistants" and ctx.action in ("read", "search")
    )


@auth.on.threads.create
async def new_threads(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Let users create threads, but not with the id of another user's run."""
    await check_unclaimed(ctx.user.identity, value)


@auth.on.threads.create_run
async def own_runs(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Let users run a graph on their own threads, one run at a time, with the settings that they
    may change."""
    user, thread, config = ctx.user.identity, value.get("thread_id"), value.get("config") or {}
    if "method" in value:
        _refuse("A run is created by POST /threads/ID/runs.", 403)
    await check_unclaimed(user, value)
    run = {"kwargs": {**value, "input": value.get("input") or None}, "thread_id": thread}
    holders = [
        holder
        for holder in (value.get("input"), (value.get("command") or {}).get("update"))
        if holder
    ]
    sent = [holder.get("messages") for holder in holders]
    await check_run(user, run)
    # Removing keys from `value` does not remove them from the run.
    if any(
        isinstance(old, list) and len(old) > len(new["messages"])
        for old, new in zip(sent, holders, strict=True)
    ):
        _refuse("messages: send new ones alone, the thread keeps the others.", 422)
    for given in (config.get("configurable") or {}, value.get("checkpoint") or {}):
        if not given.keys() <= PLACE or str(given.get("thread_id") or thread) != thread:
            _refuse(
                f"configurable, checkpoint: only {', '.join(sorted(PLACE))}, and of this thread.",
                422,
            )
    if not config.keys() <= CONFIG:
        _refuse(f"config: only {', '.join(sorted(CONFIG))}.", 422)
    mine, here = Run.user_id == user, Run.thread_id == thread
    counts = select(func.count().filter(mine), func.count().filter(here))
    async with _get_session_maker()() as session:
        active = Run.status.in_(("pending", "running"))
        of_user, of_thread = (await session.execute(counts.where(active, or_(mine, here)))).one()
    if of_thread:
        _refuse("The thread is at work: wait until its run ends, or cancel it.", 409)
    if of_user >= (most := server_settings().user_runs):
        _refuse(f"{user} has {of_user} runs at work; {most} are allowed at once.", 429)


def _refuse(words: str, status: int) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=words)


class ServedGraph(LeasedGraph):
    """A graph whose runs belong to a user, and continue where another process stopped."""

    async def astream(
        self, input: Any, config: Any = None, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        """Stream like `LeasedGraph`; a run that began elsewhere continues from its last checkpoint."""
        given = dict(config["configurable"])
        # Checkpoints store their owner under this name, which also selects the user's account.
        given["langgraph_auth_user_id"] = given.pop("langgraph_auth_user").identity
        config = {**config, "configurable": given}
        saver: Any = self.checkpointer
        stored = await saver.aget_tuple({"configurable": {"thread_id": given["thread_id"]}})
        has_begun = bool(stored and stored.metadata.get("run_id") == given["run_id"])
        # Checkpoints are written immediately, so that a kill repeats only the calls in progress.
        settings["durability"] = "sync"
        async for part in super().astream(None if has_begun else input or None, config, **settings):
            yield part


def served(strategy: Strategy) -> Callable[[], Awaitable[Any]]:
    """Return the function that Aegra calls for a graph at its start."""

    async def graph() -> Any:
        # Resolve directories once, here.
        await asyncio.to_thread(lambda: SearchEngines(UserSettings().operator).load())
        location = RunsLocation.of(Context().data_dir)
        if not isinstance(location.target, str):
            raise UnknownSetting(
                f"{DATABASE}: name the PostgreSQL database that all processes use."
            )
        os.umask(0o077)
        if not hasattr(db_manager._checkpointer, "leases"):
            db_manager._checkpointer, db_manager._store = await opened.enter_async_context(
                open_database(location)
            )
        return ServedGraph.of(compile_graph(strategy), context_schema=UserSettings)

    return graph


deep_research, planned_research = served("orchestrated"), served("planned")
table_research = served("table")


async def ok() -> dict[str, bool]:
    """Health check."""
    return {"ok": True}


app = FastAPI(
    middleware=[Middleware(AllowedOrigins), Middleware(Guard)], docs_url=None, redoc_url=None
)
"""Aegra adds its routes to this app, behind its middleware."""
app.add_api_route("/ok", ok)
