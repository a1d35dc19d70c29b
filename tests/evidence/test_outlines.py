"""Reports that are written section by section: their outline, and what stands in two of their sections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import RepetitionFilter
from deep_research.core.writing.write import PlannedSection, read_outline

SAID = "The Skerry Light was lit for the first time in 1844. [1] Ada Moran kept it. [2]\n"


def section(text: str, before: str = SAID, *, was_cut: bool = False) -> str:
    unrepeated = RepetitionFilter(before)
    return unrepeated.feed(text) + unrepeated.finish(was_cut=was_cut)


@pytest.mark.parametrize(
    "text",
    [
        "- The light [1]\n- Its keepers [2, 5]",
        "1. **The light** [1]\n2. **Its keepers** [2][5]",
        "Here is the outline:\n\n## The light: [1]\n## Its keepers – [2, 5]\n\nEach finding has its place.",
        "The light [1]\n\nIts keepers [2, 5]",
        "- The light [1]\n- Its keepers [2, 9, 5]\n- THE LIGHT [1]\n- Harbour",
    ],
)
def test_an_outline_is_read_as_models_write_it(text: str) -> None:
    sections = read_outline(text, [1, 2, 5], 2)
    assert [part.heading.casefold() for part in sections] == ["the light", "its keepers"]
    assert [part.numbers for part in sections] == [(1,), (2, 5)]


@pytest.mark.parametrize("text", ["", "none", "None.", "- none", "\n\n"])
def test_an_outline_may_be_empty(text: str) -> None:
    assert read_outline(text, [1], 5) == []


@given(st.text(max_size=80))
def test_an_outline_has_headings_of_one_line_and_no_more_than_it_may(text: str) -> None:
    sections = read_outline(text, [1], 3)
    assert len(sections) <= 3
    assert all(isinstance(part, PlannedSection) and part.heading and "\n" not in part.heading for part in sections)


def test_a_sentence_that_says_the_same_by_the_same_sources_is_left_out() -> None:
    assert section("It is tall. [1] The Skerry Light was first lit in 1844, for the first time. [1] Yes. [3]") == (
        "It is tall. [1] Yes. [3]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The Skerry Light was lit for the first time in 1844. [3]",
        "The Skerry Light was lit for the first time in 1848. [1]",
        "The Skerry Light was not lit for the first time in 1844. [1]",
        "The Skerry Light was lit for the first time in 1844.",
        "```\nThe Skerry Light was lit for the first time in 1844. [1]\n```\n",
    ],
)
def test_other_sources_figures_and_negations_code_and_words_without_a_source_stay(text: str) -> None:
    assert section(text) == text


def test_words_without_a_source_may_be_said_again() -> None:
    assert section("That is all that is known.", "That is all that is known.\n\n") == "That is all that is known."


def test_an_entry_of_a_list_of_which_nothing_is_left_goes_with_its_mark() -> None:
    assert section("- Ada Moran kept it. [2]\n- It is tall. [1]\n1. Ada Moran kept it. [2]\n") == "- It is tall. [1]\n"


def test_a_sentence_is_left_out_where_its_own_section_says_it_twice() -> None:
    assert section("It is tall, they say. [1]\n\nIt is tall, they say. [1]\n") == "It is tall, they say. [1]\n\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is tall. [1] It is old and", "It is tall. [1]"),
        ("It is tall. [1]\n\nIt is old and", "It is tall. [1]\n\n"),
        ("It is tall. [1]", "It is tall. [1]"),
        ("It is old and", ""),
    ],
)
def test_a_section_that_was_cut_off_ends_with_its_last_whole_sentence(text: str, kept: str) -> None:
    assert section(text, was_cut=True) == kept
    assert section(text) == text


@given(st.lists(st.text("ab. [1]\n-`", max_size=8), max_size=8))
def test_it_does_not_matter_how_a_section_was_streamed(pieces: list[str]) -> None:
    unrepeated = RepetitionFilter(SAID)
    streamed = "".join(map(unrepeated.feed, pieces)) + unrepeated.finish(was_cut=False)
    assert streamed == section("".join(pieces))
