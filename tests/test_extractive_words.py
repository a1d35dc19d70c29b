"""What is asked in one word and told in another one of its family is found."""

from __future__ import annotations

import pytest
from extracting import finding_for, report_on

from deep_research.evidence.words import stem


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("high", "height"),
        ("tall", "height"),
        ("long", "length"),
        ("wide", "width"),
        ("deep", "depth"),
        ("heavy", "weighs"),
        ("built", "constructed"),
        ("owns", "owner"),
        ("staff", "employees"),
        ("born", "geboren"),
        ("died", "mort"),
    ],
)
def test_words_of_a_family_count_as_one(asked: str, told: str) -> None:
    assert stem(asked) == stem(told)


@pytest.mark.parametrize(("one", "other"), [("fees", "prices"), ("old", "age"), ("new", "newer")])
def test_words_that_tell_titles_apart_do_not(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_a_measure_is_found_by_its_noun() -> None:
    text = "The Osk tower is green. It reaches a height of 43 metres. It was painted in 1911."
    finding = finding_for("How tall is the Osk tower?", ("Osk tower", text))
    assert report_on("How tall is the Osk tower?", finding).startswith("It reaches a height of 43 metres. [1]")
