"""The commands `doctor` (shows what is configured or missing, and which setting fixes it) and
`limits`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from urllib.request import getproxies

from ..core.dialogue.conversation import safe_text
from ..core.errors import DeepResearchError
from ..core.events.call import CallEvents
from ..core.events.log import Emitter
from ..core.events.packets import Placement
from ..core.events.tracing import tracing_notices
from ..core.library.library import Library
from ..core.models.abilities import describe_model, try_tool_calls
from ..core.models.resolve import RoleModels, profile_of
from ..core.settings.context import ROLES, Context, Role
from ..core.settings.limits import Limits
from ..core.settings.network import shown_proxy, usable_proxy
from ..core.store.database import open_database
from ..core.store.location import RunsLocation
from ..core.writing.language import Language
from ..tools.engine import EngineFailed, SearchEngine
from ..tools.offer import ToolOffer
from ..tools.run_engines import (
    SearchEngines,
    ask_engine,
)
from ..tools.tool import Meter
from ._endings import reports_errors, run_interruptibly
from ._progress import PlainLines
from ._terminal import print_output, say
from .runs import has_runs
from .stream import read_packet
from .words import DONE, REFUSED, counted

_QUERY = "lighthouse"
"""The query with which engines are tried."""
_UNUSED = "(used only if --engine names it)"
_OUTSIDE = "https://example.com"
"""An address outside of this machine, for which a proxy would be used."""
_DOCUMENTS_PER_LINE = 100
"""Minimum number of documents indexed between two progress lines."""
_MOST_LINES = 100
"""Maximum number of such lines."""


@reports_errors
def list_limits() -> int:
    """Print each limit with its current value (from the environment, or the default) and its
    meaning."""
    limits = Context.read({}).at_depth().limits
    for name, field in Limits.model_fields.items():
        value = getattr(limits, name)
        number = "-" if value is None else f"{value:.15g}"
        meaning = " ".join((field.description or "").split())
        print_output(f"{name:24} {number:>10}  {meaning}")
    return DONE


class Diagnosis(NamedTuple):
    """A line of the output of `doctor`."""

    state: Literal["ok", "missing", "failed", "note"]
    what: str
    """What was examined, such as "web search"."""
    text: str
    """The result; if something is missing, also the setting that fixes it."""

    @property
    def stops_runs(self) -> bool:
        """Whether no run can start until this is fixed."""
        return self.state in ("missing", "failed")


def examine(given: Mapping[str, Any], *, is_trial: bool) -> int:
    """Print what is configured or missing with the given settings; with `is_trial`, also try out
    models and engines."""
    context = Context.read(given)
    found = diagnose(context)
    if is_trial and not any(line.stops_runs for line in found):
        say("trying models and engines ...")
        tried = run_interruptibly(PlainLines().during(_try_out(context)))
        # The trial has stored how the models call tools.
        models = _models(context)
        found[: len(models)] = models
        found += tried
    elif is_trial:
        found.append(Diagnosis("note", "trial", "skipped: first fix what is missing"))
    print_output("\n".join(f"{state:7}  {what}: {text}" for state, what, text in found))
    return REFUSED if any(line.stops_runs for line in found) else DONE


def diagnose(context: Context) -> list[Diagnosis]:
    """Check settings, models, engines, documents and data folder; indexes documents and queries
    local model servers."""
    asyncio.run(RoleModels(context).load())
    language = context.language.strip()
    documents = _documents(context)
    if not documents[0].stops_runs:
        # A run with unreadable documents does not start, even if there is something else to search.
        documents.append(_diagnosis("something to search", lambda: ToolOffer(context).check()))
    languages = _diagnosis(
        "language",
        lambda: " ".join(Language.check(language)) or language or "same as the question",
    )
    found = [
        *_models(context),
        languages,
        _diagnosis("web search", lambda: _engines(context)),
        *documents,
    ]
    if getproxies():
        found.append(_diagnosis("proxy", lambda: _proxy(context)))
    found.append(_diagnosis("tracing", lambda: " ".join(tracing_notices(context)) or "off"))
    found.append(_data_folder(context.data_dir))
    found.append(_diagnosis("runs", lambda: _runs(context.data_dir)))
    return found


def _diagnosis(what: str, find: Callable[[], str | None]) -> Diagnosis:
    """Return what `find` returns as "ok" (nothing: "yes"), or the error that it raises as
    "missing"."""
    try:
        return Diagnosis("ok", what, find() or "yes")
    except DeepResearchError as error:
        return Diagnosis("missing", what, str(error))


def _models(context: Context) -> list[Diagnosis]:
    """Return a line for each role's model, or one for all if they are the same, and a line on
    context windows."""
    found = list[Diagnosis]()
    texts = set[str]()
    for role in ROLES:
        line = _diagnosis(f"model of the {role}", partial(_model, role, context))
        found.append(line)
        texts.add(line.text)
    stops_runs = any(line.stops_runs for line in found)
    if len(texts) == 1:
        found = [Diagnosis(found[0].state, "models", texts.pop())]
    if not stops_runs:
        found.append(
            _diagnosis("windows", lambda: " ".join(RoleModels(context).check()) or "large enough")
        )
    return found


def _model(role: Role, context: Context) -> str:
    """Return a role's model, its context window, and how it calls tools."""
    return asyncio.run(describe_model(role, context))


def _engines(context: Context) -> str:
    names = ", ".join(engine.name for engine in SearchEngines(context).chosen())
    others = ", ".join(engine.name for engine in SearchEngines(context).fallback())
    if others:
        return (
            f"{names}; if it finds nothing, {others}; set a key (TAVILY_API_KEY) to use a better "
            "engine first"
        )
    return names or "off; set TAVILY_API_KEY, or name an engine with --engine (engines)"


def _proxy(context: Context) -> str:
    proxy = usable_proxy(_OUTSIDE)
    if not proxy:
        return "none for https (HTTPS_PROXY, NO_PROXY)"
    pages = "web pages are read without it (trust_proxy)"
    if context.trust_proxy:
        pages = (
            "web pages too: host names that this machine cannot resolve are checked only by the "
            "proxy"
        )
    return f"models and search engines use {shown_proxy(_OUTSIDE)} (HTTPS_PROXY); {pages}"


def _documents(context: Context) -> list[Diagnosis]:
    """Index the documents; return their number, and a note for each file that cannot be read in
    full."""

    def say_indexed(done: int, total: int) -> None:
        if done % max(_DOCUMENTS_PER_LINE, total // _MOST_LINES) == 0:
            say(f"documents indexed: {done} of {total}")

    try:
        status = Library(context).refresh(say_indexed)
    except DeepResearchError as error:
        return [Diagnosis("missing", "documents", str(error))]
    if context.docs:
        unread = f", {status.unread} could not be read" if status.unread else ""
        folders = [str(path.expanduser().absolute()) for path in dict.fromkeys(context.docs)]
        number = counted(status.documents, "document")
        found = [Diagnosis("ok", "documents", f"{number}{unread} ({', '.join(folders)})")]
    else:
        none = "none; name a folder with --docs, docs or DEEP_RESEARCH_DOCS"
        found = [Diagnosis("ok", "documents", none)]
    for unread_file in status.left_out:
        text = safe_text(f"{unread_file.path}: {unread_file.reason}")
        found.append(Diagnosis("note", "not read", text))
    for path in status.shortened:
        found.append(Diagnosis("note", "only the beginning was read", safe_text(path)))
    for note in status.notes:
        found.append(Diagnosis("note", "scan", safe_text(note)))
    return found


def _data_folder(path: Path) -> Diagnosis:
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        # Checking permissions is not enough: nothing can be created in /proc, for example.
        TemporaryDirectory(dir=existing).cleanup()
    except OSError:
        return Diagnosis(
            "missing",
            "data folder",
            f"{path} cannot be written; set data_dir (DEEP_RESEARCH_DATA_DIR)",
        )
    return Diagnosis("ok", "data folder", str(path))


def _runs(folder: Path) -> str:
    async def count() -> int:
        async with open_database(RunsLocation.of(folder)) as database:
            return len(await database.saver.thread_ids())

    if not has_runs(folder):
        return counted(0, "run")
    RunsLocation.of(folder).check_whole()
    return counted(asyncio.run(count()), "run")


async def _try_out(context: Context) -> list[Diagnosis]:
    """Have each model call a tool and store how it does so; search once with each engine."""
    # Each model once, in its first role.
    roles = {profile_of(role, context).name: role for role in reversed(ROLES)}
    found = list[Diagnosis]()
    for role in reversed(roles.values()):
        if not RoleModels(context).is_extractive(role):
            found.append(await _try_model(role, context))
    if not found:
        none = "No language model is configured: there is nothing to try."
        found.append(Diagnosis("ok", "models", none))
    found += await _try_engines(context)
    return found


async def _try_model(role: Role, context: Context) -> Diagnosis:
    """Have a role's model call a tool, and store how it does so; return whether it answers and how
    it calls tools."""
    name = profile_of(role, context).name
    lines = PlainLines()
    events = CallEvents(Emitter(lambda data: lines(read_packet(data))), Placement(turn_index=0))
    try:
        found = await try_tool_calls(role, context, events)
    except DeepResearchError as error:
        return Diagnosis("failed", f"{name}: answer", str(error))
    if not found:
        words = (
            "The model called no tool in any of the three ways; choose another model (setting "
            "models)."
        )
        return Diagnosis("failed", f"{name}: tools", words)
    return Diagnosis("ok", f"{name}: tools", found)


async def _try_engines(context: Context) -> list[Diagnosis]:
    """Try each engine that is set or, by default, one keyless engine after the other until one
    answers.

    Engines that the environment sets up but no setting names are tried too; their failures stop no
    run.
    """
    found = list[Diagnosis]()
    fallbacks = SearchEngines(context).fallback()
    for engine in (*SearchEngines(context).chosen(), *fallbacks):
        tried = await _try_engine(engine, context)
        if fallbacks and tried.state == "ok":
            # A run would use this engine instead of those that failed before it.
            found = [failed._replace(state="note") for failed in found]
            found.append(tried)
            break
        found.append(tried)
    for engine in SearchEngines(context).others():
        unused = await _try_engine(engine, context)
        found.append(unused._replace(state="note", text=f"{unused.text} {_UNUSED}"))
    return found


async def _try_engine(engine: SearchEngine, context: Context) -> Diagnosis:
    """Search once with an engine; return whether its key is accepted or, if it has none, whether it
    works."""
    what, success = f"search with {engine.title}", "works"
    if getattr(engine, "key", ""):
        what, success = f"key of {engine.title}", "accepted"
    try:
        await ask_engine(engine, _QUERY, 1, context.limits.search_seconds, Meter())
    except EngineFailed as error:
        return Diagnosis("failed", what, error.words)
    except Exception as error:  # noqa: BLE001 - third-party engines have their own errors
        return Diagnosis("failed", what, f"it failed ({type(error).__name__})")
    return Diagnosis("ok", what, success)
