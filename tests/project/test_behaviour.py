"""Every promise in docs/behaviour.md and docs/faults.md is shown by a test, and the pages are up to date."""

from __future__ import annotations

import behaviour
import pytest
from behaviour import PAGES, Page

ON_EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


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


def test_every_fault_leaves_a_record_in_the_log_or_says_why_there_is_none() -> None:
    logged, unlogged = behaviour.find_logged(), [row for rows in behaviour.read_unlogged().values() for row in rows]
    assert sorted([*logged, *unlogged]) == sorted(behaviour.read_rows(behaviour.FAULTS).words)
