"""Reports that are written section by section: how their outline is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.writing.write import PlannedSection, read_outline


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
