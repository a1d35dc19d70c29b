"""What a user may do on the server: anything with what is theirs, and nothing else."""

from __future__ import annotations

import asyncio
import json
import reprlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from langchain_core.messages import convert_to_messages
from langgraph_sdk import Auth, get_client

from ...core.library.attachments import messages_with_files, take_files
from ...core.run.context import Context
from ...core.run.conversation import words_of
from ...core.run.errors import UserMistake
from ...core.run.settings import read_settings
from ...core.run.store.database import look_up, place_of_runs
from ...core.run.store.pages import LOCAL_USER, OWNER, Pages
from ...core.run.user_settings import UserSettings
from ..embed import NOT_WAITING, RECURSION_LIMIT
from ..runs import RunBook, open_runs
from ..words import STRATEGIES
from .users import refused_webhook, server_settings, user_of

auth = Auth()
BUSY_SECONDS = 5.0
"""Seconds to wait for the database."""
NOT_SETTINGS = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "__event_streaming_v2"})
"""What may stand in a run's `configurable` and is no setting: a place in the thread, and how it is streamed."""

opened_books = list[RunBook]()
"""The run books that this server has open; one, or none before it has started."""
MESSAGES = 'messages: a run takes new ones of the user, {"role": "user", "content": "..."}, or of the role "system"'


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes], scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
    """Return the user that a request comes from; refuse it with status 401 if there is none."""
    given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers.items()}
    user = user_of(given, (scope.get("client") or ("",))[0])
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="A token is needed.")
    return {"identity": user}


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001 - LangGraph passes them by name
    """Refuse what no other handler allows: the store, schedules, and whatever is added to the server."""
    return False


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let a user see and change their own threads."""
    return _owned(ctx, value)


@auth.on.threads.create
async def new_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let a user make threads, but none by the id of a run that somebody else has in the database."""
    await check_unclaimed(ctx.user.identity, value)
    return _owned(ctx, value)


@auth.on.threads.create_run
async def own_runs(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let a user run a graph on their own threads, with the settings that are left to them."""
    await check_unclaimed(ctx.user.identity, value)
    await check_run(ctx.user.identity, value)
    await _check_load(ctx.user.identity, value)
    await _take_files(ctx.user.identity, value)
    return _owned(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let a user see the graphs as they are served, and assistants of their own."""
    if ctx.action not in ("create", "update", "delete"):
        return {"$or": [{"created_by": "system"}, {"owner": ctx.user.identity}]}
    await _check_settings(ctx.user.identity, value.get("context") or {})
    await _check_settings(ctx.user.identity, (value.get("config") or {}).get("configurable") or {})
    return _owned(ctx, value)


def _owned(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Mark what is written as the user's, and return the filter for it."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in ("create", "update", "create_run") and isinstance(value.get("metadata"), dict):
        value["metadata"].pop("created_by", None)
        value["metadata"].update(owner)
    elif ctx.action == "create":
        value["metadata"] = dict(owner)
    return owner


async def check_run(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a run that does more than its kind may; `value` is what the server tells of a run to be created.

    Messages that the thread already has are taken out of it.
    """
    given = value.get("kwargs") or {}
    command, sent = given.get("command") or {}, given.get("input")
    if words := refused_webhook(given.get("webhook")):
        _refuse(words)
    if sent is not None and not (isinstance(sent, dict) and sent.keys() <= {"messages"}):
        _refuse('input: a run takes {"messages": [...]} and nothing else.')
    update, goto = command.get("update"), command.get("goto")
    has_foreign_update = update and not (isinstance(update, dict) and update.keys() <= {"messages"})
    if has_foreign_update or (goto and goto not in ("__end__", ["__end__"])):
        _refuse('command: a run takes {"resume": ...}, {"update": {"messages": [...]}} or {"goto": "__end__"}.')
    config = given.get("config") or {}
    place = {**(config.get("configurable") or {}), **(given.get("checkpoint") or {}), "checkpoint_ns": ""}
    thread = place.get("thread_id")
    if thread and str(thread) != str(value.get("thread_id")):
        _refuse("configurable: the thread is the one that the run is created on.")
    if (config.get("recursion_limit") or 0) > RECURSION_LIMIT:
        _refuse(f"recursion_limit: {RECURSION_LIMIT} at most.")
    await _check_settings(user, given.get("context") or {})
    place["thread_id"] = str(value.get("thread_id") or "")
    for holder in (sent, update):
        if holder and "messages" in holder:
            holder["messages"] = await _new_messages(holder["messages"], place)
    if not sent and await asyncio.to_thread(owner_of_checkpoints, place["thread_id"]) is None:
        _refuse('Nothing has begun on this thread: send a question as its input, {"messages": [...]}.')


@asynccontextmanager
async def _book() -> AsyncIterator[RunBook]:
    """Yield the runs that the server keeps open; a foreign server that only checks runs here opens them each time."""
    if opened_books:
        yield opened_books[-1]
        return
    async with open_runs(await asyncio.to_thread(lambda: Context().data_dir)) as book:
        await asyncio.to_thread(book.graph, STRATEGIES[0])
        yield book


async def _new_messages(sent: Any, place: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that the thread does not have yet; some clients send the whole conversation each time."""
    try:
        messages: list[Any] = convert_to_messages(sent if isinstance(sent, list) else [sent])
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError):
        _refuse(f"{MESSAGES}, not {reprlib.repr(sent)}.")
    known, is_at_work = dict[str, Any](), False
    if any(message.id for message in messages):
        async with _book() as book:
            state = await book.graph(STRATEGIES[0]).aget_state({"configurable": place})
            is_at_work = await book.database.saver.leases.other(place["thread_id"]) is not None
        known = {message.id: message for message in state.values.get("messages", ())}
    new = list[dict[str, Any]]()
    for message in messages:
        if earlier := known.get(message.id or ""):
            if (earlier.type, earlier.text) != (message.type, words_of(message)):
                _refuse(f"{MESSAGES}; the id {message.id!r} is that of an earlier one, which cannot be changed.")
        elif message.type not in ("human", "system"):
            _refuse(f"{MESSAGES}, not one of the type {message.type!r}.")
        else:
            # The run at work may be about to store a message whose id it has streamed.
            new.append(message.model_dump() | ({"id": None} if is_at_work else {}))
    if not new:
        _refuse(f"{MESSAGES}; there is no new one.")
    return new


async def _take_files(user: str, value: Mapping[str, Any]) -> None:
    """Keep the files of new messages beside the thread, before the server stores the run that brings them."""
    given, thread = value.get("kwargs") or {}, str(value.get("thread_id") or "")
    holders = (given.get("input"), (given.get("command") or {}).get("update"))
    sent: list[Any] = [(holder, messages) for holder in holders if (messages := messages_with_files(holder))]
    if not (thread and sent):
        return
    # Whose thread it is, the server looks up only after this; in that of another user, nothing may be left.
    found: list[Any] = await get_client().threads.search(ids=[thread], limit=1)
    if found[0]["metadata"].get("owner") != user if found else value.get("if_not_exists") != "create":
        return
    settings = await asyncio.to_thread(lambda: UserSettings().operator)
    async with _book() as book:
        for holder, messages in sent:
            taken = await take_files(messages, Pages(book.database.store, thread), settings)
            holder["messages"] = [message.model_dump() for message in taken]


async def _check_settings(user: str, context: Mapping[str, Any]) -> None:
    given = {name: value for name, value in context.items() if name not in NOT_SETTINGS}
    try:
        settings = read_settings(UserSettings, given)
        await asyncio.to_thread(lambda: settings.context_of(user))
    except UserMistake as error:
        _refuse(str(error))


async def check_unclaimed(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a thread whose checkpoints were written for somebody else; the command line's are the local user's."""
    if thread := value.get("thread_id"):
        owner = await asyncio.to_thread(owner_of_checkpoints, str(thread))
        if owner not in (None, user):
            _refuse(f"There is no thread {thread}.", 404)


def owner_of_checkpoints(thread_id: str) -> str | None:
    """Return the user for whom a thread's checkpoints were written; none if there are no checkpoints."""
    query = "SELECT metadata FROM checkpoints WHERE thread_id = ? LIMIT 1"
    for (metadata,) in look_up(_place(), query, thread_id, seconds=BUSY_SECONDS):
        known = metadata if isinstance(metadata, dict) else json.loads(metadata)
        return known.get(OWNER) or LOCAL_USER
    return None


@cache
def _place() -> Path | str:
    # To read the settings takes longer than to look there.
    return place_of_runs(Context().data_dir)


async def _check_load(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a run beyond what one user may have at once, and one that does not fit how its thread stands."""
    client, most = get_client(), server_settings().user_runs
    if await client.threads.count(metadata={"owner": user}, status="busy") >= most:
        _refuse(f"{user} has {most} runs at work, as many as one user may have (DEEP_RESEARCH_SERVER_USER_RUNS).", 429)
    if ((value.get("kwargs") or {}).get("command") or {}).get("goto"):
        thread = await client.threads.get_state(str(value.get("thread_id")))
        if not thread["interrupts"]:
            _refuse(NOT_WAITING)
    is_new_input = (value.get("kwargs") or {}).get("input") is not None
    if is_new_input and value.get("multitask_strategy") == "interrupt" and value.get("thread_id"):
        busy = await client.threads.search(ids=[str(value["thread_id"])], status="busy", limit=1)
        if busy:
            _refuse(
                "The thread is at work, and new input would throw away what was found: steer it by the command "
                '{"update": {"messages": [...]}}, or wait (multitask_strategy "enqueue").',
                409,
            )


def _refuse(words: str, status: int = 422) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=words)
