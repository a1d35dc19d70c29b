"""Edits of a thread's state from outside: JSON becomes records again, and no result of a branch is lost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from langgraph.types import Overwrite, StateSnapshot
from pydantic import TypeAdapter, ValidationError

from ..core.records.research import NO_RUN
from ..core.run.errors import UserMistake
from ..state import ResearchState

RESULTS_WAIT = (
    "The thread is in the middle of a step: {finished} of {all} branches have finished, and an edit of the state would "
    "lose what they found. Resume the run first, send a message by a run with the command "
    '{{"update": {{"messages": [...]}}}} (in Python Command(update=...)), or edit an earlier checkpoint: these keep it.'
)
SCOPE_IS_FIXED = (
    "The state is not changed: `scope`, what a question may search, is fixed when the question begins. Ask again with "
    "other settings."
)


class EditRefused(UserMistake):
    """The edit does not fit the state, or would lose results of finished branches."""


def check_nothing_is_lost(latest: StateSnapshot, checkpoint_id: str | None) -> None:
    """Raise `EditRefused` if branches have finished at the edited checkpoint whose results no node has collected yet.

    LangGraph starts a step anew whose checkpoint is edited. An earlier checkpoint is safe: what followed it stays.
    """
    is_latest = checkpoint_id in (None, latest.config["configurable"].get("checkpoint_id"))
    if is_latest and (finished := sum(task.result is not None for task in latest.tasks)):
        raise EditRefused(RESULTS_WAIT.format(finished=finished, all=len(latest.tasks)))


def read_values(values: Any, current: Mapping[str, Any]) -> Any:
    """Return the values of an edit as records, without those that are as they were; raises `EditRefused`.

    Clients such as Studio send back the whole state as JSON. Reducers would add what is unchanged once more.
    """
    if isinstance(values, list):
        # Values of several nodes for a copy of the checkpoint, each with the node.
        return [[read_values(pair[0], current), *pair[1:]] for pair in values]
    if not isinstance(values, Mapping):
        return values
    read = {name: _read(name, value) for name, value in values.items()}
    changed = {name: value for name, value in read.items() if name not in current or value != current[name]}
    scope = current.get("run", NO_RUN).scope
    for name in changed.keys() & {"run", "tasks"}:
        given, records = (value if isinstance(value, list) else [value] for value in (values[name], changed[name]))
        # A program may pass any records of its own.
        is_json = any(isinstance(record, Mapping) for record in given)
        if is_json and any(record.scope != scope for record in records):
            raise EditRefused(SCOPE_IS_FIXED)
    if isinstance(changed.get("transcript"), list):
        changed["transcript"] = Overwrite(changed["transcript"])
    return changed


def _read(name: str, value: Any) -> Any:
    if name not in _channels() or isinstance(value, Overwrite):
        return value
    try:
        return _channels()[name].validate_python(value)
    except (TypeError, ValidationError) as error:
        # LangGraph reads messages in further forms, such as one with role and content.
        if name == "messages":
            return value
        fault = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": error, "input": value}
        where = ".".join(map(str, (name, *fault["loc"])))
        raise EditRefused(f"The state is not changed: {where}: {fault['msg']} (given: {fault['input']!r}).") from None


@cache
def _channels() -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(kind) for name, kind in get_type_hints(ResearchState, include_extras=True).items()}
