"""Tells what is configured, what is missing, and which setting would mend it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel

from ..models.abilities import place_of
from ..models.local import offers
from ..models.memory import recall
from ..models.providers import host_of
from ..models.resolve import EXTRACTIVE, check_models, profile_of, resolve_model
from ..run.checkpoints import FILE_NAME, open_database
from ..run.context import ROLES, Context, Role
from ..run.conversation import clean
from ..run.errors import DeepResearchError
from ..tools.decide_language import check_language
from ..tools.engines.choose import choose_engines
from ..tools.library import Library
from ..tools.offer import check_tools
from .embed import read_context
from .endings import reported, stopped
from .exit_codes import DONE, REFUSED
from .interrupt import run_interruptibly
from .look import Look
from .options import settings_of
from .runs import has_runs
from .terminal import RunName, put_out, say
from .trial import try_out
from .words import counted

EVERY = 100
"""Documents at least that are read from one line of progress to the next."""
MOST_LINES = 100
"""Lines of progress at most."""


def examine(*, is_trial: bool, **options: Any) -> int:
    """Print what was found; returns the exit code."""
    name = RunName("", None)

    def work() -> int:
        context = read_context(settings_of(**options))
        looks = look_at(context)
        if is_trial and not any(look.stops_runs for look in looks):
            say("trying it out ...")
            tried = run_interruptibly(try_out(context), partial(stopped, name))
            # How models call tools is known by now.
            models = _models(context)
            looks = [*models, *looks[len(models) :], *tried]
        elif is_trial:
            looks.append(Look("trial", is_ok=False, words="not made: first mend what is missing", otherwise="note"))
        put_out("\n".join(f"{look.state:7}  {look.what}: {look.words}" for look in looks))
        return REFUSED if any(look.stops_runs for look in looks) else DONE

    return reported(name, work)


def look_at(context: Context) -> list[Look]:
    """What a run with these settings would find: reads the documents, asks this machine for models, keeps nothing."""
    documents = list(_documents(context))
    # Whatever else there is to search, no run starts without the documents that it is to have.
    to_search = [_look("something to search", lambda: _tools(context))] if documents[0].is_ok else []
    return [
        *_models(context),
        *(Look("model on this machine", is_ok=False, words=offer, otherwise="note") for offer in offers(context)),
        _look("language", lambda: _language(context)),
        _look("web search", lambda: _engines(context)),
        *documents,
        *to_search,
        _folder(context.data_dir),
        _look("runs", lambda: _runs(context.data_dir)),
    ]


def _models(context: Context) -> list[Look]:
    """The model of each role, or one line where they are all alike; and whether they read enough."""
    looks = {role: _look(f"model of the {role}", partial(_model, role, context)) for role in ROLES}
    alike = {look.words.replace(f"The {role}'s model", "The model") for role, look in looks.items()}
    are_ok = all(look.is_ok for look in looks.values())
    told = list(looks.values()) if len(alike) > 1 else [Look("models", are_ok, alike.pop())]
    windows = _look("windows", lambda: " ".join(check_models(ROLES, context)) or "large enough")
    return [*told, windows] if are_ok else told


def _look(what: str, find: Callable[[], str]) -> Look:
    try:
        return Look(what, is_ok=True, words=find())
    except DeepResearchError as error:
        return Look(what, is_ok=False, words=str(error))


def _model(role: Role, context: Context) -> str:
    profile, model = profile_of(role, context), resolve_model(role, context)
    if profile.name == EXTRACTIVE:
        return (
            "extractive: quotes the sources, needs no key; for a language model set OPENAI_API_KEY, or OPENAI_BASE_URL "
            "for a compatible server, or name one by --model"
        )
    server = host_of(model)
    window = f"{profile.window} tokens" if profile.is_window_known else f"window not known, {profile.window} assumed"
    kind = "reasons by itself, " if profile.reasons else ""
    at = f" at {server}" if server else ""
    return f"{profile.name}{at}: {window}, {kind}{_calling(model, role, context)}"


def _calling(model: BaseChatModel, role: Role, context: Context) -> str:
    """How it calls tools, as far as it is known before a run."""
    if context.tool_calls != "auto":
        return f"calls tools as tool_calls says: {context.tool_calls}"
    if ability := asyncio.run(recall(place_of(model, role, context))):
        return f"calls tools, by a trial: {ability.rung}"
    told = {True: "calls tools", False: "calls no tools by itself", None: "tool calling is tried at the first run"}
    return told[profile_of(role, context).calls_tools]


def _language(context: Context) -> str:
    return " ".join(check_language(context.language)) or context.language.strip() or "that of the question"


def _engines(context: Context) -> str:
    engines = choose_engines(context)
    if engines:
        return ", ".join(engine.name for engine in engines)
    return "off; set TAVILY_API_KEY, or name an engine by --engine (engines)"


def _documents(context: Context) -> Iterator[Look]:
    """What can be searched, and a note for each file that cannot."""
    try:
        status = Library(context).examine(_tell_read)
    except DeepResearchError as error:
        yield Look("documents", is_ok=False, words=str(error))
        return
    folders = ", ".join(str(path.expanduser().absolute()) for path in dict.fromkeys(context.docs))
    unread = f", {status.unread} could not be read" if status.unread else ""
    found = f"{counted(status.documents, 'document')}{unread} ({folders})"
    yield Look("documents", True, found if folders else "none; name a folder by --docs, docs or DEEP_RESEARCH_DOCS")
    for left in status.left_out:
        yield Look("not read", is_ok=False, words=clean(f"{left.path}: {left.reason}"), otherwise="note")
    for path in status.shortened:
        yield Look("only the beginning is read", is_ok=False, words=clean(path), otherwise="note")


def _tell_read(done: int, total: int) -> None:
    if done % max(EVERY, total // MOST_LINES) == 0:
        say(f"documents read: {done} of {total}")


def _tools(context: Context) -> str:
    check_tools(context)
    return "yes"


def _folder(path: Path) -> Look:
    place = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        # Permissions do not tell all: nothing can be made in /proc, whatever they say.
        TemporaryDirectory(dir=place).cleanup()
    except OSError:
        words = f"{path} cannot be written; set data_dir (DEEP_RESEARCH_DATA_DIR)"
        return Look("data folder", is_ok=False, words=words)
    return Look("data folder", is_ok=True, words=str(path))


def _runs(folder: Path) -> str:
    async def count() -> int:
        async with open_database(folder / FILE_NAME) as database:
            return len(await database.saver.thread_ids())

    return counted(asyncio.run(count()) if has_runs(folder) else 0, "run")
