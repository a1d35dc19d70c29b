"""A store that loses its disk for some time."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.store.memory import InMemoryStore

HASH = 64
"""Characters of a text's key."""


class FailingStore(InMemoryStore):
    """Loses so many texts from a chosen moment on and may then hang until it is mended; notes it always keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.is_hanging = asyncio.Event()
        """Set once somebody waits in vain."""
        self._failures = 0
        self._hangs = False

    async def abatch(self, ops: Any) -> Any:
        wanted = list(ops)
        is_text = any(len(getattr(op, "key", "")) == HASH for op in wanted)
        if is_text and self._failures:
            self._failures -= 1
            raise OSError("disk gone")
        if is_text and self._hangs:
            self.is_hanging.set()
            await asyncio.Event().wait()
        return await super().abatch(wanted)

    def losing(self, reply: Any, times: int, *, hangs: bool = False) -> Any:
        """The reply, given at the moment when the disk is lost."""

        def lose(*_: Any) -> Any:
            self._failures, self._hangs = times, hangs
            return reply

        return lose

    def mend(self) -> None:
        """The disk is back."""
        self._failures, self._hangs = 0, False
