"""How models call tools and how much they read: found out for each model, and kept in a file of the data folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple, get_args

from langchain_core.language_models import BaseChatModel

from ..run.concurrency import Locks
from ..run.context import Context, Role
from ..run.errors import ToolsMissing, UserMistake
from ..run.events.packets import Activity
from ..run.logs import log_failure
from .caller import Caller
from .faults import explain_any
from .ladder import Ability, RungName
from .ladder.probe import find_ability
from .quirks import ModelTraits
from .resolve import (
    is_extractive,
    is_named,
    known_to_need_help,
    known_to_reason,
    name_at_server,
    profile_of,
    resolve_model,
    windows_at_servers,
)

_known: dict[Location, Ability | None] = {}
_writing = threading.Lock()
FILE_NAME = "models.json"
NO_CALLS = Ability("tags", calls_tools=False)
_locks = Locks()


class Location(NamedTuple):
    """Where the ability of a model is kept."""

    path: Path
    model: str


async def load_ability(place: Location) -> Ability | None:
    """Return what is known of the model; None if nothing is."""
    if place not in _known:
        _known[place] = await asyncio.to_thread(_read, place)
    if known := _known[place]:
        _note(place, known)
    if known and known.window and not windows_at_servers.get(place.model):
        windows_at_servers[place.model] = known.window
    return known


async def save_ability(place: Location, ability: Ability) -> None:
    """Keep an ability: in the file, or for the life of the process where that cannot be written."""
    _known[place] = ability = ability._replace(window=windows_at_servers.get(place.model, ability.window))
    _note(place, ability)
    await asyncio.to_thread(_write, place, ability)


def _note(place: Location, ability: Ability) -> None:
    if ability.reasons:
        known_to_reason.add(place.model)
    if ability.rung != "native":
        known_to_need_help.add(place.model)


def _read(place: Location) -> Ability | None:
    kept = _read_file(place.path).get(place.model)
    try:
        return (
            Ability(**{**kept, "quirks": tuple(kept.get("quirks", ()))})
            if kept and kept["rung"] in get_args(RungName)
            else None
        )
    except (KeyError, TypeError):
        return None


def _write(place: Location, ability: Ability) -> None:
    folder = place.path.parent
    with contextlib.suppress(OSError), _writing:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = {**_read_file(place.path), place.model: ability._asdict()}
        # A temporary file is readable by its owner alone, and nobody sees the real one half written.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=place.path.stem, delete=False) as file:
            written = Path(file.name)
        try:
            written.write_text(json.dumps(kept, indent=2), "utf-8")
            written.replace(place.path)
        finally:
            written.unlink(missing_ok=True)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


async def ability_of(caller: Caller, *, may_try: bool, has_tools: bool) -> Ability:
    """Return how the role's model calls tools.

    Only a model that goes by a name and that no profile describes is tried, and only if it `may_try`. One that calls
    tools in no way is asked all the same where the request has none (`has_tools`); else raises `ToolsMissing`, and what
    a failed call raises.
    """
    role, context = caller.role, caller.context
    model = resolve_model(role, context)
    place = location_of(model, role, context)
    async with _locks.alone(place):
        known = await load_ability(place)
        if known and hasattr(model, "recall"):
            model.recall(ModelTraits(frozenset(known.quirks), known.output_tokens))
        if context.tool_calls != "auto" and not is_extractive(role, context):
            return (known or Ability())._replace(rung=context.tool_calls)
        is_described = profile_of(role, context).calls_tools or not is_named(role, context)
        is_enough = known and (known.calls_tools or not has_tools)
        if is_enough or is_described or not may_try:
            return known or Ability()
        return await _try_out(model, caller, has_tools=has_tools)


async def other_ability(caller: Caller, refused: Ability) -> Ability:
    """Return how the role's model calls tools where its server has `refused` one way; raises as `ability_of`."""
    model = resolve_model(caller.role, caller.context)
    place = location_of(model, caller.role, caller.context)
    async with _locks.alone(place):
        known = await load_ability(place)
        return known if known and known.rung != refused.rung else await _try_out(model, caller, has_tools=True)


async def remember_ability(role: Role, context: Context, ability: Ability) -> None:
    """Keep the ability of the role's model, with what its server's refusals have told."""
    model = resolve_model(role, context)
    await save_ability(location_of(model, role, context), with_learned(ability, model))


def with_learned(ability: Ability, model: BaseChatModel) -> Ability:
    """Return the ability with what this process has learned about the model's server."""
    learned: ModelTraits = getattr(model, "learned", ModelTraits())
    return ability._replace(quirks=tuple(sorted(learned.quirks)), output_tokens=learned.output_tokens)


async def judges_soundly(role: Role, context: Context) -> bool | None:
    """Return whether the role's model told right from wrong when that was tried; none if it was not."""
    known = await load_ability(location_of(resolve_model(role, context), role, context))
    return known.judges if known else None


async def remember_judging(role: Role, context: Context, *, sound: bool) -> None:
    """Keep whether the role's model tells right from wrong."""
    model = resolve_model(role, context)
    known = await load_ability(location_of(model, role, context)) or Ability()
    await remember_ability(role, context, known._replace(judges=sound))


async def _try_out(model: BaseChatModel, caller: Caller, *, has_tools: bool) -> Ability:
    role, context = caller.role, caller.context
    name = profile_of(role, context).name
    events = caller.events
    events.emit(Activity(placement=events.placement, text=f"Trying out how {name} calls tools", icon="brain"))
    try:
        ability = await find_ability(model, caller.message)
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        ours = explain_any(error, role, name)
        if not isinstance(ours, UserMistake):
            log_failure(__name__, error, "The %s's model could not be tried out", role)
        # What it says may quote the key.
        raise ours from None
    await remember_ability(role, context, ability or NO_CALLS)
    if ability is None and has_tools:
        raise ToolsMissing(
            f"The {role}'s model {name!r} calls tools in no way that is known here. Choose another model (setting "
            f"models), or set tool_calls to one of {', '.join(get_args(RungName))} to use it all the same."
        )
    return ability or NO_CALLS


def location_of(model: BaseChatModel, role: Role, context: Context) -> Location:
    """Return where the ability of the role's model is kept."""
    # What a set way of calling tools shows says nothing about the best one.
    way = "" if context.tool_calls == "auto" else f" by {context.tool_calls}"
    return Location(context.data_dir / FILE_NAME, f"{name_at_server(profile_of(role, context).name, model)}{way}")
