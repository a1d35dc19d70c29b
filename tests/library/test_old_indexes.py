"""Removal of indexes whose folders are gone."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from kit.files import FixedClock, Papers

from deep_research.core.library.library import Library


class Later(FixedClock):
    def __init__(self, days: int) -> None:
        self.days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


def refresh_another(papers: Papers, days: int) -> int:
    """Number of indexes after another folder was indexed `days` later."""
    other = papers.data.parent / "other"
    other.mkdir(exist_ok=True)
    (other / "tides.md").write_text("High water is at noon.")
    Library(papers.context(other).model_copy(update={"clock": Later(days)})).refresh()
    return len(list((papers.data / "indexes").glob("*.sqlite")))


@pytest.mark.fault("R23")
@pytest.mark.parametrize("is_readable", [True, False])
def test_the_index_of_a_folder_that_is_gone_is_removed_after_ninety_days(papers: Papers, *, is_readable: bool) -> None:
    papers.indexed()
    if is_readable:
        papers.docs.rename(papers.docs.with_name("gone"))
    else:
        papers.index_file().write_bytes(b"not a database, but long enough to be taken for a database" * 100)
    assert refresh_another(papers, 89) == 2
    assert refresh_another(papers, 91) == 1


def test_the_index_of_a_folder_that_exists_stays(papers: Papers) -> None:
    papers.indexed()
    assert refresh_another(papers, 1000) == 2


def test_an_index_that_was_used_since_stays(papers: Papers) -> None:
    papers.indexed()
    Library(papers.context().model_copy(update={"clock": Later(80)})).refresh()
    papers.docs.rename(papers.docs.with_name("gone"))
    assert refresh_another(papers, 160) == 2
