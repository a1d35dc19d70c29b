"""The texts of a thread in the store: the state holds their hashes only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.config import get_config
from langgraph.store.base import BaseStore

_REFERENCE = "text_hash"


def page_namespace(thread_id: str) -> tuple[str, str]:
    """Where the texts of a thread are kept; a dot would split a namespace."""
    return (thread_id.replace(".", "%2E"), "pages")


class Pages:
    """The texts of the thread on which a node runs, or of one question where there is no thread."""

    def __init__(self, store: BaseStore | None, question_id: str) -> None:
        """Take the thread from the running node's config: a copied thread has texts of its own."""
        assert store is not None, "build_graph and the server always give a store"
        self._store = store
        self._place = page_namespace(str(get_config().get("configurable", {}).get("thread_id") or question_id))

    async def keep(self, text: str, content_hash: str = "") -> str:
        """Keep a text under its SHA-256 and return that; a text already kept is left alone."""
        key = content_hash or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if await self._store.aget(self._place, key) is None:
            await self._store.aput(self._place, key, {"text": text}, index=False)
        return key

    async def fill_in(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages with the texts that they refer to."""
        filled: list[AnyMessage] = []
        for message in messages:
            reference = message.artifact if isinstance(message, ToolMessage) else None
            if isinstance(message, ToolMessage) and isinstance(reference, dict) and _REFERENCE in reference:
                item = await self._store.aget(self._place, reference[_REFERENCE])
                text = str(item.value["text"]) if item else "The text is no longer kept."
                message = ToolMessage(text, tool_call_id=message.tool_call_id)
            filled.append(message)
        return filled


def refer(call_id: str, content_hash: str) -> ToolMessage:
    """A tool result whose text stands in the store."""
    return ToolMessage("", tool_call_id=call_id, artifact={_REFERENCE: content_hash})
