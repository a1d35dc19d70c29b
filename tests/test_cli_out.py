"""The file of `--out` is tried before a run is paid for, and left as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Desk, desk_in
from lab import QUESTION


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


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
