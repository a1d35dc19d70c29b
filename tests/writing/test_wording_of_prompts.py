"""A model that goes by facts answers the same, whatever the prompts say."""

from __future__ import annotations

import codecs
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kit.commands import COMMANDS, Desk
from kit.forked import run_forked
from kit.runs import written

ROOT = Path(__file__).resolve().parents[2]
PARTS = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|</?[a-z_]+>)", re.DOTALL)
FILES = {
    "skerry_md": "# Skerry Light\n\nThe Skerry Light was lit in 1844. Its keeper was Ada Moran.\n",
    "keeper_md": "# Ada Moran\n\nAda Moran was born in Tralee. She kept the light until 1932.\n",
    "turm_md": "# Leuchtturm Osk\n\nDer Leuchtturm von Osk ist 43 Meter hoch. Er wurde 1911 gebaut.\n",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package that has another word for each of its prompts, but for
    values and tags."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "deep_research"
    shutil.copytree(ROOT / "prompts", package / "prompts")
    # All else is compiled already where it is.
    for name in ("__init__.py", "state.py", "core", "tools", "nodes", "graph", "app"):
        (package / name).symlink_to(ROOT / name)
    prompts = [*(package / "prompts").glob("*.md")]
    assert len(prompts) > 10
    for prompt in prompts:
        parts = enumerate(PARTS.split(prompt.read_text("utf-8")))
        turned = (part if index % 2 else codecs.encode(part, "rot13") for index, part in parts)
        prompt.write_text("".join(turned), "utf-8")
    return folder


QUESTIONS = {
    "orchestrated": "Wie hoch ist der Leuchtturm von Osk, und wer malte den Hafen von Velm? Bitte mit Quellen.",
    "planned": "Where was the keeper of the Skerry Light born? Cite your sources.",
}
WHERE = "import deep_research; print(deep_research.__file__)"
"""Prints where the package is."""


@pytest.mark.slow
def test_rewording_a_prompt_changes_no_behaviour(copy: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    written(desk.docs, FILES)
    reports, commands = list[str](), list[list[str]]()
    for strategy, question in QUESTIONS.items():
        options = ["--docs", str(desk.docs), "--strategy", strategy, "--model", "extractive"]
        command = ["ask", question, *options, "--yes", "--thread"]
        reports.append(desk.call(*command, f"own {strategy}").out)
        assert "[1]" in reports[-1]
        commands.append([*command, f"other {strategy}"])
    ended = run_forked(
        [sys.executable, "-c", f"{WHERE}\n{COMMANDS}", json.dumps(commands)],
        env={**desk.environment, "PYTHONPATH": str(copy)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert ended.returncode == 0
    where, _, printed = ended.stdout.partition("\n")
    assert where.startswith(str(copy))
    assert printed == "".join(reports)
