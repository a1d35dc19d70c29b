"""The report as a document: parts, labels in each language, links to quoted words, lines that claim
nothing."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import Desk
from kit.reports import SOURCES, source_at
from langchain_core.messages import HumanMessage

from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.labels import all_labels, is_right_to_left, labels
from deep_research.core.evidence.citations.markers import settle_fences
from deep_research.core.evidence.citations.rendering import (
    LONGEST_LINK_QUOTE,
    is_refusal,
    link_to,
    read_body,
    warning_above,
    write_document,
)
from deep_research.core.evidence.text.sentences import cited_sentences
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.request import Facts
from deep_research.core.records.report import Report
from deep_research.core.records.sources import Dispute
from deep_research.core.writing.language import Language

ENGLISH = labels("en")
SOURCE = source_at("file:///a.md", address="docs:a.md", kind="document", content_hash="c", number=1)


def test_a_report_has_its_text_then_its_sources_then_its_notes_without_markup() -> None:
    report = Report(text="Lit in 1844. [1]", sources=("k",), numbers=(1,))
    notes = ["One\nnote.", "Not read: ![x](http://e.io/p).pdf <b> max_cycles"]
    assert write_document(report, [SOURCE], notes, ENGLISH, was_researched=True) == (
        "Lit in 1844. [1]\n\n## Sources\n\n- [1] A light — a.md, your document\n\n[1]: <file:///a.md>\n\n"
        "## Notes\n\n- One note.\n- Not read: !\\[x\\](http\\://e.io/p).pdf \\<b\\> max_cycles"
    )


def test_a_report_without_citations_says_so_first() -> None:
    report = Report(text="Words.", sources=(), numbers=())
    researched, other = (
        write_document(report, [], [], ENGLISH, was_researched=found) for found in (True, False)
    )
    assert researched == "*This text cites no source.*\n\nWords."
    assert other == "*No source was consulted for this text.*\n\nWords."


@pytest.mark.parametrize(
    ("text", "cited", "first"),
    [
        ("One. [1] Two. Three [2].", "One. [1] Three [2].", "One. [1]"),
        ("Zero. One [1]. Two [1, 3]!", "One [1]. Two [1, 3]!", "One [1]."),
        ("Is it? [2] Yes.", "Is it? [2]", "Is it? [2]"),
        ("Nothing cited. At all.", "", ""),
        (
            "Open.\n[1] Lit in 1844. [2] Tall.",
            "[1] Lit in 1844. [2] Tall.",
            "[1] Lit in 1844. [2] Tall.",
        ),
    ],
)
def test_a_finding_shrinks_to_its_cited_sentences(text: str, cited: str, first: str) -> None:
    assert cited_sentences(text, 1.0) == cited
    assert cited_sentences(text, 0.0) == first


def test_contradictions_follow_the_answer_and_are_not_read_back() -> None:
    written = Report(text="Lit in 1844. [1]\n\n## More\n\nTall. [1]", sources=("k",), numbers=(1,))
    other = WEB.model_copy(update={"number": 2})
    dispute = Dispute(claims=("Lit in 1844.", "Lit in 1846."), sources=(SOURCE.key, other.key))
    document = write_document(
        written,
        [SOURCE],
        ["note"],
        ENGLISH,
        was_researched=True,
        disputes=[dispute],
        sources={SOURCE.key: SOURCE, other.key: other},
    )
    _, heading, below = document.partition(f"Tall. [1]\n\n## {ENGLISH.contradictions}\n\n|")
    assert heading and "\n| Lit in 1844. [1] | Lit in 1846. (" in below.partition("## Sources")[0]
    assert read_body(document) == "Lit in 1844. [1]\n\n## More\n\nTall. [1]"


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("a\n```py\n[1]", "a\npy\n[1]"),
        ("```\nx\n```\n~~~\n[1]", "```\nx\n```\n\n[1]"),
        ("```\nx\n```", "```\nx\n```"),
    ],
)
def test_an_unclosed_fence_counts_as_text(text: str, settled: str) -> None:
    assert settle_fences(text) == settled


@pytest.mark.parametrize("code", all_labels())
def test_labels_are_complete_translated_and_without_stray_spaces_and_verdicts_are_distinct(
    code: str,
) -> None:
    own, english = vars(labels(code)), vars(ENGLISH)
    assert own.keys() == english.keys()
    assert [name for name, words in own.items() if words != words.strip() or not words] == []
    assert (
        len({own[verdict] for verdict in ("supported", "unchecked", "unsupported", "uncited")}) == 4
    )
    assert (
        code in ("en", "fr")
        or [name for name, words in own.items() if words == english[name]] == []
    )


def test_region_and_script_are_ignored_and_english_is_the_default() -> None:
    assert [labels(code).sources for code in ("de", "de-AT", "ZH_hans")] == [
        "Quellen",
        "Quellen",
        "来源",
    ]
    assert [labels(code).sources for code in ("", "xx", "deu")] == ["Sources"] * 3


@pytest.mark.fault(50)
def test_arabic_persian_and_hebrew_run_from_right_to_left() -> None:
    assert [code for code in ("ar", "fa", "he-IL", "en", "ja", "") if is_right_to_left(code)] == [
        "ar",
        "fa",
        "he-IL",
    ]


WEB, DOCUMENT, ANCHORED = SOURCES


def directive(quote: str) -> str:
    """The text directive in the link to a quote."""
    return link_to(WEB, quote).partition("#:~:text=")[2]


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("Lit in 1844.", "Lit%20in%201844."),
        ("well-kept, & dry", "well%2Dkept%2C%20%26%20dry"),
        ("## A heading", "A%20heading"),
        ("a | much longer cell | b", "much%20longer%20cell"),
        ("one " * 15 + "two " * 15, "one%20one%20one%20one%20one,two%20two%20two%20two%20two"),
        ("灯塔" * 40, ",".join(2 * [6 * "%E7%81%AF%E5%A1%94"])),
    ],
)
def test_a_quote_is_encoded_by_its_words(quote: str, expected: str) -> None:
    assert directive(quote) == expected


def test_a_link_leads_to_the_page_or_to_its_anchor_and_quote() -> None:
    assert link_to(WEB) == "https://lights.example/skerry"
    assert link_to(ANCHORED, "Power.") == "https://www.coast.example/a?b=1&c=2#power:~:text=Power."


def test_a_document_is_opened_at_the_page_if_that_is_known() -> None:
    assert link_to(DOCUMENT, "Granite.") == "file:///docs/the%20keeper.md"
    assert link_to(DOCUMENT, "Granite.", 7) == "file:///docs/the%20keeper.md#page=7"
    pdf, paper = (
        WEB.model_copy(update={"location": f"https://lights.example/{path}"})
        for path in ("a.PDF?x=1", "b?x=1#top")
    )
    assert link_to(pdf, "Granite.") == "https://lights.example/a.PDF?x=1"
    assert link_to(paper, "Granite.", 1) == "https://lights.example/b?x=1#page=1"


@pytest.mark.parametrize(
    "location", ["javascript:alert(1)", "//evil.example/", "data:text/html", "", "file:///etc/x"]
)
def test_an_address_outside_the_web_has_no_link(location: str) -> None:
    assert link_to(WEB.model_copy(update={"location": location}), "x") == ""
    assert link_to(WEB.model_copy(update={"location": location}), "x", 3) == ""


@given(st.text())
def test_a_link_keeps_its_form_whatever_is_quoted(quote: str) -> None:
    link = link_to(WEB, quote)
    parts = urlsplit(link)
    assert link.isascii() and not set(link) & set("\"'<>\\^`{|} ")
    assert (parts.scheme, parts.netloc, parts.path, parts.query) == (
        "https",
        "lights.example",
        "/skerry",
        "",
    )


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=LONGEST_LINK_QUOTE))
def test_a_short_quote_is_linked_in_full(quote: str) -> None:
    assert unquote(directive(quote)) == quote


def refusal(question: str, code: str = "en") -> str:
    """The extractive writer's text for a question on which nothing was found."""
    facts = Facts(request=question, language=Language.named(code).name)
    return str(
        ExtractiveChatModel(role="writer").invoke([HumanMessage(question)], facts=facts).text
    )


@pytest.mark.parametrize(
    "code", ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh"]
)
def test_a_refusal_states_no_claim_in_any_language(code: str) -> None:
    text = refusal("When was Hall 7 built?", code)
    assert labels(code).unanswered in text and "Hall 7" in text
    for refused in (
        text,
        refusal("The hall was built in 1904. Was it sold in 1910? Who bought it?", code),
    ):
        assert is_refusal(refused)
        assert report_units(refused, {}) == []


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not answer this question. The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904 [1]. See also “y”.",
    ],
)
def test_other_statements_beside_a_refusal_are_checked(text: str) -> None:
    assert any("1904" in claim.text for claim in report_units(text, {}))
    assert not is_refusal(text)
    assert (
        warning_above(Report(text=text, sources=(), numbers=()), labels("en"), was_researched=True)
        == labels("en").no_citation
    )


def test_a_refusal_has_no_marks(desk: Desk) -> None:
    question = "Wherefore Vrykolakas?"
    ended = desk.call("ask", question, "--docs", str(desk.docs), "--thread", "hall", "--yes")
    title, warning, refused, *_ = ended.out.split("\n\n")
    assert title == "# Wherefore Vrykolakas?"
    assert warning == f"*{labels('en').no_source}*"
    assert ended.code == 0
    assert is_refusal(refused)
    assert "Vrykolakas" in refused
    assert not any(
        words in ended.out for words in ("not verified", "cites no source", "Sentences marked")
    )
    assert "not verified" not in desk.call("audit", "hall").out
    page = desk.call("export", "hall", "--format", "html").out
    assert "Vrykolakas" in page and "cites no source" not in page
