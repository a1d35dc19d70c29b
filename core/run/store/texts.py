"""How texts stand in a store: compressed, and those used last in memory."""

from __future__ import annotations

import base64
import json
import re
import zlib
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result

from .pages import DAMAGED

RECENT_CHARACTERS = 5_000_000
"""Characters of texts that are held in memory."""
TEXT, PACKED = "text", "zlib"
"""Keys under which a text stands in a value: as it is, and compressed (base64)."""
PACKED_CHARACTERS = 1000
FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""
LONGEST_BYTES = 50_000_000
"""More is not read: whoever wrote the database may have meant to fill the memory."""
_HASH = re.compile("[0-9a-f]{64}")


class CachedStore(BaseStore):
    """A store that does not read again what was used last."""

    def __init__(self) -> None:
        self._recent = _Recent()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations; texts in the cache are not read again. Raises `DatabaseUnusable`."""
        every = list(ops)
        results: list[Result] = [self._recent.get(op) if isinstance(op, GetOp) else None for op in every]
        left = [place for place, known in enumerate(results) if known is None]
        if left:
            found = await self.carry_out([every[place] for place in left])
            for place, result in zip(left, found, strict=True):
                results[place] = result
                self._recent.add(every[place], result)
        return results

    @abstractmethod
    async def carry_out(self, ops: Sequence[Op]) -> list[Result]:
        """Carry out the operations in one transaction, though whoever asked for it is cancelled meanwhile."""


class _Recent:
    """A cache of the texts used last, which each call of a researcher shows again.

    A text stands under its hash, so that nobody can have changed it meanwhile.
    """

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[tuple[str, ...], str], Item] = OrderedDict()
        self._characters = 0

    def get(self, op: GetOp) -> Item | None:
        """Return the cached text, if there is one."""
        name = (op.namespace, op.key)
        if name in self._items:
            self._items.move_to_end(name)
        return self._items.get(name)

    def add(self, op: Op, result: Result) -> None:
        """Cache what was read or written."""
        if not isinstance(op, GetOp | PutOp) or not _HASH.fullmatch(op.key):
            return
        # Several may have read it at the same time.
        self._forget((op.namespace, op.key))
        if isinstance(op, PutOp):
            now = datetime.now(UTC)
            result = Item(
                value={**(op.value or {})}, key=op.key, namespace=op.namespace, created_at=now, updated_at=now
            )
        if isinstance(result, Item) and _size(result):
            self._items[op.namespace, op.key] = result
            self._characters += _size(result)
            while self._characters > RECENT_CHARACTERS:
                self._forget(next(iter(self._items)))

    def _forget(self, name: tuple[tuple[str, ...], str]) -> None:
        if item := self._items.pop(name, None):
            self._characters -= _size(item)


def _size(item: Item) -> int:
    text = item.value.get(TEXT)
    return len(text) if isinstance(text, str) else 0


def packed(op: PutOp) -> PutOp:
    """Return the operation with its text compressed, if that is long."""
    text = (op.value or {}).get(TEXT)
    if op.value is None or not isinstance(text, str) or len(text) < PACKED_CHARACTERS:
        return op
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), FAST)).decode()
    return op._replace(value={**{name: value for name, value in op.value.items() if name != TEXT}, PACKED: packed})


def unpacked(stored: Any) -> dict[str, Any]:
    """Decode a stored value; an unreadable one becomes a mark, so that it does not fail the whole batch."""
    try:
        value = json.loads(stored)
        if PACKED in value:
            opened = zlib.decompressobj()
            text = opened.decompress(base64.b64decode(value.pop(PACKED)), LONGEST_BYTES)
            value[TEXT] = text.decode("utf-8", "surrogatepass")
    except (ValueError, TypeError, zlib.error):
        value = None
    return value if isinstance(value, dict) else {DAMAGED: True}
