"""A set of finished reports is put through the check."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from deep_research_evaluation.__main__ import cli

LIGHT = "# Skerry Light\n\nThe Skerry Light was lit for the first time in 1844. It stands 38 metres tall.\n"


def test_the_reports_of_a_set_are_checked_and_written_with_their_sources(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "corpora" / "light").mkdir(parents=True)
    (tmp_path / "corpora" / "light" / "light.md").write_text(LIGHT, "utf-8")
    text = "The Skerry Light was lit for the first time in 1844. [1]\n\n## Sources\n\n- [1] Skerry Light, light.md\n"
    (tmp_path / "reports" / "light.md").write_text(text, "utf-8")
    done = CliRunner().invoke(cli, ["checks", str(tmp_path), "--out", str(tmp_path / "out")], standalone_mode=False)
    assert done.exception is None
    assert done.output == "light.md: 0 marked, 0 corrected, 0 tokens read\n"
    assert (tmp_path / "out" / "light.md").read_text("utf-8") == text
    [line] = (tmp_path / "out" / "light.verdicts.jsonl").read_text("utf-8").splitlines()
    assert (json.loads(line)["text"], json.loads(line)["shown"]) == (text.partition(" [1]")[0], "supported")
