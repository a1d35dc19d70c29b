"""How texts stand in a store: compressed."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from langgraph.store.base import PutOp

from .pages import DAMAGED

TEXT, PACKED = "text", "zlib"
"""Keys under which a text stands in a value: as it is, and compressed (base64)."""
PACKED_CHARACTERS = 1000
FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""
LONGEST_BYTES = 50_000_000
"""More is not read: whoever wrote the database may have meant to fill the memory."""


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
