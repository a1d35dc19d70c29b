"""Keeps what models have answered to a node until it is over: one that is killed pays for no answer twice."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langgraph.config import get_config

from .errors import DatabaseUnusable
from .pages import Pages


class Answer(NamedTuple):
    """What a model has answered."""

    message: AIMessage
    key: str
    """Under which its cost is known, however often the node is begun."""


class Answers:
    """The answers to one node of one checkpoint, in the order in which each question was asked.

    They stand in one note for each owner, which the next node of this owner writes over.
    """

    def __init__(self, pages: Pages, name: str) -> None:
        self._pages, self._name = pages, name
        self._node = _node()
        self._kept: dict[str, list[dict[str, Any]]] | None = None
        self._asked = Counter[str]()
        self._lock = asyncio.Lock()

    async def earlier(self, question: str) -> Answer | None:
        """Return the answer to this question that the node was given before it was stopped, each once."""
        async with self._lock:
            kept = (await self._all()).get(question, [])
            number = self._asked[question]
            if number >= len(kept):
                return None
            self._asked[question] += 1
            return Answer(AIMessage.model_validate(kept[number]["message"]), kept[number]["key"])

    async def keep(self, question: str, message: AIMessage) -> str:
        """Keep an answer; returns the key of its cost, empty if it is of a kind that cannot be kept."""
        async with self._lock:
            kept = (await self._all()).setdefault(question, [])
            with suppress(ValueError, TypeError):
                answer = {"message": message.model_dump(mode="json"), "key": uuid.uuid4().hex}
                # What cannot be written is not to be in the way of what can.
                json.dumps(answer)
                kept.append(answer)
                self._asked[question] += 1
                await self._write()
                return str(answer["key"])
        return ""

    async def forget(self) -> None:
        """Have everything asked anew: what was answered has made the node fail."""
        if self._kept:
            self._kept = {}
            await self._write()

    async def _all(self) -> dict[str, list[dict[str, Any]]]:
        if self._kept is None:
            self._kept = {}
            # What is damaged is asked anew.
            with suppress(DatabaseUnusable):
                noted = await self._pages.noted(self._name)
                if noted and noted["node"] == self._node:
                    self._kept = json.loads(noted["text"])
        return self._kept

    async def _write(self) -> None:
        # The store compresses what is called text.
        await self._pages.note({self._name: {"node": self._node, "text": json.dumps(self._kept)}})


def _node() -> str:
    """The calling node and its checkpoint: the same if it is begun again; nothing outside of a graph."""
    with suppress(RuntimeError):
        return str(get_config().get("configurable", {}).get("checkpoint_ns", ""))
    return ""
