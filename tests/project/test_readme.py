"""The scripts of the README, run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from lab import write_documents

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SEARCHES = [script for script in SCRIPTS if "Library(" in script]
EMBEDDED = [script for script in SCRIPTS if "langgraph_sdk" not in script and script not in SEARCHES]
CELL = """
async def cell():
{body}
asyncio.run(cell())
"""


def run_script(script: str, folder: Path) -> str:
    write_documents(folder / "documents")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.fault("R31")
def test_the_page_on_security_says_what_is_defended_what_is_not_and_where_to_report() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    parts = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    assert list(parts) == ["Reporting", "What is defended", "What is not"]
    assert "in private" in parts["Reporting"]


def test_the_readme_shows_all_ways_of_embedding() -> None:
    assert len(EMBEDDED) == 4
    assert any("graph.stream(" in script for script in EMBEDDED)
    assert any("graph.astream(" in script for script in EMBEDDED)
    assert any("deep_research_tool(" in script for script in EMBEDDED)


def test_the_readme_shows_how_documents_are_searched_without_a_question(tmp_path: Path) -> None:
    (script,) = SEARCHES
    assert run_script(script, tmp_path).startswith("Skerry Light")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the scripts print, each as it stands there, one after the other in one process."""
    runs = [f"exec({script!r}, {{'__name__': '__main__'}})" for script in EMBEDDED]
    return run_script("\nprint('next script')\n".join(runs), tmp_path_factory.mktemp("readme")).split("next script\n")


@pytest.mark.parametrize("number", range(len(EMBEDDED)))
def test_a_script_of_the_readme_runs_verbatim_and_prints_a_cited_report(number: int, printed: list[str]) -> None:
    assert len(printed) == len(EMBEDDED)
    assert "Skerry Light" in printed[number]
    assert " [1]" in printed[number]


@pytest.mark.slow
def test_each_script_of_the_readme_runs_inside_a_running_loop(tmp_path: Path) -> None:
    bodies = [indent(script.replace("asyncio.run(main())", "await main()"), "    ") for script in EMBEDDED]
    cells = "print('next cell')".join(CELL.format(body=body) for body in bodies)
    printed = run_script(f"import asyncio\n{cells}", tmp_path).split("next cell\n")
    assert len(printed) == len(EMBEDDED)
    assert all(" [1]" in one for one in printed)


@pytest.mark.slow
def test_the_excerpt_is_a_real_one(tmp_path: Path) -> None:
    from deep_research import research
    from deep_research.app.commands import QUESTION, write_documents

    folder = tmp_path / "reference"
    folder.mkdir()
    write_documents(folder)
    report = research(QUESTION, docs=[folder], models="extractive", data_dir=tmp_path / "data").report.text
    excerpt = "\n".join(line.removeprefix(">").strip() for line in README.splitlines() if line.startswith(">"))
    if sys.version_info[:2] == (3, 11):
        assert excerpt.split() == report.split()[: len(excerpt.split())]
    assert len(re.findall(r"\[\d\]", excerpt)) >= 3


async def test_a_report_is_the_same_when_the_question_is_asked_again(tmp_path: Path) -> None:
    from deep_research import Context, build_graph

    write_documents(tmp_path / "documents")
    texts = set()
    for number in range(3):
        context = Context(docs=(tmp_path / "documents",), models="extractive", data_dir=tmp_path / str(number % 2))
        question = {"messages": [("user", "Who kept the Skerry Light, and how high is the tide at Port Anlow?")]}
        texts.add((await build_graph().ainvoke(question, context=context))["messages"][-1].text)
    assert len(texts) == 1
