"""Turns checkpoints into bytes and back, and refuses every type that is not ours."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..knowledge import Record
from . import branch, step_branch  # noqa: F401 - their records are loaded with them
from .errors import ForeignRecord, failure_of


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer for our own records and LangGraph's safe types, without pickle.

    LangGraph hands back a blocked type as a plain dict; here it is an error, because a run that goes on with a dict in
    the place of a record fails later and in a worse place.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=record_types())

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Write a value; of an error, why it happened: LangGraph would write what it quotes, a key perhaps."""
        return super().dumps_typed(failure_of(obj) if isinstance(obj, BaseException) else obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value; raises `ForeignRecord` if it holds a type that is not allowed."""
        thread, blocked = threading.get_ident(), list[str]()

        def listen(event: SerdeEvent) -> None:
            if "blocked" in event["kind"] and threading.get_ident() == thread:
                blocked.append(f"{event['module']}.{event['name']}")

        unregister = register_serde_event_listener(listen)
        try:
            value = super().loads_typed(data)
        finally:
            unregister()
        if blocked:
            raise ForeignRecord(f"The checkpoint holds the foreign type {blocked[0]!r} and was not read.")
        return value

    def with_msgpack_allowlist(
        self,
        extra_allowlist: Iterable[tuple[str, ...] | type],  # noqa: ARG002 - the signature is LangGraph's
    ) -> StrictSerializer:
        """The same serializer: its list is complete, whatever a graph would add to it.

        The server's wrapper of a saver cannot be copied, which LangGraph would do for a serializer that changes.
        """
        return self


def record_types() -> list[type]:
    """All records of a run."""
    types, new = list[type](), [*Record.__subclasses__()]
    while new:
        types += new
        new = [below for above in new for below in above.__subclasses__()]
    return types
