"""A damaged or outdated index is rebuilt, and one whose folder is gone is removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from kit.files import LONG, FixedClock, Papers

from deep_research.core.errors import DatabaseUnusable
from deep_research.core.library._index_file import PAGE_BYTES, exclusive, shared
from deep_research.core.library.library import Library

AT_ONCE = 6


@pytest.fixture
def long_text(papers: Papers) -> None:
    (papers.docs / "long.txt").write_text(LONG)


def hits(library: Library) -> list[tuple[str, str]]:
    queries = (
        "harbour",
        "Ada Lindqvist bridge",
        "chapter ship",
        "Who built the bridge over the Velm?",
    )
    return [
        (passage.source.key, passage.text)
        for query in queries
        for passage in library.follow(query, 25)
    ]


def no_database(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to be taken for one" * 100)


def broken_pages(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for start in range(PAGE_BYTES, len(data), PAGE_BYTES):
        data[start : start + 100] = b"\xff" * 100
    file.write_bytes(data)


def another_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 999")


@pytest.mark.slow
@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize("damage", [no_database, broken_pages])
@pytest.mark.parametrize("is_shared", [True, False])
def test_many_searches_at_once_over_a_damaged_index_find_what_there_is(
    papers: Papers, damage: Callable[[Path], None], *, is_shared: bool
) -> None:
    library = papers.indexed()
    expected = hits(library)
    damage(papers.index_file())
    libraries = [library if is_shared else papers.library() for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert list(threads.map(hits, libraries)) == [expected] * AT_ONCE


@pytest.mark.sweep
@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize("damage", [no_database, another_version])
def test_an_index_that_cannot_be_used_is_rebuilt_even_beside_a_half_built_one(
    papers: Papers, damage: Callable[[Path], None]
) -> None:
    library = papers.indexed()
    expected = hits(library)
    damage(papers.index_file())
    no_database(Path(f"{papers.index_file()}.new"))
    assert hits(library) == expected
    assert not Path(f"{papers.index_file()}.new").exists()


def test_a_damaged_index_that_cannot_be_rebuilt_gives_a_clear_error(papers: Papers) -> None:
    library = papers.indexed()
    no_database(papers.index_file())
    Path(f"{papers.index_file()}.new").mkdir()
    with pytest.raises(DatabaseUnusable, match="the document index cannot be used"):
        hits(library)


def test_an_index_is_not_replaced_while_it_is_used(papers: Papers) -> None:
    file = papers.data / "indexes" / "a.sqlite"
    seen: list[str] = []

    def replace() -> None:
        with exclusive(file):
            seen.append("replaced")

    with ThreadPoolExecutor(1) as threads:
        with shared(file), shared(file):
            waiting = threads.submit(replace)
            with pytest.raises(TimeoutError):
                waiting.result(0.3)
            # A thread with a shared lock may acquire it again, although a writer waits.
            with shared(file):
                seen.append("used")
        waiting.result()
    assert seen == ["used", "replaced"]


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
def test_the_index_of_a_folder_that_is_gone_is_removed_after_ninety_days(
    papers: Papers, *, is_readable: bool
) -> None:
    papers.indexed()
    if is_readable:
        papers.docs.rename(papers.docs.with_name("gone"))
    else:
        no_database(papers.index_file())
    assert refresh_another(papers, 89) == 2
    assert refresh_another(papers, 91) == 1


def test_the_index_of_a_folder_that_exists_or_was_used_since_stays(papers: Papers) -> None:
    papers.indexed()
    assert refresh_another(papers, 1000) == 2
    Library(papers.context().model_copy(update={"clock": Later(80)})).refresh()
    papers.docs.rename(papers.docs.with_name("gone"))
    assert refresh_another(papers, 160) == 2
