"""Authorizes requests: users have full access to their own threads and runs, and to nothing
else."""

from __future__ import annotations

import asyncio
import json
import reprlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, NoReturn

from langgraph_sdk import Auth, get_client

from ...core.dialogue.conversation import read_messages
from ...core.errors import UserMistake
from ...core.library.attachments import message_words, messages_with_files, take_files
from ...core.settings.context import Context
from ...core.settings.server_settings import UserSettings
from ...core.store.location import RunsLocation
from ...core.store.pages import LOCAL_USER, OWNER, Pages
from ..embed import NOT_WAITING, RECURSION_LIMIT
from ..runs import RunBook
from ._bodies import put_files_back
from ._load import reserve_run
from .users import refused_webhook, server_settings, user_of

auth = Auth()
_BUSY_SECONDS = 5.0
"""Seconds to wait for a busy database."""
_NOT_SETTINGS = frozenset(
    {"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "__event_streaming_v2"}
)
"""Keys in a run's `configurable` that are not settings, but name a checkpoint or the streaming
mode."""

_MOST_PARTS = 100
"""Maximum number of texts and files in the new messages of a request; a thread takes fewer
files."""
_RULES_CHARACTERS = 32_000
"""Maximum length of the new system messages of a request."""

opened_books = list[RunBook]()
"""Access to the stored runs of all users, as the only item; empty until the server has started."""
_MESSAGES = (
    'messages: a run accepts new messages with the role "user" or "system", {"role": "user", '
    '"content": "..."}'
)


@auth.authenticate
async def authenticate(
    headers: dict[bytes, bytes], scope: dict[str, Any]
) -> Auth.types.MinimalUserDict:
    """Return the user of a request; raise status 401 if there is none."""
    decoded = dict[str, str]()
    for name, value in headers.items():
        decoded[name.decode("latin-1").lower()] = value.decode("latin-1")
    client, *_ = scope.get("client") or ("",)
    user = user_of(decoded, client)
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="A token is needed.")
    return {"identity": user}


@auth.on
async def refuse(
    ctx: Auth.types.AuthContext,  # noqa: ARG001 - LangGraph passes them by name
    value: Any,  # noqa: ARG001
) -> bool:
    """Refuse everything that no other handler allows, such as the store, schedules, and future
    resources."""
    return False


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Restrict reads and changes to the user's own threads."""
    return _owned(ctx, value)


@auth.on.threads.create
async def new_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let users create threads, except with the id of another user's run in the database."""
    await check_unclaimed(ctx.user.identity, value)
    return _owned(ctx, value)


@auth.on.threads.create_run
async def own_runs(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let users run graphs on their own threads, within the operator's settings."""
    await check_unclaimed(ctx.user.identity, value)
    await check_run(ctx.user.identity, value)
    await _check_load(ctx.user.identity, value)
    put_files_back(value.get("kwargs"))
    await _take_files(ctx.user.identity, value)
    return _owned(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Let users see the served graphs and manage their own assistants."""
    if ctx.action not in ("create", "update", "delete"):
        return {"$or": [{"created_by": "system"}, {"owner": ctx.user.identity}]}
    config = value.get("config") or {}
    await _check_settings(ctx.user.identity, value.get("context") or {})
    await _check_settings(ctx.user.identity, config.get("configurable") or {})
    return _owned(ctx, value)


def _owned(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Mark a created or changed resource as the user's; return a filter for the user's
    resources."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in ("create", "update", "create_run") and isinstance(value.get("metadata"), dict):
        value["metadata"].pop("created_by", None)
        value["metadata"].update(owner)
    elif ctx.action == "create":
        value["metadata"] = dict(owner)
    return owner


async def check_run(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a run with inputs, commands or settings that are not allowed; `value` is LangGraph's
    run request.

    Removes from `value` the messages that the thread already has.
    """
    given = value.get("kwargs") or {}
    command = given.get("command") or {}
    sent = given.get("input")
    update = command.get("update")
    words = refused_webhook(given.get("webhook"))
    if words:
        _refuse(words)
    if sent is not None and not _is_input(sent):
        _refuse(
            'input: a run accepts only {"messages": [...]}, with "edit": true if they say what to '
            "change in the thread's report."
        )
    goto = command.get("goto")
    has_foreign_update = update and not _has_only_messages(update)
    if has_foreign_update or (goto and goto not in ("__end__", ["__end__"])):
        _refuse(
            'command: a run accepts {"resume": ...}, {"update": {"messages": [...]}} or {"goto": '
            '"__end__"}.'
        )
    config = given.get("config") or {}
    checkpoint = {
        **(config.get("configurable") or {}),
        **(given.get("checkpoint") or {}),
        "checkpoint_ns": "",
    }
    thread = checkpoint.get("thread_id")
    if thread and str(thread) != str(value.get("thread_id")):
        _refuse("configurable: thread_id must be the thread on which the run is created.")
    if (config.get("recursion_limit") or 0) > RECURSION_LIMIT:
        _refuse(f"recursion_limit: at most {RECURSION_LIMIT}.")
    await _check_settings(user, given.get("context") or {})
    checkpoint["thread_id"] = str(value.get("thread_id") or "")
    for holder in (sent, update):
        if holder and "messages" in holder:
            holder["messages"] = await _new_messages(holder["messages"], checkpoint)
    has_message = sent and "messages" in sent
    if (
        not has_message
        and await asyncio.to_thread(owner_of_checkpoints, checkpoint["thread_id"]) is None
    ):
        _refuse('This thread has no question yet: send one as input, {"messages": [...]}.')


def _is_input(values: object) -> bool:
    if not isinstance(values, dict) or not isinstance(values.get("edit", False), bool):
        return False
    return values.keys() <= {"messages", "edit"}


def _has_only_messages(values: object) -> bool:
    return isinstance(values, dict) and values.keys() <= {"messages"}


@asynccontextmanager
async def _book() -> AsyncIterator[RunBook]:
    """Yield access to the stored runs; opens the database if the server does not use our routes, as
    with Aegra."""
    if opened_books:
        yield opened_books[-1]
        return
    async with RunBook.open(await asyncio.to_thread(lambda: Context().data_dir)) as book:
        await asyncio.to_thread(book.graph, "orchestrated")
        yield book


async def _new_messages(sent: Any, checkpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that the thread does not have yet; some clients send the whole
    conversation each time."""
    try:
        messages = read_messages(sent)
    except ValueError:
        _refuse(f"{_MESSAGES}, not {reprlib.repr(sent)}.")
    known = dict[str, Any]()
    is_running = False
    if any(message.id for message in messages):
        async with _book() as book:
            state = await book.graph("orchestrated").aget_state({"configurable": checkpoint})
            runner = await book.database.saver.leases.other_holder(checkpoint["thread_id"])
        is_running = runner is not None
        known = {message.id: message for message in state.values.get("messages", ())}
    new = list[dict[str, Any]]()
    for message in messages:
        earlier = known.get(message.id or "")
        if earlier:
            if (earlier.type, earlier.text) != (message.type, message_words(message)):
                _refuse(
                    f"{_MESSAGES}; the id {message.id!r} belongs to an earlier message, which "
                    "cannot be changed."
                )
        elif message.type not in ("human", "system"):
            _refuse(f"{_MESSAGES}, not messages of type {message.type!r}.")
        else:
            data = message.model_dump()
            if is_running:
                # The running process may be about to store a message with the same id.
                data["id"] = None
            new.append(data)
    if not new:
        _refuse(f"{_MESSAGES}; there is no new message.")
    _check_new(new)
    return new


def _check_new(new: Sequence[dict[str, Any]]) -> None:
    """Refuse new messages with too many files or too long rules."""
    parts = rules = 0
    for message in new:
        content = message["content"]
        if isinstance(content, list):
            parts += len(content)
        if message["type"] == "system":
            rules += len(str(content))
    if parts > _MOST_PARTS:
        _refuse(f"messages: at most {_MOST_PARTS} texts and files are accepted in one request.")
    if rules > _RULES_CHARACTERS:
        _refuse(f"messages: system messages may have at most {_RULES_CHARACTERS} characters.")


async def _take_files(user: str, value: Mapping[str, Any]) -> None:
    """Store the files in new messages with the thread, before LangGraph stores the run."""
    given = value.get("kwargs") or {}
    thread = str(value.get("thread_id") or "")
    command = given.get("command") or {}
    # Inputs and updates, each with its messages.
    with_files: list[Any] = []
    for values in (given.get("input"), command.get("update")):
        messages = messages_with_files(values)
        if messages:
            with_files.append((values, messages))
    if not thread or not with_files:
        return
    # LangGraph checks the owner only later, but nothing may be stored in another user's thread.
    threads: list[Any] = await get_client().threads.search(ids=[thread], limit=1)
    if threads:
        may_write = threads[0]["metadata"].get("owner") == user
    else:
        may_write = value.get("if_not_exists") == "create"
    if not may_write:
        return
    settings = await asyncio.to_thread(lambda: UserSettings().operator)
    async with _book() as book:
        pages = Pages(book.database.store, thread)
        for values, messages in with_files:
            messages = await take_files(messages, pages, settings)
            values["messages"] = [message.model_dump() for message in messages]


async def _check_settings(user: str, context: Mapping[str, Any]) -> None:
    given = {name: value for name, value in context.items() if name not in _NOT_SETTINGS}
    try:
        settings = UserSettings.read(given)
        await asyncio.to_thread(lambda: settings.context_of(user))
    except UserMistake as error:
        _refuse(str(error))


async def check_unclaimed(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a thread whose checkpoints belong to another user; runs of the command line belong to
    the local user."""
    thread = value.get("thread_id")
    if thread:
        owner = await asyncio.to_thread(owner_of_checkpoints, str(thread))
        if owner not in (None, user):
            _refuse(f"Thread {thread} does not exist.", 404)


def owner_of_checkpoints(thread_id: str) -> str | None:
    """Return the owner of a thread's checkpoints; None if there are none."""
    query = "SELECT metadata FROM checkpoints WHERE thread_id = ? LIMIT 1"
    for (metadata,) in _database().query(query, thread_id, seconds=_BUSY_SECONDS):
        known = metadata if isinstance(metadata, dict) else json.loads(metadata)
        return known.get(OWNER) or LOCAL_USER
    return None


@cache
def _database() -> RunsLocation:
    # Cached because reading the settings takes longer than a query.
    return RunsLocation.of(Context().data_dir)


async def _check_load(user: str, value: Mapping[str, Any]) -> None:
    """Refuse a run that exceeds the user's limit of concurrent runs or does not fit the status of
    its thread."""
    client = get_client()
    most = server_settings().user_runs
    thread = str(value.get("thread_id") or "")
    ends_others = value.get("multitask_strategy") in ("interrupt", "rollback")
    run = str(value.get("run_id"))
    if not await reserve_run(user, run, thread, most, ends_others=ends_others):
        _refuse(
            f"{user} already has {most} active runs, the maximum per user "
            "(DEEP_RESEARCH_SERVER_USER_RUNS).",
            429,
        )
    given = value.get("kwargs") or {}
    command = given.get("command") or {}
    if command.get("goto"):
        state = await client.threads.get_state(thread)
        if not state["interrupts"]:
            _refuse(NOT_WAITING)
    is_new_input = given.get("input") is not None
    if is_new_input and value.get("multitask_strategy") == "interrupt" and thread:
        busy = await client.threads.search(ids=[thread], status="busy", limit=1)
        if busy:
            _refuse(
                "A run is active on the thread, and new input would discard its results: steer it "
                'with the command {"update": {"messages": [...]}}, or wait (multitask_strategy '
                '"enqueue").',
                409,
            )


def _refuse(words: str, status: int = 422) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=words)
