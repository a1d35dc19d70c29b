"""Tells what is configured, what is missing, and which setting would mend it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

from deep_research.app.cli import DONE, REFUSED
from deep_research.app.embed import read_context
from deep_research.app.endings import reported, stopped
from deep_research.app.interrupt import run_interruptibly
from deep_research.app.options import settings_of
from deep_research.app.terminal import RunName, put_out, say
from deep_research.models.abilities import Ability, remember
from deep_research.models.faults import in_our_words
from deep_research.models.ladder.probe import Check, check_model
from deep_research.models.resolve import EXTRACTIVE, check_models, profile_of, resolve_model
from deep_research.run.context import Context, Role
from deep_research.run.errors import DeepResearchError, UserMistake
from deep_research.tools.engines.choose import choose_engines
from deep_research.tools.offer import check_tools

NEEDLESS = ("schema", "reasoning leak")
"""Checks of a model that a run gets along without."""
ROLES: tuple[Role, ...] = get_args(Role)


class Look(NamedTuple):
    """One thing that was looked at."""

    what: str
    is_ok: bool
    words: str
    """What was found; where something is missing, which setting mends it."""
    is_needed: bool = True
    """Whether no run is possible, or none is right, without it."""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return "ok" if self.is_ok else "missing" if self.is_needed else "note"


def examine(*, is_trial: bool, **options: Any) -> int:
    """Print what was found; returns the exit code."""
    name = RunName("", None)

    def work() -> int:
        context = read_context(settings_of(**options))
        looks = look_at(context)
        if is_trial and all(look.is_ok for look in looks):
            say("calling the model ...")
            looks += run_interruptibly(try_models(context), stopped(name))
        put_out("\n".join(f"{look.state:7}  {look.what}: {look.words}" for look in looks))
        return REFUSED if any(look.state == "missing" for look in looks) else DONE

    return reported(name, work)


def look_at(context: Context) -> list[Look]:
    """What a run with these settings would find; nothing is contacted and nothing is spent."""
    models = _models(context)
    if all(look.is_ok for look in models):
        models.append(_look("windows", lambda: "; ".join(check_models(ROLES, context)) or "large enough"))
    return [
        *models,
        _look("web search", lambda: _engines(context)),
        _look("documents", lambda: _documents(context)),
        _look("something to search", lambda: _tools(context)),
        _folder(context.data_dir),
    ]


def _models(context: Context) -> list[Look]:
    """The model of each role, or one line where they are all alike."""
    looks = {role: _look(f"model of the {role}", partial(_model, role, context)) for role in ROLES}
    alike = {look.words.replace(f"The {role}'s model", "The model") for role, look in looks.items()}
    if len(alike) > 1:
        return list(looks.values())
    return [Look("models", all(look.is_ok for look in looks.values()), alike.pop())]


async def try_models(context: Context) -> list[Look]:
    """Call each model a few times and see what it can do; how it calls tools is remembered for later runs."""
    looks: list[Look] = []
    tried = set[str]()
    for role in ROLES:
        name = profile_of(role, context).name
        if name in tried or name == EXTRACTIVE:
            continue
        tried.add(name)
        looks += [
            Look(f"{name}: {check.name}", check.is_ok, check.words, is_needed=check.name not in NEEDLESS)
            for check in await _checks(role, context)
        ]
    return looks or [Look("models", is_ok=True, words="No language model is configured: there is nothing to try.")]


async def _checks(role: Role, context: Context) -> list[Check]:
    profile = profile_of(role, context)
    window = profile.window if profile.is_window_known else None
    try:
        async with asyncio.timeout(context.limits.call_seconds):
            examined = await check_model(resolve_model(role, context), window)
    except TimeoutError:
        words = f"It did not answer within {context.limits.call_seconds:g} s (call_seconds)."
        return [Check("answer", is_ok=False, words=words)]
    except Exception as error:
        ours = in_our_words(error, role, profile.name)
        if ours is None:
            raise
        return [Check("answer", is_ok=False, words=str(ours))]
    if examined.rung:
        await remember(role, context, Ability(examined.rung.name, examined.begins_inside))
    return examined.checks


def _look(what: str, find: Callable[[], str]) -> Look:
    try:
        return Look(what, is_ok=True, words=find())
    except DeepResearchError as error:
        return Look(what, is_ok=False, words=str(error))


def _model(role: Role, context: Context) -> str:
    profile = profile_of(role, context)
    if profile.name == EXTRACTIVE:
        return (
            "extractive: quotes the sources, needs no key; for a language model set OPENAI_API_KEY, or OPENAI_BASE_URL "
            "for a compatible server, or name one by --model"
        )
    # Without the name and password that an address may hold.
    server = urlsplit(os.environ.get("OPENAI_BASE_URL", "")).netloc.rpartition("@")[2]
    window = f"{profile.window} tokens" if profile.is_window_known else f"window not known, {profile.window} assumed"
    tools = {True: "calls tools", False: "calls no tools by itself", None: "tool calling is tried at the first run"}
    kind = "reasons by itself, " if profile.reasons else ""
    at = f" at {server}" if server else ""
    return f"{profile.name}{at}: {window}, {kind}{tools[profile.calls_tools]}"


def _engines(context: Context) -> str:
    engines = choose_engines(context)
    if engines:
        return ", ".join(engine.name for engine in engines)
    return "off; set TAVILY_API_KEY, or name an engine by --engine (engines)"


def _documents(context: Context) -> str:
    missing = [str(path) for path in context.docs if not path.expanduser().exists()]
    if missing:
        raise UserMistake(f"not there: {', '.join(missing)} (--docs, docs or DEEP_RESEARCH_DOCS)")
    return ", ".join(map(str, context.docs)) or "none; name a folder by --docs, docs or DEEP_RESEARCH_DOCS"


def _tools(context: Context) -> str:
    check_tools(context)
    return "yes"


def _folder(path: Path) -> Look:
    place = next(folder for folder in (path, *path.parents) if folder.exists())
    if place.is_dir() and os.access(place, os.W_OK):
        return Look("data folder", is_ok=True, words=str(path))
    return Look("data folder", is_ok=False, words=f"{path} cannot be written; set data_dir (DEEP_RESEARCH_DATA_DIR)")
