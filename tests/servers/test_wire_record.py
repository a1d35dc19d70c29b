"""Runs of the real command that are recorded over real wires, and replayed where no server is any more."""

from __future__ import annotations

import base64
import json
import os
import re
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
from openai_server import Received, Reply, fail, say, send, use
from planned_lab import RULES, plan, step
from planned_wire import form_server
from search_api import Answer, found, refused
from server import PAUSE, ROOT, SECONDS, WATCH
from tool_server import servers
from wire import END, QUESTION, hand_out, plain_run
from wire_desk import CONTACTS, KEYS, MODEL_KEY, Point, WireDesk, wire_desk

FILE = "run.jsonl"
NOWHERE = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAVILY_API_KEY", "TAVILY_BASE_URL", "DEEP_RESEARCH_MODELS")
"""What leads a run to its servers."""


def lines(folder: Path) -> list[dict[str, Any]]:
    """What stands in the recording."""
    return [json.loads(line) for line in (folder / FILE).read_bytes().splitlines() if line.endswith(b"}")]


def asked(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in lines(folder) if line["kind"] == kind]


def recorded(desk: Desk, *arguments: str, **environment: str) -> Ended:
    """A command of this process that is recorded."""
    return desk.call(*arguments, "--record", str(desk.folder / FILE), **environment)


def replayed(folder: Path, *options: str) -> Ended:
    """Replay the recording where no variable leads to a server."""
    own = folder / "own.sqlite"
    environment = {**dict.fromkeys(NOWHERE, ""), "DEEP_RESEARCH_DATABASE": str(own)}
    ended = Desk(folder).call("replay", str(folder / FILE), *options, **environment)
    assert not own.exists()
    return ended


def replayed_apart(folder: Path, *options: str) -> Ended:
    """Replay the recording in a process of its own, which reaches for nothing."""
    contacts = folder / CONTACTS
    contacts.write_text("")
    watched = {"PYTHONPATH": str(WATCH), "WATCH_LOG": str(contacts)}
    ended = Desk(folder).run("replay", FILE, *options, env={**Desk(folder).environment, **watched})
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
    again = replayed_apart(tmp_path)
    assert (again.code, again.out) == (0, ended.out)
    assert again.err.endswith("all as recorded.\n")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert len(asked(tmp_path, "page")) == len(asked(tmp_path, "search")) == 4
    assert desk.files_with(*KEYS) == []
    in_python(tmp_path, ended.out)
    changed_prompt(tmp_path, ended.out)
    answers_gone(tmp_path)


def in_python(folder: Path, out: str) -> None:
    """The script of the docs tells what other house rules change in what models are asked."""
    page = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    [script] = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    script = script.replace('"run.jsonl", docs=["documents"]', repr(str(folder / FILE)))
    names: dict[str, Any] = {}
    exec(script.replace("When was the Skerry Light lit?", QUESTION), names)
    assert names["answer"].markdown == out.strip()
    places = {one.place.split()[0] for one in names["settings"]["recording"].differences}
    assert places == {"planner", "writer"}


def changed_prompt(folder: Path, out: str) -> None:
    """Prompts are others than they were: each call gets the answer of the one in its place."""
    whole = (folder / FILE).read_bytes()

    def change(line: dict[str, Any]) -> dict[str, Any]:
        if is_of(line, "planner") or is_of(line, "researcher"):
            line["asked"]["messages"][0]["content"] = "You plan badly.\n" + line["asked"]["messages"][0]["content"]
        return line

    in_file(folder, change)
    changed = [line for line in lines(folder) if is_of(line, "planner") or is_of(line, "researcher")]
    ended = replayed(folder, "--diff")
    assert ended.code == 1
    assert "planner plan 0.0: not as recorded\n--- recorded\n+++ replayed\n" in ended.err
    assert "\n-You plan badly.\n" in ended.err
    assert f"{len(changed)} not as recorded." in ended.err.splitlines()[-1]
    assert ended.out == out
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
    return bool(line["kind"] == "model" and line["asked"]["role"] == role)


def test_a_run_that_asked_back_is_replayed_with_the_answer_that_it_got(tmp_path: Path) -> None:
    with recording(tmp_path, clarifier=lambda _: say("Which of the two lights?")) as desk:
        asking = recorded(desk.desk, "ask", "When was the light lit?", "--thread", "light")
        assert asking.code == 3
        assert recorded(desk.desk, "resume", "light", "--answer", "The Skerry Light").code == 0
        follow_up = ("ask", "And who kept it?", "--thread", "light", "--yes")
        ended = recorded(desk.desk, *follow_up)
        assert ended.code == 0
        other = recorded(desk.desk, "ask", QUESTION)
        assert (other.code, "this file holds something else" in other.err) == (2, True)
        assert desk.desk.call(*follow_up, "--record", str(tmp_path / "late.jsonl")).code == 0
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)
    assert [line["asks"] for line in asked(tmp_path, "end")] == ["Which of the two lights?", "", ""]
    assert "begins in the middle of a run" in Desk(tmp_path).call("replay", str(tmp_path / "late.jsonl")).err


@pytest.mark.parametrize("stop", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_run_that_was_stopped_and_resumed_is_replayed_as_one(tmp_path: Path, stop: signal.Signals) -> None:
    with recording(tmp_path) as desk:
        desk.holds.points.add(Point("finding", "keeper", 3))
        with desk.desk.started("ask", QUESTION, "--thread", "light", "--record", FILE) as process:
            while not desk.holds.held:
                assert process.poll() is None
                time.sleep(PAUSE)
            os.killpg(process.pid, stop)
            process.communicate(timeout=SECONDS)
        # What had ended is there.
        assert {line["asked"]["role"] for line in asked(tmp_path, "model")} >= {"planner", "researcher"}
        # As if it had been killed while it wrote.
        with (tmp_path / FILE).open("a", encoding="utf-8") as file:
            file.write('{"kind": "model", "pla')
        ended = recorded(desk.desk, "resume", "light")
        assert ended.code == 0
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)


def test_failures_of_a_provider_are_replayed_as_they_were(tmp_path: Path) -> None:
    busy, stalled = [fail(429, "Too many requests", retry_after=1)], ["stall"]

    def planned(request: Received) -> Reply:
        reply: Reply = busy.pop() if busy else plain_run()["planner"](request)  # type: ignore[operator]
        return reply

    def broken(request: Received) -> Reply:
        reply: Reply = plain_run()["finding"](request)  # type: ignore[operator]
        is_lost = "keeper" in str(request.messages)
        return say(reply.text, ending="reset", after=3) if is_lost else reply

    def silent(request: Received) -> Reply:
        reply: Reply = plain_run()["writer"](request)  # type: ignore[operator]
        return say(reply.text, ending=stalled.pop(), after=6) if stalled else reply

    with recording(tmp_path, planner=planned, finding=broken, writer=silent) as desk:
        desk.lab.engine.on("tides", refused(400))
        ended = recorded(desk.desk, "ask", QUESTION, "--limit", "report_idle_seconds=1")
        assert ended.code == 0, ended.err
    errors = [line["answer"]["error"] for line in asked(tmp_path, "model") if "error" in line["answer"]]
    assert {error["classes"][0] for error in errors} >= {"RateLimitError", "APIConnectionError", "AnswerSilent"}
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)
    assert "the provider asks to wait (HTTP 429)" in again.err


def test_limits_on_time_are_reached_where_they_were(tmp_path: Path) -> None:
    """A researcher whose model never answers is cut, and the time is over after the round."""
    with recording(tmp_path) as desk:
        desk.holds.points.add(Point("researcher", "keeper", 1))
        limits = ("--limit", "researcher_seconds_hard=3", "--limit", "max_seconds=2")
        ended = recorded(desk.desk, "ask", QUESTION, *limits)
        assert ended.code == 0, ended.err
    assert "researcher_seconds_hard" in ended.out and "max_seconds" in ended.out + ended.err
    assert "researching: harbour" not in ended.err
    again = replayed(tmp_path, "--diff")
    assert (again.code, again.out) == (0, ended.out), again.err


def test_a_run_that_failed_is_replayed_to_its_error_and_on_from_there(tmp_path: Path) -> None:
    answers: list[Callable[[Received], Reply]] = [
        lambda request: fail(401, f"Incorrect API key provided: {request.key}.", code="invalid_api_key"),
        lambda _: send("<html>Sign in to the hotel</html>", content_type="text/html"),
    ]

    def planned(request: Received) -> Reply:
        reply: Reply = (answers.pop(0) if answers else plain_run()["planner"])(request)  # type: ignore[operator]
        return reply

    with recording(tmp_path, planner=planned) as desk:
        assert recorded(desk.desk, "ask", QUESTION, "--thread", "light").code == 1
        again = replayed(tmp_path)
        assert (again.code, again.out) == (0, "")
        assert "Error: The planner's model 'fake-1' cannot be used: 127.0.0.1" in again.err
        ended = recorded(desk.desk, "resume", "light")
        assert ended.code == 0
        assert desk.files_with(*KEYS) == []
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)
    text = (tmp_path / FILE).read_text("utf-8")
    assert "Incorrect API key provided: HIDDEN" in text
    assert "Sign in to the hotel" in text


def test_a_full_disk_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    with recording(tmp_path) as desk:
        ended = desk.desk.call("ask", QUESTION, "--record", "/dev/full")
    assert ended.code == 0
    assert "Error: --record '/dev/full': No space left on device. The recording is not whole" in ended.err


def test_tools_of_a_server_are_replayed_without_it(tmp_path: Path) -> None:
    def asks_tools(request: Received) -> Reply:
        done = sum(message["role"] == "tool" for message in request.messages)
        name, light = [("lights_look_up", "Skerry Light"), ("lights_fail", "x"), ("", "")][done]
        return use((name, {"light": light})) if name else END

    with recording(tmp_path, orchestrator=once, researcher=asks_tools) as desk:
        environment = {**desk.desk.environment, "DEEP_RESEARCH_MCP": json.dumps(servers(tmp_path))}
        ended = desk.desk.run("ask", QUESTION, "--record", FILE, env=environment)
        assert ended.code == 0, ended.err
    assert [list(line["answer"]) for line in asked(tmp_path, "tool")] == [["found"], ["failed"]]
    again = replayed(tmp_path)
    assert (again.code, again.out) == (0, ended.out)


def once(request: Received) -> Reply:
    """An orchestrator with one task."""
    return END if any(message["role"] == "tool" for message in request.messages) else hand_out("light")


def test_a_planned_run_over_documents_is_replayed_with_the_same_folder(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    rules = {**RULES, "make_plan": plan(step("Skerry Light"), step("Ada Moran"))}
    options = ("--strategy", "planned", "--docs", str(desk.docs), "--yes")
    with form_server(rules) as (server, _):
        settings = {**server.environment, "DEEP_RESEARCH_MODELS": "openai:fake-1", "DEEP_RESEARCH_TOOL_CALLS": "native"}
        ended = recorded(desk, "ask", QUESTION, *options, **settings)
        assert ended.code == 0, ended.err
    assert str(tmp_path) not in (tmp_path / FILE).read_text("utf-8")
    again = replayed(tmp_path, "--docs", str(desk.docs))
    assert (again.code, again.out) == (0, ended.out)
    assert "give 'docs' by --docs" in replayed(tmp_path).err


def test_a_file_that_is_no_recording_is_refused_in_a_line(tmp_path: Path) -> None:
    for text in ("", "[]\n", '{"kind": "run"}\n', "# Notes\n"):
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        ended = Desk(tmp_path).call("replay", str(tmp_path / FILE))
        assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        assert "is no recording" in ended.err
    assert Desk(tmp_path).call("replay", str(tmp_path / "nothing")).code == 2


def test_no_secret_is_written_in_whatever_form_it_comes(tmp_path: Path) -> None:
    """In a header, in the address of the server and of a page, in a result, and in what a server says."""
    password = "pa55/w:rd é"
    with recording(tmp_path) as desk:
        pages = [
            found("https://user:hunter2-secret@a.example/", "Light", f"Sent: Authorization: Bearer {MODEL_KEY}"),
            found("https://b.example/?api_key=0123456789abcdef&x=1", "Keys", f"{quote(password)} and {password}"),
        ]
        desk.lab.engine.on("light", Answer(pages))
        url = desk.lab.models.url.replace("http://", f"http://me:{quote(password, safe='')}@")
        environment = {**desk.desk.environment, "OPENAI_BASE_URL": url}
        ended = desk.desk.run("ask", QUESTION, "--record", FILE, env=environment)
        assert ended.code == 0, ended.err
    text = (tmp_path / FILE).read_text("utf-8")
    basic = base64.b64encode(f"me:{password}".encode()).decode()
    for secret in (*KEYS, password, quote(password), quote(password, safe=""), basic, "hunter2", "0123456789abcdef"):
        assert secret not in text
    assert "https://HIDDEN@a.example/" in text
    assert "api_key=HIDDEN&x=1" in text
    again = replayed(tmp_path, "--diff")
    assert again.code == 0, again.err
