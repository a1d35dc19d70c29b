"""Tells what is configured, what is missing, and which setting would mend it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from langchain_core.language_models import BaseChatModel

from ..library.library import Library
from ..models.abilities import load_ability, location_of, remember_ability
from ..models.caller import Caller
from ..models.faults import explain_any
from ..models.ladder.probe import Check, check_model
from ..models.local import local_offers
from ..models.providers import host_of
from ..models.resolve import EXTRACTIVE, check_models, profile_of, resolve_model
from ..models.retries import retry_budget_of
from ..run.context import ROLES, Context, Role
from ..run.conversation import clean
from ..run.errors import DeepResearchError
from ..run.events.call import CallEvents
from ..run.events.log import Emitter
from ..run.events.packets import CallDelayed, Placement
from ..run.limits import Limits
from ..run.store.database import FILE_NAME, open_database
from ..tools.engines.choose import choose_engines
from ..tools.engines.engine import EngineFailed
from ..tools.engines.tavily import Tavily
from ..tools.offer import check_tools
from ..writing.decide_language import check_language
from .embed import read_context
from .endings import reported, run_interruptibly, stopped
from .options import settings_of
from .progress import describe
from .runs import has_runs
from .stream import read_packet
from .terminal import RunName, put_out, say
from .words import DONE, REFUSED, counted


def list_limits() -> int:
    """Print a line a limit: its name, the value that holds by the environment or by default, and what it is."""

    def work() -> int:
        limits = read_context({}).limits
        put_out("\n".join(_line(name, getattr(limits, name)) for name in Limits.model_fields))
        return DONE

    return reported(RunName("", None), work)


def _line(name: str, value: float | None) -> str:
    meaning = " ".join((Limits.model_fields[name].description or "").split())
    return f"{name:24} {'-' if value is None else f'{value:.15g}':>10}  {meaning}"


class Look(NamedTuple):
    """How it stands with one thing."""

    what: str
    is_ok: bool
    words: str
    """What was found; where something is missing, which setting mends it."""
    otherwise: Literal["missing", "failed", "note"] = "missing"
    """What it is called where it is not well; a note stops no run."""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return "ok" if self.is_ok else self.otherwise

    @property
    def stops_runs(self) -> bool:
        """Whether no run can begin, or end well, before it is mended."""
        return self.state in ("missing", "failed")


NEEDLESS = ("schema", "reasoning leak")
"""Checks of a model that a run gets along without."""
QUERY = "lighthouse"


async def try_out(context: Context) -> list[Look]:
    """Call each model a few times, and search once where a key is needed; how models call tools is remembered."""
    return [*await _try_models(context), *await _try_engines(context)]


async def _try_models(context: Context) -> list[Look]:
    looks: list[Look] = []
    tried = set[str]()
    for role in ROLES:
        name = profile_of(role, context).name
        if name in tried or name == EXTRACTIVE:
            continue
        tried.add(name)
        looks += [
            Look(f"{name}: {check.name}", check.is_ok, check.words, "note" if check.name in NEEDLESS else "failed")
            for check in await _checks(role, context)
        ]
    return looks or [Look("models", is_ok=True, words="No language model is configured: there is nothing to try.")]


async def _checks(role: Role, context: Context) -> list[Check]:
    profile = profile_of(role, context)
    window = profile.window if profile.is_window_known else None
    events = CallEvents(Emitter(_print_waits), Placement(turn_index=0))
    caller = Caller(role, context, retry_budget_of("doctor", context.limits), events)
    try:
        examined = await check_model(resolve_model(role, context), window, caller.message)
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        words = str(explain_any(error, role, profile.name))
        return [Check("answer", is_ok=False, words=words)]
    if examined.ability:
        await remember_ability(role, context, examined.ability)
    return examined.checks


def _print_waits(data: Mapping[str, Any]) -> None:
    packet = read_packet(data)
    if isinstance(packet, CallDelayed):
        say(describe(packet))


async def _try_engines(context: Context) -> list[Look]:
    """Whether the engines that need a key take it."""
    looks = []
    for engine in choose_engines(context):
        if engine.name != Tavily.name:
            continue
        try:
            await engine.search(QUERY, 1)
            looks.append(Look(f"key of {engine.title}", is_ok=True, words="it is taken"))
        except EngineFailed as error:
            looks.append(Look(f"key of {engine.title}", is_ok=False, words=error.words, otherwise="failed"))
    return looks


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
        *(Look("model on this machine", is_ok=False, words=offer, otherwise="note") for offer in local_offers(context)),
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
    if ability := asyncio.run(load_ability(location_of(model, role, context))):
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
