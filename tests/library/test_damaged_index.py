"""A damaged index is built anew, whoever finds it and however many do at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from shelf import LONG, Place

from deep_research.core.library.index_file import PAGE_BYTES, alone, used
from deep_research.core.library.library import Library
from deep_research.core.run.errors import DatabaseUnusable

AT_ONCE = 6


@pytest.fixture(autouse=True)
def long_text(place: Place) -> None:
    (place.docs / "long.txt").write_text(LONG)


def hits(library: Library) -> list[tuple[str, str]]:
    queries = ("harbour", "Ada Lindqvist bridge", "chapter ship", "Who built the bridge over the Velm?")
    return [(one.source.key, one.text) for query in queries for one in library.follow(query, 25)]


def no_database(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to be taken for one" * 100)


def broken_pages(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for start in range(PAGE_BYTES, len(data), PAGE_BYTES):
        data[start : start + 100] = b"\xff" * 100
    file.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [no_database, broken_pages])
@pytest.mark.parametrize("is_shared", [True, False])
def test_many_searches_at_once_over_a_damaged_index_find_what_there_is(
    place: Place, damage: Callable[[Path], None], *, is_shared: bool
) -> None:
    library = place.indexed()
    expected = hits(library)
    damage(place.index_file())
    libraries = [library if is_shared else place.library() for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert list(threads.map(hits, libraries)) == [expected] * AT_ONCE


def test_an_index_that_was_left_half_built_is_begun_again(place: Place) -> None:
    library = place.indexed()
    expected = hits(library)
    no_database(place.index_file())
    no_database(Path(f"{place.index_file()}.new"))
    assert hits(library) == expected
    assert not Path(f"{place.index_file()}.new").exists()


def test_a_damaged_index_that_cannot_be_built_anew_ends_with_a_clear_error(place: Place) -> None:
    library = place.indexed()
    no_database(place.index_file())
    Path(f"{place.index_file()}.new").mkdir()
    with pytest.raises(DatabaseUnusable, match="the document index cannot be used"):
        hits(library)


def test_an_index_is_not_exchanged_while_it_is_used(place: Place) -> None:
    file = place.data / "indexes" / "a.sqlite"
    seen: list[str] = []

    def exchange() -> None:
        with alone(file):
            seen.append("exchanged")

    with ThreadPoolExecutor(1) as threads:
        with used(file), used(file):
            waiting = threads.submit(exchange)
            with pytest.raises(TimeoutError):
                waiting.result(0.3)
            # Who uses it may go on using it, although somebody waits.
            with used(file):
                seen.append("used")
        waiting.result()
    assert seen == ["used", "exchanged"]
