"""Packets on the command line: printed for programs, printed again, and a run exported."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from command import SECONDS, Desk, desk_in, with_notes
from lab import QUESTION
from packet_check import faults, merged

from deep_research.app.stream import read_packet
from deep_research.core.run.events.packets import AnyPacket

QUOTING = (
    "Note: No language model is at work: the report quotes the sources and draws no conclusions. To use a model, set "
    "OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or name one (--model, models).\n"
)


def packets_of(out: str) -> list[AnyPacket]:
    """The packets of an output that holds nothing else; the last one, and no other, is a stop."""
    packets = [read_packet(json.loads(line)) for line in out.splitlines()]
    assert [packet.type for packet in packets].index("stop") == len(packets) - 1
    return packets


def stop_of(out: str) -> dict[str, Any]:
    return packets_of(out)[-1].model_dump(include={"stop_reason", "message", "is_resumable"})


@pytest.mark.behaviour("O-88")
def test_packets_take_the_place_of_progress_and_report(desk: Desk) -> None:
    ended = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "light", "--json")
    assert (ended.code, ended.err) == (0, QUOTING)
    packets = packets_of(ended.out)
    assert faults(packets) == []
    assert [packet.type for packet in packets[:2]] == ["chat_heartbeat", "documents_indexed"]
    assert stop_of(ended.out) == {"stop_reason": "completed", "message": "", "is_resumable": False}
    for command in ("resume", "show"):
        again = packets_of(desk.call(command, "light", "--json").out)
        assert merged(again) == merged(packets), "the packets of a finished run are printed again"


def test_a_question_back_ends_the_packets_and_the_answer_goes_on(desk: Desk) -> None:
    asked = desk.call("ask", "Compare them?", "--docs", str(desk.docs), "--thread", "pair", "--json")
    assert asked.code == 3
    assert asked.err.endswith("\nWaiting for your answer: deep-research resume pair --answer TEXT\n")
    assert stop_of(asked.out) == {"stop_reason": "waiting_for_user", "message": "", "is_resumable": True}
    for command, code in (("resume", 3), ("show", 0)):
        waits = desk.call(command, "pair", "--json")
        assert (waits.code, merged(packets_of(waits.out))) == (code, merged(packets_of(asked.out)))
    answered = desk.call("resume", "pair", "--answer", "The Skerry Light and Port Anlow", "--json")
    assert answered.code == 0
    assert stop_of(answered.out)["stop_reason"] == "completed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "", "--docs", "docs"], "The question is empty"),
        (["show", "nobody"], "There is no run 'nobody'"),
    ],
)
def test_a_wrong_call_ends_in_a_stop_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(desk.folder)
    ended = desk.call(*arguments, "--json")
    assert ended.code == 2
    assert ended.err.startswith("Error: ") and words in ended.err
    stop = stop_of(ended.out)
    assert (stop["stop_reason"], stop["is_resumable"]) == ("failed", False)
    assert words in stop["message"]


@pytest.mark.fault(45)
def test_ctrl_c_ends_the_packets_with_its_reason(tmp_path: Path) -> None:
    desk = with_notes(desk_in(tmp_path), 150)
    with desk.started("ask", QUESTION, "--docs", "docs", "--thread", "light", "--json") as process:
        assert process.stdout and process.stderr
        first = next(line for line in process.stdout if "search_tool_start" in line)
        os.killpg(process.pid, signal.SIGINT)
        # What is read ahead of a line is lost to `communicate`.
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(SECONDS)
    assert process.returncode == 130
    assert err == f"{QUOTING}Stopped. The run is kept; go on: deep-research resume light\n"
    assert stop_of(first + out) == {"stop_reason": "user_cancelled", "message": "", "is_resumable": True}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", QUESTION, "--json", "--out", "report.md"], "deep-research export THREAD --out FILE"),
        (["ask", QUESTION, "--json", "--format", "json"], "--json prints packets alone"),
        (["ask", QUESTION, "--yes", "--review-plan"], "--yes and --review-plan exclude each other"),
        (["show", "light", "--json", "--format", "json"], "--json prints packets alone"),
    ],
)
def test_options_that_do_not_go_together_are_refused(library: Desk, arguments: list[str], words: str) -> None:
    ended = library.run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err


def test_a_run_without_a_report_says_how_far_it_is_and_how_to_go_on(library: Desk) -> None:
    assert library.call("ask", "Compare them?", "--docs", str(library.docs), "--thread", "pair").code == 3
    ended = library.call("export", "pair")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "Error: The run 'pair' has no report yet: it waits for an answer. "
        "Go on: deep-research resume pair --answer TEXT\n"
    )
    assert library.call("export", "nobody").err == "Error: There is no run 'nobody'; `deep-research runs` lists all.\n"
