"""The check of a set of finished reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from deep_research_evaluation.__main__ import cli
from deep_research_evaluation.revisions import lost_of

LIGHT = "# Skerry Light\n\nThe Skerry Light was lit for the first time in 1844. It stands 38 metres tall.\n"


def small_set(folder: Path) -> str:
    """Make a set of one report; return that."""
    (folder / "reports").mkdir()
    (folder / "corpora" / "light").mkdir(parents=True)
    (folder / "corpora" / "light" / "light.md").write_text(LIGHT, "utf-8")
    text = "The Skerry Light was lit for the first time in 1844. [1]\n\n## Sources\n\n- [1] Skerry Light, light.md\n"
    (folder / "reports" / "light.md").write_text(text, "utf-8")
    return text


def test_content_that_additions_and_follow_ups_lose_is_counted(tmp_path: Path) -> None:
    small_set(tmp_path)
    done = CliRunner().invoke(cli, ["revisions", str(tmp_path)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    assert done.output == "light.md: 1 sentences, 3 added, 0 lost by that, 0 by a follow-up\n"
    assert lost_of(["One. [1]", "Two. [2]", "Three."], "Two. [2] One. [1]") == 2
    assert lost_of(["# Light", "One. [1][2]"], "# Light\n\nOne. [1] [2]") == 0


def test_a_report_without_a_list_of_sources_is_refused_with_the_form_of_one(tmp_path: Path) -> None:
    small_set(tmp_path)
    (tmp_path / "reports" / "light.md").write_text("It was lit in 1844. [1]\n", "utf-8")
    for command in ("checks", "revisions"):
        done = CliRunner().invoke(
            cli,
            [command, str(tmp_path), *(["--out", str(tmp_path)] if command == "checks" else [])],
        )
        assert (done.exit_code, done.output.count("- [1] Title, file.md")) == (2, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"report": "light.md"}', "line 2: request: Field required"),
        ('{"report": "light.md", "request": "", "date": "March"}', "line 2: date: "),
    ],
)
def test_an_invalid_request_is_refused_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    small_set(tmp_path)
    first = '{"report": "light.md", "request": "When was it lit?"}'
    (tmp_path / "requests.jsonl").write_text(f"{first}\n{line}\n", "utf-8")
    done = CliRunner().invoke(cli, ["checks", str(tmp_path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and words in done.output


def test_the_reports_of_a_set_are_checked_and_written_with_their_sources(tmp_path: Path) -> None:
    text = small_set(tmp_path)
    done = CliRunner().invoke(
        cli, ["checks", str(tmp_path), "--out", str(tmp_path / "out")], standalone_mode=False
    )
    assert done.exception is None
    assert done.output == "light.md: 0 marked, 0 corrected, 0 tokens read\n"
    assert (tmp_path / "out" / "light.md").read_text("utf-8") == text
    [line] = (tmp_path / "out" / "light.verdicts.jsonl").read_text("utf-8").splitlines()
    assert (json.loads(line)["text"], json.loads(line)["shown"]) == (
        text.partition(" [1]")[0],
        "supported",
    )


def test_resolved_citations_are_counted_and_others_are_listed(tmp_path: Path) -> None:
    text = "Lit in 1844 [1][1]. Red [1, 2]. Old [7].\n\n## Sources\n\n1. light.md\n2. A book\n"
    lines = json.dumps({"id": "a", "report": text})
    (tmp_path / "reports.jsonl").write_text(f"{lines}\n", "utf-8")
    (tmp_path / "b.md").write_text("Lit [here](https://light.example).\n", "utf-8")
    done = CliRunner().invoke(cli, ["markers", str(tmp_path), "--per-report"])
    assert done.output.splitlines() == [
        "b.md: 1 resolved, 0 without address, not understood: nothing",
        "a.md: 2 resolved, 1 without address, not understood: [7]",
        "2 reports: 3 citations resolved, 1 without address, 1 not understood",
    ]
