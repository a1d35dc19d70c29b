"""The command `doctor`: what is configured, what is missing, and which setting mends it; and the command `limits`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from urllib.request import getproxies

from langchain_core.language_models import BaseChatModel

from ..core.library.library import Library
from ..core.models.abilities import load_ability, location_of, remember_ability
from ..core.models.caller import Caller
from ..core.models.faults import explain_any
from ..core.models.ladder.probe import Check, Speed, check_rung, check_window, find_ability, measure_speed
from ..core.models.quirks import wishes
from ..core.models.resolve import CHOOSE_MODEL, EXTRACTIVE, check_models, load_models, profile_of, resolve_model
from ..core.models.retries import retry_budget_of
from ..core.run.context import ROLES, Context, Role
from ..core.run.conversation import clean
from ..core.run.errors import DeepResearchError
from ..core.run.events.call import CallEvents
from ..core.run.events.log import Emitter
from ..core.run.events.packets import Placement
from ..core.run.limits import Limits
from ..core.run.network import shown, usable_proxy
from ..core.run.settings import read_context
from ..core.run.store.database import check_whole, open_database, place_of_runs
from ..core.run.tracing import tracing_notices
from ..core.writing.language import check_language
from ..tools.engine import EngineFailed, SearchEngine
from ..tools.offer import check_tools
from ..tools.run_engines import ask, choose_engines, other_engines, stand_ins
from ..tools.tool import Meter
from .endings import reports_errors, run_interruptibly
from .progress import PlainLines, about
from .runs import has_runs
from .settings import settings_from_options
from .stream import read_packet
from .terminal import put_out, say
from .words import DONE, REFUSED, counted

QUERY = "lighthouse"
UNUSED = "(no run asks it unless --engine names it)"
OUTSIDE = "https://example.com"
STANDARD_RUN = Speed(12_000, 1_600)
"""Tokens that a standard run over five short documents reads, those in a cache left out, and writes."""
EVERY, MOST_LINES = 100, 100
"""Documents at least between two lines of progress, and such lines at most."""


@reports_errors
def list_limits() -> int:
    """Print a line a limit: its name, the value that holds by the environment or by default, and what it is."""
    limits = read_context({}).at_depth().limits
    for name, field in Limits.model_fields.items():
        value, meaning = getattr(limits, name), " ".join((field.description or "").split())
        put_out(f"{name:24} {'-' if value is None else f'{value:.15g}':>10}  {meaning}")
    return DONE


class Diagnosis(NamedTuple):
    """What was found out about one thing."""

    state: Literal["ok", "missing", "failed", "note"]
    """Whether a run can do with it; a note stops no run."""
    what: str
    text: str
    """What was found; where something is missing, which setting mends it."""

    @property
    def stops_runs(self) -> bool:
        """Whether no run can begin, or end well, before it is mended."""
        return self.state in ("missing", "failed")


@reports_errors
def examine(*, is_trial: bool, **options: Any) -> int:
    """Print what was found; returns the exit code."""
    context = read_context(settings_from_options(**options))
    found = diagnose(context)
    if is_trial and not any(one.stops_runs for one in found):
        say("trying it out ...")
        tried = run_interruptibly(PlainLines().during(_try_out(context)))
        # How models call tools is known by now.
        models = _models(context)
        found = [*models, *found[len(models) :], *tried]
    elif is_trial:
        found.append(Diagnosis("note", "trial", "not made: first mend what is missing"))
    put_out("\n".join(f"{one.state:7}  {one.what}: {one.text}" for one in found))
    return REFUSED if any(one.stops_runs for one in found) else DONE


def diagnose(context: Context) -> list[Diagnosis]:
    """Return what a run with these settings would find: documents are indexed, local servers asked."""
    asyncio.run(load_models(context))
    documents = list(_documents(context))
    # Whatever else there is to search, no run starts without the documents that it is to have.
    to_search = [] if documents[0].stops_runs else [_diagnosis("something to search", lambda: _tools(context))]
    return [
        *_models(context),
        _diagnosis("language", lambda: _language(context)),
        _diagnosis("web search", lambda: _engines(context)),
        *documents,
        *to_search,
        *([_diagnosis("proxy", lambda: _proxy(context))] if getproxies() else ()),
        _diagnosis("tracing", lambda: " ".join(tracing_notices(context)) or "off"),
        _data_folder(context.data_dir),
        _diagnosis("runs", lambda: counted(_count_runs(context.data_dir), "run")),
    ]


def _diagnosis(what: str, find: Callable[[], str]) -> Diagnosis:
    try:
        return Diagnosis("ok", what, find())
    except DeepResearchError as error:
        return Diagnosis("missing", what, str(error))


def _models(context: Context) -> list[Diagnosis]:
    """Return the model of each role, or one line where they are all alike; and whether they read enough."""
    by_role = [_diagnosis(f"model of the {role}", partial(_model, role, context)) for role in ROLES]
    alike = {one.text.replace(f"The {role}'s model", "The model") for role, one in zip(ROLES, by_role, strict=True)}
    found = by_role if len(alike) > 1 else [Diagnosis(by_role[0].state, "models", alike.pop())]
    if any(one.stops_runs for one in by_role):
        return found
    return [*found, _diagnosis("windows", lambda: " ".join(check_models(ROLES, context)) or "large enough")]


def _model(role: Role, context: Context) -> str:
    model = resolve_model(role, context)
    tool_calls, profile = _tool_calls(model, role, context), profile_of(role, context)
    if profile.name == EXTRACTIVE:
        return f"extractive: quotes the sources, needs no key. {CHOOSE_MODEL} (Ollama: http://localhost:11434/v1)"
    window = f"{profile.window} tokens" if profile.is_window_known else f"window not known, {profile.window} assumed"
    kind = "reasons by itself, " if profile.reasons else ""
    return f"{location_of(model, role, context).model}: {window}, {kind}{tool_calls}"


def _tool_calls(model: BaseChatModel, role: Role, context: Context) -> str:
    """Return how the model calls tools, as far as it is known before a run."""
    if context.tool_calls != "auto":
        return f"calls tools as tool_calls says: {context.tool_calls}"
    if ability := asyncio.run(load_ability(location_of(model, role, context))):
        learned = wishes(ability.quirks, ability.output_tokens)
        verifier = "; does not tell right from wrong as a verifier" if ability.judges is False else ""
        wanted = f"; its server wants {learned}" if learned else ""
        return f"calls tools, by a trial: {ability.rung}{wanted}{verifier}"
    known = {True: "calls tools", False: "calls no tools by itself", None: "tool calling is tried at the first run"}
    return known[profile_of(role, context).calls_tools]


def _language(context: Context) -> str:
    return " ".join(check_language(context.language)) or context.language.strip() or "that of the question"


def _engines(context: Context) -> str:
    names = ", ".join(engine.name for engine in choose_engines(context))
    if others := ", ".join(engine.name for engine in stand_ins(context)):
        return f"{names}; where it brings nothing, {others}; a key (TAVILY_API_KEY) makes a better engine the first"
    return names or "off; set TAVILY_API_KEY, or name an engine by --engine (engines)"


def _proxy(context: Context) -> str:
    if not (proxy := usable_proxy(OUTSIDE)):
        return "none for https (HTTPS_PROXY, NO_PROXY)"
    pages = "pages are read without it (trust_proxy)"
    if context.trust_proxy:
        pages = "pages too: what a name leads to is checked only where this machine knows it, else by the proxy alone"
    return f"models and search engines are reached through {shown(proxy)} (HTTPS_PROXY); {pages}"


def _documents(context: Context) -> Iterator[Diagnosis]:
    """Yield what can be searched, and a note for each file that cannot."""
    try:
        status = Library(context).refresh(_say_indexed)
    except DeepResearchError as error:
        yield Diagnosis("missing", "documents", str(error))
        return
    folders = ", ".join(str(path.expanduser().absolute()) for path in dict.fromkeys(context.docs))
    unread = f", {status.unread} could not be read" if status.unread else ""
    found = f"{counted(status.documents, 'document')}{unread} ({folders})"
    yield Diagnosis(
        "ok", "documents", found if folders else "none; name a folder by --docs, docs or DEEP_RESEARCH_DOCS"
    )
    for left in status.left_out:
        yield Diagnosis("note", "not read", clean(f"{left.path}: {left.reason}"))
    for path in status.shortened:
        yield Diagnosis("note", "only the beginning is read", clean(path))
    for note in status.notes:
        yield Diagnosis("note", "scan", clean(note))


def _say_indexed(done: int, total: int) -> None:
    if done % max(EVERY, total // MOST_LINES) == 0:
        say(f"documents indexed: {done} of {total}")


def _tools(context: Context) -> str:
    check_tools(context)
    return "yes"


def _data_folder(path: Path) -> Diagnosis:
    place = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        # Permissions do not say all: nothing can be made in /proc, whatever they say.
        TemporaryDirectory(dir=place).cleanup()
    except OSError:
        return Diagnosis("missing", "data folder", f"{path} cannot be written; set data_dir (DEEP_RESEARCH_DATA_DIR)")
    return Diagnosis("ok", "data folder", str(path))


def _count_runs(folder: Path) -> int:
    async def count() -> int:
        async with open_database(place_of_runs(folder)) as database:
            return len(await database.saver.thread_ids())

    if not has_runs(folder):
        return 0
    check_whole(place_of_runs(folder))
    return asyncio.run(count())


async def _try_out(context: Context) -> list[Diagnosis]:
    """Call each model a few times, and search once; how models call tools is remembered."""
    return [*await _try_models(context), *await _try_engines(context)]


async def _try_models(context: Context) -> list[Diagnosis]:
    roles = {profile_of(role, context).name: role for role in reversed(ROLES)}
    found = [
        Diagnosis("ok" if check.is_ok else "failed", f"{name}: {check.name}", check.words)
        for name, role in reversed(roles.items())
        if name != EXTRACTIVE
        for check in await _checks(role, context)
    ]
    return found or [Diagnosis("ok", "models", "No language model is configured: there is nothing to try.")]


async def _checks(role: Role, context: Context) -> list[Check]:
    model, profile, lines = resolve_model(role, context), profile_of(role, context), PlainLines()
    window = profile.window if profile.is_window_known else None
    events = CallEvents(Emitter(lambda data: lines(read_packet(data))), Placement(turn_index=0))
    caller = Caller(role, context, retry_budget_of("doctor", context.limits), events)
    try:
        if ability := await find_ability(model, caller.message):
            await remember_ability(role, context, ability)
        speed = await measure_speed(model, caller)
        last = await check_window(model, window, caller.message, speed)
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        return [Check("answer", is_ok=False, words=str(explain_any(error, role, profile.name)))]
    checks = [check_rung(ability), last]
    if speed:
        minutes = max(1, round((STANDARD_RUN.read / speed.read + STANDARD_RUN.written / speed.written) / 60))
        pace = f"Reads about {about(speed.read)} tokens a second, writes about {about(speed.written)}"
        words = f"{pace}: a standard run over a few short documents takes about {minutes} min."
        checks.insert(1, Check("speed", is_ok=True, words=words))
    return checks


async def _try_engines(context: Context) -> list[Diagnosis]:
    """Return whether each engine that is set up answers; of those that need no setting, up to the first that does."""
    found, others = list[Diagnosis](), stand_ins(context)
    for engine in (*choose_engines(context), *others):
        found.append(await _try_engine(engine, context))
        if others and found[-1].state == "ok":
            # Engines that failed before it stop no run.
            found[:-1] = [tried._replace(state="note") for tried in found[:-1]]
            break
    unused = [await _try_engine(engine, context) for engine in other_engines(context)]
    return [*found, *(tried._replace(state="note", text=f"{tried.text} {UNUSED}") for tried in unused)]


async def _try_engine(engine: SearchEngine, context: Context) -> Diagnosis:
    has_key = bool(getattr(engine, "key", ""))
    what, well = (f"key of {engine.title}", "it is taken") if has_key else (f"search by {engine.title}", "it answers")
    try:
        await ask(engine, QUERY, 1, context.limits.search_seconds, Meter())
    except EngineFailed as error:
        return Diagnosis("failed", what, error.words)
    except Exception as error:  # noqa: BLE001 - engines of others have errors of their own
        return Diagnosis("failed", what, f"it failed ({type(error).__name__})")
    return Diagnosis("ok", what, well)
