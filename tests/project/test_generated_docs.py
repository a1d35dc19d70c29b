"""What the docs take from the code is up to date, and every promise is shown by a test."""

from __future__ import annotations

import pytest
from generated_docs import BEHAVIOUR, DOCS, FAULTS, PAGES, Promises

# The page to get started holds the report of a run.
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name == "get-started.md" else []) for name in PAGES]
ON_BOTH_PAGES = pytest.mark.parametrize("promises", [BEHAVIOUR, FAULTS], ids=["behaviour", "fault"])


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_up_to_date(name: str) -> None:
    text = (DOCS / name).read_text("utf-8")
    assert PAGES[name](text) == text, "run make docs"


@ON_BOTH_PAGES
def test_every_row_has_a_test_and_every_mark_a_row(promises: Promises) -> None:
    assert promises.without_test == []
    assert promises.unknown == []


def test_every_fault_leaves_a_record_in_the_log_or_says_why_there_is_none() -> None:
    assert sorted([*FAULTS.logged, *FAULTS.unlogged]) == sorted(FAULTS.rows)
