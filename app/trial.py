"""Tries out what is configured, by small calls that cost a little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..models.abilities import remember
from ..models.caller import Caller
from ..models.faults import as_ours
from ..models.ladder.probe import Check, check_model
from ..models.memory import Ability
from ..models.patience import patience_of
from ..models.resolve import EXTRACTIVE, profile_of, resolve_model
from ..run.context import ROLES, Context, Role
from ..run.packet import Placement
from ..run.packets import CallDelayed
from ..run.telling import Teller
from ..tools.engines.choose import choose_engines
from ..tools.engines.engine import EngineFailed
from ..tools.engines.tavily import Tavily
from .look import Look
from .progress import describe
from .stream import read_packet
from .terminal import say

NEEDLESS = ("schema", "reasoning leak")
"""Checks of a model that a run gets along without."""
QUERY = "lighthouse"


async def try_out(context: Context) -> list[Look]:
    """Call each model a few times, and search once where a key is needed; how models call tools is remembered."""
    return [*await _models(context), *await _engines(context)]


async def _models(context: Context) -> list[Look]:
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
    teller = Teller(_tell_waits, Placement(turn_index=0))
    caller = Caller(role, context, patience_of("doctor", context.limits), teller)
    try:
        examined = await check_model(resolve_model(role, context), window, caller.message)
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        words = str(as_ours(error, role, profile.name))
        return [Check("answer", is_ok=False, words=words)]
    if examined.rung:
        await remember(role, context, Ability(examined.rung, examined.begins_inside))
    return examined.checks


def _tell_waits(data: Mapping[str, Any]) -> None:
    packet = read_packet(data)
    if isinstance(packet, CallDelayed):
        say(describe(packet))


async def _engines(context: Context) -> list[Look]:
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
