"""Which passages of a large index are compared, and which files are read together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.library.folder import FoundFile
from deep_research.core.library.index_search import MOST, narrowed
from deep_research.core.library.upkeep import BATCH_BYTES, BATCH_FILES, GROUP_BYTES, GROUP_FILES, batches, groups

LARGE = 100 * MOST


def test_in_a_large_one_the_rare_words_are_sought_and_common_ones_only_together() -> None:
    counts = [{"ship": LARGE // 4}, {"velm": 3}, {"harbour": LARGE // 20}, {"salt": MOST - 3}]
    assert narrowed(counts, LARGE, MOST) == ['"velm" OR "salt"', '("harbour") AND ("ship")']


@pytest.mark.parametrize("words", [1, 2, 3, 4, 9])
def test_where_all_words_are_common_they_are_sought_together(words: int) -> None:
    counts = [{f"w{number}": LARGE // 2} for number in range(words)]
    (search,) = narrowed(counts, LARGE, MOST)
    assert search.count("AND") == min(words, 3) - 1


STEMS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
COUNTS = st.lists(st.dictionaries(STEMS, st.integers(1, LARGE), max_size=3), max_size=12)


@given(COUNTS, st.sampled_from([1, MOST, LARGE]))
def test_something_is_sought_wherever_a_word_is_known_and_it_is_no_syntax_error(
    counts: list[dict[str, int]], total: int
) -> None:
    searches = narrowed(counts, total, MOST)
    assert bool(searches) == any(counts)
    assert len(searches) <= 2
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE passages USING fts5 (text)")
    for search in searches:
        connection.execute("SELECT * FROM passages WHERE passages MATCH ?", (search,)).fetchall()
    connection.close()


@given(st.lists(st.integers(1, MOST), min_size=1, max_size=12))
def test_rare_words_are_sought_up_to_what_can_be_compared(counts: list[int]) -> None:
    first = narrowed([{f"w{place}": count} for place, count in enumerate(counts)], LARGE, MOST)[0]
    chosen = [count for place, count in enumerate(counts) if f'"w{place}"' in first]
    assert sum(chosen) <= MOST
    assert sorted(counts)[: len(chosen)] == sorted(chosen)


FILES = st.lists(
    st.builds(
        FoundFile,
        st.builds("{}{}".format, st.text("abc", min_size=1, max_size=3), st.sampled_from([".md", ".txt", ".pdf"])),
        st.one_of(st.integers(0, 1000), st.integers(0, 2 * BATCH_BYTES)),
        st.just(1),
    ),
    max_size=3 * GROUP_FILES,
)


@pytest.mark.parametrize(
    ("cut", "most_files", "most_bytes"), [(batches, BATCH_FILES, BATCH_BYTES), (groups, GROUP_FILES, GROUP_BYTES)]
)
@given(files=FILES)
def test_no_file_is_lost_or_moved_and_no_step_is_too_large(
    cut: Callable[[list[FoundFile]], Iterator[list[FoundFile]]],
    most_files: int,
    most_bytes: int,
    files: list[FoundFile],
) -> None:
    steps = list(cut(files))
    assert list(chain.from_iterable(steps)) == files
    for step in steps:
        assert 0 < len(step) <= most_files
        assert len(step) == 1 or sum(file.size for file in step) <= most_bytes


@given(FILES)
def test_a_file_that_may_take_long_is_sent_alone(files: list[FoundFile]) -> None:
    for group in groups(files):
        assert len(group) == 1 or not any(PurePath(file.path).suffix == ".pdf" for file in group)
