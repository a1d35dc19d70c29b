"""A whole run over a folder of hostile files."""

from __future__ import annotations

import io
import json
import os
from email.message import EmailMessage
from pathlib import Path

import pytest
from kit.commands import Desk
from kit.files import Papers, edited, replacing, sheet, slides, word
from kit.web import pdf_of
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject

BODY = "word/document.xml"
JAPANESE = "スケリー灯台は1844年に点灯された。高さは38メートルである。"
SECRET = "CANARY from outside the folder"

REASONS = {
    "(other files)": "3 of unsupported formats: .gif, .zip",
    "away": "it is a link to outside the folder",
    "away.txt": "it is a link to outside the folder",
    "bomb.docx": "unpack to",
    "endless": "it is a broken link",
    "broken.pdf": "it is a broken PDF file",
    "empty.md": "it is empty",
    "endless.txt": "it is a broken link",
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
    for directory in (folder, outside):
        directory.mkdir()
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


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("hostile"))
    write_hostile(desk.docs)
    return desk


@pytest.mark.slow
@pytest.mark.fault(52, "R29")
def test_a_run_over_a_hostile_folder_ends_with_a_report_and_names_what_it_left_out(desk: Desk) -> None:
    question = "When was the Skerry Light lit?"
    ended = desk.run("ask", question, "--docs", "docs", "--model", "extractive", "--thread", "light")
    assert ended.code == 0, ended.err
    assert "The Skerry Light was lit in 1844." in ended.out
    assert SECRET not in ended.out + ended.err
    for name, reason in REASONS.items():
        (line,) = [line for line in ended.out.splitlines() if f"Not read: docs/{name} (" in line]
        assert reason in line
    counted = f"documents indexed: {len(READ)} of {len(READ) + 12}; 12 could not be read: docs/away (it is a link"
    assert counted in ended.err
    assert "), and 7 more: `deep-research doctor` with the same --docs lists them\n" in ended.err
    again = desk.call("ask", question, "--docs", str(desk.docs), "--model", "extractive")
    assert counted in again.err, "it is told again where nothing has changed"
    run = json.loads(desk.run("export", "light", "--format", "json").out)
    assert [entry["path"] for entry in run["audit"]["not_read"]] == [f"docs/{name}" for name in sorted(REASONS)]


def test_what_can_be_read_in_a_hostile_folder_is_read(desk: Desk, tmp_path: Path) -> None:
    library = Papers(desk.docs, tmp_path / "data").library()
    assert library.refresh().documents == len(READ)
    found = [library.read(f"docs:docs/{name}") for name in READ]
    texts = {name: document.text for name, document in zip(READ, found, strict=True) if document}
    assert texts["japanese.txt"] == JAPANESE
    assert texts["deck.pptx"] == "## The lamp of the Skerry Light"
    assert texts["letter.eml"].endswith("was replaced in 1911.\n\nAttached: plan.pdf")
    assert "| 1901 | Ada Moran |" in texts["table.xlsx"]
    assert texts["long.pdf"].startswith("The Skerry Light stands 38 metres tall.")
    assert library.search("灯台の高さ", 1)[0].text == JAPANESE
    assert [document.source.date for document in found if document] == ["", "", "", "2024-05-03", "", "", "2021-03-04"]
