"""What trial calls reveal about each model, such as how it calls tools; stored in `models.json` in the data folder."""

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
from .faults import explain
from .ladder.probe import find_ability
from .ladder.rungs import Ability, RungName
from .quirks import ModelTraits
from .resolve import (
    is_extractive,
    is_named,
    known_to_need_help,
    known_to_reason,
    profile_of,
    resolve_model,
    windows_at_servers,
)

_known: dict[Location, Ability | None] = {}
"""The abilities that this process has read or found; None: not stored."""
_writing = threading.Lock()
_FILE_NAME = "models.json"
_NO_CALLS = Ability("tags", calls_tools=False)
"""Ability of a model that calls tools in none of the three ways."""
_locks = Locks()
"""A lock for each location, so that parallel calls test a model only once."""


class Location(NamedTuple):
    """Where a model's ability is stored: a JSON file and the key in it."""

    path: Path
    at_server: str
    """The model; see `Profile`."""
    tool_calls: str = "auto"
    """The user's setting. What is learned with a way set by the user must not be taken for the best way."""

    @property
    def key(self) -> str:
        """The key in the file."""
        return self.at_server if self.tool_calls == "auto" else f"{self.at_server} by {self.tool_calls}"


def location_of(role: Role, context: Context) -> Location:
    """Return where the ability of the role's model is stored."""
    return Location(context.data_dir / _FILE_NAME, profile_of(role, context).at_server, context.tool_calls)


async def load_ability(location: Location) -> Ability | None:
    """Return the ability stored at a location; None if there is none, or if it cannot be read."""
    if location not in _known:
        stored = (await asyncio.to_thread(_read_file, location.path)).get(location.key)
        try:
            ability = Ability(**{**stored, "quirks": tuple(stored.get("quirks", ()))}) if stored else None
        except (AttributeError, TypeError):
            ability = None
        _known[location] = ability if ability and ability.rung in get_args(RungName) else None
    if known := _known[location]:
        _note(location, known)
    return known


async def save_ability(location: Location, ability: Ability) -> None:
    """Store an ability; if the file cannot be written, only in memory."""
    _known[location] = ability = ability._replace(window=windows_at_servers.get(location.at_server, ability.window))
    _note(location, ability)
    await asyncio.to_thread(_write, location, ability)


def _note(location: Location, ability: Ability) -> None:
    """Make the ability known to `profile_of` and `is_small`, which cannot read files because they are not async."""
    if ability.reasons:
        known_to_reason.add(location.at_server)
    if ability.rung != "native" and location.tool_calls == "auto":
        known_to_need_help.add(location.at_server)
    if ability.window and not windows_at_servers.get(location.at_server):
        windows_at_servers[location.at_server] = ability.window


def _write(location: Location, ability: Ability) -> None:
    """Write the ability to the file, which keeps its other entries; do nothing if the file cannot be written."""
    folder = location.path.parent
    with contextlib.suppress(OSError), _writing:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored = {**_read_file(location.path), location.key: ability._asdict()}
        # A temporary file can only be read by its owner, and replaces the old one in a single step.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=location.path.stem, delete=False) as file:
            written = Path(file.name)
        try:
            written.write_text(json.dumps(stored, indent=2), "utf-8")
            written.replace(location.path)
        finally:
            written.unlink(missing_ok=True)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


async def ability_of(caller: Caller, *, may_try: bool, has_tools: bool) -> Ability:
    """Return what is known about the role's model; with `may_try`, first test a named model that has no profile.

    `has_tools`: the request offers tools; raises `ToolsMissing` if the model cannot call any. Raises the errors of the
    trial calls as `DeepResearchError`.
    """
    role, context = caller.role, caller.context
    model, location = resolve_model(role, context), location_of(role, context)
    async with _locks.lock(location):
        known = await load_ability(location)
        if known and hasattr(model, "recall"):
            model.recall(ModelTraits(frozenset(known.quirks), known.output_tokens))
        if context.tool_calls != "auto" and not is_extractive(role, context):
            return (known or Ability())._replace(rung=context.tool_calls)
        is_described = profile_of(role, context).calls_tools or not is_named(role, context)
        is_tried = known and (known.calls_tools or not has_tools)
        if is_tried or is_described or not may_try:
            return known or Ability()
        return await _try_out(caller, has_tools=has_tools)


async def other_ability(caller: Caller, refused: Ability) -> Ability:
    """Return an ability with another way to call tools, after the server refused the one of `refused`.

    Raises the same errors as `ability_of`.
    """
    location = location_of(caller.role, caller.context)
    async with _locks.lock(location):
        known = await load_ability(location)
        return known if known and known.rung != refused.rung else await _try_out(caller, has_tools=True)


async def remember_ability(role: Role, context: Context, ability: Ability) -> None:
    """Store the ability of the role's model, together with what this process has learned about its server."""
    await save_ability(location_of(role, context), with_learned(ability, resolve_model(role, context)))


def with_learned(ability: Ability, model: BaseChatModel) -> Ability:
    """Return the ability with the traits that this process has learned about the model's server."""
    learned: ModelTraits = getattr(model, "learned", ModelTraits())
    return ability._replace(quirks=tuple(sorted(learned.quirks)), output_tokens=learned.output_tokens)


async def judges_soundly(role: Role, context: Context) -> bool | None:
    """Whether the role's model passed its trial as a verifier; None if it was not tried."""
    known = await load_ability(location_of(role, context))
    return known.judges if known else None


async def remember_judging(role: Role, context: Context, *, sound: bool) -> None:
    """Store whether the role's model passed its trial as a verifier."""
    known = await load_ability(location_of(role, context)) or Ability()
    await remember_ability(role, context, known._replace(judges=sound))


async def _try_out(caller: Caller, *, has_tools: bool) -> Ability:
    """Test how the role's model calls tools, store the result and return it; for `has_tools`, see `ability_of`."""
    role, context, events = caller.role, caller.context, caller.events
    name = profile_of(role, context).name
    events.emit(Activity(placement=events.placement, text=f"Testing how {name} calls tools", icon="brain"))
    try:
        ability = await find_ability(resolve_model(role, context), caller.message)
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        ours = explain(error, role, name)
        if not isinstance(ours, UserMistake):
            log_failure(__name__, error, "The %s's model could not be tested", role)
        # The original message may contain the key.
        raise ours from None
    await remember_ability(role, context, ability or _NO_CALLS)
    if ability is None and has_tools:
        raise ToolsMissing(
            f"The {role}'s model {name!r} cannot call tools in any supported way. Choose another model "
            f"(setting models), or set tool_calls to one of {', '.join(get_args(RungName))} to use it anyway."
        )
    return ability or _NO_CALLS
