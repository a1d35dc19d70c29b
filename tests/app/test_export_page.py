"""The page of a report: what it shows, and where."""

from __future__ import annotations

import base64
import hashlib
import re

import lxml.html
import pytest
from exported import AUDIT, QUESTION, QUOTE, TEXT, UNCHECKED, finished, written
from shown_page import at, tree, words

from deep_research.app.exports.finished import figures_of
from deep_research.app.exports.page import report_page
from deep_research.core.evidence.citations.labels import all_labels, labels
from deep_research.core.records.report import Report


def test_the_page_has_question_date_language_and_one_heading_of_the_first_level() -> None:
    page = tree(finished(language_code="de"))
    assert (page.get("lang"), page.get("dir"), at(page, "//h1"), at(page, "//title")[0]) == (
        "de",
        "ltr",
        [QUESTION],
        QUESTION,
    )
    assert "4 March 2026" in words(page.find(".//header"))


def test_the_title_of_the_report_is_that_of_the_page_and_the_request_stands_small_below() -> None:
    page = tree(finished(title="The light of Skerry"))
    assert (at(page, "//h1"), at(page, "//title")) == (["The light of Skerry"], ["The light of Skerry"])
    assert at(page, "//header/p[contains(@class, 'small')]")[0] == QUESTION


def test_nothing_stands_between_a_word_its_citation_and_the_punctuation_behind() -> None:
    page = tree(written("It was lit in 1844 [1] . It burned [2] , and was built anew. [3] Then it shone [1]."))
    text = page.find(".//article").text_content().strip()
    assert text == "It was lit in 1844\u00a01. It burned\u00a02, and was built anew.\u00a03 Then it shone\u00a01."


@pytest.mark.parametrize(
    ("head", "expected"),
    [("Harbour", []), ("Infrastructure", ["dense"]), ("Verschuldungsgrad" * 2, ["dense", "tight"])],
)
def test_a_table_with_long_words_is_set_in_small_type_before_words_are_divided(head: str, expected: list[str]) -> None:
    page = tree(written(f"|{f' {head} |' * 6}\n|{'---|' * 6}\n" + 6 * "| 1 | 1 | 1 | 1 | 1 | 1 |\n"))
    assert [*page.find(".//article//table").classes] == expected


def test_numbers_stand_below_one_another_and_a_small_table_on_one_page() -> None:
    table = tree(written("| Light | Height (m) |\n|---|---:|\n| Skerry | 38 |\n| Tarn | – |")).find(".//article//table")
    assert [[*cell.classes] for cell in table.iter("th", "td")] == [[], ["figure"]] * 3
    assert [*table.classes] == ["together"]


@pytest.mark.fault(50)
@pytest.mark.parametrize("language", all_labels())
def test_each_language_has_its_headings(language: str) -> None:
    page, said = tree(finished(language_code=language)), labels(language)
    headings = [said.contradictions, said.gaps, said.notes, said.sources, said.evidence, said.not_read, said.audit]
    assert at(page, "//section/h2") == headings
    assert page.get("dir") == ("rtl" if language == "ar" else "ltr")


def test_the_contents_lead_to_every_heading_and_section() -> None:
    page = tree(finished())
    targets = [link.get("href")[1:] for link in page.xpath("//nav//a")]
    assert at(page, "//nav//a")[:2] == ["The Skerry Light", "Keepers"]
    assert targets == [found.get("id") for found in page.xpath("//main//*[self::h2 or self::h3]")]


def test_headings_leave_no_level_out() -> None:
    page = tree(written("### Deep\n\n# Top\n\n##### Deeper\n\n## Between"))
    levels = [found.tag for found in page.xpath("//article//*[starts-with(@id, 'section-')]")]
    assert levels == ["h2", "h2", "h3", "h3"]


def test_each_citation_leads_to_its_quote_and_says_its_verdict() -> None:
    page = tree(finished())
    cited = [(one.text, one.get("popovertarget"), one.get("class")) for one in page.xpath("//article//button")]
    assert cited == [
        ("1", "quote-0", "cite supported"),
        ("1", "quote-1", "cite unchecked"),
        ("2", "quote-2", "cite unchecked"),
        ("3", "quote-4", "cite unsupported"),
        ("1", "quote-5", "cite supported"),
    ]
    button_labels = [one.get("aria-label") for one in page.xpath("//article//button")]
    assert button_labels[2] == "2, not checked by a model: The keeper & her 100% {granite}"
    opened = {one.get("id"): words(one) for one in page.xpath("//aside[@popover]")}
    assert QUOTE in opened["quote-0"] and "no word of '38'" in opened["quote-2"]
    assert "The text of this source is not kept." in opened["quote-4"] and "openai:judge-1" in opened["quote-4"]
    assert opened.keys() == {target for _, target, _ in cited}


def test_a_sentence_is_underlined_by_its_verdict_through_its_markup() -> None:
    page = tree(finished())
    assert at(page, "//article//*[@class='claim unchecked']") == ["It stands", "38 metres", "tall, on granite."]
    assert at(page, "//article//*[@class='claim unsupported']") == ["It was electrified in 1937."]
    assert at(page, "//article//td/*[@class='claim supported']") == ["Skerry", "38 m"]


def test_the_words_of_the_text_stay_as_they_are() -> None:
    page = tree(finished())
    for one in page.xpath("//article//button"):
        one.drop_tree()
    plain = re.sub(r"\[[\d, ]+\]|[*#|-]+:?", " ", TEXT)
    assert words(page.find(".//article")).split() == plain.split()


def test_the_table_of_evidence_has_a_row_for_each_sentence_and_source() -> None:
    page = tree(finished())
    rows = page.xpath("//table[@class='evidence']/tbody/tr")
    assert [row.get("id") for row in rows] == [f"evidence-{place}" for place in range(6)]
    cells = [[words(cell) for cell in row] for row in rows]
    assert cells[0][:2] == ["The Skerry Light was lit in 1844.", "supported"]
    assert cells[3] == ["Some 4,000 ships passed in 1905.", "no source", ""]
    assert cells[5][0] == "Skerry · 38 m"


def test_without_a_check_citations_lead_to_the_list_of_sources() -> None:
    page = tree(finished(report=UNCHECKED))
    links = [(one.text, one.get("href")) for one in page.xpath("//article//a")]
    assert links == [(n, f"#source-{n}") for n in ("1", "1", "2", "3", "1")]
    assert not page.xpath("//button | //aside | //*[@id='evidence' or @id='audit']")
    assert at(page, "//section/h2") == ["Contradictions", "Notes", "Sources"]


def test_on_paper_citations_lead_to_the_table_of_evidence() -> None:
    page = tree(finished(), is_on_paper=True)
    assert [one.get("href") for one in page.xpath("//article//a")][:3] == ["#evidence-0", "#evidence-1", "#evidence-2"]
    assert not page.xpath("//button | //aside")


@pytest.mark.parametrize("is_on_paper", [False, True])
def test_every_place_that_is_led_to_is_there_once(is_on_paper: bool) -> None:
    page = tree(finished(), is_on_paper=is_on_paper)
    ids = page.xpath("//@id")
    targets = {str(link)[1:] for link in page.xpath("//@href") if str(link).startswith("#")}
    targets |= {name for names in page.xpath("//@aria-labelledby | //@popovertarget") for name in str(names).split()}
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)


def test_numbers_that_no_source_has_and_markers_in_code_stay_text() -> None:
    page = tree(written("One [7]. Two `[1]`. Three [1, 7]."))
    assert words(page.find(".//article")) == "One [7]. Two [1]. Three [1, 7]."
    assert not page.xpath("//article//a")


def test_sources_tell_where_and_when() -> None:
    first, second, third = at(tree(finished()), "//ol[@class='sources']/li")
    assert first.startswith("1 Skerry Light – Register lights.example · 2021-05-04 · read on 2026-03-04")
    assert "the keeper.md" in second and third.startswith("3 Lighthouses of the coast coast.example")
    assert "file:" not in second
    assert "Nearly the same text: 1, 3" in at(tree(finished()), "//section[@aria-labelledby='sources']")[0]


def test_what_is_contradicted_not_found_and_not_read_is_told() -> None:
    page = tree(finished())
    (row,) = page.xpath("//table[@class='contradictions']/tbody/tr")
    assert [words(cell) for cell in row] == [
        "Lit in 1844. Skerry Light – Register, 2021-05-04",
        "Lit in 1846. Lighthouses of the coast, 2019-11",
        "Skerry Light – Register",
    ]

    assert at(page, "//section[@aria-labelledby='gaps']//li") == ["Who designed it?"]
    assert at(page, "//section[@aria-labelledby='not-read']//td") == [
        "https://closed.example/",
        "the server asks for a password",
    ]


def test_the_audit_is_told_in_figures() -> None:
    figures = figures_of(AUDIT, labels("en"))
    assert (figures["Statements checked"], figures["Supported"], figures["Cost"], figures["Time at work"]) == (
        "7",
        "2",
        "$0.42",
        "1 min 15 s",
    )
    assert figures["Tokens read and written"] == "12\u202f345 / 678"
    without_model = figures_of(AUDIT.model_copy(update={"usd": 0.0, "model_calls": 0}), labels("en"))
    assert figures.keys() - without_model.keys() == {"Cost", "Model calls", "Tokens read and written"}
    (shown,) = at(tree(finished()), "//section[@aria-labelledby='audit']/p")
    assert [one.rpartition(": ")[0] for one in shown.split(" · ")] == [*figures]


@pytest.mark.parametrize(
    ("was_researched", "said"),
    [(True, "This text cites no source."), (False, "No source was consulted for this text.")],
)
def test_a_text_without_sources_says_so(was_researched: bool, said: str) -> None:
    report = Report(text="Words.", sources=())
    page = tree(finished(report=report, cited=[], contradictions=[], was_researched=was_researched))
    assert at(page, "//article") == [f"{said} Words."]


def test_the_policy_names_the_one_style_and_pictures_within_the_page_and_nothing_else() -> None:
    page = report_page(finished())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = lxml.html.document_fromstring(page).xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert (
        policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert "style=" not in page and "<script" not in page
