"""The numbers of texts and passages in an index, which follow from what is in it and not from when that was added.

FTS5 goes through what it finds by number. So wherever not all of that is compared, the same is compared in every index
that holds the same.
"""

from __future__ import annotations

import hashlib
import sqlite3

TEXT_BYTES = 5
"""Of a text's number: even of a million texts hardly two have the same."""
POSITION_BITS = 12
"""Of a passage's number, for its place in the text: more than the longest text has passages."""
PLACES = (1 << POSITION_BITS) - 1
"""The bits of a passage's number that tell its place in the text."""


def number_of(content_hash: str) -> int:
    """The number of the text of this hash, unless another text has it already."""
    return int.from_bytes(hashlib.sha256(content_hash.encode()).digest()[:TEXT_BYTES])


def free_number(connection: sqlite3.Connection, content_hash: str) -> int:
    """The number for a new text of this hash."""
    number = number_of(content_hash)
    while connection.execute("SELECT 1 FROM texts WHERE id = ?", (number,)).fetchone():
        number += 1
    return number
