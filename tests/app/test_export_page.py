"""The page of a report: what it shows and where, and the same verdicts in every format."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from io import BytesIO
from typing import Any

import docx
import lxml.html
import pytest
from kit.models import figure_judge
from kit.reports import (
    AUDIT,
    QUESTION,
    QUOTE,
    REPORT,
    SOURCES,
    TEXT,
    UNCHECKED,
    at,
    claim_on,
    finished,
    passage,
    standing,
    tree,
    words,
)

from deep_research import Context, Limits, SourceDocument, check_report
from deep_research.app.exports._page import report_page
from deep_research.app.exports._word import report_docx
from deep_research.app.exports.finished import audit_figures, finished_report
from deep_research.app.output import run_json
from deep_research.core.evidence.citations.labels import all_labels, labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import Report
from deep_research.core.records.research import Calculation, CalculationInput
from deep_research.core.records.sources import Source, text_hash
from deep_research.core.records.table import RowBlanks, TableColumn

TABLE = """## Debt

| Year | Debt | `Cash` |
|---|---:|---:|
| 2024 | 20.7 [1] | **3.4** [1] |
| 2025 | 21.3 [1] | 4.2 |
"""
DOCUMENTS = {
    1: SourceDocument(
        "Register",
        "# Register\n\nThe light was lit for the first time in 1844. It stands 38 metres tall.",
    ),
    2: SourceDocument(
        "Keepers", "# Keepers\n\nAda Moran kept the light for 21 years. Her wage was $95 per month."
    ),
}
FIGURES = (
    "Statements checked",
    "Supported",
    "Statements corrected",
    "Statements not verified",
    "Statements not judged",
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


@pytest.mark.fault(50)
@pytest.mark.parametrize("language", all_labels())
def test_each_language_has_its_headings(language: str) -> None:
    page, said = tree(finished(language_code=language)), labels(language)
    headings = [
        said.contradictions,
        said.gaps,
        said.notes,
        said.sources,
        said.evidence,
        said.not_read,
        said.audit,
    ]
    assert at(page, "//section/h2") == headings
    assert (page.get("lang"), page.get("dir")) == (language, "rtl" if language == "ar" else "ltr")
    assert at(page, "//h1") == [QUESTION] and at(page, "//title")[0] == QUESTION
    assert "4 March 2026" in words(page.find(".//header"))


def test_citations_sentences_and_table_say_the_verdict() -> None:
    page = tree(finished())
    buttons = page.xpath("//article//button")
    cited = [(button.text, button.get("popovertarget"), button.get("class")) for button in buttons]
    assert cited == [
        ("1", "quote-0", "cite supported"),
        ("1", "quote-1", "cite unchecked"),
        ("2", "quote-2", "cite unchecked"),
        ("3", "quote-4", "cite unsupported"),
        ("1", "quote-5", "cite supported"),
    ]
    assert (
        buttons[2].get("aria-label") == "2, not checked by a model: The keeper & her 100% {granite}"
    )
    opened = {aside.get("id"): words(aside) for aside in page.xpath("//aside[@popover]")}
    assert opened.keys() == {target for _, target, _ in cited}
    assert QUOTE in opened["quote-0"] and "no word of '38'" in opened["quote-2"]
    assert (
        "The text of this source is not stored." in opened["quote-4"]
        and "openai:judge-1" in opened["quote-4"]
    )
    assert at(page, "//article//*[@class='claim unchecked']") == [
        "It stands",
        "38 metres",
        "tall, on granite.",
    ]
    assert at(page, "//article//*[@class='claim unsupported']") == ["It was electrified in 1937."]
    assert at(page, "//article//td/*[@class='claim supported']") == ["Skerry", "38 m"]
    rows = page.xpath("//table[@class='evidence']/tbody/tr")
    assert [row.get("id") for row in rows] == [f"evidence-{number}" for number in range(6)]
    cells = [[words(cell) for cell in row] for row in rows]
    assert cells[0][:2] == ["The Skerry Light was lit in 1844.", "supported"]
    assert cells[3] == ["Some 4,000 ships passed in 1905.", "no source", ""]
    assert cells[5][0] == "Skerry · 38 m"
    # The words of the text stay as they are.
    for button in buttons:
        button.drop_tree()
    plain = re.sub(r"\[[\d, ]+\]|[*#|-]+:?", " ", TEXT)
    assert words(page.find(".//article")).split() == plain.split()


def test_the_card_of_a_citation_shows_what_the_judge_has_calculated() -> None:
    inputs = (
        CalculationInput(value=1844, origin="source", source=SOURCES[0].key, words=QUOTE),
        CalculationInput(value=2, origin="request"),
    )
    statement = "The Skerry Light was lit in 1844."
    worked = Calculation(
        name=statement, formula="1844 - 2", inputs=inputs, value=1842, result="1842"
    )
    first, *others = REPORT.verdicts
    verdicts = (first.model_copy(update={"calculations": (worked,)}), *others)
    page = tree(finished(report=REPORT.model_copy(update={"verdicts": verdicts})))
    cards = {aside.get("id"): words(aside) for aside in page.xpath("//aside[@popover]")}
    assert f"Calculations 1844 - 2 = 1842 1844 1 {QUOTE} 2 (your request)" in cards["quote-0"]
    assert [name for name, card in cards.items() if "1842" in card] == ["quote-0"]


def test_an_input_from_a_source_that_only_a_calculation_cites_leads_to_it() -> None:
    used = CalculationInput(value=38, origin="source", source=SOURCES[1].key, words="38 metres")
    doubled = Calculation(
        number=1, name="Twice", formula="2 * 38", inputs=(used,), value=76, result="76"
    )
    report = Report(
        text="Lit in 1844 [1], twice as high [calc 1].",
        sources=(SOURCES[0].key,),
        numbers=(1,),
        calculations=(doubled,),
    )
    page = tree(finished(report=report, cited=SOURCES[:2]))
    assert [words(line) for line in page.xpath("//*[@id='calc-1']//li")] == ["38 2 38 metres"]
    assert page.xpath("//*[@id='calc-1']//a/@href") == ["#source-2"]


def test_the_words_that_decided_are_marked_in_a_longer_passage() -> None:
    first, *others = REPORT.verdicts
    decided = first.model_copy(update={"words": "in use  ever since … Height: 38 metres."})
    page = tree(finished(report=REPORT.model_copy(update={"verdicts": (decided, *others)})))
    marks = "//aside[@id='quote-0']//mark"
    assert at(page, marks) == ["in use ever since"]
    assert words(page.xpath("//aside[@id='quote-0']//blockquote")[0]) == QUOTE
    # Of a passage that decided as a whole, nothing is marked.
    assert at(tree(finished()), marks) == []


def test_without_a_check_citations_lead_to_the_list_of_sources() -> None:
    page = tree(finished(report=UNCHECKED))
    links = [(link.text, link.get("href")) for link in page.xpath("//article//a")]
    assert links == [(n, f"#source-{n}") for n in ("1", "1", "2", "3", "1")]
    assert not page.xpath("//button | //aside | //*[@id='evidence' or @id='audit']")
    assert at(page, "//section/h2") == ["Contradictions", "Notes", "Sources"]


@pytest.mark.parametrize("is_on_paper", [False, True])
def test_every_link_target_exists_once(is_on_paper: bool) -> None:
    page = tree(finished(), is_on_paper=is_on_paper)
    ids = page.xpath("//@id")
    targets = {str(link)[1:] for link in page.xpath("//@href") if str(link).startswith("#")}
    targets |= {
        name
        for names in page.xpath("//@aria-labelledby | //@popovertarget")
        for name in str(names).split()
    }
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)


def test_the_page_lists_sources_contradictions_gaps_and_unread_sources() -> None:
    page = tree(finished())
    first, second, third = at(page, "//ol[@class='sources']/li")
    assert first.startswith(
        "1 Skerry Light – Register lights.example · Board of *Lights*"
        " · published 2021-05-04 · read on 2026-03-04"
    )
    assert "the keeper.md" in second and third.startswith(
        "3 Lighthouses of the coast coast.example"
    )
    assert "file:" not in second
    assert "Nearly the same text: 1, 3" in at(page, "//section[@aria-labelledby='sources']")[0]
    assert at(page, "//table[@class='contradictions']/tbody/tr/*") == [
        "Lit in 1844. 1 Skerry Light – Register, 2021-05-04",
        "Lit in 1846. 3 Lighthouses of the coast, 2019-11",
        "open",
    ]
    assert at(page, "//section[@aria-labelledby='gaps']//li") == ["Who designed it?"]
    unread = ["https://closed.example/", "the server asks for a password"]
    assert at(page, "//section[@aria-labelledby='not-read']//td") == unread


def test_the_policy_names_the_one_style_and_pictures_within_the_page_and_nothing_else() -> None:
    page = report_page(finished())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    assert tree(finished()).xpath("//meta[@http-equiv='Content-Security-Policy']/@content") == [
        allowed
    ]
    assert "style=" not in page and "<script" not in page


def test_short_evidence_lists_corrected_marked_and_unverified_statements() -> None:
    page = lxml.html.document_fromstring(report_page(finished(), "short", is_on_paper=True))
    assert not page.xpath(
        "//*[@id='evidence'] | //*[contains(@class, 'legend')]"
    ) and QUOTE not in words(page)
    assert at(page, "//section[@aria-labelledby='audit']/h3") == [
        labels("en").corrected,
        labels("en").marked,
        labels("en").left_open,
    ]
    assert at(page, "//ul[@class='remarks']/li") == [
        "It is 48 metres tall. → It stands 38 metres tall, on granite. the source says: Height: 38 metres.",
        "It was electrified in 1937. “Power Light · Electric Skerry · 1973” 3",
        "Some 4,000 ships passed in 1905.",
    ]
    assert {link.get("href") for link in page.xpath("//a[@class='cite']")} == {
        f"#source-{n}" for n in (1, 2, 3)
    }
    (figures,) = at(page, "//section[@aria-labelledby='audit']/p")
    assert figures.startswith(
        f"Statements checked: {AUDIT.checked} · Supported: {AUDIT.supported} · "
    )
    assert "Tokens" not in words(page) and "Judged by openai:judge-1" in words(page)


def test_a_document_for_word_shows_as_much_as_is_wanted() -> None:
    texts = {}
    for evidence in ("none", "short", "full"):
        document = docx.Document(BytesIO(report_docx(finished(), evidence)))
        tables = [
            cell.text for table in document.tables for row in table.rows for cell in row.cells
        ]
        texts[evidence] = "\n".join(
            [*(paragraph.text for paragraph in document.paragraphs), *tables]
        )
    assert QUOTE in texts["full"] and QUOTE not in texts["short"] + texts["none"]
    assert "Statements corrected" in texts["short"] and "Audit" not in texts["none"]
    assert all("It was electrified in 1937." in text for text in texts.values())


def test_cells_are_named_by_row_and_column_and_nothing_is_raw_markdown() -> None:
    quote = "## Accounts\n\n| Year | **Debt** |\n|:---|---:|\n| 2025 | `21.3` |\n\n- a **half sen"
    contradicted = passage(1, "unsupported", "", reasons=("the source says: **3.1** |",))
    checked = [
        claim_on("20.7 [1]", "supported", passage(1, "supported", quote), text=TABLE),
        claim_on("**3.4** [1]", "unsupported", contradicted, text=TABLE),
        claim_on("21.3 [1]", "supported", passage(1, "supported", quote), text=TABLE),
    ]
    text, claims = with_marks(TABLE, checked, labels("en"))
    page = tree(
        finished(
            report=Report(text=text, sources=REPORT.sources, numbers=REPORT.numbers, claims=claims),
            cited=SOURCES,
        )
    )
    names = at(page, "//tr[starts-with(@id, 'evidence-')]/td[1]")
    assert names == ["2024, Debt: 20.7", "2024, Cash: 3.4", "2025, Debt: 21.3"]
    assert at(page, "//tr[@id='evidence-0']//blockquote") == [
        "Accounts Year · Debt 2025 · 21.3 a half sen"
    ]
    assert "the source says: 3.1" in at(page, "//tr[@id='evidence-1']/td[3]")[0]


@pytest.mark.parametrize("language", all_labels())
@pytest.mark.parametrize("judge", ["openai:judge-1", ""])
def test_a_verdict_bears_the_name_of_the_model_that_gave_it(language: str, judge: str) -> None:
    checked = claim_on(
        "Some 4,000 ships passed in 1905.", "supported", passage(1, "supported", QUOTE, judge=judge)
    )
    page = tree(
        finished(language_code=language, report=REPORT.model_copy(update={"claims": (checked,)}))
    )
    said = labels(language)
    expected = f"{said.supported} {said.judge} {judge}" if judge else said.supported
    assert words(page.find(".//tr[@id='evidence-0']/td[2]")) == expected
    assert words(page.find(".//aside[@id='quote-0']/p[2]")) == expected


def source(key: str) -> Source:
    document = DOCUMENTS[int(key)]
    where: Any = {"location": f"file:///{key}.md", "address": f"docs:{key}.md", "kind": "document"}
    return Source(key=key, title=document.title, content_hash=text_hash(document.text), **where)


@pytest.mark.sweep(first=3)
@pytest.mark.parametrize("seed", range(10))
async def test_all_exports_give_each_part_the_same_verdict(seed: int) -> None:
    # Judged by a model for even seeds, and by rules for odd ones.
    limits = Limits(max_opinions=0 if seed % 2 else 24)
    context = Context(
        models={"verifier": figure_judge(), "writer": "extractive"}, verify="check", limits=limits
    )
    report = await check_report(
        "\n\n".join(random.Random(seed).sample(PARTS, 8)), DOCUMENTS, context
    )
    verdicts = [claim.verdict for claim in report.claims]
    assert len(set(verdicts)) > 1
    marks = [MARK in report.text[claim.start : claim.end + len(MARK)] for claim in report.claims]
    assert (
        marks
        == [claim.is_marked for claim in report.claims]
        == [verdict == "unsupported" for verdict in verdicts]
    )
    assert report.text.count(MARK) == verdicts.count("unsupported")
    audit = report.audit
    assert audit and audit.marked == report.text.count(MARK)
    parts = (audit.supported, audit.corrected, audit.marked, audit.not_verified, audit.reasoning)
    assert audit.checked == sum(parts) == len(report.verdicts)
    sources = [source(key) for key in report.sources]
    figures = audit_figures(audit, labels("en"))
    unproved = (audit.marked + audit.not_verified, 0)
    if seed % 2:
        unproved = (audit.marked, audit.not_verified)
    expected = (audit.checked, audit.supported, audit.corrected, *unproved, audit.reasoning)
    assert [figures.get(name, "0") for name in FIGURES] == [*map(str, expected)]
    claims = json.loads(run_json(standing(report, sources)))["claims"]
    assert [claim["verdict"] for claim in claims] == verdicts
    page = tree(
        finished(report=report, cited=report.cited({source.key: source for source in sources}))
    )
    assert all(plain(f"{name}: {value}") in plain(words(page)) for name, value in figures.items())
    badges = page.xpath(
        "//tr[starts-with(@id, 'evidence-')]//span[contains(@class, 'badge')]/@class"
    )
    assert badges == [
        f"badge {claim.verdict}" for claim in report.claims for _ in claim.passages or (None,)
    ]
    left = [(claim.verdict, plain(report.text[claim.start : claim.end])) for claim in report.claims]
    for shown in page.xpath("//article//span[starts-with(@class, 'claim ')]"):
        verdict = shown.get("class").removeprefix("claim ")
        assert any(
            verdict == expected and plain(words(shown)) in text for expected, text in left
        ), words(shown)
        assert set(shown.xpath(".//a[starts-with(@class, 'cite')]/@class")) <= {f"cite {verdict}"}


def plain(text: str) -> str:
    """Only letters and digits of a text, without citation markers."""
    return re.sub(r"\[\d\]|[\W_]", "", text)


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({}, QUESTION),
        ({"title": "Lit in 1844"}, "Lit in 1844"),
        ({"title": "Lit in 1844", "is_title_marked": True}, "Lit in 1844 (not verified)"),
        ({"is_title_marked": True}, f"{QUESTION} (not verified)"),
    ],
)
def test_a_page_shows_the_title_as_the_check_left_it(fields: dict[str, Any], title: str) -> None:
    found = finished_report(standing(REPORT.model_copy(update=fields)))
    assert found.title == title
    assert at(tree(found), "//h1") == [title]


def test_a_page_of_an_edited_report_does_not_show_the_words_of_the_edit() -> None:
    stored = standing(REPORT.model_copy(update={"title": "Lit in 1844"}))
    assert at(tree(finished_report(stored)), "//p[@class='question small']") == [QUESTION]
    stored.state.run = stored.state.run.model_copy(
        update={"entry": "edit", "question": "Make it shorter."}
    )
    page = tree(finished_report(stored))
    assert at(page, "//p[@class='question small']") == []
    assert "Make it shorter." not in page.text_content()


def test_an_empty_cell_of_a_researched_table_says_where_it_was_looked_for() -> None:
    text = "| Light | Lit | Height (m) |\n|---|---|---|\n| Skerry | 1844-05-02 | – |\n| Second | – | 38 |\n"
    columns = (
        TableColumn(name="Light", is_key=True),
        TableColumn(name="Lit", kind="date"),
        TableColumn(name="Height", kind="number", unit="m"),
    )
    blanks = (RowBlanks(row="Skerry", read=("register.md", "https://a.example/")),)
    report = Report(text=text, sources=(), numbers=(), columns=columns, blanks=blanks)
    page = lxml.html.fromstring(report_page(finished(report=report)))
    first, second = page.xpath("//table[contains(@class, 'researched')]/tbody/tr")
    assert [cell.get("class").split()[-1] for cell in first] == ["brief", "date", "blank"]
    assert first.get("data-looked") == "register.md; https://a.example/"
    assert [cell.get("class").split()[-1] for cell in second][:2] == ["brief", "blank"]
    assert second.get("data-looked") is None


def test_the_card_of_a_corrected_sentence_says_what_the_draft_said() -> None:
    page = tree(finished())
    said = at(page, "//aside[.//p[contains(@class, 'before')]]//del")
    assert said == ["It is 48 metres tall."] * 2
