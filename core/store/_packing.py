"""How values are written in a database of runs: compressed texts, checksums, namespaces."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph.store.base import PutOp

DAMAGED = "damaged"
"""Key of the object that replaces an unreadable stored value; its value names the file, for error
messages."""
TEXT = "text"
"""Key of a text in a stored value."""
_PACKED = "zlib"
"""Key of a compressed text (in base64) in a stored value."""
_PACKED_CHARACTERS = 1000
"""Minimum length of texts that are compressed."""
_FAST = 1
"""Compression level; takes a quarter of a millisecond for a page."""
_LONGEST_BYTES = 50_000_000
"""Maximum size of a decompressed text or value, against decompression bombs in a foreign
database."""
_COMPRESSED_BYTES = 500
"""Minimum size of values that are compressed."""
_CHECKED = "msgpack:"
"""Prefix of the type of a stored value with a checksum, which follows (CRC-32, 8 hex digits)."""
_COMPRESSED = "msgpack+zlib:"
"""The same for a compressed value; the checksum is that of the compressed bytes."""


def page_namespace(thread_id: str) -> tuple[str, str]:
    """Return the store namespace of a thread's texts and notes; dots are escaped, since they
    separate its parts."""
    return (thread_id.replace("%", "%25").replace(".", "%2E"), "pages")


def store_prefix(thread_id: str) -> str:
    """Return the column `prefix` of a thread's texts and notes in LangGraph's table `store`."""
    return ".".join(page_namespace(thread_id))


def packed(op: PutOp) -> PutOp:
    """Return a write to the store with its text compressed, if that is long."""
    if op.value is None:
        return op
    text = op.value.get(TEXT)
    if not isinstance(text, str) or len(text) < _PACKED_CHARACTERS:
        return op
    data = zlib.compress(text.encode("utf-8", "surrogatepass"), _FAST)
    value = dict(op.value)
    del value[TEXT]
    value[_PACKED] = base64.b64encode(data).decode()
    return op._replace(value=value)


def unpacked(stored: Any, file: str = "") -> dict[str, Any]:
    """Return a stored value, decoded and decompressed; an unreadable one becomes `{DAMAGED: file}`.

    It is not an error, since other values are read in the same batch. `file`: path of the database,
    for the user.
    """
    try:
        value = json.loads(stored)
        if _PACKED in value:
            data = base64.b64decode(value.pop(_PACKED))
            text = zlib.decompressobj().decompress(data, _LONGEST_BYTES)
            value[TEXT] = text.decode("utf-8", "surrogatepass")
    except (ValueError, TypeError, zlib.error):
        value = None
    if isinstance(value, dict):
        return value
    return {DAMAGED: f" {file!r}" if file else ""}


def checked(data: bytes) -> tuple[str, bytes]:
    """Return the type and the bytes with which a value (msgpack) is stored: with a checksum, and
    compressed if it is long."""
    prefix = _CHECKED
    if _COMPRESSED_BYTES <= len(data) <= _LONGEST_BYTES:
        prefix = _COMPRESSED
        data = zlib.compress(data, _FAST)
    return f"{prefix}{zlib.crc32(data):08x}", data


def has_checksum(kind: str) -> bool:
    """Whether a value of this type is stored with a checksum."""
    return kind.startswith((_CHECKED, _COMPRESSED))


def is_intact(kind: str, data: bytes) -> bool:
    """Whether a value still has its checksum."""
    checksum = f"{zlib.crc32(data):08x}"
    return kind in (f"{_CHECKED}{checksum}", f"{_COMPRESSED}{checksum}")


def decompressed(kind: str, data: bytes) -> bytes:
    """Return the msgpack of a value that is stored with a checksum; at most `_LONGEST_BYTES` if it
    is compressed."""
    if kind.startswith(_COMPRESSED):
        return zlib.decompressobj().decompress(data, _LONGEST_BYTES)
    return data
