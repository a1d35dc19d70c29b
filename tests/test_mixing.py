"""Several rankings are made into one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deep_research.evidence.mixing import fused, spread

RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True), max_size=4)


@given(RANKINGS)
def test_rankings_made_one_hold_each_value_once(rankings: list[list[int]]) -> None:
    result = fused(rankings, int)
    assert sorted(result) == sorted({value for ranking in rankings for value in ranking})


@given(st.lists(st.integers(), unique=True), st.integers(1, 4))
def test_rankings_that_agree_are_the_one_that_comes_out(ranking: list[int], times: int) -> None:
    assert fused([ranking] * times, int) == ranking
    assert fused([ranking, []], int) == ranking


@given(st.lists(st.integers(), unique=True, max_size=12), st.lists(st.integers(), unique=True, max_size=12))
def test_what_both_rankings_put_first_comes_first(one: list[int], other: list[int]) -> None:
    assert fused([[99.5, *one], [99.5, *other]], float)[0] == 99.5


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 4))
def test_spreading_moves_only_what_is_too_much_of_one_kind(values: list[int], most: int) -> None:
    result = spread(values, lambda value: value % 3, most)
    assert sorted(result) == sorted(values)
    for kind in range(3):
        assert [value for value in result if value % 3 == kind] == [value for value in values if value % 3 == kind]
    first = result[: sum(min(most, sum(value % 3 == kind for value in values)) for kind in range(3))]
    assert all(sum(value % 3 == kind for value in first) <= most for kind in range(3))
