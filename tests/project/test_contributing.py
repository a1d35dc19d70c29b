"""What CONTRIBUTING shows of new files works as it is written there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from kit.commands import COMMANDS, SECONDS
from kit.docs import ROOT
from kit.engines import Answer, serving
from kit.forked import run_forked
from kit.server import WATCH, Server

from deep_research.core.records.report import Draft
from deep_research.core.settings.context import Context
from deep_research.state import ResearchState, StateUpdate
from deep_research.tools.engine import Found

_BLOCKS = re.compile(r"^```(?:py|jinja)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEARCHES, FORMAT, RECORD, NODE, PROMPT = range(5)
"""Places of what is shown among the blocks."""
ASK = """
import asyncio, json, sys
from pathlib import Path
from kit import planned, runs as kit
from kit.models import call, calls

kit.FORMS["record_view"] = calls(call("record_view", summary="It is old."))
rules = {"record_view": lambda _: {"summary": "It is old."}}
folder = Path(sys.argv[1])
runs = [kit.lab(folder), kit.lab(folder, verify="off"), planned.planned_lab(folder, rules)]
for run in runs:
    assert asyncio.run(run.ask()).overview == "It is old."
print(json.dumps([run.packets for run in runs]))
"""
"""Asks a question by each strategy, and prints the packets."""


def block(number: int) -> str:
    """The code that is shown in this place."""
    return str(_BLOCKS.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))[number])


def module(number: int, package: str) -> dict[str, Any]:
    """The names in the code that is shown in this place, as a file of this package."""
    names = {"__package__": package, "__name__": f"{package}.shown"}
    exec(compile(block(number), "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_engine_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(
        {"results": [{"title": "A", "url": "https://a.example/", "content": "Words."}]}
    )
    with serving(lambda _: Answer(body=body)) as server:
        monkeypatch.setenv("SEARXNG_URL", server.url)
        engine = module(SEARCHES, "deep_research.tools.engines")["SearXNG"](Context())
        assert asyncio.run(engine.search("tides", 5)) == [
            Found("A", "https://a.example/", "Words.")
        ]
    assert server.requests[0].target == "/search?q=tides&format=json"


def output_of(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run a script, which has to succeed."""
    ended = run_forked(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert ended.returncode == 0
    return ended.stdout


def with_node(folder: Path) -> Path:
    """A checkout in which the node that is shown stands between the report and its check; the
    folder to import from."""
    package = folder / "deep_research"
    for name in ("nodes", "graph", "prompts"):
        shutil.copytree(ROOT / name, package / name)
    for name in ("__init__.py", "core", "tools", "app"):
        (package / name).symlink_to(ROOT / name)
    (package / "nodes" / "summarize_findings.py").write_text(block(NODE), "utf-8")
    (package / "prompts" / "summarize_findings.md").write_text(block(PROMPT), "utf-8")
    state = (ROOT / "state.py").read_text("utf-8")
    for default, own in ((" = None", ' = ""'), ("", "")):
        line = f"    report: Report | None{default}\n"
        state = state.replace(line, f"{line}    overview: str{own}\n")
    (package / "state.py").write_text(state, "utf-8")
    edge = 'graph.add_edge("write_report", "grade_report")'
    edges = (
        edge.replace("grade_report", "summarize_findings"),
        edge.replace("write_report", "summarize_findings"),
    )
    imported = "from ..nodes.verify_report import verify_report"
    for graph in (package / "graph" / "orchestrated.py", package / "graph" / "planned.py"):
        lines = ['graph.add_node("summarize_findings", summarize_findings)', *edges]
        text = graph.read_text("utf-8").replace(edge, "\n    ".join(lines))
        further = f"{imported}\nfrom ..nodes.summarize_findings import summarize_findings"
        graph.write_text(text.replace(imported, further), "utf-8")
    return folder


@pytest.mark.slow
def test_a_node_between_the_report_and_its_check_has_the_turn_between_theirs(
    tmp_path: Path,
) -> None:
    paths = os.pathsep.join([str(with_node(tmp_path / "copy")), str(ROOT / "tests")])
    asked = [sys.executable, "-c", ASK, str(tmp_path / "runs" / "lab")]
    environment = {**os.environ, "PYTHONPATH": paths}
    printed = output_of(asked, tmp_path, environment)
    checked, unchecked, planned = json.loads(printed.splitlines()[-1])
    for packets in (checked, planned):
        report = max(
            packet["placement"]["turn_index"]
            for packet in packets
            if packet["type"] == "message_start"
        )
        # Those that say how far the check is come with its own.
        begun = [packet for packet in packets if not packet.get("is_progress")]
        turns = [(packet["type"], packet["placement"]["turn_index"]) for packet in begun]
        after = [turn for kind, turn in turns if kind == "activity" and turn > report]
        assert (after, dict(turns)["stop"]) == ([report + 1, report + 2], report + 2)
    last = {packet["type"]: packet["placement"]["turn_index"] for packet in unchecked}
    assert last["stop"] == last["activity"] == last["message_start"] + 1


async def test_the_disclaimers_that_are_shown_stay_apart_from_the_text_of_the_draft() -> None:
    written = Draft(
        text="Lit in 1844. [1]",
        sources=("a",),
        numbers=(1,),
        streamed="",
        streamed_sources=(),
        removed_markers=0,
    )
    for page in ("CONTRIBUTING.md", "docs/guides/extending.md"):
        blocks = _BLOCKS.findall((ROOT / page).read_text("utf-8"))
        [shown] = [code for code in blocks if "def add_disclaimer" in code]
        names: dict[str, Any] = {"ResearchState": ResearchState, "StateUpdate": StateUpdate}
        exec(compile(f"from __future__ import annotations\n{shown}", page, "exec"), names)
        draft = (await names["add_disclaimer"](ResearchState(draft=written)))["draft"]
        assert draft.text == written.text and "no legal advice" in draft.afterword


RIS = "TY  - ELEC\nTI  - Skerry Light\nDA  - \nUR  - "


def with_format(folder: Path) -> Path:
    """A checkout in which the export format that is shown is added; the folder to import from."""
    package = folder / "deep_research"
    shutil.copytree(ROOT / "app", package / "app", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "state.py", "core", "graph", "nodes", "prompts", "tools"):
        (package / name).symlink_to(ROOT / name)
    exports = package / "app" / "exports"
    (exports / "_ris.py").write_text(block(FORMAT), "utf-8")
    records = (exports / "formats.py").read_text("utf-8")
    before, end, after = records.partition("\n)\n")
    (exports / "formats.py").write_text(
        f"{before}\n    {block(RECORD).rstrip()},{end}{after}", "utf-8"
    )
    return folder


class Served(NamedTuple):
    """A finished run of the command line, whose data folder a server has opened."""

    folder: Path
    """Contains the exports `printed.ris` and `written.ris`."""
    server: Server
    path: str
    """Path of the run on the server."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A run that was exported in the new format, and is served by a checkout with that format."""
    folder = tmp_path_factory.mktemp("served")
    copy = with_format(folder / "copy")
    paths = os.pathsep.join([str(copy), str(WATCH), str(ROOT / "tests")])
    server = Server(folder, PYTHONPATH=paths, DEEP_RESEARCH_SERVER_REQUIRE_TOKEN="true")
    environment = {**os.environ, "PYTHONPATH": paths, "DEEP_RESEARCH_DATA_DIR": str(server.data)}
    thread = str(uuid.uuid4())
    options = ("--docs", "docs", "--model", "extractive", "--thread", thread)
    ask = ("ask", "When was the Skerry Light lit?", *options, "--out", "written.ris")
    export = ("export", thread, "--format", "ris")
    commands = [sys.executable, "-c", COMMANDS, json.dumps([ask, export])]
    (folder / "printed.ris").write_text(output_of(commands, folder, environment), "utf-8")
    with server:
        yield Served(folder, server, f"/research/runs/{thread}")


@pytest.mark.slow
def test_an_export_format_is_written_by_the_command_line_and_sent_by_a_server(
    served: Served,
) -> None:
    written = (served.folder / "written.ris").read_text("utf-8")
    assert written.startswith(RIS) and written.rstrip().endswith("ER  -")
    assert (served.folder / "printed.ris").read_text("utf-8") == written
    headers = {"X-Api-Key": served.server.token}
    with httpx.Client(base_url=served.server.url, headers=headers, timeout=SECONDS) as web:
        sent = web.get(f"{served.path}/export?format=ris")
        assert (sent.status_code, f"{sent.text}\n") == (200, written)
        assert sent.headers["Content-Type"] == "application/x-research-info-systems"
        assert re.search(r'filename="report-\w+\.ris"', sent.headers["Content-Disposition"])
        assert web.get("/research/offer").json()["formats"][-1] == {"name": "ris", "label": "RIS"}
