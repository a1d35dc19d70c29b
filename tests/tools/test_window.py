"""Which part of a long text is shown, and that finding it is fast for any input."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deep_research.tools.results import CUT, passages, read_on, window

WORDS = "The lamp was seen from twenty miles away. " * 2000
NEEDLE = "It was replaced in 1911 by a brighter one, which a keeper of the name of Moran had to wind up at dawn."


@pytest.mark.parametrize(
    ("excerpt", "text"),
    [
        ("a a a a a b…" * 166, "a " * 99_999),
        (f"{'a ' * 39}b…" * 25, "a " * 99_999),
        ("a" * 2000 + "b", "a" * 200_000),
    ],
)
def test_no_excerpt_makes_finding_slow(excerpt: str, text: str) -> None:
    start = time.process_time()
    assert len(window(text, excerpt, 15_000)) <= 15_000
    assert time.process_time() - start < 0.5


@pytest.mark.behaviour("O-61")
@pytest.mark.parametrize(
    "excerpt",
    [
        NEEDLE,
        NEEDLE.replace(" ", "  \n"),
        f"Nothing of it … {NEEDLE[:50]}",
        f"{NEEDLE} But this is not there.",
        f"[…] {NEEDLE} […]",
    ],
)
def test_the_part_around_the_excerpt_is_shown_however_an_engine_has_changed_it(excerpt: str) -> None:
    text = f"{WORDS}{NEEDLE.replace(' ', chr(10), 3)} {WORDS}"
    shown = window(text, excerpt, 600)
    assert " ".join(NEEDLE.split()) in " ".join(shown.split())
    assert shown.startswith(CUT)
    assert shown.endswith(CUT)


def test_a_part_that_is_shortened_keeps_its_middle() -> None:
    text = f"{WORDS}{NEEDLE} {WORDS}"
    assert NEEDLE in window(text, window(text, NEEDLE, 15_000), 1000)


@given(st.text("ab \n", min_size=1, max_size=300), st.integers(0, 250), st.integers(10, 60), st.integers(20, 80))
def test_a_piece_of_a_text_is_in_what_is_shown_of_it(text: str, start: int, length: int, characters: int) -> None:
    piece = " ".join(text[start : start + length].split())
    shown = window(text, piece, characters + 2 * len(piece) + 2 * length + 20)
    assert piece in " ".join(shown.split())
    assert len(shown) <= max(len(text), characters + 2 * len(piece) + 2 * length + 20)


@example(["# gh", NEEDLE, NEEDLE, NEEDLE, "\n\n", "ab cd"], 200)
@given(
    st.lists(st.sampled_from(["ab cd", "ef", "\n\n", "# gh", "| i | 7 |", NEEDLE]), max_size=60), st.integers(200, 900)
)
def test_passages_are_found_in_the_text_at_their_offsets(parts: list[str], characters: int) -> None:
    text = " ".join(parts)
    shown = passages(text, "What of cd?", NEEDLE, characters)
    if len(text) <= characters:
        assert shown == text
        return
    for start in map(int, re.findall(r"\[… (\d+)\]", shown)):
        assert read_on(text, start, 20).startswith(f"[… {start}] {text[start : start + 20]}")
    assert len(shown) <= characters + 40 * (1 + shown.count(CUT[1]))


def test_the_passages_on_the_topic_are_shown_before_the_others() -> None:
    filler = "Nothing of the kind stands here, and so it goes on. " * 8
    text = f"# Harbours\n\n{filler}\n\n{filler}\n\nThe pier of Tarn was built in 1844.\n\n{filler}\n\n{filler}"
    shown = passages(text, "When was the pier of Tarn built?", "", 600)
    assert "built in 1844" in shown and shown.startswith("# Harbours") and len(shown) < 700
