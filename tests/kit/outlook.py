"""Outlook mails, written as Outlook saves them: MAPI properties in a compound file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

Storage: TypeAlias = Mapping[str, Any]
"""Streams (bytes) and inner storages by name."""
_SECTOR, _SMALL = 512, 64
_LEAST_BIG = 4096
"""Shorter streams are in small sectors."""
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def outlook_mail(
    texts: Mapping[int, str | bytes],
    *,
    sent: datetime | None = None,
    code_page: int = 0,
    recipients: Sequence[tuple[int, str, str]] = (),
    attachments: Sequence[str | Storage] = (),
) -> bytes:
    """A mail with these properties: a text is in UTF-16, bytes are as given.

    `code_page`: of texts in bytes. `recipients`: type (1 To, 2 Cc), name and address of each.
    `attachments`: names of files, or storages of attached mails.
    """
    return compound_file(
        message_storage(texts, sent, code_page, recipients, attachments, header=32)
    )


def message_storage(
    texts: Mapping[int, str | bytes],
    sent: datetime | None = None,
    code_page: int = 0,
    recipients: Sequence[tuple[int, str, str]] = (),
    attachments: Sequence[str | Storage] = (),
    header: int = 24,
) -> dict[str, Any]:
    """The storage of a message; `header`: bytes before its table of fixed properties."""
    fixed: dict[int, int] = {}
    if sent:
        fixed[0x00390040] = int((sent - _EPOCH).total_seconds()) * 10_000_000
    if code_page:
        fixed[0x3FFD0003] = code_page
    storage = {**_streams(texts), "__properties_version1.0": _table(fixed, header)}
    for number, (kind, name, address) in enumerate(recipients):
        storage[f"__recip_version1.0_#{number:08X}"] = {
            **_streams({0x3001: name, 0x39FE: address}),
            "__properties_version1.0": _table({0x0C150003: kind}, 8),
        }
    for number, attachment in enumerate(attachments):
        if isinstance(attachment, str):
            inner: dict[str, Any] = _streams({0x3707: attachment, 0x3701: b"its content"})
        else:
            inner = {"__substg1.0_3701000D": attachment}
        inner["__properties_version1.0"] = _table({}, 8)
        storage[f"__attach_version1.0_#{number:08X}"] = inner
    return storage


def compound_file(root: Storage) -> bytes:
    """A compound file (version 3) with these streams and storages."""
    entries: list[list[Any]] = []
    """Name, type, next entry, first entry below, and content of each."""
    _add("Root Entry", 5, root, entries)
    small = bytearray()
    small_next: list[int] = []
    sectors: list[bytes] = []
    following: list[int] = []

    def stored(data: bytes) -> int:
        """Store data in sectors and return the first one."""
        if not data:
            return _END
        first = len(sectors)
        pieces = [data[start : start + _SECTOR] for start in range(0, len(data), _SECTOR)]
        for piece in pieces:
            sectors.append(piece.ljust(_SECTOR, b"\0"))
            following.append(len(sectors))
        following[-1] = _END
        return first

    starts: list[int] = []
    for _, kind, _, _, content in entries:
        if kind != 2:
            starts.append(_END)
        elif len(content) >= _LEAST_BIG:
            starts.append(stored(content))
        else:
            starts.append(len(small_next) if content else _END)
            count = -(-len(content) // _SMALL)
            small_next += range(len(small_next) + 1, len(small_next) + count + 1)
            if content:
                small_next[-1] = _END
            small += content.ljust(count * _SMALL, b"\0")
    starts[0] = stored(bytes(small))
    entries[0][4] = bytes(small)
    small_table = stored(struct.pack(f"<{len(small_next)}I", *small_next))
    directory = b""
    for (name, kind, sibling, child, content), start in zip(entries, starts, strict=True):
        encoded = name.encode("utf-16-le") + b"\0\0"
        size = len(content) if isinstance(content, bytes) else 0
        directory += struct.pack(
            "<64sHBBIII16sIQQIQ",
            *(encoded, len(encoded), kind, 1, _FREE, sibling, child),
            *(b"", 0, 0, 0, start, size),
        )
    directory_start = stored(directory)
    count = 1
    while count * (_SECTOR // 4) < len(sectors) + count:
        count += 1
    table = [*following, *[_FAT] * count]
    table += [_FREE] * (count * (_SECTOR // 4) - len(table))
    fat = list(range(len(sectors), len(sectors) + count))
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b""),
        *(0, count, directory_start, 0, _LEAST_BIG, small_table),
        *(-(-4 * len(small_next) // _SECTOR), _END, 0, fat[0]),
    )
    header += struct.pack("<108I", *fat[1:], *[_FREE] * (108 - len(fat[1:])))
    return header + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def _add(name: str, kind: int, content: Any, entries: list[list[Any]]) -> int:
    """Add an entry and those below it; return its number."""
    number = len(entries)
    entry = [name, kind, _FREE, _FREE, content]
    entries.append(entry)
    if kind == 2:
        return number
    previous: list[Any] | None = None
    for inner, value in sorted(content.items(), key=lambda item: (len(item[0]), item[0])):
        child = _add(inner, 2 if isinstance(value, bytes) else 1, value, entries)
        if previous is None:
            entry[3] = child
        else:
            previous[2] = child
        previous = entries[child]
    return number


def _streams(texts: Mapping[int, str | bytes]) -> dict[str, Any]:
    """The streams of texts in UTF-16, and of bytes: texts in a code page, or HTML."""
    streams: dict[str, Any] = {}
    for identifier, value in texts.items():
        if isinstance(value, str):
            streams[f"__substg1.0_{identifier:04X}001F"] = value.encode("utf-16-le")
        else:
            kind = "0102" if identifier in (0x1013, 0x1009, 0x3701) else "001E"
            streams[f"__substg1.0_{identifier:04X}{kind}"] = value
    return streams


def _table(fixed: Mapping[int, int], header: int) -> bytes:
    """The table of properties of fixed length, by id and type."""
    table = bytes(header)
    for tag, value in fixed.items():
        table += struct.pack("<IIQ", tag, 6, value)
    return table
