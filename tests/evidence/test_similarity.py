"""Reprints, repeated texts, mentions of documents in questions, and words of scripts without
spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import (
    COMPARED_CHARACTERS,
    reprints,
    without_repeated,
)
from deep_research.core.evidence.text.words import sought_words, tokens
from deep_research.core.library._candidates import (
    SUBJECT_ONLY,
    WHOLE_TITLE,
    padded_stems,
    possible_titles,
    title_match,
)
from deep_research.core.library._index_search import spread
from deep_research.core.models.extractive._choosing import mentions

WORDS = [f"word{number}" for number in range(200)]


def text(first: int, last: int) -> str:
    return " ".join(WORDS[first:last])


@pytest.mark.parametrize(
    ("first", "second", "are_same"),
    [
        (text(0, 60), text(0, 60), True),
        (text(0, 60), f"Shown again: {text(0, 60)} And more. {text(100, 190)}", True),
        (text(0, 60), text(23, 83), False),
        (text(0, 60), text(20, 80), True),
        (text(0, 23), text(0, 23), False),
        (text(0, 24), text(0, 24), True),
        (text(0, 60), " ".join(reversed(WORDS[:60])), False),
    ],
    ids=[
        "the same",
        "with more",
        "too little",
        "enough",
        "too short",
        "long enough",
        "other order",
    ],
)
def test_three_fifths_of_the_shingles_make_a_reprint(
    first: str, second: str, are_same: bool
) -> None:
    assert reprints({"a": first, "b": second}) == ([("a", "b")] if are_same else [])


def test_only_the_beginning_of_a_long_text_is_compared() -> None:
    ends = (" ".join(f"{name}{number}" for number in range(20_000)) for name in "ab")
    begins = (text(0, 200) + " ").ljust(COMPARED_CHARACTERS, ".")
    assert reprints(dict(zip("ab", (begins + end for end in ends), strict=True))) == [("a", "b")]


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_the_texts_makes_no_difference(order: list[str]) -> None:
    texts = {"a": text(0, 60), "b": text(20, 80), "c": text(40, 100), "d": text(140, 190)}
    assert reprints({key: texts[key] for key in order}) == [("a", "b", "c")], (
        "a and c are connected by b"
    )


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 4))
def test_spreading_moves_only_the_surplus_of_a_kind(values: list[int], most: int) -> None:
    result = spread(values, lambda value: value % 3, most)
    assert sorted(result) == sorted(values)
    for kind in range(3):
        assert [value for value in result if value % 3 == kind] == [
            value for value in values if value % 3 == kind
        ]
    first = result[
        : sum(min(most, sum(value % 3 == kind for value in values)) for kind in range(3))
    ]
    assert all(sum(value % 3 == kind for value in first) <= most for kind in range(3))


STORY = (
    "On a rainy day in May the mayor opened the basin, and 400 guests swam in it before the lamps of it were lit, "
    "while Ada Lindqvist, who had built it in two long and stormy years, stood at the desk and sold the tickets."
)


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (("It is tall.", "It is tall."), 1),
        (
            (
                "Anna lives in the white house on the hill.",
                "Berta lives in the white house on the hill.",
            ),
            2,
        ),
        ((STORY, f"The town reports. {STORY}"), 1),
        ((STORY, STORY.replace("400", "900")), 2),
        ((STORY, STORY.replace("Ada", "Ida")), 2),
        (
            (
                STORY,
                STORY
                + " ".join(f" A further sentence tells of lamp {number}." for number in range(9)),
            ),
            2,
        ),
    ],
)
def test_a_text_that_says_the_same_with_equal_names_and_figures_is_dropped(
    texts: tuple[str, ...], kept: int
) -> None:
    assert without_repeated(texts, str) == list(texts[:kept])


@pytest.mark.parametrize(
    ("title", "question", "worth"),
    [
        ("Velm (river)", "How long is the river that Velm (river) means?", WHOLE_TITLE),
        ("Porto Alto", "When was porto alto founded?", WHOLE_TITLE),
        ("Velm (river)", "How long is the Velm?", SUBJECT_ONLY),
        ("Salt (film)", "Who traded salt?", 0),
        ("Velm (river)", "Who is Anvelm?", 0),
        ("", "Who is the mayor?", 0),
    ],
)
def test_a_question_names_a_document_by_its_title_or_by_the_name_in_it(
    title: str, question: str, worth: float
) -> None:
    assert title_match(title, question, padded_stems(question)) == worth


def test_a_text_mentions_a_name_as_whole_words() -> None:
    assert mentions("The Velm's bank", "Velm")
    assert not mentions("The Velmer bank", "Velm")
    assert not mentions("the velm", "Velm")


def test_titles_of_up_to_ten_words_are_looked_up() -> None:
    found = possible_titles(" ".join([f"word{number}" for number in range(11)]))
    assert max(len(title.split()) for title in found) == 10
    assert len(found) == len(set(found)) == sum(range(1, 12)) - 1


@pytest.mark.fault(50)
@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("ท่าเรือ", ["ท่", "่า", "าเ", "เร", "รื", "ือ"]),
        ("港を", ["港を"]),
        ("アダ・リン", ["アダ", "リン"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("항구는 2 m", ["항구", "구는", "2", "m"]),
    ],
)
def test_words_of_scripts_without_spaces_are_pairs_of_neighbours(
    text: str, pairs: list[str]
) -> None:
    assert tokens(text) == pairs


@given(st.text("港口ア항ກ၅ក𠀀 ・。x7"))
def test_index_terms_and_tokens_have_the_same_words(text: str) -> None:
    assert tokens(text) == [part for word in sought_words(text) for part in word.split()]
