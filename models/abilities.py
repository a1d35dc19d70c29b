"""How models call tools: found out once for each, and remembered in the data folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable

from deep_research.models.faults import failed, in_our_words
from deep_research.models.ladder import RungName
from deep_research.models.ladder.probe import choose_rung
from deep_research.models.ladder.trials import Call, streamed
from deep_research.models.patience import Patience
from deep_research.models.resolve import is_named, profile_of, resolve_model
from deep_research.run.context import Context, Role
from deep_research.run.errors import ToolsMissing
from deep_research.state import Spent

FILE_NAME = "models.json"


class Ability(NamedTuple):
    """How a model takes part."""

    rung: RungName = "native"
    """How it calls tools."""
    begins_inside: bool = False
    """Whether its answers begin within a thought, without a tag that opens it."""


_known: dict[tuple[Path, str], Ability] = {}
_locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock] = WeakValueDictionary()


async def ability_of(role: Role, context: Context, *, may_try: bool) -> tuple[Ability, Spent | None]:
    """How the role's model calls tools, and what it cost to find out, if it had to be.

    Only a model that goes by a name and that no profile describes is tried, and only if it `may_try`. Raises
    `ToolsMissing` for one that calls tools in no way, and what a failed call raises.
    """
    model = resolve_model(role, context)
    place = _place(model, role, context)
    async with _alone(place):
        known = _known.get(place) or await asyncio.to_thread(_read, *place)
        if known:
            _known[place] = known
        if context.tool_calls != "auto":
            return (known or Ability())._replace(rung=context.tool_calls), None
        is_told = profile_of(role, context).calls_tools or not is_named(role, context)
        if known or is_told or not may_try:
            return known or Ability(), None
        return await _try_out(model, role, context)


async def other_ability(role: Role, context: Context, refused: Ability) -> tuple[Ability, Spent | None]:
    """How the role's model calls tools after all, where its server has `refused` one way; raises as `ability_of`."""
    model = resolve_model(role, context)
    place = _place(model, role, context)
    async with _alone(place):
        known = _known.get(place)
        if known and known.rung != refused.rung:
            return known, None
        return await _try_out(model, role, context)


async def remember(role: Role, context: Context, ability: Ability) -> None:
    """Keep what was found out about the role's model."""
    place = _place(resolve_model(role, context), role, context)
    _known[place] = ability
    await asyncio.to_thread(_write, *place, ability)


async def _try_out(model: BaseChatModel, role: Role, context: Context) -> tuple[Ability, Spent]:
    name = profile_of(role, context).name
    try:
        async with asyncio.timeout(context.limits.call_seconds):
            choice = await choose_rung(model, _patient(name, context))
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        # What it says may quote the key.
        raise in_our_words(error, role, name) or failed(role, error) from None
    if choice.rung is None:
        raise ToolsMissing(
            f"The {role}'s model {name!r} calls tools in no way that is known here. Choose another model (setting "
            f"models), or set tool_calls to one of {', '.join(get_args(RungName))} to use it all the same."
        )
    ability = Ability(choice.rung.name, choice.begins_inside)
    await remember(role, context, ability)
    return ability, Spent(role=role, input_tokens=choice.input_tokens, output_tokens=choice.output_tokens)


def _patient(name: str, context: Context) -> Call:
    """Makes the calls of a trial with the patience that a run has with its calls."""
    patience = Patience(context.limits)

    async def call(model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        async def start() -> AsyncGenerator[AIMessage, None]:
            yield await streamed(model, messages)

        tries = patience.stream(start, name, may_repeat=False, on_wait=lambda *_: None)
        return [answer async for answer in tries if answer][-1]

    return call


def _place(model: BaseChatModel, role: Role, context: Context) -> tuple[Path, str]:
    # Without the name and password that an address may hold.
    address = urlsplit(getattr(model, "openai_api_base", None) or "").netloc.rpartition("@")[2]
    server = address or type(model).__name__
    # What is found out where the user has set the way is not taken for the best way elsewhere.
    way = "" if context.tool_calls == "auto" else f" by {context.tool_calls}"
    return context.data_dir / FILE_NAME, f"{profile_of(role, context).name} at {server}{way}"


def _alone(place: tuple[Path, str]) -> asyncio.Lock:
    """Held while a model is looked at, so that parallel researchers do not all try it."""
    return _locks.setdefault((asyncio.get_running_loop(), place[1]), asyncio.Lock())


def _read(path: Path, name: str) -> Ability | None:
    try:
        kept = json.loads(path.read_text("utf-8"))[name]
        return Ability(**kept) if kept["rung"] in get_args(RungName) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, name: str, ability: Ability) -> None:
    # Where it cannot be kept, the next process finds it out anew.
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            kept = dict(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            kept = {}
        partial = path.with_suffix(f".{os.getpid()}")
        partial.touch(mode=0o600)
        partial.write_text(json.dumps({**kept, name: ability._asdict()}, indent=2), "utf-8")
        partial.replace(path)
