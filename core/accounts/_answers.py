"""The answers that models gave to a node; kept so that a restarted node does not ask again."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langgraph.config import get_config

from ..errors import DatabaseUnusable
from ..store.pages import Pages


class StoredReply(NamedTuple):
    """A model's answer that was stored before its node was stopped."""

    message: AIMessage
    key: str
    """Key of its cost in `Bill.costs`, so that a restarted node records it under the same key."""


class Answers:
    """The answers that models gave to a node, by request and in order; stored in case the node is
    restarted.

    They are in one note (`name`) for the run or the researcher, which its next node overwrites.
    """

    def __init__(self, pages: Pages, name: str) -> None:
        self._pages, self._name = pages, name
        self._node = ""
        """Id of the calling node and its checkpoint, stable across restarts; empty outside a
        graph."""
        with suppress(RuntimeError):
            self._node = str(get_config().get("configurable", {}).get("checkpoint_ns", ""))
        self._kept: dict[str, list[dict[str, Any]]] | None = None
        self._asked = Counter[str]()
        self._lock = asyncio.Lock()

    async def earlier(self, request: str) -> StoredReply | None:
        """Return the next stored answer to this request (a hash of it), each only once; None if
        there are no more."""
        async with self._lock:
            kept = (await self._all()).get(request, [])
            number = self._asked[request]
            if number >= len(kept):
                return None
            self._asked[request] += 1
            answer = kept[number]
            return StoredReply(AIMessage.model_validate(answer["message"]), answer["key"])

    async def keep(self, request: str, message: AIMessage) -> str:
        """Store an answer; return the key of its cost record, or an empty string if the answer
        cannot be serialized."""
        async with self._lock:
            kept = (await self._all()).setdefault(request, [])
            with suppress(ValueError, TypeError):
                answer = {"message": message.model_dump(mode="json"), "key": uuid.uuid4().hex}
                # An answer that cannot be serialized must not prevent the others from being stored.
                json.dumps(answer)
                kept.append(answer)
                self._asked[request] += 1
                await self._write()
                return str(answer["key"])
        return ""

    async def forget(self) -> None:
        """Drop all answers, since they may have made the node fail."""
        if self._kept:
            self._kept = {}
            await self._write()

    async def _all(self) -> dict[str, list[dict[str, Any]]]:
        if self._kept is None:
            self._kept = {}
            # If the note is damaged, the model is asked again.
            with suppress(DatabaseUnusable):
                noted = await self._pages.read_note(self._name)
                if noted and noted["node"] == self._node:
                    self._kept = json.loads(noted["text"])
        return self._kept

    async def _write(self) -> None:
        # The store compresses values under the key "text".
        await self._pages.note({self._name: {"node": self._node, "text": json.dumps(self._kept)}})
