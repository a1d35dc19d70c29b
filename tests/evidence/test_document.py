"""The report as a document, and shortened findings."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.markers import settle_fences
from deep_research.core.evidence.citations.rendering import read_body, write_document
from deep_research.core.evidence.text.sentences import cited_sentences
from deep_research.core.records.report import Report
from deep_research.core.records.sources import Source

ENGLISH = labels("en")
SOURCE = Source(
    key="k", title="A light", location="file:///a.md", address="docs:a.md", kind="document", content_hash="c", number=1
)


def test_a_report_has_its_text_then_its_sources_then_its_notes() -> None:
    report = Report(text="Lit in 1844. [1]", sources=("k",))
    assert write_document(report, [SOURCE], ["One\nnote.", "Another."], ENGLISH, was_researched=True) == (
        "Lit in 1844. [1]\n\n## Sources\n\n- [1] A light — a.md, own document\n\n[1]: <file:///a.md>\n\n"
        "## Notes\n\n- One note.\n- Another."
    )


@pytest.mark.parametrize(
    ("was_researched", "opening"),
    [(True, "*This text cites no source.*"), (False, "*No source was consulted for this text.*")],
)
def test_a_report_without_citations_says_so_first(was_researched: bool, opening: str) -> None:
    report = Report(text="Words.", sources=())
    assert write_document(report, [], [], ENGLISH, was_researched=was_researched) == f"{opening}\n\nWords."


@pytest.mark.parametrize(
    ("text", "cited", "first"),
    [
        ("One. [1] Two. Three [2].", "One. [1] Three [2].", "One. [1]"),
        ("Zero. One [1]. Two [1, 3]!", "One [1]. Two [1, 3]!", "One [1]."),
        ("Is it? [2] Yes.", "Is it? [2]", "Is it? [2]"),
        ("Nothing cited. At all.", "", ""),
    ],
)
def test_a_finding_shrinks_to_its_cited_sentences(text: str, cited: str, first: str) -> None:
    assert cited_sentences(text, 1.0) == cited
    assert cited_sentences(text, 0.0) == first


TABLE = f"## {ENGLISH.contradictions}\n\n| a | b |\n| --- | --- |\n| Lit in 1844. | Lit in 1846. |"


def test_contradictions_follow_the_answer_and_are_not_read_back() -> None:
    extract = Report(text=f"Lit in 1844. [1]\n\n## {ENGLISH.related}\n\nTall. [1]", sources=("k",))
    document = write_document(extract, [SOURCE], [], ENGLISH, was_researched=True, table=TABLE)
    assert document.startswith(f"Lit in 1844. [1]\n\n{TABLE}\n\n## {ENGLISH.related}\n\nTall. [1]")
    assert read_body(document) == f"Lit in 1844. [1]\n\n## {ENGLISH.related}\n\nTall. [1]"
    written = Report(text="Lit in 1844. [1]\n\n## More\n\nTall. [1]", sources=("k",))
    document = write_document(written, [SOURCE], ["note"], ENGLISH, was_researched=True, table=TABLE)
    assert f"Tall. [1]\n\n{TABLE}\n\n## Sources" in document
    assert read_body(document) == "Lit in 1844. [1]\n\n## More\n\nTall. [1]"


def test_a_note_contains_no_active_markup() -> None:
    notes = ["Not read: ![x](http://e.io/p).pdf <b> max_cycles"]
    written = write_document(Report(text="Words.", sources=()), [], notes, ENGLISH, was_researched=True)
    assert written.endswith("- Not read: !\\[x\\](http\\://e.io/p).pdf \\<b\\> max_cycles")


@pytest.mark.parametrize(
    ("text", "settled"),
    [("a\n```py\n[1]", "a\npy\n[1]"), ("```\nx\n```\n~~~\n[1]", "```\nx\n```\n\n[1]"), ("```\nx\n```", "```\nx\n```")],
)
def test_an_unclosed_fence_counts_as_text(text: str, settled: str) -> None:
    assert settle_fences(text) == settled
