"""Ctrl-C, SIGTERM and kill: the command ends soon, and `resume` repeats nothing that was finished."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from command import Desk, Terminal, desk_in, lines_until, with_notes

QUESTION = (
    "When was the Skerry Light lit, and who was Ada Moran, and where is Port Anlow, and how high is the spring tide?"
)
SECOND_ROUND = "[2.1] searching"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return with_notes(desk_in(tmp_path), 150)


def research(desk: Desk) -> list[dict[str, Any]]:
    """What each researcher did, and how long it took to the microsecond."""
    shown = desk.call("show", "light", "--format", "json")
    assert shown.code == 0
    found: list[dict[str, Any]] = json.loads(shown.out)["research"]
    return found


def check_resumed(desk: Desk) -> None:
    """Resume the run; the first round, which was over, is not researched again."""
    before = [finding for finding in research(desk) if finding["cycle"] == 0]
    assert before
    assert " stopped " in desk.call("runs").out
    ended = desk.call("resume", "light")
    assert ended.code == 0
    assert "## Sources" in ended.out
    assert ended.err.startswith("Run light\ngoing on with the plan:\n1. ")
    assert "[1." not in ended.err
    assert "documents indexed" not in ended.err
    assert [finding for finding in research(desk) if finding["cycle"] == 0] == before
    assert " completed " in desk.call("runs").out


@pytest.mark.fault(45)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_leave_a_run_that_goes_on_where_it_was(desk: Desk, sent: signal.Signals) -> None:
    with desk.started("ask", QUESTION, "--docs", "docs", "--thread", "light") as process:
        lines_until(process, SECOND_ROUND)
        os.killpg(process.pid, sent)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Stopped. The run is kept; go on: deep-research resume light"
    assert "Traceback" not in err
    check_resumed(desk)


@pytest.mark.fault(36)
def test_a_killed_run_goes_on_where_it_was(desk: Desk) -> None:
    with desk.started("ask", QUESTION, "--docs", "docs", "--thread", "light") as process:
        lines_until(process, SECOND_ROUND)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL
    check_resumed(desk)


@pytest.mark.fault(45)
def test_ctrl_c_does_not_wait_for_a_slow_document(desk: Desk) -> None:
    (desk.docs / "slow.html").write_text("<html><body>" + "<div><p><a href=x>link</a>" * 60_000, "utf-8")
    given = ("--docs", "docs", "--thread", "light", "--limit", "parse_seconds=6")
    with desk.started("ask", QUESTION, *given) as process:
        lines_until(process, "documents indexed: 100 of 155")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Stopped. The run is kept; go on: deep-research resume light"
    assert "Traceback" not in err
    assert "Status    stopped" in desk.call("show", "light").out
    assert json.loads(desk.call("show", "light", "--format", "json").out)["question"] == QUESTION
    (desk.docs / "slow.html").unlink()
    again = desk.call("ask", QUESTION, "--thread", "light", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out)["question"] == QUESTION, "the same words again are no second question"
    left = re.search(r"documents indexed: (\d+) of \1\n", again.err)
    assert left and int(left.group(1)) < 154, "what was indexed before the stop is kept"


@pytest.mark.fault(45)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_at_the_question_back_leaves_it_waiting(tmp_path: Path, sent: signal.Signals) -> None:
    desk = desk_in(tmp_path)
    terminal = Terminal(desk, "ask", "Compare them?", "--docs", "docs", "--thread", "pair")
    terminal.wait_for("Your answer: ")
    os.killpg(terminal.process.pid, sent)
    assert terminal.end() == 130
    assert terminal.seen.splitlines()[-1] == "Stopped. The run is kept; go on: deep-research resume pair"
    assert " waiting " in desk.call("runs").out
    assert desk.call("resume", "pair", "--answer", "The Skerry Light").code == 0


@pytest.mark.fault(45)
def test_ctrl_c_during_the_live_view_gives_the_terminal_back(desk: Desk) -> None:
    terminal = Terminal(desk, "ask", QUESTION, "--docs", "docs", "--thread", "light")
    terminal.wait_for("● ")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.seen.splitlines()[-1].endswith("go on: deep-research resume light")
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), "the cursor is shown again"
