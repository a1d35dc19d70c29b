"""No document takes up a whole ranking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import spread


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 4))
def test_spreading_moves_only_what_is_too_much_of_one_kind(values: list[int], most: int) -> None:
    result = spread(values, lambda value: value % 3, most)
    assert sorted(result) == sorted(values)
    for kind in range(3):
        assert [value for value in result if value % 3 == kind] == [value for value in values if value % 3 == kind]
    first = result[: sum(min(most, sum(value % 3 == kind for value in values)) for kind in range(3))]
    assert all(sum(value % 3 == kind for value in first) <= most for kind in range(3))
