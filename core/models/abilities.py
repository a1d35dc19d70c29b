"""Trial calls that reveal how a model calls tools; results are stored in `models.json`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from ..concurrency import Locks
from ..dialogue.transcripts import finish_of
from ..errors import ToolsMissing, UserMistake, log_failure
from ..events.packets import Activity
from ..settings.context import Context, Role
from .caller import Caller, bind_call
from .faults import ToolsUnbound, explain, fault_kind, message_of
from .ladder.reply import read_reply, reasoning_of, split_thoughts
from .ladder.rungs import LADDER, Ability, RungName, prepare
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
_TRIAL_TOKENS = (200, 2000)
"""Output limit in tokens of a trial call, and of its repetition if thoughts used up the first
limit."""
_WORD = "amber"
_PARAMETERS = {
    "type": "object",
    "properties": {"word": {"type": "string", "description": "The word to save."}},
    "required": ["word"],
}
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "save_word", "description": "Save a word.", "parameters": _PARAMETERS},
}
_PROMPT: tuple[AnyMessage, ...] = (
    SystemMessage("You follow instructions exactly."),
    HumanMessage(f"Save the word {_WORD}: call save_word with it."),
)
_ABOUT_SCHEMA = re.compile(
    r"response.?format|json.?schema|grammar|guided|structured.?output", re.IGNORECASE
)
"""Matches errors that are about JSON schemas."""
_FOUND: dict[RungName, str] = {
    "native": "Tools are called through the API.",
    "schema": "No tool calls through the API; they are requested as JSON with a schema.",
    "tags": "No tool calls through the API and no JSON schema; they are requested as tagged text.",
}

Call = Callable[[Runnable[Any, Any], Sequence[AnyMessage]], Awaitable[AIMessage]]
"""Calls a bound model once and returns its answer; raises the errors of its client."""


class Location(NamedTuple):
    """Where a model's ability is stored: a JSON file and the key in it."""

    path: Path
    at_server: str
    """The model; see `Profile`."""
    tool_calls: str = "auto"
    """The user's setting. What is learned with a way set by the user must not be taken for the best
    way."""

    @property
    def key(self) -> str:
        """The key in the file."""
        return (
            self.at_server
            if self.tool_calls == "auto"
            else f"{self.at_server} by {self.tool_calls}"
        )


def location_of(role: Role, context: Context) -> Location:
    """Return where the ability of the role's model is stored."""
    return Location(
        context.data_dir / _FILE_NAME, profile_of(role, context).at_server, context.tool_calls
    )


async def load_ability(location: Location) -> Ability | None:
    """Return the ability stored at a location; None if there is none, or if it cannot be read."""
    if location not in _known:
        stored = await asyncio.to_thread(_read_file, location.path)
        _known[location] = _ability_from(stored.get(location.key))
    known = _known[location]
    if known:
        _note(location, known)
    return known


def _ability_from(fields: Any) -> Ability | None:
    """Return the ability with these stored fields; None if there are none, or they are invalid."""
    if not fields:
        return None
    try:
        ability = Ability(**{**fields, "quirks": tuple(fields.get("quirks", ()))})
    except (AttributeError, TypeError):
        return None
    return ability if ability.rung in get_args(RungName) else None


async def save_ability(location: Location, ability: Ability) -> None:
    """Store an ability; if the file cannot be written, only in memory."""
    window = windows_at_servers.get(location.at_server, ability.window)
    ability = ability._replace(window=window)
    _known[location] = ability
    _note(location, ability)
    await asyncio.to_thread(_write, location, ability)


def _note(location: Location, ability: Ability) -> None:
    """Make the ability known to `profile_of` and `is_small`, which cannot read files because they
    are not async."""
    if ability.reasons:
        known_to_reason.add(location.at_server)
    if ability.rung != "native" and location.tool_calls == "auto":
        known_to_need_help.add(location.at_server)
    if ability.window and not windows_at_servers.get(location.at_server):
        windows_at_servers[location.at_server] = ability.window


def _write(location: Location, ability: Ability) -> None:
    """Write the ability to the file, which keeps its other entries; do nothing if the file cannot
    be written."""
    folder = location.path.parent
    with contextlib.suppress(OSError), _writing:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stored = {**_read_file(location.path), location.key: ability._asdict()}
        # A temporary file can only be read by its owner, and replaces the old one in a single step.
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix=location.path.stem, delete=False
        ) as file:
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
    """Return what is known about the role's model; with `may_try`, first test a named model that
    has no profile.

    `has_tools`: the request offers tools; raises `ToolsMissing` if the model cannot call any.
    Raises the errors of the trial calls as `DeepResearchError`.
    """
    role, context = caller.role, caller.context
    model = resolve_model(role, context)
    location = location_of(role, context)
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
    """Return an ability with another way to call tools, after the server refused the one of
    `refused`.

    Raises the same errors as `ability_of`.
    """
    location = location_of(caller.role, caller.context)
    async with _locks.lock(location):
        known = await load_ability(location)
        if known and known.rung != refused.rung:
            return known
        return await _try_out(caller, has_tools=True)


async def remember_ability(role: Role, context: Context, ability: Ability) -> None:
    """Store the ability of the role's model, together with what this process has learned about its
    server."""
    await save_ability(
        location_of(role, context), with_learned(ability, resolve_model(role, context))
    )


def with_learned(ability: Ability, model: BaseChatModel) -> Ability:
    """Return the ability with the traits that this process has learned about the model's server."""
    learned: ModelTraits = getattr(model, "learned", ModelTraits())
    return ability._replace(
        quirks=tuple(sorted(learned.quirks)), output_tokens=learned.output_tokens
    )


async def judges_soundly(role: Role, context: Context) -> bool | None:
    """Whether the role's model passed its trial as a verifier; None if it was not tried."""
    known = await load_ability(location_of(role, context))
    return known.judges if known else None


async def remember_judging(role: Role, context: Context, *, sound: bool) -> None:
    """Store whether the role's model passed its trial as a verifier."""
    known = await load_ability(location_of(role, context)) or Ability()
    await remember_ability(role, context, known._replace(judges=sound))


async def _try_out(caller: Caller, *, has_tools: bool) -> Ability:
    """Test how the role's model calls tools, store the result and return it; for `has_tools`, see
    `ability_of`."""
    role, context, events = caller.role, caller.context, caller.events
    name = profile_of(role, context).name
    events.emit(
        Activity(placement=events.placement, text=f"Testing how {name} calls tools", icon="brain")
    )
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
            f"The {role}'s model {name!r} cannot call tools in any supported way. Choose another "
            f"model (setting models), or set tool_calls to one of {', '.join(get_args(RungName))} "
            "to use it anyway."
        )
    return ability or _NO_CALLS


async def find_ability(model: BaseChatModel, call: Call) -> Ability | None:
    """Have a model call a tool on each rung in turn; return its ability with the first rung that
    works, or None.

    If `call` fails because the server does not support a rung, the next one is tried; other errors
    are raised.
    """
    begins_inside = reasons = False
    for rung in LADDER:
        try:
            message = await _ask_for_call(model, call, rung)
        except ToolsUnbound:
            continue
        except Exception as error:
            if not _is_unsupported(rung, error):
                raise
            continue
        begins_inside = begins_inside or split_thoughts(message.text).began_inside
        reasons = reasons or bool(reasoning_of(message))
        if _has_called(rung, message):
            return Ability(rung, begins_inside, reasons)
    return None


def _is_unsupported(rung: RungName, error: Exception) -> bool:
    """Whether a trial call failed because the server does not support its rung."""
    kind = fault_kind(error)
    if rung == "native":
        return kind in ("no_tools", "rejected")
    if rung == "schema" and kind is not None:
        return kind == "rejected" or bool(_ABOUT_SCHEMA.search(message_of(error)))
    return False


def describe_ability(ability: Ability) -> str:
    """Return in words how a model calls tools."""
    return f"{_FOUND[ability.rung]} Rung: {ability.rung}."


async def _ask_for_call(model: BaseChatModel, call: Call, rung: RungName) -> AIMessage:
    """Return the answer to a request to call the trial tool."""
    prepared = prepare(rung, _PROMPT, [_TOOL], "any")
    for tokens in _TRIAL_TOKENS:
        bound = bind_call(model, prepared.tools, "any", tokens, "", prepared.settings)
        message = await call(bound, prepared.messages)
        # A higher limit only helps a model that was still thinking.
        has_text = bool(split_thoughts(message.text).text.strip())
        is_thinking = bool(reasoning_of(message)) or not has_text
        if not finish_of(message).was_cut_off or not is_thinking or _has_called(rung, message):
            break
    return message


def _has_called(rung: RungName, message: AIMessage) -> bool:
    """Whether the answer calls the trial tool as asked, in the form of the rung."""
    if rung == "schema":
        # JSON that would need repair shows that the server does not enforce the schema.
        try:
            if not isinstance(json.loads(split_thoughts(message.text).text), dict):
                return False
        except (ValueError, RecursionError):
            return False
    if rung != "native":
        message = read_reply(message, [_TOOL])
    for call in message.tool_calls:
        if call["name"] == "save_word" and _WORD in str(call["args"].get("word", "")).lower():
            return True
    return False
