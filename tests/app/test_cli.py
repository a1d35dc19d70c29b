"""The command line as a user meets it: questions, answers, reports, packets, pipes and terminals."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from kit.commands import Desk, Ended, Terminal
from kit.packets import faults, merged
from kit.runs import DOCUMENTS, QUESTION

from deep_research.app.cli import cli
from deep_research.app.stream import read_packet
from deep_research.core.events.packets import AnyPacket
from deep_research.core.settings.limits import Limits

ESCAPES = "\x1b\x9b\x07\x08"
QUOTING = (
    "Note: No language model is used: the report quotes the sources and draws no conclusions. To use a model, set "
    "OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or name one (--model, models).\n"
)
CLIENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "example_client.py"
LINK = re.compile(r"\[(\d+)\]\([^)]*\)")


def test_standard_output_gets_only_the_report_and_standard_error_the_progress(desk: Desk) -> None:
    light = desk.call(
        "ask", QUESTION, "--docs", str(desk.docs), "--model", "extractive", "--thread", "light"
    )
    assert light.code == 0
    body, sources = light.out.split("\n## Sources\n\n")
    assert re.match(
        r"# What is known about the Skerry Light and its keeper\?\n\n\w.+\. \[1\] ", body
    )
    assert "The Skerry Light was lit for the first time in 1844. [" in body
    (number,) = re.findall(r"- \[(\d)\] Skerry Light — lighthouse\.md", sources)
    assert f"\n[{number}]: <{(desk.docs / 'lighthouse.md').as_uri()}>\n" in sources
    lines = light.err.splitlines()
    assert (
        lines[0]
        == "Note: No language model is used: the report quotes the sources and draws no conclusions."
    )
    assert lines[1] == "Run light"
    assert lines[2:4] == ["documents indexed: 4 of 4", "plan:"]
    assert "[1.1] searching: What is known about the Skerry Light and its keeper?" in lines
    assert re.search(r"^\[1\.1\] (found|read) \d sources$", light.err, re.MULTILINE)
    assert re.search(r"^\[1\.1\] done, cites \d sources$", light.err, re.MULTILINE)
    assert "writing the report" in lines[-6:-2]
    counts = "7 of 7 cited statements supported"
    assert re.fullmatch(rf"\[\d\.1\] {counts}", lines[-2])
    done = rf"Done: (\d) sources found, \d read, \d cited; {counts}; \d+ s, \d search(es)?\."
    assert re.fullmatch(done, lines[-1])


def test_a_terminal_shows_the_report_with_links_and_each_source_once(library: Desk) -> None:
    shown = library.on_terminal("resume", "light")
    link = (library.docs / "lighthouse.md").as_uri()
    assert f";{link}\x1b\\" in shown
    assert f"<{link}>" not in shown and "## Sources" not in shown
    assert shown.count("Skerry Light — lighthouse.md") == 1


def test_programs_read_a_run_as_json(library: Desk) -> None:
    shown = json.loads(library.call("show", "light", "--format", "json").out)
    assert (shown["question"], shown["status"], shown["name"], shown["asks"]) == (
        QUESTION,
        "completed",
        "light",
        "",
    )
    numbers = {source["title"]: source["n"] for source in shown["sources"]}
    assert [*numbers.values()] == [*range(1, len(numbers) + 1)]
    assert (
        f"The Skerry Light was lit for the first time in 1844. [{numbers['Skerry Light']}]"
        in shown["report"]
    )
    path = shown["sources"][numbers["Skerry Light"] - 1]["path"]
    assert Path(path).read_text("utf-8") == DOCUMENTS["lighthouse.md"]
    assert shown["plan"][0] == shown["research"][0]["task"] == QUESTION
    assert shown["research"][0]["actions"][0]["tool"] == "internal_search"
    assert shown["spending"]["searches"] > 0 == shown["spending"]["input_tokens"]
    resumed = json.loads(library.call("resume", "light", "--format", "json").out)
    assert resumed == {key: shown[key] for key in resumed}
    assert shown.keys() - resumed.keys() == {
        *(
            "strategy",
            "plan",
            "steps",
            "gaps",
            "contradictions",
            "research",
            "audit",
            "excluded",
            "calculations",
            "claims",
            "verdicts",
            "versions",
        )
    }


@pytest.mark.slow
def test_a_closed_pipe_causes_no_traceback(library: Desk) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert library.run("show", "light", stdout=writing) == Ended(0, "", "")
        answer = library.run(
            "ask", "Who is Ada Moran?", "--docs", "docs", "--thread", "hung-up", stderr=writing
        )
    finally:
        os.close(writing)
    assert answer.code == 0
    assert answer.out.startswith("# Who is Ada Moran?\n\nAda Moran kept the Skerry Light")


def test_without_a_terminal_a_clarifying_question_waits_for_resume(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    ended = desk.call(
        "ask", "Compare them?", "--docs", "docs", "--thread", "my pair", "--data-dir", "my data"
    )
    assert (ended.code, ended.out) == (3, "")
    assert "1. Which subject, person, place or document is it about?" in ended.err
    line = ended.err.splitlines()[-1]
    assert (
        line
        == "Waiting for your answer: deep-research resume 'my pair' --data-dir 'my data' --answer TEXT"
    )
    exported = desk.call("export", "my pair", "--data-dir", "my data")
    hint = line.removeprefix("Waiting for your answer: ")
    waits = f"The run 'my pair' has no report yet: it is waiting for an answer. Resume: {hint}"
    assert exported == (2, "", f"Error: {waits}\n")
    program, *arguments = shlex.split(hint)
    answered = desk.call(
        *[word.replace("TEXT", "The Skerry Light and Port Anlow") for word in arguments]
    )
    assert program == "deep-research"
    assert answered.code == 0
    assert "Port Anlow is the harbour next to the Skerry Light." in answered.out


def test_on_a_terminal_a_question_is_answered_and_a_plan_is_edited_at_the_prompt(
    desk: Desk,
) -> None:
    report = desk.folder / "report.md"
    asked = ("ask", "Compare them?", "--docs", "docs", "--model", "extractive", "--review-plan")
    # The report goes to a file, so that a stray character of the prompt would show.
    with report.open("wb") as file:
        terminal = Terminal(desk, *asked, stdout=file)
        terminal.wait_for("Your answer: ")
        terminal.write("\nThe Skerry Light and Port Anlow\n")
        terminal.wait_for("Is this plan good?")
        terminal.write("1. When was the Skerry Light lit?\n2. Where is Port Anlow?\n\n")
        assert terminal.end() == 0
    written = report.read_text("utf-8")
    assert written == written.strip() + "\n"
    assert "Port Anlow is the harbour next to the Skerry Light." in written
    assert "Which subject, person, place or document is it about?" in terminal.seen
    assert re.search(r"\d s, \d sources", terminal.seen)
    assert "The Skerry Light and Port Anlow" in terminal.seen.partition("Your answer: ")[2]
    after = terminal.seen.partition("Is this plan good?")[2]
    assert "Is this plan good?" not in after
    assert re.search(
        r"Done: \d sources found, \d read, \d cited; \d+ of \d+ cited statements? ", after
    )
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), (
        "the cursor is shown again"
    )
    ident = re.search(r"Run ([0-9a-f]{6})\n", terminal.seen)
    assert ident and "--yes" in desk.call("delete", ident[1]).err
    plan = json.loads(desk.call("show", ident[1], "--format", "json").out)["plan"]
    assert plan == ["When was the Skerry Light lit?", "Where is Port Anlow?"]
    assert [
        desk.call(*words).code for words in (("show", ident[1]), ("delete", ident[1], "--yes"))
    ] == [0, 0]
    assert desk.call("show", ident[1]).code == 2


@pytest.mark.fault(51, "R17")
def test_control_characters_never_reach_the_terminal(desk: Desk) -> None:
    # A lone surrogate stands for an argument that is no valid UTF-8.
    evil = f"Skerry\x1b[31m \x9b2J\x07Light{ESCAPES}"
    (desk.docs / "evil.md").write_text(
        f"# Evil {evil}\n\nThe Skerry Light was painted {evil} in 1850.\n", "utf-8"
    )
    ended = desk.call(
        "ask",
        f"When was the Skerry Light painted?{ESCAPES}\udcff",
        "--docs",
        str(desk.docs),
        "--thread",
        evil,
    )
    shown = [
        *ended[1:],
        *desk.call("show", evil)[1:],
        *desk.call("runs")[1:],
        *desk.call("show", f"no{evil}")[1:],
    ]
    shown += desk.call("show", evil, "--format", "json")[1:]
    assert "1850" in ended.out
    assert not [text for text in shown if set(text) & set(ESCAPES)]


def test_the_demo_needs_no_key_and_its_citations_can_be_opened(desk: Desk) -> None:
    ended = desk.call("demo", "--format", "json")
    assert ended.code == 0
    answer = json.loads(ended.out)
    words = re.sub(r"\[\d\]|[|-]", " ", answer["report"]).split()
    first = " ".join(words[:150])
    assert all(
        part in first for part in ("1 February 1811", "the sea had worn away the rock", "54 metres")
    )
    assert all(Path(source["path"]).is_file() for source in answer["sources"])
    assert desk.call("runs").out.startswith(answer["thread"][:6])


def test_every_limit_is_listed_with_its_current_value(desk: Desk) -> None:
    ended = desk.call("limits", DEEP_RESEARCH_MAX_CYCLES="3")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == list(Limits.model_fields)
    assert lines[0].split()[:3] == ["max_cycles", "3", "Orchestrator"]
    assert any(line.split()[:2] == ["max_usd", "-"] for line in lines)
    assert not desk.data.exists()


def packets_of(out: str) -> list[AnyPacket]:
    """Packets of an output that contains nothing else."""
    return [read_packet(json.loads(line)) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["ask", QUESTION, "--json", "--out", "report.md"],
            "deep-research export THREAD --out FILE",
        ),
        (["ask", QUESTION, "--json", "--format", "json"], "drop --format"),
        (["ask", QUESTION, "--yes", "--review-plan"], "--yes and --review-plan exclude each other"),
        (["show", "light", "--json", "--format", "json"], "drop --format"),
        (["show", "light", "--diff", "1", "2", "--json"], "use only one of them"),
        (["show", "light", "--version", "1", "--answer", "1"], "use only one of them"),
        (["export", "light", "--version", "1", "--answer", "1"], "use only one of them"),
    ],
)
def test_options_that_exclude_each_other_are_refused(arguments: list[str], words: str) -> None:
    ended = CliRunner().invoke(cli, arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.stderr


def rebuilt(lines: str) -> dict[str, Any]:
    """Output of the client for these lines, run by an interpreter without our packages."""
    command = [sys.executable, "-I", "-S", str(CLIENT)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    run: dict[str, Any] = json.loads(done.stdout)
    return run


def test_the_example_client_of_the_docs_has_at_most_sixty_lines_and_no_dependency() -> None:
    lines = CLIENT.read_text("utf-8").splitlines()
    imports = {
        line.split()[1].partition(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert len(lines) <= 60 and imports <= sys.stdlib_module_names


@pytest.mark.behaviour("O-88")
def test_json_prints_packets_that_contain_the_whole_run_instead_of_progress_and_report(
    desk: Desk,
) -> None:
    asked = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "light", "--json")
    assert (asked.code, asked.err) == (0, QUOTING)
    # Only the terminal advises how to choose a model; others may read the report.
    exported = desk.call("export", "light", "--format", "html").out
    assert "OPENAI_API_KEY" not in asked.out + exported
    assert "draws no conclusions of its own" in exported
    packets = packets_of(asked.out)
    assert faults(packets) == []
    assert [packet.type for packet in packets[:2]] == ["chat_heartbeat", "documents_indexed"]
    stop = packets[-1].model_dump(include={"stop_reason", "message", "is_resumable"})
    assert stop == {"stop_reason": "completed", "message": "", "is_resumable": False}
    run, stored = rebuilt(asked.out), json.loads(desk.call("show", "light", "--format", "json").out)
    for command in ("resume", "show"):
        again = desk.call(command, "light", "--json").out
        assert merged(packets_of(again)) == merged(packets), (
            "the packets of a finished run are printed again"
        )
        assert rebuilt(again) == run
    assert LINK.sub(r"[\1]", run["report"]).strip() == stored["report"]
    assert run["sources"] == {str(source["n"]): source["location"] for source in stored["sources"]}
    assert all(step in run["plan"] for step in stored["plan"])
    assert run["stop_reason"] == stored["status"] == "completed"
    assert [agent["task"] for agent in run["researchers"]] == [
        entry["task"] for entry in stored["research"]
    ]
    for agent, entry in zip(run["researchers"], stored["research"], strict=True):
        assert [step["asked"] for step in agent["steps"]] == [
            action["inputs"] for action in entry["actions"]
        ]
        assert [len(step["documents"]) for step in agent["steps"]] == [
            len(a["found"]) for a in entry["actions"]
        ]
        assert agent["cited"] == [source["title"] for source in entry["sources"]]
        assert len(re.findall(r"\[\d", agent["finding"])) == len(
            re.findall(r"\[\d", entry["finding"])
        )
