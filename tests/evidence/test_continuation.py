"""Where a text was cut off and goes on: nothing is doubled, nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deep_research.core.evidence.text.continuation import Continuation, join_continuation

WORDS = st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=8, max_size=20, unique=True)


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, int]:
    """A text of words, each of which stands there once, and a place in it."""
    words = draw(WORDS)
    assume(not any(one != other and one in other for one in words for other in words))
    ends = draw(st.lists(st.sampled_from([" ", ", ", ". ", " [1] ", "\n\n"]), min_size=len(words), max_size=len(words)))
    text = "".join(word + end for word, end in zip(words, ends, strict=True)).strip()
    return text, draw(st.integers(1, len(text) - 1))


def word_starts(text: str) -> list[int]:
    return [place for place, (one, other) in enumerate(pairwise(" " + text)) if other.isalpha() and not one.isalpha()]


@given(cut_texts(), st.integers(0, 40), st.sampled_from(["", " ", "...", "… ", "\n"]))
def test_what_was_written_twice_stands_there_once(cut: tuple[str, int], back: int, opening: str) -> None:
    text, place = cut
    starts = [start for start in word_starts(text) if start < place]
    assume(len(starts) > 3)
    start = starts[max(0, len(starts) - 4 - back)]
    assert join_continuation(text[:place], opening + text[start:]) == text


@given(st.text("ab 1[].\n#|", max_size=40), st.lists(st.text("ab 1[].\n#|", max_size=8), max_size=6))
def test_it_does_not_matter_how_a_continuation_was_streamed(before: str, pieces: list[str]) -> None:
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
        ("kept by nobody else. [1]\n\n- She", "else. [1]\n\n- She was", "kept by nobody else. [1]\n\n- She was"),
        ("It was lit.\n\n## Keeper\n\n", "Keeper Ada", "It was lit.\n\n## Keeper\n\nKeeper Ada"),
        ("- one is lit.", "- two is not.", "- one is lit.\n- two is not."),
        ("| 0 | 0 |", " 0 | 0 |", "| 0 | 0 | 0 | 0 |"),
        ("汉萨同盟衰落的原", "同盟衰落的原因是", "汉萨同盟衰落的原因是"),
        ("", "\n It was lit", "It was lit"),
        ("It was lit.\n\nAda kept", "Ada kept it", "It was lit.\n\nAda kept it"),
        ("It is the keeper", "the keeper of it", "It is the keeper the keeper of it"),
    ],
)
def test_halves_are_put_together_as_they_belong(before: str, after: str, whole: str) -> None:
    assert join_continuation(before, after) == whole
