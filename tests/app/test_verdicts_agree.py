"""One verdict a unit: Markdown, page, data and a second audit say the same of every part of a report."""

from __future__ import annotations

import json
import random
import re

import pytest
from exported import finished, standing
from judging_model import figure_judge
from shown_page import tree, words

from deep_research import Context, Limits, SourceDocument, check_report
from deep_research.app.exports.finished import figures_of
from deep_research.app.output import run_json
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.records.report import Report
from deep_research.core.records.sources import Source
from deep_research.core.run.store.pages import text_hash

DOCUMENTS = {
    1: SourceDocument(
        "Register", "# Register\n\nThe light was lit for the first time in 1844. It stands 38 metres tall."
    ),
    2: SourceDocument("Keepers", "# Keepers\n\nAda Moran kept the light for 21 years. Her wage was $95 per month."),
}
FIGURES = (
    "Statements checked",
    "Supported",
    "Statements corrected",
    "Statements marked as not verified",
    "Statements not verified",
    "Statements that need no source",
)
MARK = " *(not verified)*"
PARTS = (
    "The light was lit for the first time in 1844. [1]",
    "It was lit as early as 1846. [1]",
    "It was lit in 1844 [1], and Ada Moran kept it for 12 years [2].",
    "Ada Moran, who kept it for 21 years [2], earned $95 [2].",
    "It stands 38 metres tall and was kept for 21 years. [1][2]",
    "Nobody knows who built it. [2]",
    "It is worth a visit of 3 hours.",
    "Some 4,000 ships passed it.",
    "- Its wage was $950 per month. [2]\n- It was lit in 1844. [1]",
    "| What | Light [1] | Keeper [2] |\n|---|---|---|\n| Year | 1844 | 1846 |\n| Height | 83 m | – |",
    "| What | How much | Source |\n|---|---|---|\n| Height | 38 metres | [1] |\n| Wage | $59 | [2] |",
    "## What it cost in 1844",
    "She was paid $95 per week. [2]",
)


async def checked(seed: int) -> Report:
    """A report of some of these parts, judged by a model where the seed is even, and by rules where it is not."""
    text = "\n\n".join(random.Random(seed).sample(PARTS, 8))
    judge = figure_judge()
    limits = Limits(max_opinions=0 if seed % 2 else 24)
    context = Context(models={"verifier": judge, "writer": "extractive"}, verify="check", limits=limits)
    return await check_report(text, DOCUMENTS, context)


def source(key: str) -> Source:
    document = DOCUMENTS[int(key)]
    return Source(
        key=key,
        title=document.title,
        location=f"file:///{key}.md",
        address=f"docs:{key}.md",
        kind="document",
        content_hash=text_hash(document.text),
    )


@pytest.mark.parametrize("seed", range(10))
async def test_every_way_out_says_the_same_of_every_part(seed: int) -> None:
    report = await checked(seed)
    verdicts = [one.verdict for one in report.claims]
    assert len(set(verdicts)) > 1
    marks = [MARK in report.text[one.start : one.end] + report.text[one.end :][: len(MARK)] for one in report.claims]
    assert marks == [one.is_marked for one in report.claims] == [verdict == "unsupported" for verdict in verdicts]
    assert report.text.count(MARK) == verdicts.count("unsupported")
    audit = report.audit
    assert audit and audit.marked == report.text.count(MARK)
    parts = (audit.supported, audit.corrected, audit.marked, audit.not_verified, audit.reasoning)
    assert audit.checked == sum(parts) == len(report.verdicts)
    sources = [source(key) for key in report.sources]
    figures = figures_of(audit, labels("en"))
    assert [figures.get(name, "0") for name in FIGURES] == [str(one) for one in (audit.checked, *parts)]
    claims = json.loads(run_json(standing(report, sources)))["claims"]
    assert [one["verdict"] for one in claims] == verdicts
    page = tree(finished(report=report, cited=report.cited({one.key: one for one in sources})))
    assert all(plain(f"{name}: {value}") in plain(words(page)) for name, value in figures.items())
    badges = page.xpath("//tr[starts-with(@id, 'evidence-')]//span[contains(@class, 'badge')]/@class")
    assert badges == [f"badge {one.verdict}" for one in report.claims for _ in one.passages or (None,)]
    left = [(one.verdict, plain(report.text[one.start : one.end])) for one in report.claims]
    for shown in page.xpath("//article//span[starts-with(@class, 'claim ')]"):
        verdict = shown.get("class").removeprefix("claim ")
        assert any(verdict == one and plain(words(shown)) in text for one, text in left), words(shown)
        assert set(shown.xpath(".//a[starts-with(@class, 'cite')]/@class")) <= {f"cite {verdict}"}


async def test_numbers_that_name_no_source_and_odd_dates_cost_nothing_of_the_check() -> None:
    text = "It opened on 05.17.2024 [1]. It was lit in 1845 [1] and closed in 1987 [3]."
    report = await check_report(text, DOCUMENTS, Context(models="extractive", verify="check"))
    assert report.audit is not None
    assert [claim.verdict for claim in report.claims] == ["unchecked", "unchecked"]


def plain(text: str) -> str:
    """Letters and digits."""
    return re.sub(r"\[\d\]|[\W_]", "", text)
