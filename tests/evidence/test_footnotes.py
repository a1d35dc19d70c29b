"""A footnote that names a source is a citation; any other keeps its text."""

from __future__ import annotations

import pytest
from kit.reports import source_at

from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.citing import without_unknown
from deep_research.core.evidence.citations.rendering import clean_for_draft
from deep_research.core.evidence.citations.sanitizing import sanitized

SOURCES = {
    source.key: source
    for source in (
        source_at("https://gulls.test/a", "Gulls", number=1),
        source_at("https://www.survey.test/b", "The Harbour Survey of 1890", number=2),
        source_at("file:///docs/keeper.md", "Ada Moran", kind="document", number=3),
    )
}


def cleaned(text: str) -> str:
    """The text of a draft as it is checked."""
    return clean_for_draft(text, SOURCES)[0]


@pytest.mark.parametrize(
    ("note", "citation"),
    [
        ("https://gulls.test/a", "[1]"),
        ("The Harbour Survey of 1890, p. 4", "[2]"),
        ("Ada Moran, keeper.md", "[3]"),
        ("Gulls, <http://www.gulls.test/a/>, accessed 3 May 2024", "[1]"),
        ("Gulls; the Harbour Survey of 1890", "[1][2]"),
        ("https://new.test/x", " [0]"),
    ],
)
@pytest.mark.parametrize("label", ["1", "9", "note-2", "*"])
def test_a_footnote_that_names_a_source_by_address_title_or_file_is_a_citation(
    note: str, citation: str, label: str
) -> None:
    text = f"It was lit in 1844.[^{label}] It is white.\n\n## Notes\n\n[^{label}]: {note}\n"
    assert cleaned(text) == f"It was lit in 1844.{citation} It is white."


@pytest.mark.parametrize(
    "note",
    [
        "Provisional figures.",
        "Provisional",
        "Gulls are counted twice.",
        "In tonnes of 1,000 kg, without [1] the harbour [3].",
    ],
)
@pytest.mark.parametrize("label", ["1", "7", "note-2", "*"])
def test_any_other_footnote_keeps_its_text_and_is_no_citation(note: str, label: str) -> None:
    text = f"It was lit in 1844.[^{label}] It is white. [2]\n\n[^{label}]: {note}"
    settled = cleaned(text)
    assert settled == f"It was lit in 1844.[^a] It is white. [2]\n\n\\[^a]: {note}"
    assert sanitized(without_unknown(settled)) == settled
    assert cleaned(settled) == settled
    keys = {source.number: key for key, source in SOURCES.items()}
    first, second, *noted = report_units(settled, keys)
    assert (first.text, first.sources) == ("It was lit in 1844.", ())
    assert (second.text, second.sources) == ("It is white.", ("https://www.survey.test/b",))
    assert noted[0].text == note.partition(" [1]")[0].removesuffix(" [3].")


def test_a_note_that_also_names_a_source_is_cited_and_keeps_its_text() -> None:
    text = "It was long.[^1]\n\n[^1]: Not in the Harbour Survey of 1890."
    assert cleaned(text) == "It was long.[2][^a]\n\n\\[^a]: Not in the Harbour Survey of 1890."


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("A.[^2] B.[^1]\n\n[^1]: Of rye.\n[^2]: Of oats.", "A.[^a] B.[^b]\n\n\\[^a]: Of oats.\n\n\\[^b]: Of rye."),
        ("A.[^x]\n\n[^x]: Of rye,\n    and oats.\n\n## B\n\nC. [1]", "A.[^a]\n\n## B\n\nC. [1]\n\n\\[^a]: Of rye, and oats."),
        ("A.[^1] B.[^2]\n\n[^1]: Of rye.[^2]\n[^2]: Of oats.", "A.[^a] B.[^b]\n\n\\[^a]: Of rye.[^b]\n\n\\[^b]: Of oats."),
        ("| A[^1] |\n|---|\n| 3[^2] |\n\n[^1]: In tonnes.\n[^2]: Gulls", "| A[^a] |\n|---|\n| 3[1] |\n\n\\[^a]: In tonnes."),
        ("A `x[^1]`.[^1]\n\n```\n[^1]: no\n```\n\n[^1]: Of rye.", "A `x[^1]`.[^a]\n\n```\n[^1]: no\n```\n\n\\[^a]: Of rye."),
        ("A [1].\n\n[^1]: Gulls", "A [1]."),
        ("A[^3].", "A[3]."),
    ],
)  # fmt: skip
def test_footnotes_stand_at_the_end_with_letters_in_the_order_of_their_references(
    text: str, settled: str
) -> None:
    assert cleaned(text) == settled
    assert cleaned(settled) == settled
