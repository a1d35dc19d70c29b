"""The report as a document, and findings made shorter."""

from __future__ import annotations

import pytest

from deep_research.evidence.document import UNCITED, UNRESEARCHED, write_document
from deep_research.evidence.shrink import cited_sentences, first_cited_sentence
from deep_research.state import Report, Source

SOURCE = Source(key="k", title="A light", location="file:///a.md", address="docs:a.md", kind="document")


def test_a_report_has_its_text_then_its_sources_then_its_notes() -> None:
    report = Report(text="Lit in 1844. [1]", sources=("k",))
    assert write_document(report, [SOURCE], ["One\nnote.", "Another."], was_researched=True) == (
        "Lit in 1844. [1](file:///a.md)\n\n"
        "## Sources\n\n- [1] A light — <file:///a.md>\n\n"
        "## Notes\n\n- One note.\n- Another."
    )


def test_a_report_without_notes_ends_with_its_sources() -> None:
    report = Report(text="Lit. [1]", sources=("k",))
    assert write_document(report, [SOURCE], [], was_researched=True).endswith("<file:///a.md>")


@pytest.mark.parametrize(("was_researched", "opening"), [(True, UNCITED), (False, UNRESEARCHED)])
def test_a_report_without_citations_says_so_first(was_researched: bool, opening: str) -> None:
    report = Report(text="Words.", sources=())
    assert write_document(report, [], [], was_researched=was_researched) == f"{opening}\n\nWords."


@pytest.mark.parametrize(
    ("text", "cited", "first"),
    [
        ("One. [1] Two. Three [2].", "One. [1] Three [2].", "One. [1]"),
        ("Zero. One [1]. Two [1, 3]!", "One [1]. Two [1, 3]!", "One [1]."),
        ("One\nTwo [4]\nThree", "Two [4]", "Two [4]"),
        ("Is it? [2] Yes.", "Is it? [2]", "Is it? [2]"),
        ("这是真的。[1] 不是。", "这是真的。[1]", "这是真的。[1]"),
        ("Nothing cited. At all.", "", ""),
        ("", "", ""),
    ],
)
def test_a_finding_shrinks_to_its_cited_sentences(text: str, cited: str, first: str) -> None:
    assert cited_sentences(text) == cited
    assert first_cited_sentence(text) == first
