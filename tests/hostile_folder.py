"""A folder in which much is made to hurt whoever reads it, and some of it is worth reading."""

from __future__ import annotations

import io
import os
from email.message import EmailMessage
from pathlib import Path

from office_files import edited, replacing, sheet, slides, word
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject
from web_pages import pdf_of

BODY = "word/document.xml"
JAPANESE = "スケリー灯台は1844年に点灯された。高さは38メートルである。"
SECRET = "CANARY from outside the folder"

REASONS = {
    "(other files)": "3 of kinds that are not read: .gif, .zip",
    "away": "it is a link that does not stay in the folder",
    "away.txt": "it is a link that does not stay in the folder",
    "bomb.docx": "unpack to",
    "endless": "it is a link that leads nowhere",
    "broken.pdf": "it is a broken PDF file",
    "empty.md": "it is empty",
    "endless.txt": "it is a link that leads nowhere",
    "entity.docx": "word/document.xml in it declares XML entities",
    "huge.csv": "bytes are more than 50000000 (limit max_document_bytes)",
    "locked.xlsx": "it is encrypted",
    "pipe.txt": "it is not a regular file",
    "scan.pdf": "there is no text in it",
}
"""What of it cannot be read, and words of why."""
READ = ("Makefile", "deck.pptx", "japanese.txt", "letter.eml", "light.md", "long.pdf", "table.xlsx")
"""What of it can be read."""


def write_hostile(folder: Path) -> Path:
    """Make it, with something outside to which its links lead."""
    outside = folder.parent / "outside"
    for place in (folder, outside):
        place.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    _write_traps(folder, outside)
    files = {
        "light.md": b"# Skerry Light\n\nThe Skerry Light was lit in 1844.\n",
        "japanese.txt": JAPANESE.encode("shift_jis"),
        "long.pdf": large_pdf(),
        "deck.pptx": slides("The lamp of the Skerry Light"),
        "table.xlsx": sheet(["Year", "Keeper of the Skerry Light"], [1901, "Ada Moran"]),
        "letter.eml": _letter(),
        "empty.md": b"",
        "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type",
        "scan.pdf": pdf_of(""),
        "locked.xlsx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
        "bomb.docx": edited(word(), {BODY: lambda _: bytes(200_000_000)}),
        "entity.docx": edited(
            word(), {BODY: replacing(b"\n", b"\n<!DOCTYPE w [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>")}
        ),
        **dict.fromkeys(("a.gif", "b.gif", "c.zip", "Makefile"), b"x"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _write_traps(folder: Path, outside: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    with (folder / "huge.csv").open("wb") as huge:
        huge.truncate(2_000_000_000)
    links = {
        "away.txt": outside / "secret.txt",
        "away": outside,
        "again": folder,
        "endless.txt": folder / "endless.txt",
        "endless": folder / "endless",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)


def large_pdf() -> bytes:
    """A PDF of 20 MB: a page that says something, and one with a large picture."""
    writer, written = PdfWriter(), io.BytesIO()
    for line in ("The Skerry Light stands 38 metres tall.", "Its keeper was Ada Moran."):
        writer.append(PdfReader(io.BytesIO(pdf_of(line))))
    picture = DecodedStreamObject()
    picture.set_data(os.urandom(20_000_000))
    picture.update({NameObject("/Type"): NameObject("/XObject"), NameObject("/Subtype"): NameObject("/Image")})
    writer.pages[1][NameObject("/Picture")] = writer._add_object(picture)
    writer.write(written)
    return written.getvalue()


def _letter() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "The Skerry Light", "Ada Moran <ada@lights.example>"
    message["Date"] = "Fri, 3 May 2024 10:00:00 +0000"
    message.set_content("The lamp of the Skerry Light was replaced in 1911.")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    return bytes(message)
