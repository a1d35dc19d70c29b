"""Texts that are nearly the same count as one source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import LONGEST, reprints

WORDS = [f"word{number}" for number in range(200)]


def text(first: int, last: int) -> str:
    return " ".join(WORDS[first:last])


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (text(0, 60), text(0, 60), True),
        (text(0, 60), f"Shown again: {text(0, 60)} And more. {text(100, 190)}", True),
        (text(0, 60), text(23, 83), False),
        (text(0, 60), text(20, 80), True),
        (text(0, 23), text(0, 23), False),
        (text(0, 24), text(0, 24), True),
        (text(0, 60), " ".join(reversed(WORDS[:60])), False),
    ],
    ids=["the same", "with more", "too little", "enough", "too short", "long enough", "other order"],
)
def test_three_fifths_of_the_runs_of_five_words_make_a_reprint(one: str, other: str, are_same: bool) -> None:
    assert reprints({"a": one, "b": other}) == ([("a", "b")] if are_same else [])


def test_only_the_beginning_of_a_long_text_is_compared() -> None:
    ends = (" ".join(f"{name}{number}" for number in range(20_000)) for name in "ab")
    begins = (text(0, 200) + " ").ljust(LONGEST, ".")
    assert reprints(dict(zip("ab", (begins + end for end in ends), strict=True))) == [("a", "b")]


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_the_texts_makes_no_difference(order: list[str]) -> None:
    texts = {"a": text(0, 60), "b": text(20, 80), "c": text(40, 100), "d": text(140, 190)}
    groups = reprints({key: texts[key] for key in order})
    assert groups == [("a", "b", "c")], "a and c are the same by b"
