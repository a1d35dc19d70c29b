"""The texts of a thread in the store: the state holds their hashes only."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.config import get_config
from langgraph.store.base import BaseStore

from deep_research.state import Task

_REFERENCE = "text_hash"


def page_namespace(namespace: str) -> tuple[str, str]:
    """Where the texts of a thread are kept; a dot would split a namespace."""
    return (namespace.replace(".", "_"), "pages")


def namespace_of(task: Task) -> str:
    """Whose pages a task reads and keeps: those of the thread it runs on, perhaps a copy of the one it began on."""
    return str(get_config().get("configurable", {}).get("thread_id") or task.namespace)


async def keep_text(store: BaseStore, namespace: str, text: str, content_hash: str = "") -> str:
    """Keep a text under its SHA-256 and return that; a text already kept is left alone."""
    key = content_hash or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    place = page_namespace(namespace)
    if await store.aget(place, key) is None:
        await store.aput(place, key, {"text": text}, index=False)
    return key


async def read_text(store: BaseStore, namespace: str, content_hash: str) -> str | None:
    """The text with this hash; none if the store no longer has it."""
    item = await store.aget(page_namespace(namespace), content_hash)
    return str(item.value["text"]) if item else None


def refer(call_id: str, content_hash: str) -> ToolMessage:
    """A tool result whose text stands in the store."""
    return ToolMessage("", tool_call_id=call_id, artifact={_REFERENCE: content_hash})


async def fill_in(messages: Sequence[AnyMessage], store: BaseStore, namespace: str) -> list[AnyMessage]:
    """The messages with the texts that they refer to."""
    filled: list[AnyMessage] = []
    for message in messages:
        reference = message.artifact if isinstance(message, ToolMessage) else None
        if isinstance(message, ToolMessage) and isinstance(reference, dict) and _REFERENCE in reference:
            text = await read_text(store, namespace, reference[_REFERENCE])
            message = ToolMessage(text or "The text is no longer kept.", tool_call_id=message.tool_call_id)
        filled.append(message)
    return filled
