"""Every promise in docs/behaviour.md and docs/faults.md is shown by a test, and the pages are up to date."""

from __future__ import annotations

import behaviour
import pytest
from behaviour import BEHAVIOUR, PAGES, Page, Rows

ON_EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])

SOURCE = """
@pytest.mark.behaviour("X-01", "X-02")
async def test_one(): ...

@pytest.mark.parametrize("case", [pytest.param(1, marks=pytest.mark.behaviour("X-03"))])
def test_two(case): ...

@mark.behaviour("X-04")
class TestMany:
    def test_three(self): ...
"""


@ON_EVERY_PAGE
def test_every_row_has_a_test(page: Page) -> None:
    assert behaviour.without_test(behaviour.read_rows(page), behaviour.find_tests(page)) == []


@ON_EVERY_PAGE
def test_every_marked_row_is_a_promise(page: Page) -> None:
    assert behaviour.unknown(behaviour.read_rows(page), behaviour.find_tests(page)) == []


@ON_EVERY_PAGE
def test_the_page_is_up_to_date(page: Page) -> None:
    written = behaviour.render(page, behaviour.read_rows(page), behaviour.find_tests(page))
    assert page.target.read_text("utf-8") == written, "run make docs"


def test_marks_are_found_without_running_the_tests() -> None:
    marks = [("TestMany", "X-04"), ("test_one", "X-01"), ("test_one", "X-02"), ("test_two", "X-03")]
    assert sorted(behaviour.find_marks(SOURCE, "behaviour")) == marks


def test_missing_and_unknown_rows_are_found() -> None:
    words = {"X-01": "One.", "X-02": "Two.", "X-03": "Three.", "X-06": "Not done: six, as it costs too much."}
    rows = Rows(words, frozenset({"X-03", "X-05"}))
    shown = {"X-01": ["tests/test_one.py::test_one"], "X-04": ["tests/test_one.py::test_four"]}
    assert behaviour.without_test(rows, shown) == ["X-02"]
    assert behaviour.unknown(rows, shown) == ["X-04", "X-05"]
    page = behaviour.render(BEHAVIOUR, rows, shown)
    assert "| X-01 | One. | `tests/test_one.py::test_one` |\n| X-02 | Two. | *to come* |\n" in page
    assert page.endswith("| X-06 | Not done: six, as it costs too much. |  |\n")
