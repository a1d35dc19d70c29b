"""Limits of work: passages compared in a large index, and files read together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.library._folder import FoundFile
from deep_research.core.library._index_search import MOST_COMPARED, narrowed
from deep_research.core.library._upkeep import (
    BATCH_BYTES,
    BATCH_FILES,
    GROUP_BYTES,
    GROUP_FILES,
    batches,
    groups,
)

LARGE = 100 * MOST_COMPARED


def test_a_large_index_is_searched_for_any_rare_word_and_for_common_ones_together() -> None:
    counts = [
        {"ship": LARGE // 4},
        {"velm": 3},
        {"harbour": LARGE // 20},
        {"salt": MOST_COMPARED - 3},
    ]
    assert narrowed(counts, LARGE, MOST_COMPARED) == [
        '"velm" OR "salt"',
        '("harbour") AND ("ship")',
    ]
    # At most three are searched together.
    (search,) = narrowed([{f"w{number}": LARGE // 2} for number in range(9)], LARGE, MOST_COMPARED)
    assert search.count("AND") == 2


STEMS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
COUNTS = st.lists(st.dictionaries(STEMS, st.integers(1, LARGE), max_size=3), max_size=12)


@given(COUNTS, st.sampled_from([1, MOST_COMPARED, LARGE]))
def test_every_known_word_gives_a_valid_search(counts: list[dict[str, int]], total: int) -> None:
    searches = narrowed(counts, total, MOST_COMPARED)
    assert bool(searches) == any(counts)
    assert len(searches) <= 2
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE passages USING fts5 (text)")
    for search in searches:
        connection.execute("SELECT * FROM passages WHERE passages MATCH ?", (search,)).fetchall()
    connection.close()


@given(st.lists(st.integers(1, MOST_COMPARED), min_size=1, max_size=12))
def test_rare_words_are_searched_up_to_the_number_of_passages_compared(counts: list[int]) -> None:
    first = narrowed(
        [{f"w{number}": count} for number, count in enumerate(counts)], LARGE, MOST_COMPARED
    )[0]
    chosen = [count for number, count in enumerate(counts) if f'"w{number}"' in first]
    assert sum(chosen) <= MOST_COMPARED
    assert sorted(counts)[: len(chosen)] == sorted(chosen)


FILES = st.lists(
    st.builds(
        FoundFile,
        st.builds(
            "{}{}".format,
            st.text("abc", min_size=1, max_size=3),
            st.sampled_from([".md", ".txt", ".pdf"]),
        ),
        st.one_of(st.integers(0, 1000), st.integers(0, 2 * BATCH_BYTES)),
        st.just(1),
    ),
    max_size=3 * GROUP_FILES,
)


@pytest.mark.parametrize(
    ("cut", "most_files", "most_bytes"),
    [(batches, BATCH_FILES, BATCH_BYTES), (groups, GROUP_FILES, GROUP_BYTES)],
)
@given(files=FILES)
def test_batches_keep_all_files_in_order_and_slow_files_are_sent_alone(
    cut: Callable[..., Iterator[list[FoundFile]]],
    most_files: int,
    most_bytes: int,
    files: list[FoundFile],
) -> None:
    steps = list(cut(files))
    assert list(chain.from_iterable(steps)) == files
    for step in steps:
        assert 0 < len(step) <= most_files
        assert len(step) == 1 or sum(file.size for file in step) <= most_bytes
        is_slow = cut is groups and any(file.path.endswith(".pdf") for file in step)
        assert len(step) == 1 or not is_slow
