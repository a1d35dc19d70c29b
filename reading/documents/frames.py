"""Messages between the process and its parsing child: a JSON header and bytes, both with their length."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

_LENGTHS = struct.Struct(">IQ")


def send(stream: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message."""
    encoded = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(encoded), len(body)))
    stream.write(encoded)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read one message; none if the other side has ended."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_length, body_length = _LENGTHS.unpack(lengths)
    header, body = stream.read(header_length), stream.read(body_length)
    if len(header) < header_length or len(body) < body_length:
        return None
    return json.loads(header), body
