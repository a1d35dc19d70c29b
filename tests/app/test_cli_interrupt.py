"""Runs that are stopped or steered: the command ends soon, and nothing that was finished is repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import web_pages
from command import SECONDS, Desk, Terminal, desk_in, lines_until, with_notes
from lab import write_documents
from openai_server import OpenAIServer, Received, Reply, say
from planned_wire import form_server
from server import PAUSE
from wire import role_of
from wire_desk import HELD_SECONDS, Point, WireDesk, wire_desk

pytestmark = pytest.mark.slow

QUESTION = "When was the Skerry Light lit, who was its keeper, and what is known of the tides and the harbour?"
SECOND_ROUND = Point("finding", "harbour", 3)
ASK = ("ask", QUESTION, "--docs", "docs", "--thread", "light", "--limit", "whole_characters=0")
NATIVE = {"DEEP_RESEARCH_TOOL_CALLS": "native", "DEEP_RESEARCH_WINDOW": "100000"}
WORDS = "Mind the gannets."
STOPPED = "Stopped. The run is kept; go on: deep-research resume light"


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[WireDesk]:
    """Models that fall silent in the second round, each time that they are asked to."""
    with wire_desk(tmp_path) as wire:
        write_documents(wire.desk.docs)
        yield wire


def wait_for_second_round(wire: WireDesk, process: subprocess.Popen[str]) -> None:
    """Wait until the model is held; it does not answer while anybody waits for it."""
    while SECOND_ROUND in wire.holds.points:
        assert process.poll() is None, process.communicate()
        time.sleep(PAUSE)


def wait_for_end_of_all(process: subprocess.Popen[str]) -> None:
    """Wait until the processes that this one has started are gone too; the system takes a moment to see that."""
    deadline = time.monotonic() + SECONDS
    with suppress(ProcessLookupError):
        while True:
            os.killpg(process.pid, 0)
            assert time.monotonic() < deadline
            time.sleep(PAUSE)


def research(desk: Desk) -> list[dict[str, Any]]:
    """What each researcher of the first round did, and how long it took to the microsecond."""
    shown = desk.call("show", "light", "--format", "json")
    assert shown.code == 0
    return [finding for finding in json.loads(shown.out)["research"] if finding["cycle"] == 0]


@pytest.mark.fault(45)
def test_ctrl_c_and_sigterm_leave_a_run_that_goes_on_where_it_was(wire: WireDesk) -> None:
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
    assert ended.err.startswith("Run light\ngoing on with the plan:\n1. ")
    assert "[1." not in ended.err
    assert "documents indexed" not in ended.err
    assert research(wire.desk) == before, "the first round, which was over, is not researched again"
    assert " completed" in wire.desk.call("runs").out


@contextmanager
def models_of(strategy: str, folder: Path) -> Iterator[tuple[Desk, OpenAIServer]]:
    """A folder of documents, and a server whose models do what a run by this strategy needs."""
    if strategy == "orchestrated":
        with wire_desk(folder) as wire:
            write_documents(wire.desk.docs)
            yield wire.desk, wire.lab.models
    else:
        with form_server() as (server, _), pytest.MonkeyPatch.context() as patch:
            for name, value in {**server.environment, "DEEP_RESEARCH_MODELS": "openai:fake-1", **NATIVE}.items():
                patch.setenv(name, value)
            yield desk_in(folder), server


@pytest.mark.fault(45)
@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
def test_a_run_that_is_stopped_at_its_very_first_call_can_be_resumed(strategy: str, tmp_path: Path) -> None:
    with models_of(strategy, tmp_path) as (desk, server):
        usual, is_asked = server.answer, threading.Event()

        def held(request: Received) -> Reply:
            # Whatever the script says: nobody waits for it.
            if is_asked.is_set():
                return usual(request)
            is_asked.set()
            return say("", wait=HELD_SECONDS)

        server.answer = held
        with desk.started(*ASK, "--strategy", strategy) as process:
            assert is_asked.wait(SECONDS)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out, err.splitlines()[-1]) == (130, "", STOPPED)
        ended = desk.call("resume", "light")
        assert (ended.code, "## Sources" in ended.out) == (0, True), ended.err
        assert len(server.requests) > 3


@pytest.mark.fault(45)
def test_ctrl_c_does_not_wait_for_a_slow_document(tmp_path: Path) -> None:
    desk = with_notes(desk_in(tmp_path), 150)
    # It takes seconds, which is more than all the others take together.
    (desk.docs / "slow.pdf").write_bytes(web_pages.pdf_of("Deep", 1_000_000))
    with desk.started(*ASK, "--limit", "parse_seconds=60") as process:
        lines_until(process, "documents indexed: 100 of 155")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
        wait_for_end_of_all(process)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == STOPPED
    assert "Traceback" not in err
    assert "Status    stopped" in desk.call("show", "light").out


@pytest.mark.fault(45)
def test_a_stop_at_the_question_back_leaves_it_waiting(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    asked = ("ask", "Compare them?", "--docs", "docs", "--thread", "pair")
    for command, sent in ((asked, signal.SIGINT), (("resume", "pair"), signal.SIGTERM)):
        terminal = Terminal(desk, *command)
        terminal.wait_for("Your answer: ")
        os.killpg(terminal.process.pid, sent)
        assert terminal.end() == 130
        assert terminal.seen.splitlines()[-1] == STOPPED.replace("light", "pair")
        assert " waiting " in desk.call("runs").out
    assert desk.call("resume", "pair", "--answer", "The Skerry Light").code == 0


@pytest.mark.fault(45)
def test_ctrl_c_during_the_live_view_gives_the_terminal_back(wire: WireDesk) -> None:
    wire.holds.points.add(SECOND_ROUND)
    terminal = Terminal(wire.desk, *ASK)
    terminal.wait_for("● ")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.seen.splitlines()[-1].endswith("go on: deep-research resume light")
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), "the cursor is shown again"


def decisions_with_words(wire: WireDesk) -> list[bool]:
    """Of each decision of the orchestrator, whether it was made in view of the words."""
    return [WORDS in request.prompt for request in wire.lab.models.requests if role_of(request) == "orchestrator"]


def test_what_is_typed_steers_the_research_and_nothing_that_was_found_is_lost(wire: WireDesk) -> None:
    wire.holds.points.add(SECOND_ROUND)
    terminal = Terminal(wire.desk, *ASK)
    while SECOND_ROUND in wire.holds.points:
        assert terminal.process.poll() is None
        time.sleep(PAUSE)
    terminal.write(f"{WORDS}\n")
    terminal.wait_for(f"The researchers are told: {WORDS}")
    assert terminal.end() == 0
    assert "too late" not in terminal.seen
    decisions = decisions_with_words(wire)
    assert True in decisions and decisions == sorted(decisions), "from then on they are made in view of it"
    assert len(research(wire.desk)) == 3
    written = [request for request in wire.lab.models.requests if role_of(request) == "finding"]
    assert sum("The topic:\nlight" in request.prompt for request in written) == 1


def test_words_given_to_a_stopped_run_steer_it(wire: WireDesk) -> None:
    wire.holds.points.add(SECOND_ROUND)
    with wire.desk.started(*ASK) as process:
        wait_for_second_round(wire, process)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert not any(decisions_with_words(wire))
    ended = wire.desk.call("resume", "light", WORDS)
    assert (ended.code, decisions_with_words(wire)[-1]) == (0, True)
    assert wire.desk.call("resume", "light", WORDS).code == 2, "of a finished run nobody is left to steer"
