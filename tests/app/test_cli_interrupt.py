"""Runs that are stopped or steered: the command ends soon and repeats nothing that was finished."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit.commands import SECONDS, Desk, Point, Terminal, WireDesk, point_of, wire_desk
from kit.runs import write_documents
from kit.server import PAUSE
from kit.wire import role_of

pytestmark = pytest.mark.slow

QUESTION = "When was the Skerry Light lit, who was its keeper, and what is known of the tides and the harbour?"
SECOND_ROUND = Point("finding", "harbour", 3)
FIRST_SEARCH = Point("researcher", "keeper", 0)
COMPLETED = "The calls in progress are completed; then the report is written."
ASK = ("ask", QUESTION, "--docs", "docs", "--thread", "light", "--limit", "whole_characters=0")
WORDS = "Mind the gannets."
STOPPED = "Stopped. The run is saved; resume it: deep-research resume light"


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[WireDesk]:
    """Models that can be held in the second round."""
    with wire_desk(tmp_path) as wire:
        write_documents(wire.desk.docs)
        yield wire


def wait_for(point: Point, wire: WireDesk, process: subprocess.Popen[Any]) -> None:
    """Wait until the model holds back this answer."""
    while point in wire.holds.points:
        assert process.poll() is None, process.communicate()
        time.sleep(PAUSE)


def wait_for_second_round(wire: WireDesk, process: subprocess.Popen[Any]) -> None:
    """Wait until the model holds back its answer."""
    wait_for(SECOND_ROUND, wire, process)


def research(desk: Desk) -> list[dict[str, Any]]:
    """Records of the first round's researchers, durations included."""
    shown = desk.call("show", "light", "--format", "json")
    assert shown.code == 0
    return [finding for finding in json.loads(shown.out)["research"] if finding["cycle"] == 0]


@pytest.mark.fault(45)
def test_after_ctrl_c_or_sigterm_a_run_continues_where_it_was(wire: WireDesk) -> None:
    before: list[dict[str, Any]] = []
    for sent in (signal.SIGINT, signal.SIGTERM):
        wire.holds.points.add(SECOND_ROUND)
        with wire.desk.started(*(("resume", "light") if before else ASK)) as process:
            wait_for_second_round(wire, process)
            os.killpg(process.pid, sent)
            out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out, err.splitlines()[-1]) == (130, "", STOPPED)
        assert "Traceback" not in err
        assert " stopped " in wire.desk.call("runs").out
        before = before or research(wire.desk)
        assert len(before) == 3
    ended = wire.desk.call("resume", "light")
    assert ended.code == 0
    assert "## Sources" in ended.out
    assert ended.err.startswith("Run light\ncontinuing with the plan:\n1. ")
    assert "[1." not in ended.err
    assert "documents indexed" not in ended.err
    assert research(wire.desk) == before, "the first round, which was over, is not researched again"
    assert " completed" in wire.desk.call("runs").out


@pytest.mark.fault(45)
def test_a_stop_at_a_clarifying_question_leaves_the_run_waiting(desk: Desk) -> None:
    asked = ("ask", "Compare them?", "--docs", "docs", "--thread", "pair")
    for command, sent in ((asked, signal.SIGINT), (("resume", "pair"), signal.SIGTERM)):
        terminal = Terminal(desk, *command)
        terminal.wait_for("Your answer: ")
        assert terminal.stop(sent) == 130
        assert terminal.seen.splitlines()[-1] == STOPPED.replace("light", "pair")
        assert " waiting " in desk.call("runs").out
    assert desk.call("resume", "pair", "--answer", "The Skerry Light").code == 0


@pytest.mark.fault(45)
def test_ctrl_c_during_the_live_view_restores_the_terminal(wire: WireDesk) -> None:
    wire.holds.points.add(SECOND_ROUND)
    terminal = Terminal(wire.desk, *ASK)
    terminal.wait_for("● ")
    assert terminal.stop(signal.SIGINT) == 130
    assert terminal.seen.splitlines()[-1].endswith("resume it: deep-research resume light")
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), (
        "the cursor is shown again"
    )


def test_a_typed_line_steers_the_research_and_no_finding_is_lost(wire: WireDesk) -> None:
    wire.holds.points.add(SECOND_ROUND)
    terminal = Terminal(wire.desk, *ASK)
    wait_for_second_round(wire, terminal.process)
    terminal.write(f"{WORDS}\n")
    terminal.wait_for(f": {WORDS}")
    wire.holds.release()
    assert terminal.end() == 0
    assert "too late" not in terminal.seen
    requests = wire.lab.models.requests
    decisions = [
        WORDS in request.prompt for request in requests if role_of(request) == "orchestrator"
    ]
    assert True in decisions and decisions == sorted(decisions), (
        "from then on they are made in view of it"
    )
    assert "Your message was read by the orchestrator." in terminal.seen
    assert len(research(wire.desk)) == 3
    written = [request for request in requests if role_of(request) == "finding"]
    assert sum("The topic:\nlight" in request.prompt for request in written) == 1
    assert [point_of(request) for request in written].count(SECOND_ROUND) == 1, (
        "the call in progress is not repeated"
    )


def test_research_is_finished_from_another_terminal(wire: WireDesk) -> None:
    wire.holds.points.add(FIRST_SEARCH)
    with wire.desk.started(*ASK) as process:
        wait_for(FIRST_SEARCH, wire, process)
        ended = wire.desk.call("finish", "light")
        assert (ended.code, ended.err.splitlines()[-1]) == (0, COMPLETED)
        wire.holds.release()
        out, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0
    assert "Research ended early: the report was asked for" in out
    asked = [role_of(request) for request in wire.lab.models.requests]
    assert (asked.count("orchestrator"), asked.count("writer")) == (1, 1)
    again = wire.desk.call("finish", "light")
    assert again.code == 2
    assert "No research is at work on the run" in again.err


@pytest.mark.fault(45)
def test_a_message_to_a_killed_run_is_read_once_by_its_researchers(wire: WireDesk) -> None:
    after_search = FIRST_SEARCH._replace(results=1)
    for point, command in (
        (FIRST_SEARCH, ASK),
        (after_search, ("resume", "light", "--answer", WORDS)),
    ):
        wire.holds.points.add(point)
        with wire.desk.started(*command) as process:
            wait_for(point, wire, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=SECONDS)
    ended = wire.desk.call("resume", "light")
    assert ended.code == 0, ended.err
    requests = wire.lab.models.requests
    shown = [
        request.prompt.count(WORDS) for request in requests if point_of(request).task == "keeper"
    ]
    # The first call was made before the kill; all others are made in view of the message.
    assert shown == [0, *(1 for _ in shown[1:])] and len(shown) > 3
    decisions = [
        request.prompt.count(WORDS) for request in requests if role_of(request) == "orchestrator"
    ]
    assert decisions[0] == 0 and set(decisions[1:]) == {1}
