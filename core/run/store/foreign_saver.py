"""Checkpointers of an app, as our graphs use them."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from functools import partial, wraps
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from ..concurrency import in_thread
from .serializer import StrictSerializer


def usable_saver(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """Return the saver with async methods and our serializer; the app's own copy keeps serving the app's graphs.

    A serializer that is none of LangGraph's is left in place.
    """
    serde: Any = saver.serde
    if isinstance(serde, EncryptedSerializer) and isinstance(serde.serde, JsonPlusSerializer):
        serde = EncryptedSerializer(serde.cipher, StrictSerializer())
    elif isinstance(serde, JsonPlusSerializer) and not isinstance(serde, StrictSerializer):
        serde = StrictSerializer()
    if serde is not saver.serde:
        saver = copy.copy(saver)
        saver.serde = serde
    # SqliteSaver has async methods that raise.
    is_sync = type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple or isinstance(saver, SqliteSaver)
    return ThreadedSaver(saver) if is_sync else saver


def _in_thread(name: str) -> Callable[..., Any]:
    """Return the async method that calls the sync one of this name in a thread."""

    # LangGraph looks at the arguments of the method.
    @wraps(getattr(BaseCheckpointSaver, f"a{name}"))
    async def method(self: ThreadedSaver, *args: Any, **settings: Any) -> Any:
        return await in_thread(partial(getattr(self.saver, name), *args, **settings))

    return method


class ThreadedSaver(BaseCheckpointSaver[Any]):
    """Async methods for a sync saver, which is called in threads."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver
        self.get_next_version = saver.get_next_version  # type: ignore[method-assign]  # versions are the saver's own

    aget_tuple = _in_thread("get_tuple")
    aput = _in_thread("put")
    aput_writes = _in_thread("put_writes")
    adelete_thread = _in_thread("delete_thread")

    async def alist(self, *args: Any, **filters: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the latest first."""
        for found in await in_thread(lambda: list(self.saver.list(*args, **filters))):
            yield found
