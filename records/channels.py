"""How parallel writes to a channel come together, whatever the channel holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, TypeVar

from langgraph.channels.delta import DeltaChannel

Value = TypeVar("Value")


def merge_by_id(current: Mapping[str, Value], update: Mapping[str, Value]) -> dict[str, Value]:
    """Add what is new under its id; for a known id the later value wins."""
    return {**current, **update}


def append(current: Sequence[Value], update: Sequence[Value]) -> list[Value]:
    """Put the new entries after those that are there."""
    return [*current, *update]


def latest(_: Any, update: Value) -> Value:
    """Take what was written last."""
    return update


def append_lists(current: Sequence[Value], update: Sequence[Sequence[Value] | Value]) -> list[Value]:
    """Put the entries of each list after those that are there.

    LangGraph's `messages` mode streams whatever message stands in a list that a node writes: one in a list of lists
    stays inside. Runs that were stored before that was so hold the entries themselves.
    """
    return [*current, *chain.from_iterable(one if isinstance(one, list) else [one] for one in update)]


def delta(merge: Callable[[Any, Any], Any], kind: type) -> DeltaChannel[Any]:
    """A channel that stores what was added instead of its whole value, so that checkpoints grow linearly."""
    return DeltaChannel(lambda value, updates: reduce(merge, updates, value), kind)
