"""The check of a set of finished reports."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from deep_research_evaluation.__main__ import cli
from deep_research_evaluation.edits import EACH, KINDS
from deep_research_evaluation.revisions import edit_reports, edits_table, lost_of, revise_reports

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
    first, table = done.output.split("\n\n")
    assert first == "light.md: 1 sentences, 3 added, 0 lost by that, 0 by a follow-up"
    # Without a table, sections or longer paragraphs there is little to edit.
    assert "| half as long | 1 | 0 of 0 | 0 | 0 |" in table and "add a column" not in table
    assert lost_of(["One. [1]", "Two. [2]", "Three."], "Two. [2] One. [1]") == 2
    assert lost_of(["# Light", "One. [1][2]"], "# Light\n\nOne. [1] [2]") == 0


LIGHTS = {"Skerry": (1844, 38), "Anlow": (1901, 25), "Moor": (1850, 12)}
LIGHTS |= {"Hill": (1877, 41), "Ness": (1912, 19), "Wick": (1830, 33)}


def lights_set(folder: Path) -> None:
    """Make a set of a report with a title, sections, a list, and a table of six rows."""
    documents = {
        "lit.md": "# When they were lit\n\n"
        + "".join(f"{name} was lit in {year}.\n" for name, (year, _) in LIGHTS.items()),
        "tall.md": "# How tall they are\n\n"
        + "".join(f"{name} is {height} metres tall.\n" for name, (_, height) in LIGHTS.items()),
    }
    (folder / "reports").mkdir()
    (folder / "corpora" / "lights").mkdir(parents=True)
    for name, text in documents.items():
        (folder / "corpora" / "lights" / name).write_text(text, "utf-8")
    rows = [f"| {name} | {year} [1] | {height} [2] |" for name, (year, height) in LIGHTS.items()]
    text = "\n".join(
        [
            "# Six lights\n\n## In brief\n\nSix lights stand here. The oldest is Wick.\n",
            "## When\n\nSkerry was lit in 1844. [1] Anlow followed in 1901. [1] Ness came last.\n",
            "- Moor was lit in 1850 [1].\n- Hill is 41 metres tall [2].\n",
            "## How tall\n\nSkerry is 38 metres tall, Anlow 25. [2] That is much. Moor is 12. [2]\n",
            "| Light | Lit | Metres |\n|---|---|---|",
            *rows,
            "\n## Sources\n\n- [1] When they were lit, lit.md\n- [2] How tall they are, tall.md\n",
        ]
    )
    (folder / "reports" / "lights.md").write_text(text, "utf-8")


@pytest.mark.slow
def test_twenty_edits_of_ten_kinds_lose_nothing_that_they_leave(tmp_path: Path) -> None:
    lights_set(tmp_path)
    [extended] = asyncio.run(revise_reports(tmp_path))
    assert extended[1:] == (22, 0, 3, 0)
    edited = asyncio.run(edit_reports(tmp_path))
    assert [edit.kind for edit in edited] == [kind for kind in KINDS for _ in range(EACH)]
    assert [edit for edit in edited if not edit.is_whole] == []
    assert sum(edit.untouched for edit in edited) > 100
    # A column of six cells over documents that were read.
    columns = [edit for edit in edited if edit.kind == "add a column"]
    assert [edit.calls for edit in columns] == [1, 2]
    assert all(0 < edit.tokens <= 15_000 for edit in columns)
    # Verdicts are kept: a new row is judged, blocks that move are not.
    judged = {edit.kind: edit.judged for edit in edited}
    assert (judged["add a row from new research"], judged["reorder"]) == (2, 0)
    assert edits_table(edited).count("\n") == 1 + len(KINDS)


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
