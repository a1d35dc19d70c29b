"""Cut-off texts are continued without doubling or loss, and endless repetition is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import (
    LONGEST_REPEATED,
    SHORTEST_LOOP,
    loop_start,
    without_loop,
)
from deep_research.core.writing._continuation import Continuation, join_continuation

WORDS = st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=8, max_size=20, unique=True)


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, int]:
    """A text of distinct words, and an offset in it."""
    words = draw(WORDS)
    assume(not any(word != other and word in other for word in words for other in words))
    ends = draw(
        st.lists(
            st.sampled_from([" ", ", ", ". ", " [1] ", "\n\n"]),
            min_size=len(words),
            max_size=len(words),
        )
    )
    text = "".join(word + end for word, end in zip(words, ends, strict=True)).strip()
    return text, draw(st.integers(1, len(text) - 1))


@given(cut_texts(), st.integers(0, 40), st.sampled_from(["", " ", "...", "… ", "\n"]))
def test_repeated_words_are_kept_once(cut: tuple[str, int], back: int, opening: str) -> None:
    text, end = cut
    starts = [word.start() for word in re.finditer("[a-z]+", text) if word.start() < end]
    assume(len(starts) > 3)
    start = starts[max(0, len(starts) - 4 - back)]
    assert join_continuation(text[:end], opening + text[start:]) == text


@given(
    st.text("ab 1[].\n#|", max_size=40), st.lists(st.text("ab 1[].\n#|", max_size=8), max_size=6)
)
def test_how_a_continuation_is_streamed_makes_no_difference(before: str, pieces: list[str]) -> None:
    seam = Continuation(before)
    streamed = "".join(map(seam.feed, pieces)) + seam.finish()
    assert before + streamed == join_continuation(before, "".join(pieces))


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ("was lit in 18", "44. [1]", "was lit in 1844. [1]"),
        ("was lit in 18", "1844. [1]", "was lit in 1844. [1]"),
        ("was lit in 18", "lit in 1844. [1]", "was lit in 1844. [1]"),
        ("Ada was the kee", "keeper of it", "Ada was the keeper of it"),
        ("Ada was the", "keeper of it", "Ada was the keeper of it"),
        ("from today to", " tomorrow", "from today to tomorrow"),
        ("It was lit. [1]", "Ada kept it", "It was lit. [1] Ada kept it"),
        ("It was lit. [1", "2] Ada", "It was lit. [12] Ada"),
        ("It was lit. [1", "[12] Ada", "It was lit. [12] Ada"),
        ("It is 3.", "5 metres tall", "It is 3.5 metres tall"),
        ("It was lit.", "## Keeper\nAda", "It was lit.\n\n## Keeper\nAda"),
        ("It was lit.\n\n## Keeper\n\n", "## Keeper\n\nAda", "It was lit.\n\n## Keeper\n\nAda"),
        (
            "kept by nobody else. [1]\n\n- She",
            "else. [1]\n\n- She was",
            "kept by nobody else. [1]\n\n- She was",
        ),
        ("It was lit.\n\n## Keeper\n\n", "Keeper Ada", "It was lit.\n\n## Keeper\n\nKeeper Ada"),
        ("- one is lit.", "- two is not.", "- one is lit.\n- two is not."),
        ("| 0 | 0 |", " 0 | 0 |", "| 0 | 0 | 0 | 0 |"),
        ("汉萨同盟衰落的原", "同盟衰落的原因是", "汉萨同盟衰落的原因是"),
        ("", "\n It was lit", "It was lit"),
        ("It was lit.\n\nAda kept", "Ada kept it", "It was lit.\n\nAda kept it"),
        ("It is the keeper", "the keeper of it", "It is the keeper the keeper of it"),
    ],
)
def test_halves_are_joined_with_the_right_gap(before: str, after: str, whole: str) -> None:
    assert join_continuation(before, after) == whole


@given(
    st.text("xyz. ", max_size=200), st.text("ab *\n1é語", min_size=1, max_size=60).filter(str.strip)
)
def test_a_loop_at_the_end_is_kept_once(before: str, passage: str) -> None:
    text = before + passage * (2 * SHORTEST_LOOP // len(passage) + 2)
    assert without_loop(text).rstrip() in (before + passage * 2).rstrip()
    assert text.startswith(without_loop(text))


@given(st.lists(st.integers(0, 10**6), max_size=800, unique=True))
def test_a_text_without_repetition_stays_unchanged(numbers: list[int]) -> None:
    text = " ".join(map(str, numbers))
    assert loop_start(text) is None
    assert without_loop(text) == text


def test_similar_rows_and_a_passage_repeated_three_times_are_no_loop() -> None:
    rows = "\n".join(f"| {year} | 0 | 0 | 0 |" for year in range(1900, 2000))
    assert loop_start(rows) is None
    assert loop_start(("word " * 90 + "end. ") * 3) is None
    assert (
        loop_start("a" * (SHORTEST_LOOP - 1)) is None
        and loop_start("a" * SHORTEST_LOOP) is not None
    )
    assert loop_start(("a" * LONGEST_REPEATED + "b") * 9) is None
