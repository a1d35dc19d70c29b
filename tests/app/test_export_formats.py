"""Exports on the command line, and what `show` and data say of what was checked."""

from __future__ import annotations

import json

import pytest
from command import Desk
from exported import AUDIT, CLAIMS, REPORT, UNCHECKED, standing

from deep_research.app.exports.finished import finished_report
from deep_research.app.output import run_json, run_page
from deep_research.app.run_name import RunName

NAME = RunName("light", None)


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("report.html", b"<!DOCTYPE html>"),
        ("report.HTM", b"<!DOCTYPE html>"),
        ("report.docx", b"PK"),
        ("sources.bib", b"@misc{"),
        ("run.json", b'{\n  "thread"'),
        ("report.md", b""),
        ("report", b""),
    ],
)
def test_the_name_of_the_file_says_what_is_written(library: Desk, name: str, begins: bytes) -> None:
    file = library.folder / name
    ended = library.call("export", "light", "--out", str(file))
    assert (ended.code, ended.out, ended.err) == (0, "", f"Report written to {file}\n")
    assert file.read_bytes().startswith(begins)
    assert begins or file.read_text("utf-8") == library.call("export", "light").out


def test_a_format_that_is_asked_for_counts_more_than_the_name_of_the_file(library: Desk) -> None:
    file = library.folder / "sources.json"
    assert library.call("export", "light", "--format", "csl-json", "--out", str(file)).code == 0
    items = json.loads(file.read_text("utf-8"))
    assert {item["type"] for item in items} == {"document"}
    assert library.call("export", "light", "--format", "csl-json").out == file.read_text("utf-8")


@pytest.mark.parametrize("binary", ["docx", "pdf"])
@pytest.mark.parametrize("out", [(), ("--out", "-")])
def test_a_file_that_cannot_be_printed_needs_a_name(library: Desk, binary: str, out: tuple[str, ...]) -> None:
    ended = library.call("export", "light", "--format", binary, *out)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"Error: --format {binary} is not for printing: name a file with --out FILE.{binary}\n"


def test_show_tells_the_audit_in_words() -> None:
    page = run_page(standing(), NAME)
    counted = "2 supported, 1 corrected, 1 marked, 1 not verified, 2 that need no source"
    assert f"\nAudit\n  7 statements checked: {counted}\n" in page
    assert "1 citation removed that named no source" in page
    assert (
        "5 sources read, 3 cited, from 2 independent organisations, 0 seen only as a search excerpt; 1 not readable"
        in page
    )
    assert "1 contradiction, 1 gap left open" in page
    assert "12 model calls, 12345 tokens read, 678 written, $0.42" in page


def test_data_hold_the_figures_and_the_sentences_that_were_checked() -> None:
    data = json.loads(run_json(standing()))
    assert data["audit"] == AUDIT.model_dump(mode="json")
    assert [one["sentence"] for one in data["claims"]][:1] == ["The Skerry Light was lit in 1844. [1]"]
    assert [one["verdict"] for one in data["claims"]] == [one.verdict for one in CLAIMS]
    assert data["claims"][1]["passages"][1]["reasons"] == ["no word of '38'"]


def test_a_report_that_was_not_checked_says_nothing_of_it() -> None:
    assert "Audit" not in run_page(standing(UNCHECKED), NAME)
    assert not {"audit", "claims"} & json.loads(run_json(standing(UNCHECKED))).keys()
    assert "Audit" not in run_page(standing(None), NAME)


def test_an_export_takes_notes_and_contradictions_from_the_run() -> None:
    found = finished_report(standing())
    assert (found.language_code, found.notes) == (
        "",
        [
            "Research ended early: max_seconds.",
            "Statements marked as not verified: 1. No source was found to say so, or only in part.",
        ],
    )
    (pair,) = found.contradictions
    assert pair.claims == ("Lit in 1844.", "Lit in 1846.") and pair.newer == found.cited[0]
    assert found.was_researched and [source.key for source in found.cited] == list(REPORT.sources)
