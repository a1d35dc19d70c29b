"""The texts of a thread in the store: the state holds their hashes only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.config import get_config
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from ..concurrency import Locks
from ..errors import DatabaseUnusable

DAMAGED = "damaged"
"""Key of what stands in the place of a stored value that cannot be read."""
_REFERENCE = "text_hash"
_locks = Locks()


def page_namespace(thread_id: str) -> tuple[str, str]:
    """Where the texts of a thread are kept; a dot would split a namespace."""
    return (thread_id.replace("%", "%25").replace(".", "%2E"), "pages")


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hex digits: the name under which it is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Pages:
    """The texts of one thread, and notes about them."""

    def __init__(self, store: BaseStore, thread_id: str, user: str = "") -> None:
        self._store = store
        self.user = user
        """The user of the server for whom the run is; empty elsewhere."""
        self.place = page_namespace(thread_id)
        """The namespace in the store."""

    def of_thread(self, thread_id: str) -> Pages:
        """The texts of another thread in the same store."""
        return Pages(self._store, thread_id)

    async def keep(self, text: str) -> str:
        """Keep a text under its SHA-256 and return that."""
        key = text_hash(text)
        await self.write({key: text})
        return key

    async def write(self, texts: Mapping[str, str], notes: Mapping[str, dict[str, Any]] | None = None) -> None:
        """Keep texts, each under its SHA-256, and notes beside them, each under its name, all or nothing."""
        values = {**{key: {"text": text} for key, text in texts.items()}, **(notes or {})}
        if values:
            await self._store.abatch([PutOp(self.place, name, value, index=False) for name, value in values.items()])

    async def text(self, content_hash: str) -> str | None:
        """The text with this hash; none if it is not kept, or what is kept there is no text."""
        [text] = await self.texts([content_hash])
        return text

    async def texts(self, hashes: Sequence[str]) -> list[str | None]:
        """The texts with these hashes."""
        items = await self._store.abatch([GetOp(self.place, one) for one in hashes])
        texts = [item.value.get("text") if isinstance(item, Item) else None for item in items]
        return [text if isinstance(text, str) else None for text in texts]

    async def note(self, notes: Mapping[str, dict[str, Any]]) -> None:
        """Keep notes beside the texts, each under its name."""
        await self.write({}, notes)

    async def noted(self, name: str) -> dict[str, Any] | None:
        """The note of this name, if there is one; raises `DatabaseUnusable` if it cannot be read."""
        [note] = await self.all_noted([name])
        return note

    async def all_noted(self, names: Sequence[str]) -> list[dict[str, Any] | None]:
        """The notes of these names, as `noted`."""
        items = await self._store.abatch([GetOp(self.place, name) for name in names])
        return [noted(item if isinstance(item, Item) else None) for item in items]

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Nobody else on this event loop works on what bears this name in the thread meanwhile."""
        return _locks.alone((self.place, name))

    async def fill_in(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages with the texts that they refer to."""
        references = {place: hashed for place, message in enumerate(messages) if (hashed := _referred(message))}
        texts = dict(zip(references, await self.texts([*references.values()]), strict=True))
        return [
            ToolMessage(texts[place] or "The text is no longer kept.", tool_call_id=message.tool_call_id)
            if isinstance(message, ToolMessage) and place in texts
            else message
            for place, message in enumerate(messages)
        ]


def _referred(message: AnyMessage) -> str:
    """The hash of the text that a tool result refers to; empty for a message with words of its own."""
    reference = message.artifact if isinstance(message, ToolMessage) else None
    return str(reference.get(_REFERENCE, "")) if isinstance(reference, dict) else ""


def noted(item: Item | None) -> dict[str, Any] | None:
    """What a note says, if there is one; raises `DatabaseUnusable` if it cannot be read."""
    if item and DAMAGED in item.value:
        raise DatabaseUnusable(
            f"The database is damaged: what it holds under {item.key!r} of the run {item.namespace[0]} cannot be read."
        )
    return dict(item.value) if item else None


def pages_of(store: BaseStore | None, question_id: str) -> Pages:
    """The texts of the thread on which the calling node runs, or of one question where there is no thread."""
    assert store is not None, "build_graph and the server always give a store"
    # From the node's config and not from the state: a copied thread has texts of its own.
    given = get_config().get("configurable", {})
    return Pages(store, str(given.get("thread_id") or question_id), str(given.get("langgraph_auth_user_id") or ""))


def refer(call_id: str, content_hash: str) -> ToolMessage:
    """A tool result whose text stands in the store."""
    return ToolMessage("", tool_call_id=call_id, artifact={_REFERENCE: content_hash})
