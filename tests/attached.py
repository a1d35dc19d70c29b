"""Files as clients attach them to messages, and what is left of their bytes in a database."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from pypdf import PdfReader, PdfWriter
from web_pages import pdf_of

MARK = b"%This line stands in the file and in no text: Quillon-Harrow-7731.\n"
TARIFF = pdf_of("The mooring fee at Brannock Pier is 47 crowns a night.") + MARK
BERTHS = b"Berth,Length in metres\nThe south berth of Brannock Pier,44\nThe north berth of Brannock Pier,31\n"
BROKEN = b"%PDF-1.4\nnothing of it is left" + MARK
QUESTION = "What is the mooring fee at Brannock Pier? How long is the south berth of Brannock Pier?"


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def block(name: str, data: bytes, mime_type: str = "application/pdf") -> dict[str, Any]:
    """A block as LangChain writes it."""
    return {"type": "file", "base64": packed(data), "mime_type": mime_type, "extras": {"filename": name}}


def locked(password: str) -> bytes:
    """The tariff under lock and key."""
    writer, written = PdfWriter(clone_from=PdfReader(io.BytesIO(TARIFF))), io.BytesIO()
    writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


FILES = [block("tariff.pdf", TARIFF), block("berths.csv", BERTHS, "text/csv"), block("torn.pdf", BROKEN)]


def asked(words: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    """An input with one message of the user."""
    text: list[dict[str, Any]] = [{"type": "text", "text": words}] if words else []
    return {"messages": [{"role": "user", "content": [*text, *blocks]}]}


def left_of(*files: bytes, folder: Path) -> list[str]:
    """Which files below a folder hold the bytes of one of these, as they are or in base64, at any place in it."""
    found = list[str]()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        held = path.read_bytes()
        # The middle of a file: what stands around it may be packed with it.
        raw = (data[len(data) // 3 :] for data in files)
        coded = (packed(data)[100:160].encode() for data in files)
        if any(part in held for part in (*raw, *coded, MARK)):
            found.append(path.relative_to(folder).as_posix())
    return found
