"""What the command loads before it works: a process runs several commands, lightest first."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from typing import NamedTuple, TypeAlias

import pytest
from kit.commands import Ended, desk_in
from kit.runs import QUESTION
from kit.stored_runs import queried

from deep_research.core.store.location import FILE_NAME, OVERVIEW_NOTE

_SCRIPT = """
import contextlib, io, json, sys
from deep_research.app.cli import main
commands = json.loads(sys.argv[1])
loaded = []
for command in commands:
    sys.argv = ["deep-research", *command]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            main()
        except SystemExit as end:
            code = end.code
    loaded.append([code, shown.getvalue(), sorted(sys.modules)])
print(json.dumps(loaded))
"""
_FRAMEWORKS = {"langgraph", "langchain_core", "pydantic", "rich", "sqlite3"}
"""What research runs on; slow to import."""
_FOR_RESEARCH = {
    "langchain_openai",
    "langchain_community",
    "openai",
    "aiohttp",
    "tavily",
    "ddgs",
    "lxml",
    "pypdfium2",
    "playwright",
    "langgraph_api",
    "starlette",
    "mcp",
    "matplotlib",
}
"""Clients of models and of the web, parsers, and servers: not needed to read stored runs."""


Ends: TypeAlias = list[tuple[int, str, set[str]]]
"""Exit codes, outputs and the libraries loaded by then."""


def _run(*commands: list[str]) -> Ends:
    """Run commands one after another in one process; return each one's exit code, output, and the
    libraries loaded so far."""
    script = [sys.executable, "-c", _SCRIPT, json.dumps(commands)]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    ends: Ends = []
    for code, shown, modules in json.loads(printed):
        ends.append((code, shown, {module.partition(".")[0] for module in modules}))
    return ends


_HELP = (
    ["--help"],
    ["ask", "--help"],
    ["serch", "keeper"],
    ["ask", "Who kept the light?", "--modle", "extractive"],
    ["ask", "Who kept the light?", "--verify", "maybe"],
    ["ask", "Who", "kept", "it?"],
    ["show"],
    ["show", "light", "--json", "--format", "json"],
)
_ASK = ("ask", "Who kept the light?")
_WRONG_SETTINGS = (
    [*_ASK, "--limit", "x=1"],
    [*_ASK, "--limit", "max_cycles=many"],
    [*_ASK, "--after", "soon"],
    [*_ASK, "--thread", ""],
    [*_ASK, "--out", "report.odt"],
    [*_ASK, "--json", "--window", "wide"],
    ["resume", "light", "--limit", "x=1"],
    ["check", "report.md", "--limit", "x=1"],
    ["refresh", "light", "--limit", "x=1"],
    ["doctor", "--after", "soon"],
    ["mcp", "--limit", "x=1"],
    ["serve", "--limit", "x=1"],
)


_OVERVIEWS = "SELECT 1 FROM store WHERE key = ?"


class Started(NamedTuple):
    """What groups of commands of one process printed and loaded."""

    help: Ends
    wrong_settings: Ends
    no_runs: Ends
    runs: Ends
    runs_in_full: list[Ended]
    """The same commands where no overviews are stored."""
    overviews: int
    """Number of overviews that are stored after that."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """The outcome of commands, those that may load the least first; the environment names an empty
    folder."""
    desk = desk_in(tmp_path_factory.mktemp("started"))
    given = ("--docs", str(desk.docs), "--model", "extractive")
    assert desk.call("ask", QUESTION, *given, "--thread", "finished", "--yes").code == 0
    assert desk.call("ask", QUESTION, *given, "--thread", "waiting", "--review-plan").code == 3
    folder = ["--data-dir", str(desk.data)]
    reading = [
        ["runs", *folder],
        ["show", "finished", *folder],
        ["show", "waiting", *folder],
        ["show", "finished", "--format", "json", *folder],
        ["show", "unknown", *folder],
    ]
    no_runs = [["runs"], ["show", "light"]]
    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP_RESEARCH_DATA_DIR", str(empty))
        ends = iter(_run(*_HELP, *_WRONG_SETTINGS, *no_runs, *reading))
    assert list(empty.iterdir()) == []
    # Without overviews the runs are read in full.
    queried(desk.data / FILE_NAME, "DELETE FROM store WHERE key = ?", OVERVIEW_NOTE)
    in_full = [desk.call(*command) for command in reading]
    return Started(
        help=list(islice(ends, len(_HELP))),
        wrong_settings=list(islice(ends, len(_WRONG_SETTINGS))),
        no_runs=list(islice(ends, len(no_runs))),
        runs=list(ends),
        runs_in_full=in_full,
        overviews=len(queried(desk.data / FILE_NAME, _OVERVIEWS, OVERVIEW_NOTE)),
    )


def test_help_and_wrong_usage_load_neither_langgraph_nor_pydantic(started: Started) -> None:
    ends = started.help
    assert [code for code, _, _ in ends] == [0, 0, 2, 2, 2, 2, 2, 2]
    options = ("--docs", "--attach", "--no-web", "--limit NAME=VALUE", "--thread")
    shown = " ".join(ends[1][1].split())
    assert all(option in shown for option in (*options, "arxiv, brave, crossref"))
    libraries = ends[-1][2]
    assert not libraries & (_FRAMEWORKS | _FOR_RESEARCH)


def test_wrong_settings_are_reported_without_langgraph(started: Started) -> None:
    ends = started.wrong_settings
    assert [code for code, _, _ in ends] == [2] * len(ends)
    assert all("Error: " in shown for _, shown, _ in ends)
    assert "there is no such limit" in ends[0][1]
    assert "langgraph" not in ends[-1][2]


def test_listing_no_runs_loads_no_clients_parsers_or_servers(started: Started) -> None:
    listed, unknown = started.no_runs
    assert (listed[0], unknown[0]) == (0, 2)
    assert listed[1].startswith("No runs yet")
    assert not unknown[2] & {"langgraph", *_FOR_RESEARCH}


def test_runs_are_listed_and_shown_without_langgraph(started: Started) -> None:
    ends = started.runs
    assert [code for code, _, _ in ends] == [0, 0, 0, 0, 2]
    assert not ends[-1][2] & {"langgraph", *_FOR_RESEARCH}
    listed, finished, waiting, data, unknown = [shown for _, shown, _ in ends]
    assert [line.split()[3] for line in listed.splitlines()] == ["waiting", "completed"]
    assert "Audit" in finished
    assert "Is this plan good?" in waiting
    assert json.loads(data)["status"] == "completed"
    assert unknown.startswith("Error: There is no run 'unknown'")
    # Without overviews the runs look the same, and have overviews afterwards.
    in_full = [ended.out + ended.err for ended in started.runs_in_full]
    assert in_full == [shown for _, shown, _ in ends]
    assert started.overviews == 2
