"""Runs of the real command that are recorded over real wires, and replayed where no server is any more."""

from __future__ import annotations

import base64
import json
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from command import Desk, Ended, desk_in
from openai_server import Received, Reply, fail, say, use
from planned_lab import RULES, plan, step
from planned_wire import form_server
from search_api import Answer, closed_port, found
from server import PAUSE, SECONDS
from wire import QUESTION, hand_out, plain_run, role_of
from wire_desk import CONTACTS, HELD_SECONDS, KEYS, MODEL_KEY, Point, WireDesk, wire_desk

FILE = "run.jsonl"
NOWHERE = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAVILY_API_KEY", "TAVILY_BASE_URL", "DEEP_RESEARCH_MODELS")
"""What leads a run to its servers."""


def lines(folder: Path) -> list[dict[str, Any]]:
    """What stands in the recording."""
    return [json.loads(line) for line in (folder / FILE).read_bytes().splitlines()]


def asked(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in lines(folder) if line["kind"] == kind]


def replayed(folder: Path, *options: str) -> Ended:
    """Replay the recording in a process of its own, which knows no server and reaches for nothing."""
    contacts = folder / CONTACTS
    contacts.write_text("")
    desk = Desk(folder)
    environment = {name: value for name, value in desk.environment.items() if name not in NOWHERE}
    ended = desk.run("replay", FILE, *options, env=environment)
    assert contacts.read_text("utf-8") == ""
    assert "Traceback" not in ended.err
    return ended


@contextmanager
def recording(folder: Path, **script: Any) -> Iterator[WireDesk]:
    with wire_desk(folder, **script) as desk:
        yield desk


def in_file(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Write the recording anew, with its lines as they are changed; none leaves a line out."""
    kept = [changed for line in lines(folder) if (changed := change(line))]
    (folder / FILE).write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")


def test_a_run_on_the_web_is_replayed_to_the_byte_where_there_is_no_server(tmp_path: Path) -> None:
    with recording(tmp_path) as desk:
        ended = desk.desk.run("ask", QUESTION, "--record", FILE)
        assert ended.code == 0
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)
    assert again.err.endswith("all as recorded.\n")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert len(asked(tmp_path, "page")) == len(asked(tmp_path, "search")) == 4
    assert desk.files_with(*KEYS) == []
    assert not (tmp_path / "data").exists() or str(tmp_path) not in (tmp_path / FILE).read_text("utf-8")

    changed_prompt(tmp_path)
    answers_gone(tmp_path)


def changed_prompt(folder: Path) -> None:
    """The planner's prompt is another one than it was, and the report is not what came of it then."""
    whole = (folder / FILE).read_bytes()

    def change(line: dict[str, Any]) -> dict[str, Any]:
        if line["kind"] == "model" and line["asked"]["role"] == "planner":
            line["asked"]["messages"][0]["content"] = "You plan badly.\n" + line["asked"]["messages"][0]["content"]
        return line

    in_file(folder, change)
    ended = replayed(folder, "--diff")
    assert ended.code == 1
    assert "planner plan 0.0: not as recorded\n--- recorded\n+++ replayed\n" in ended.err
    assert "\n-You plan badly.\n" in ended.err
    assert "1 not as recorded." in ended.err.splitlines()[-1]
    assert "Skerry Light was lit" in ended.out
    (folder / FILE).write_bytes(whole)


def answers_gone(folder: Path) -> None:
    """What was never recorded is an outcome like any other."""
    in_file(folder, lambda line: None if line["kind"] in ("search", "page") or is_of(line, "verifier") else line)
    ended = replayed(folder)
    assert ended.code == 1
    assert "search: not recorded" in ended.err
    in_file(folder, lambda line: None if is_of(line, "planner") else line)
    ended = replayed(folder)
    assert ended.code == 1
    assert "Error: The planner's model was asked what is not in the recording" in ended.err


def is_of(line: Mapping[str, Any], role: str) -> bool:
    return line["kind"] == "model" and line["asked"]["role"] == role
