"""The beginning of a run on the command line: what is said before it works, and what is left if it never did."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command import SECONDS, Desk, desk_in
from lab import QUESTION
from openai_replies import fail
from wire_desk import wire_desk

pytestmark = pytest.mark.slow

NOTHING_BEGAN = "Stopped before anything began."


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with a finished run and one that waits."""
    desk = desk_in(tmp_path_factory.mktemp("library"))
    docs = ("--docs", str(desk.docs))
    assert desk.call("ask", QUESTION, *docs, "--thread", "5e5c500a-1111-4111-8111-111111111111").code == 0
    assert desk.call("ask", "Compare them?", *docs, "--thread", "5e5c500b-1111-4111-8111-111111111111").code == 3
    return desk


def has_open(pid: int, file: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # What it opens and closes meanwhile may be gone before it is looked at.
        with suppress(FileNotFoundError):
            if str(link.readlink()) == str(file):
                return True
    return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
def test_ctrl_c_before_anything_is_stored_promises_nothing(desk: Desk) -> None:
    assert desk.call("runs").code == 0
    desk.data.mkdir()
    file = desk.data / "runs.sqlite"
    with sqlite3.connect(file) as other:
        # Another process is writing, so the run has to wait before it begins.
        other.execute("BEGIN EXCLUSIVE")
        with desk.started("ask", QUESTION, "--docs", "docs", "--thread", "light") as process:
            while not has_open(process.pid, file):
                assert process.poll() is None
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=SECONDS)
    other.close()
    assert (process.returncode, err.splitlines()[-1]) == (130, NOTHING_BEGAN)
    assert desk.call("resume", "light").code == 2


def test_a_command_that_fails_before_a_run_is_stored_promises_nothing(desk: Desk) -> None:
    desk.data.write_text("this is no folder", "utf-8")
    ended = desk.call("demo")
    assert ended.code == 2
    assert "Not a directory" in ended.err
    assert "resume" not in ended.err


def test_what_limits_cannot_hold_is_said_before_the_run(tmp_path: Path) -> None:
    with wire_desk(tmp_path, planner=lambda _: fail(402, "no credit")) as wire:
        asked = wire.desk.call("ask", "When was it lit?", "--thread", "dear", "--yes", "--limit", "max_usd=1")
        again = wire.desk.call("resume", "dear", "--limit", "max_usd=2")
        later = wire.desk.call("resume", "dear")
    for ended in (asked, again):
        first, second, *_, last = ended.err.splitlines()
        assert (first, last.startswith("Error: ")) == ("Run dear", True)
        assert second.startswith("Note: No price of the model fake-1 is set") and "max_usd holds only if" in second
    assert "Warning" not in later.err


def test_a_limit_that_ended_a_run_is_told_without_marks_of_markdown(tmp_path: Path) -> None:
    prices = {"DEEP_RESEARCH_PRICES": '{"fake-1": [100000, 100000]}'}
    with wire_desk(tmp_path) as wire:
        given = ("--thread", "dear", "--yes", "--limit", "max_usd=0.01")
        asked = wire.desk.call("ask", "When was it lit?", *given, **prices)
        shown = wire.desk.call("show", "dear").out
        assert "holds only if" not in asked.err
        (status,) = [line for line in shown.splitlines() if line.startswith("Status")]
        assert "max_usd was reached ($" in status
        assert "\\$" not in asked.err + status


def test_an_empty_name_of_a_run_is_refused(desk: Desk) -> None:
    for arguments in (("ask", QUESTION, "--docs", str(desk.docs), "--thread", ""), ("resume", " ")):
        ended = desk.call(*arguments)
        assert ended.code == 2
        assert "The name of the run is an empty text (--thread)" in ended.err
    assert not desk.data.exists()


@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["export"], ["resume"]])
def test_a_run_is_found_by_the_beginning_of_its_id(library: Desk, command: list[str]) -> None:
    whole = library.call(*command, "5e5c500a-1111-4111-8111-111111111111")
    assert whole.code == 0
    for beginning in ("5e5c500a", "5E5C500A-1111"):
        assert library.call(*command, beginning).out == whole.out


def test_a_beginning_that_is_too_short_or_that_several_ids_have_is_no_name(library: Desk) -> None:
    for beginning in ("5e5c5", "5e5c500", "5e5c50*"):
        ended = library.call("show", beginning)
        assert (ended.code, ended.err.startswith(f"Error: There is no run {beginning!r}")) == (2, True)
