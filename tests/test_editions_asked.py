"""Which version of a document, and which part of a series, a question means."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.evidence.versions.asked import Dated, unwanted

OLDEST = Dated("oldest", "Basin prices 2020", "a.md", "")
OLD = Dated("old", "Basin prices 2024", "b.md", "")
CURRENT = Dated("current", "Basin prices 2026", "c.md", "")
OTHER = Dated("other", "Tides", "d.md", "2025-01-01")
NEWER = {"old": "current", "oldest": "current"}
PRICES = (OLDEST, OLD, CURRENT, OTHER)
REPORTS = tuple(
    Dated(str(year), f"Jahresbericht {year}", f"jahresbericht-{year}.md", "") for year in (2022, 2023, 2024)
)


def meant(question: str) -> set[str]:
    return {one.key for one in PRICES} - {"other"} - unwanted(question, PRICES, NEWER)


@pytest.mark.parametrize(
    ("question", "version"),
    [
        ("How much does a ticket cost?", "current"),
        ("What does a ticket cost in 2026?", "current"),
        ("What does a ticket cost in the 2024 edition?", "old"),
        ("What did a ticket cost before 2026?", "old"),
        ("What did a ticket cost before 2024?", "oldest"),
        ("Was kostete eine Karte vor 2026?", "old"),
        ("Was kostete eine Karte früher?", "old"),
        ("Was stand in der alten Badeordnung?", "old"),
        ("¿Cuánto costaba la entrada según las tarifas anteriores?", "old"),
        ("¿Cuánto costaba la entrada antes de 2026?", "old"),
        ("Combien coûtait le billet auparavant ?", "old"),
        ("What did a ticket cost in the previous price list or the former edition?", "old"),
        ("以前门票多少钱？", "old"),
        ("How old is the basin?", "current"),
    ],
)
def test_the_version_in_force_is_meant_unless_the_question_asks_for_another(question: str, version: str) -> None:
    assert meant(question) == {version}


def test_a_comparison_means_both_years() -> None:
    assert meant("How did the price change between 2024 and 2026?") == {"old", "current"}


def test_a_year_without_a_version_of_its_own_means_the_one_in_force_then_and_the_present_one() -> None:
    assert meant("What did a ticket cost in 2025?") == {"old", "current"}
    assert meant("Who won the race of 1998?") == {"current"}


def test_a_version_is_meant_by_its_number_and_a_draft_by_its_name() -> None:
    one, two = Dated("1", "Manual v1.2", "m1.md", ""), Dated("2", "Manual v2.0", "m2.md", "")
    draft = Dated("d", "Manual (draft)", "m0.md", "")
    newer = {"1": "2", "d": "2"}
    assert unwanted("What does version 1.2 say?", (one, two, draft), newer) == {"2", "d"}
    assert unwanted("What did the draft say?", (one, two, draft), newer) == {"1", "2"}
    assert unwanted("What does the manual say?", (one, two, draft), newer) == {"1", "d"}


@pytest.mark.parametrize(
    ("question", "version"),
    [
        ("What does a ticket cost?", "current"),
        ("What does a ticket cost now?", "current"),
        ("What did a ticket cost previously?", "old"),
        ("What did a ticket cost in 2024?", "old"),
        ("What does a ticket cost from March 2027?", "next"),
        ("What will a ticket cost in 2027?", "next"),
        ("What will a ticket cost next year?", "next"),
        ("Was kostet eine Karte im nächsten Jahr?", "next"),
        ("Was kostet eine Karte künftig?", "next"),
        ("Combien coûtera le billet l'année prochaine ?", "next"),
        ("¿Cuánto costará la entrada el próximo año?", "next"),
        ("What does a ticket cost by the draft?", "draft"),
    ],
)
def test_what_is_not_in_force_yet_is_meant_only_if_it_is_asked_for(question: str, version: str) -> None:
    coming = Dated("next", "Basin prices 2027", "n.md", "", in_force_from="2027-03-01")
    documents = (*PRICES, coming, Dated("draft", "Basin prices", "x.md", "2026-11-04", is_draft=True))
    left_out = unwanted(question, documents, {**NEWER, "next": "current", "draft": "current"})
    assert {one.key for one in documents} - {"other"} - left_out == {version}


def test_a_year_of_which_there_is_only_a_draft_means_it_and_what_was_decided() -> None:
    documents = (*PRICES, Dated("draft", "Basin prices 2027 (draft)", "x.md", "", is_draft=True))
    left_out = unwanted("What will a ticket cost in 2027?", documents, {**NEWER, "draft": "current"})
    assert {one.key for one in documents} - {"other"} - left_out == {"draft", "current"}


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Was steht im Jahresbericht 2023?", {"2023"}),
        ("Was geschah 2022 und 2024?", {"2022", "2024"}),
        ("Was ist derzeit bekannt?", {"2024"}),
        ("Was ist bekannt?", {"2022", "2023", "2024"}),
        ("Was geschah seit 2023?", {"2022", "2023", "2024"}),
        ("Was geschah 1950?", {"2022", "2023", "2024"}),
    ],
)
def test_of_a_series_the_part_of_the_year_is_meant(question: str, parts: set[str]) -> None:
    assert {one.key for one in REPORTS} - unwanted(question, REPORTS, {}) == parts


@given(st.text(max_size=60), st.randoms(use_true_random=False))
def test_something_of_each_group_is_always_meant_whatever_the_order(words: str, chance: random.Random) -> None:
    documents = (*PRICES, *REPORTS)
    left_out = unwanted(words, documents, NEWER)
    assert left_out < {one.key for one in documents}
    assert "other" not in left_out
    assert not left_out >= {"oldest", "old", "current"}
    assert not left_out >= {one.key for one in REPORTS}
    assert unwanted(words, chance.sample(documents, len(documents)), NEWER) == left_out
