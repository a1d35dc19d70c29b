"""The example client of the docs, fed with packets as any client is: it rebuilds the run from nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from command import desk_in
from lab import PLAN, QUESTION, REPORT, lab, research, search, think
from random_runs import reasoned

from deep_research.app.stream import apackets

CLIENT = Path(__file__).resolve().parents[2] / "docs" / "example_client.py"
LINK = re.compile(r"\[(\d+)\]\([^)]*\)")


def rebuilt(lines: str) -> dict[str, Any]:
    """What the client makes of these lines, in an interpreter that sees no package of ours."""
    command = [sys.executable, "-I", "-S", str(CLIENT)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True)
    run: dict[str, Any] = json.loads(done.stdout)
    return run


def test_it_has_at_most_sixty_lines_and_no_dependency() -> None:
    text = CLIENT.read_text("utf-8")
    assert len(text.splitlines()) <= 60
    imports = {line.split()[1].partition(".")[0] for line in text.splitlines() if line.startswith(("import", "from"))}
    assert imports <= sys.stdlib_module_names


def test_the_lines_of_the_command_line_hold_the_whole_run(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    asked = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", "light", "--json")
    run = rebuilt(asked.out)
    stored = json.loads(desk.call("show", "light", "--format", "json").out)
    assert LINK.sub(r"[\1]", run["report"]).strip() == stored["report"]
    assert run["sources"] == {str(source["n"]): source["location"] for source in stored["sources"]}
    assert all(step in run["plan"] for step in stored["plan"])
    assert run["stop_reason"] == stored["status"] == "completed"
    assert [agent["task"] for agent in run["researchers"]] == [entry["task"] for entry in stored["research"]]
    for agent, entry in zip(run["researchers"], stored["research"], strict=True):
        assert [step["asked"] for step in agent["steps"]] == [action["inputs"] for action in entry["actions"]]
        assert [len(step["documents"]) for step in agent["steps"]] == [len(a["found"]) for a in entry["actions"]]
        assert agent["cited"] == [source["title"] for source in entry["sources"]]
        assert len(re.findall(r"\[\d", agent["finding"])) == len(re.findall(r"\[\d", entry["finding"]))
    again = desk.call("show", "light", "--json")
    assert rebuilt(again.out) == run


async def test_thoughts_and_failures_are_rebuilt_too(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        planner=[reasoned(PLAN, "What is asked?")],
        orchestrator=[research("light task", "keeper task"), think("Enough."), REPORT],
        researcher={
            "light task": [think("Where?"), search("Skerry Light"), REPORT, reasoned("Lit. [1]", "So.")],
            "keeper task": [REPORT, ""],
        },
        writer=[reasoned("Lit in 1844. [1]", "How to put it?")],
    )
    received = apackets(run.graph, QUESTION, run.thread, context=run.context)
    seen = rebuilt("\n".join([packet.model_dump_json() async for packet in received]))
    state = await run.state()
    assert state.plan and seen["plan"] == state.plan.text
    assert seen["thoughts"] == ["What is asked?", "Enough.", "How to put it?"]
    light, keeper = seen["researchers"]
    assert light["finding"] == "Lit. [1]"
    assert [step.get("thought", "") for step in light["steps"]] == ["Where?", "", "So."]
    assert light["steps"][1] == {"asked": ["Skerry Light"], "documents": light["steps"][1]["documents"]}
    assert light["cited"] == ["Skerry Light"]
    assert (keeper["finding"], keeper["steps"], len(keeper["errors"])) == ("", [], 1)
    assert seen["stop_reason"] == "completed_with_gaps"
