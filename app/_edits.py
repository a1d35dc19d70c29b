"""Converts edits of a thread's state from JSON to records, and refuses edits that would lose
results."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from langgraph.types import Overwrite, StateSnapshot
from pydantic import TypeAdapter, ValidationError

from ..core.dialogue.conversation import read_messages
from ..core.errors import UserMistake
from ..core.records.research import NO_RUN
from ..state import ResearchState

_RESULTS_WAIT = (
    "The thread is in the middle of a step: {finished} of {all} branches have finished, and "
    "editing the state would lose their results. To keep them, resume the run first, send a "
    "message as a run with the command "
    '{{"update": {{"messages": [...]}}}} (in Python Command(update=...)), or edit an earlier '
    "checkpoint."
)
_SCOPE_IS_FIXED = (
    "The state was not changed: `scope` (the sources that a question may search) is fixed when the "
    "question begins. Ask again with other settings."
)


class EditRefused(UserMistake):
    """The edit is invalid, or would lose the results of finished branches."""


def check_nothing_is_lost(latest: StateSnapshot, checkpoint_id: str | None) -> None:
    """Raise `EditRefused` if an edit would discard results of finished branches that no node has
    collected yet.

    `checkpoint_id` is that of the edited checkpoint, None for the latest. LangGraph restarts the
    step after an edited checkpoint; editing an earlier one keeps the later ones.
    """
    if checkpoint_id not in (None, latest.config["configurable"].get("checkpoint_id")):
        return
    finished = [task for task in latest.tasks if task.result is not None]
    if finished:
        raise EditRefused(_RESULTS_WAIT.format(finished=len(finished), all=len(latest.tasks)))


def read_values(values: Any, current: Mapping[str, Any]) -> Any:
    """Return those values of an edit that differ from the `current` ones, as records; raises
    `EditRefused`.

    Clients such as Studio send back the whole state as JSON; reducers would add its unchanged
    values a second time.
    """
    if isinstance(values, list):
        # (values, node) pairs, sent to copy the checkpoint.
        if not all(isinstance(pair, list | tuple) and pair for pair in values):
            raise EditRefused(
                f"The state was not changed: a list of values holds pairs of values and node "
                f"(given: {reprlib.repr(values)})."
            )
        return [[read_values(pair[0], current), *pair[1:]] for pair in values]
    if not isinstance(values, Mapping):
        return values
    changed = dict[str, Any]()
    for name, given in values.items():
        value = _read(name, given)
        if name not in current or value != current[name]:
            changed[name] = value
    scope = current.get("run", NO_RUN).scope
    for name in changed.keys() & {"run", "tasks"}:
        # Only JSON clients are restricted; Python callers pass records.
        is_json = any(isinstance(record, Mapping) for record in _as_list(values[name]))
        if is_json and any(record.scope != scope for record in _as_list(changed[name])):
            raise EditRefused(_SCOPE_IS_FIXED)
    if isinstance(changed.get("transcript"), list):
        changed["transcript"] = Overwrite(changed["transcript"])
    return changed


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _read(name: str, value: Any) -> Any:
    """Return the value of a channel as the record or collection that the state has for it; raises
    `EditRefused`."""
    if name not in _channels() or isinstance(value, Overwrite):
        return value
    try:
        return _channels()[name].validate_python(value)
    except (TypeError, ValidationError) as error:
        if name == "messages":
            return _read_messages(value)
        where, reason, given = name, str(error), value
        if isinstance(error, ValidationError):
            fault = error.errors()[0]
            where = ".".join(map(str, (name, *fault["loc"])))
            reason, given = fault["msg"], fault["input"]
        raise EditRefused(
            f"The state was not changed: {where}: {reason} (given: {given!r})."
        ) from None


def _read_messages(value: Any) -> Any:
    """Return messages in a form that LangGraph accepts too, such as dicts with role and content;
    raises `EditRefused`."""
    try:
        read_messages(value)
    except ValueError as error:
        raise EditRefused(f"The state was not changed: {error}.") from None
    return value


@cache
def _channels() -> dict[str, TypeAdapter[Any]]:
    kinds = get_type_hints(ResearchState, include_extras=True)
    return {name: TypeAdapter(kind) for name, kind in kinds.items()}
