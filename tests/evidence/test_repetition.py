"""A text that repeats itself without end is known by its last characters alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.repetition import LONGEST, LOOP, loop_start, without_loop

PASSAGES = st.text("ab *\n1é語", min_size=1, max_size=60).filter(str.strip)


@given(st.text("xyz. ", max_size=200), PASSAGES)
def test_what_is_repeated_to_the_end_is_left_once(before: str, passage: str) -> None:
    text = before + passage * (2 * LOOP // len(passage) + 2)
    assert without_loop(text).rstrip() in (before + passage * 2).rstrip()
    assert text.startswith(without_loop(text))


@given(st.lists(st.integers(0, 10**6), max_size=800, unique=True))
def test_a_text_without_repetitions_stays_as_it_is(numbers: list[int]) -> None:
    text = " ".join(map(str, numbers))
    assert loop_start(text) is None
    assert without_loop(text) == text


def test_a_table_of_like_rows_and_a_passage_said_three_times_are_no_loop() -> None:
    rows = "\n".join(f"| {year} | 0 | 0 | 0 |" for year in range(1900, 2000))
    assert loop_start(rows) is None
    assert loop_start(("word " * 90 + "end. ") * 3) is None
    assert loop_start("a" * (LOOP - 1)) is None and loop_start("a" * LOOP) is not None
    assert loop_start(("a" * LONGEST + "b") * 9) is None
