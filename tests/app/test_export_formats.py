"""Formats of exports, sources for reference managers, and runs as data and as `show` prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import Desk
from kit.reports import REPORT, SOURCES, standing

from deep_research.app._settings import RunName
from deep_research.app.exports._bibliography import bibtex, csl_json, reference_id
from deep_research.app.exports.finished import finished_report
from deep_research.app.exports.formats import FORMATS, ExportFormat, chosen_format
from deep_research.app.output import run_json, run_page
from deep_research.app.runs import StoredRun
from deep_research.core.errors import ExtraMissing
from deep_research.core.records import plan
from deep_research.core.records.plan import Observation
from deep_research.core.records.research import Run
from deep_research.core.records.sources import Dispute, Source
from deep_research.state import ResearchState

NAME = RunName("light", None)


def test_the_name_of_the_file_says_what_is_written(library: Desk) -> None:
    printed = library.call("export", "light").out.encode()
    written = {
        "a.html": b"<!DOCTYPE html>",
        "a.HTM": b"<!DOCTYPE html>",
        "a.docx": b"PK",
        "a.bib": b"@misc{",
    }
    written["a.csl.json"] = b'[\n  {\n    "id"'
    for name, begins in {
        **written,
        "run.json": b'{\n  "thread"',
        "report.md": printed,
        "report": printed,
    }.items():
        file = library.folder / name
        assert library.call("export", "light", "--out", str(file)) == (
            0,
            "",
            f"Report written to {file}\n",
        )
        assert file.read_bytes().startswith(begins)


@pytest.mark.parametrize("export_format", FORMATS, ids=lambda export_format: export_format.name)
def test_each_format_is_written_and_is_chosen_by_its_suffixes(export_format: ExportFormat) -> None:
    try:
        export_format.check_libraries()
    except ExtraMissing as missing:
        pytest.skip(str(missing))
    assert export_format.write(standing())
    for suffix in export_format.suffixes:
        assert (
            chosen_format(None, Path(f"The light{suffix}"))
            == chosen_format(None, Path(f"a.b{suffix.upper()}"))
            == export_format
        )


@pytest.mark.parametrize(("binary", "out"), [("docx", ()), ("pdf", ("--out", "-"))])
def test_a_file_that_cannot_be_printed_needs_a_name(
    library: Desk, binary: str, out: tuple[str, ...]
) -> None:
    ended = library.call("export", "light", "--format", binary, *out)
    assert ended == (
        2,
        "",
        f"Error: --format {binary} cannot be printed: name a file with --out FILE.{binary}\n",
    )


def test_show_describes_the_audit_in_words() -> None:
    page = run_page(standing(), NAME)
    counted = "2 of 5 cited statements supported · 1 corrected · 2 not verified · 1 contradiction"
    assert f"\nAudit\n  {counted} · 1 open\n  2 other statements without need" in page
    assert "1 citation removed that named no source" in page
    assert "2 citations of findings corrected: another source states it" in page
    read = (
        "5 sources read, 3 cited, from 2 independent organisations, 0 seen only as a search excerpt"
    )
    assert f"\n  {read}; 1 not readable\n" in page
    assert "12 model calls, 12345 tokens read, 678 written, $0.42" in page


def test_an_export_takes_notes_and_contradictions_from_the_run() -> None:
    found = finished_report(standing())
    ended, marked = found.notes
    assert (found.language_code, ended) == ("", "Research ended early: max_seconds.")
    assert marked.startswith("Statements marked as not verified: 1.")
    (dispute,) = found.contradictions
    assert (
        dispute.claims == ("Lit in 1844.", "Lit in 1846.") and dispute.newer == found.cited[0].key
    )
    assert dispute.dates == ("2021-05-04", "2019-11")
    assert found.was_researched and [source.key for source in found.cited] == list(REPORT.sources)


def step(
    id: str, title: str, status: Literal["pending", "completed", "skipped"], **fields: Any
) -> plan.PlanStep:
    own = {"depth": id.count("."), "parent": id.rpartition(".")[0], "requires_search": True}
    return plan.PlanStep(id=id, title=title, task=f"{title}?", status=status, **{**own, **fields})


def planned_run() -> StoredRun:
    """A planned run with a follow-up, a step that was skipped, gaps, and two claims that contradict
    each other."""
    lit, later = (
        plan.Learning(text=text, source=source.key, step="1", question_id="q")
        for text, source in zip(("In 1844.", "In 1845."), SOURCES, strict=False)
    )
    verdict = plan.Verdict(
        query="lit", is_complete=False, reasoning="No dates.", key_elements=("a date",)
    )
    found: Any = {"learnings": (lit.id,), "confidence": 0.725, "verdicts": (verdict,)}
    rounds = (plan.Iteration(number=1, queries=("lit",), at="2026", **found),)
    dispute = Dispute.between((lit.text, later.text), (SOURCES[0], SOURCES[1]), "advice")
    suspected = Observation.of_dispute(dispute, (lit, later), 0, "1")
    gap = plan.Observation(
        kind="gap", text="Who built it?", question_id="q", step="1", is_open=True, score=0.5
    )
    noticed = [
        suspected,
        suspected.model_copy(update={"step": plan.FINAL_CHECK}),
        gap,
        gap.model_copy(update={"text": "How tall is it?", "is_open": False}),
        gap.model_copy(
            update={"text": "What is the weather?", "question_id": "an earlier question"}
        ),
    ]
    state = ResearchState(
        run=Run(
            id="q",
            question="What?",
            date="",
            language="",
            is_resumable=True,
            version="1",
            status="completed",
        ),
        steps=[
            step("1", "The light", "completed"),
            step("1.1", "Its builder", "completed", depends_on=("1",)),
            step(
                "2", "Its \x1b[31mkeeper", "skipped", depends_on=("1",), reason="its time was over"
            ),
            step("3", "What follows", "pending", requires_search=False),
        ],
        outcomes={
            "1": plan.StepOutcome(step="1", iterations=rounds, completeness=0.5, quality=0.75)
        },
        learnings={learning.id: learning for learning in (lit, later)},
        sources={source.key: source for source in SOURCES},
        memory={observation.key: observation for observation in noticed},
    )
    return StoredRun(
        "0", "light", "planned", state, {}, is_unfinished=False, changed="", failure=""
    )


def test_a_planned_run_shows_its_steps_its_follow_ups_below_them_and_what_was_not_found() -> None:
    page = run_page(planned_run(), NAME)
    assert page.startswith("Run       0 [light]\nStrategy  planned\n")
    assert (
        "\nSteps\n"
        "  1 The light – completed, independent, 1 iteration, confidence 0.72\n"
        "    1.1 Its builder – completed, hybrid\n"
        "  2 Its [31mkeeper – skipped, hybrid\n"
        "      its time was over\n"
        "  3 What follows – pending, dependent\n"
        "\nNot found\n"
        "  - Who built it?\n" in f"{page}\n"
    )
    assert "How tall" not in page and "weather" not in page
    # Programs read the same.
    shown = json.loads(run_json(planned_run()))
    first, second, third, _ = shown["steps"]
    assert (first["id"], first["title"], first["task"]) == ("1", "The light", "The light?")
    assert (first["kind"], first["status"], first["depends_on"]) == ("independent", "completed", [])
    assert (first["completeness"], first["quality"]) == (0.5, 0.75)
    verdict = {
        "query": "lit",
        "is_complete": False,
        "reasoning": "No dates.",
        "key_elements": ["a date"],
    }
    made = {
        "number": 1,
        "queries": ["lit"],
        "learnings": 1,
        "confidence": 0.725,
        "verdicts": [verdict],
    }
    assert first["iterations"] == [made]
    assert (second["parent"], second["kind"], third["reason"]) == (
        "1",
        "hybrid",
        "its time was over",
    )
    assert (third["iterations"], third["completeness"]) == ([], None)
    assert shown["gaps"] == [{"question": "Who built it?", "relevance": 0.5, "step": "1"}]
    claims = [
        {
            "text": "In 1844.",
            "n": 1,
            "source": SOURCES[0].location,
            "date": "2021-05-04",
            "origin": "other",
        },
        {"text": "In 1845.", "n": 2, "source": SOURCES[1].location, "date": "", "origin": "own"},
    ]
    disputed = {
        "claims": claims,
        "about": "advice",
        "resolution": "open",
        "step": "1",
        "is_confirmed": True,
    }
    assert shown["contradictions"] == [disputed]


def entries(sources: list[Source]) -> list[dict[str, str]]:
    """Keys and fields of the entries as a BibTeX parser reads them."""
    bibtexparser = pytest.importorskip("bibtexparser")
    library = bibtexparser.parse_string(bibtex(sources))
    assert not library.failed_blocks
    return [
        {"key": entry.key, **{field.key: field.value for field in entry.fields}}
        for entry in library.entries
    ]


def test_each_source_is_an_entry_of_bibtex() -> None:
    register, keeper, coast = entries(list(SOURCES))
    assert register == {
        "key": reference_id(SOURCES[0]),
        "title": "{Skerry Light – Register}",
        "publisher": "Board of *Lights*",
        "year": "2021",
        "date": "2021-05-04",
        "url": "https://lights.example/skerry",
        "urldate": "2026-03-04",
    }
    assert keeper["title"] == r"{The keeper \& her 100\% \{granite\}}"
    assert (keeper["note"], "url" in keeper) == ("/docs/the keeper.md", False)
    assert (coast["year"], coast["date"]) == ("2019", "2019-11")
    assert coast["url"] == "https://www.coast.example/a?b=1&c=2#power"


def test_each_source_is_an_item_of_csl_json() -> None:
    register, keeper, coast = json.loads(csl_json(SOURCES))
    assert register == {
        "id": reference_id(SOURCES[0]),
        "type": "webpage",
        "title": "Skerry Light – Register",
        "publisher": "Board of *Lights*",
        "URL": "https://lights.example/skerry",
        "issued": {"date-parts": [[2021, 5, 4]]},
        "accessed": {"date-parts": [[2026, 3, 4]]},
    }
    assert (keeper["type"], keeper["note"]) == ("document", "/docs/the keeper.md")
    assert not {"URL", "issued"} & keeper.keys()
    assert coast["issued"] == {"date-parts": [[2019, 11]]}, "as exact as the source gives it"


@given(st.text(max_size=60))
def test_any_title_leaves_one_entry_with_balanced_braces(title: str) -> None:
    titled = [SOURCES[0].model_copy(update={"title": title})]
    text = bibtex(titled).replace("\\{", "").replace("\\}", "")
    assert text.count("{") == text.count("}")
    assert len(entries(titled)) == 1
