"""The texts of a thread in the store: the state holds their hashes only."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.config import get_config
from langgraph.store.base import BaseStore, GetOp, Item, PutOp
from langgraph.store.memory import InMemoryStore

from ..concurrency import Locks
from ..errors import DatabaseUnusable

DAMAGED = "damaged"
"""Key of what stands in the place of a stored value that cannot be read."""
OWNER = "langgraph_auth_user_id"
"""Where LangGraph's server tells a run for which user it is; checkpoints keep it in their metadata."""
LOCAL_USER = "local"
"""The user whose the runs are for which no server has named one."""
TEXT, PACKED = "text", "zlib"
"""Keys under which a text stands in a value: as it is, and compressed (base64)."""
PACKED_CHARACTERS = 1000
FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""
LONGEST_BYTES = 50_000_000
"""More is not read: whoever wrote the database may have meant to fill the memory."""
_REFERENCE = "text_hash"
_locks = Locks()
_UNKEPT = InMemoryStore()
"""Texts of graphs that were compiled without a store; they end with the process."""


def page_namespace(thread_id: str) -> tuple[str, str]:
    """Return the store namespace of a thread's texts; a dot would split it."""
    return (thread_id.replace("%", "%25").replace(".", "%2E"), "pages")


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in hex digits: its key in the store."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Pages:
    """The texts of one thread, and notes about them."""

    def __init__(self, store: BaseStore, thread_id: str, user: str = "") -> None:
        self._store = store
        self.user = user
        """The user of the server for whom the run is; empty elsewhere."""
        self.thread = thread_id
        self.place = page_namespace(thread_id)
        """The namespace in the store."""

    def of_thread(self, thread_id: str) -> Pages:
        """Return the texts of another thread in the same store."""
        return Pages(self._store, thread_id)

    async def keep(self, text: str) -> str:
        """Store a text under its SHA-256 and return that."""
        key = text_hash(text)
        await self.write({key: text})
        return key

    async def write(self, texts: Mapping[str, str], notes: Mapping[str, dict[str, Any]] | None = None) -> None:
        """Store texts by their SHA-256 and notes by their names, all or nothing."""
        values = {**{key: {"text": text} for key, text in texts.items()}, **(notes or {})}
        if values:
            await self._store.abatch([PutOp(self.place, name, value, index=False) for name, value in values.items()])

    async def text(self, content_hash: str) -> str | None:
        """Return the text with this hash; none if there is no such text."""
        [text] = await self.texts([content_hash])
        return text

    async def texts(self, hashes: Sequence[str]) -> list[str | None]:
        """Return the texts with these hashes."""
        items = await self._store.abatch([GetOp(self.place, one) for one in hashes])
        texts = [item.value.get("text") if isinstance(item, Item) else None for item in items]
        return [text if isinstance(text, str) else None for text in texts]

    async def note(self, notes: Mapping[str, dict[str, Any]]) -> None:
        """Store notes by their names."""
        await self.write({}, notes)

    async def read_note(self, name: str) -> dict[str, Any] | None:
        """Return the note of this name, if there is one; raises `DatabaseUnusable` if it cannot be read."""
        [note] = await self.read_notes([name])
        return note

    async def read_notes(self, names: Sequence[str]) -> list[dict[str, Any] | None]:
        """Return the notes of these names, as `read_note`."""
        items = await self._store.abatch([GetOp(self.place, name) for name in names])
        return [note_value(item if isinstance(item, Item) else None) for item in items]

    async def names(self) -> list[str]:
        """Return the names of all texts and notes, the latest first."""
        found = await self._store.asearch(self.place, limit=100_000)
        return [item.key for item in sorted(found, key=lambda item: item.updated_at, reverse=True)]

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread's lock of this name on this event loop."""
        return _locks.alone((self.place, name))

    async def fill_in(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages with the texts that they refer to."""
        references = {place: hashed for place, message in enumerate(messages) if (hashed := _referred(message))}
        texts = dict(zip(references, await self.texts([*references.values()]), strict=True))
        return [
            ToolMessage(texts[place] or "The text is no longer kept.", tool_call_id=message.tool_call_id)
            if isinstance(message, ToolMessage) and place in texts
            else message
            for place, message in enumerate(messages)
        ]


def _referred(message: AnyMessage) -> str:
    """Return the hash of the text that a tool result refers to; empty for a message with its own text."""
    reference = message.artifact if isinstance(message, ToolMessage) else None
    return str(reference.get(_REFERENCE, "")) if isinstance(reference, dict) else ""


def note_value(item: Item | None) -> dict[str, Any] | None:
    """Return a note's value, if there is one; raises `DatabaseUnusable` if it cannot be read."""
    if item and DAMAGED in item.value:
        raise DatabaseUnusable(
            f"The database{item.value[DAMAGED]} is damaged: what it holds under {item.key!r} of the run "
            f"{item.namespace[0]} cannot be read."
        )
    return dict(item.value) if item else None


def pages_of(store: BaseStore | None, question_id: str) -> Pages:
    """Return the texts of the calling node's thread, or of the question where there is no thread."""
    # From the node's config and not from the state: a copied thread has texts of its own.
    given = get_config().get("configurable", {})
    return Pages(store or _UNKEPT, str(given.get("thread_id") or question_id), str(given.get(OWNER) or ""))


def reference_to(call_id: str, content_hash: str) -> ToolMessage:
    """Return a tool result that refers to a text in the store."""
    return ToolMessage("", tool_call_id=call_id, artifact={_REFERENCE: content_hash})


def packed(op: PutOp) -> PutOp:
    """Return the operation with its text compressed, if that is long."""
    text = (op.value or {}).get(TEXT)
    if op.value is None or not isinstance(text, str) or len(text) < PACKED_CHARACTERS:
        return op
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), FAST)).decode()
    return op._replace(value={**{name: value for name, value in op.value.items() if name != TEXT}, PACKED: packed})


def unpacked(stored: Any, file: str = "") -> dict[str, Any]:
    """Decode a stored value; an unreadable one becomes a mark, so that it does not fail the whole batch.

    `file`: that of the database, for the error.
    """
    try:
        value = json.loads(stored)
        if PACKED in value:
            opened = zlib.decompressobj()
            text = opened.decompress(base64.b64decode(value.pop(PACKED)), LONGEST_BYTES)
            value[TEXT] = text.decode("utf-8", "surrogatepass")
    except (ValueError, TypeError, zlib.error):
        value = None
    return value if isinstance(value, dict) else {DAMAGED: f" {file!r}" if file else ""}
