"""The file of `--out` says by its name what is written, and is tried before a run is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Desk
from lab import QUESTION

pytestmark = pytest.mark.slow


@pytest.mark.fault(39)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_place_where_no_file_can_be_made_is_found_out_before_the_run(desk: Desk) -> None:
    # Root may write there by its permissions, and yet nobody can.
    ended = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--out", "/proc/x.md")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "Error: --out '/proc/x.md': it cannot be written here (No such file or directory).\n"
    assert not desk.data.exists()


def test_a_run_that_fails_leaves_the_file_as_it_was(desk: Desk) -> None:
    earlier, new = desk.folder / "earlier.md", desk.folder / "new.md"
    earlier.write_text("earlier", "utf-8")
    for file in (earlier, new):
        assert desk.call("ask", QUESTION, "--docs", "nowhere", "--out", str(file)).code == 2
    assert earlier.read_text("utf-8") == "earlier"
    assert not new.exists()


def test_who_asks_gets_the_file_that_an_export_of_this_name_would_be(desk: Desk) -> None:
    file, exported = desk.folder / "r.DOCX", desk.folder / "exported.DOCX"
    ended = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "light", "--out", str(file))
    assert (ended.code, ended.out) == (0, "")
    assert desk.call("export", "light", "--out", str(exported)).code == 0
    assert exported.stat().st_size == file.stat().st_size
    file.unlink()
    assert desk.call("resume", "light", "--out", str(file)).code == 0
    assert file.read_bytes().startswith(b"PK")
