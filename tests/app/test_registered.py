"""Entry points of installed packages: an engine, a tool, two parsers and an export format."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kit.docs import ROOT
from kit.forked import run_forked

pytestmark = pytest.mark.slow

PLUGIN = """
from deep_research.tools.engine import Found

class Shelf:
    name, title, parallel, gap = "shelf", "Shelf", 1, 0.0

    def __init__(self, context):
        pass

    async def search(self, query, count):
        return [Found("Log", "https://log.example/1", "The Skerry Light was repainted in 1901.")]

def keepers(light: str) -> str:
    "Return who kept a light."
    return "Ada Moran kept it."

def parse_runes(data):
    return "The Skerry Light was lit in " + data.decode() + "."

def parse_ogham(data):
    raise LookupError(data.decode())
"""
POINTS = """
[deep_research.engines]
shelf = runes:Shelf
[deep_research.tools]
keepers = runes:keepers
[deep_research.parsers]
runes = runes:parse_runes
ogham = runes:parse_ogham
[deep_research.exporters]
wiki = wiki:write_wiki
"""
OFFER = """
from deep_research import Context
from deep_research.app.exports.formats import export_formats
from deep_research.tools.offer import ToolOffer
from deep_research.tools.run_engines import SearchEngines
context = Context(engines=("shelf",), tools=("keepers",))
print([engine.title for engine in SearchEngines(context).chosen()], list(ToolOffer(context).schemas()))
*_, last = export_formats().values()
print(last.name, last.label, last.suffixes, last.media_type)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which a package with entry points is installed."""
    about = tmp_path / "site" / "runes-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: runes\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    (tmp_path / "site" / "runes.py").write_text(PLUGIN, encoding="utf-8")
    guide = (ROOT / "docs/guides/extending.md").read_text("utf-8")
    scripts = re.findall(r"^```py\n(.*?)^```$", guide, re.M | re.S)
    [exporter] = [script for script in scripts if "write_wiki" in script]
    (tmp_path / "site" / "wiki.py").write_text(exporter, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "light.runes").write_bytes(b"1844")
    (tmp_path / "docs" / "broken.ogham").write_bytes(b"Zanzibarella")
    return {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "DEEP_RESEARCH_DATA_DIR": str(tmp_path / "data"),
    }


def ended(environment: dict[str, str], *arguments: str) -> str:
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    result = run_forked(arguments, env=environment, text=True, **streams)
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_registered_engines_tools_and_formats_are_named_and_offered_like_ours(
    environment: dict[str, str],
) -> None:
    assert ended(environment, sys.executable, "-c", OFFER).splitlines() == [
        "['Shelf'] ['web_search', 'open_url', 'keepers']",
        "wiki wiki ('.wiki',) application/octet-stream",
    ]


def test_registered_parsers_and_exporters_are_used_and_failures_are_logged_without_file_contents(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command, log, out = (
        str(Path(sys.executable).with_name("deep-research")),
        tmp_path / "run.log",
        tmp_path / "a.wiki",
    )
    options = (
        "--no-web",
        "--yes",
        "--model",
        "extractive",
        "--docs",
        str(tmp_path / "docs"),
        "--out",
        str(out),
        "--thread",
        "light",
    )
    patient = ("--limit", "parse_seconds=300")
    shown = ended(
        environment,
        command,
        "--log",
        str(log),
        "ask",
        "When was the Skerry Light lit?",
        *options,
        *patient,
    )
    written, said = out.read_text("utf-8"), log.read_text("utf-8")
    assert written.startswith("= When was the Skerry Light lit? =\n")
    assert ended(environment, command, "export", "light", "--format", "wiki") == written
    assert re.search(r"lit in 1844\. \[1\]\n.*== Sources ==\n\* \[1\] light", written, re.DOTALL)
    failure = "WARNING deep_research.core.reading.documents.pool: 'broken.ogham' gave no text"
    assert f"{failure}: it cannot be parsed (LookupError)\n  File " in said
    assert re.search(r'runes\.py", line \d+, in parse_ogham', said)
    assert "Zanzibarella" not in said and "Traceback" not in shown
    assert " INFO deep_research.nodes.orchestrate: " in said
