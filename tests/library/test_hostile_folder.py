"""A whole run over a folder of hostile files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from kit.commands import Desk
from kit.files import edited, pdf_of, replacing, word

BODY = "word/document.xml"
SECRET = "CANARY from outside the folder"

REASONS = {
    "(other files)": "3 of unsupported formats: .gif, .zip",
    "away": "it is a link to outside the folder",
    "bomb.docx": "unpack to",
    "broken.pdf": "it is a broken PDF file",
    "endless.txt": "it is a broken link",
    "entity.docx": "word/document.xml in it declares XML entities",
    "huge.csv": "bytes are more than 50000000 (limit max_document_bytes)",
    "pipe.txt": "it is not a regular file",
    "scan.pdf": "there is no text in it",
}
"""What of it cannot be read, and words of why."""
ENTITY = b"\n<!DOCTYPE w [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"


def write_hostile(folder: Path) -> None:
    """Make it, with something outside to which a link leads."""
    outside = folder.parent / "outside"
    for directory in (folder, outside):
        directory.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (folder / "away").symlink_to(outside)
    (folder / "endless.txt").symlink_to(folder / "endless.txt")
    os.mkfifo(folder / "pipe.txt")
    with (folder / "huge.csv").open("wb") as huge:
        huge.truncate(2_000_000_000)
    files = {
        "light.md": b"# Skerry Light\n\nThe Skerry Light was lit in 1844.\n",
        "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type",
        "scan.pdf": pdf_of(""),
        "bomb.docx": edited(word(), {BODY: lambda _: bytes(200_000_000)}),
        "entity.docx": edited(word(), {BODY: replacing(b"\n", ENTITY)}),
        **dict.fromkeys(("a.gif", "b.gif", "c.zip"), b"x"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.mark.slow
@pytest.mark.fault(52, "R29")
def test_a_run_over_a_hostile_folder_ends_with_a_report_and_names_what_it_left_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write_hostile(desk.docs)
    question = "When was the Skerry Light lit?"
    ended = desk.run("ask", question, "--docs", "docs", "--model", "extractive", "--thread", "light")
    assert ended.code == 0, ended.err
    assert "The Skerry Light was lit in 1844." in ended.out
    assert SECRET not in ended.out + ended.err
    for name, reason in REASONS.items():
        (line,) = [line for line in ended.out.splitlines() if f"Not read: docs/{name} (" in line]
        assert reason in line
    counted = "documents indexed: 1 of 9; 8 could not be read: docs/away (it is a link"
    assert counted in ended.err
    assert "), and 3 more: `deep-research doctor` with the same --docs lists them\n" in ended.err
    again = desk.call("ask", question, "--docs", str(desk.docs), "--model", "extractive")
    assert counted in again.err, "it is told again where nothing has changed"
    run = json.loads(desk.run("export", "light", "--format", "json").out)
    assert [entry["path"] for entry in run["audit"]["not_read"]] == [f"docs/{name}" for name in sorted(REASONS)]
