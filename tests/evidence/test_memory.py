"""The research memory: its views do not depend on the order of observations."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.memory.observations import (
    ResearchMemory,
    relevance,
)
from deep_research.core.evidence.text.similarity import components
from deep_research.core.records.plan import FINAL_CHECK, Element, Observation
from deep_research.core.records.sources import Dispute
from deep_research.state import merge_by_id

LIT = "The light at Harbour Point was lit in 1844 by Ada Moran"
TALL = "The granite tower of Harbour Point is 38 metres tall"

VOCABULARY = ["light", "tower", "keeper", "lamp", "oil", "not", "1844", "when", "Moran", "the"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7)
OBSERVATIONS = st.builds(
    Observation,
    kind=st.sampled_from(["insight", "gap"]),
    text=WORDS.map(" ".join),
    question_id=st.sampled_from("pq"),
    round=st.integers(0, 2),
    step=st.sampled_from(["1", "2", "2.1", "10"]),
    iteration=st.integers(1, 3),
    is_open=st.booleans(),
    score=st.sampled_from([0.0, 0.5, 0.8]),
    learnings=st.lists(st.sampled_from("xyz"), max_size=2).map(tuple),
) | st.builds(
    Observation,
    kind=st.just("contradiction"),
    dispute=st.builds(
        Dispute, claims=st.tuples(*[WORDS.map(" ".join)] * 2), sources=st.just(("a", "b"))
    ),
    question_id=st.sampled_from("pq"),
    round=st.integers(0, 2),
    step=st.sampled_from(["1", "2", "2.1", "10"]),
    iteration=st.integers(1, 3),
)


def insight(text: str, score: float = 0.5, *learnings: str) -> Observation:
    return Observation(kind="insight", text=text, question_id="q", score=score, learnings=learnings)


def gap(
    text: str, round: int = 0, step: str = "1", iteration: int = 1, question: str = "q"
) -> Observation:
    return Observation(
        kind="gap", text=text, question_id=question, round=round, step=step, iteration=iteration
    )


def against(text: str, other: str, round: int = 0) -> Observation:
    dispute = Dispute(claims=(text, other), sources=("a", "b"))
    return Observation(
        kind="contradiction", dispute=dispute, question_id="q", round=round, step="1"
    )


def views(observations: list[Observation]) -> list[list[Observation] | list[Element]]:
    memory = ResearchMemory(observations)
    thoughts = [("1", "The lamp"), ("2", "The oil")]
    elements = memory.elements(thoughts, 9)
    return [
        ResearchMemory(observations).insights(),
        ResearchMemory(observations).open_gaps(),
        ResearchMemory(observations).contradictions(),
        elements,
    ]


@given(st.lists(OBSERVATIONS, max_size=12), st.integers())
def test_neither_order_of_arrival_nor_repeats_change_a_view(
    observations: list[Observation], seed: int
) -> None:
    again = [*observations, *observations[:5]]
    Random(seed).shuffle(again)
    assert views(again) == views(observations)


@given(st.lists(OBSERVATIONS, max_size=8), st.lists(OBSERVATIONS, max_size=8))
def test_parallel_writes_merge_the_same_in_either_order(
    left: list[Observation], right: list[Observation]
) -> None:
    first, second = ({found.key: found for found in written} for written in (left, right))
    straight, crossed = merge_by_id(first, second), merge_by_id(second, first)
    assert straight == crossed == merge_by_id(straight, first)
    assert views(list(straight.values())) == views(list(crossed.values()))


@given(st.lists(OBSERVATIONS, max_size=12))
def test_a_view_of_a_view_is_the_same_view(observations: list[Observation]) -> None:
    views = (
        ResearchMemory.insights,
        ResearchMemory.open_gaps,
        ResearchMemory.contradictions,
    )
    for view in views:
        shown = view(ResearchMemory(observations))
        assert view(ResearchMemory(shown)) == shown


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 12), st.integers(1, 3), st.booleans()),
        min_size=1,
    )
)
def test_the_latest_observation_decides_whether_a_gap_is_open(
    stamps: list[tuple[int, int, int, bool]],
) -> None:
    observations = [
        gap("Who lit the light?", round, str(step), iteration).model_copy(
            update={"is_open": is_open}
        )
        for round, step, iteration, is_open in stamps
    ]
    latest = max(stamp[:3] for stamp in stamps)
    assert bool(ResearchMemory(observations).open_gaps()) == all(
        stamp[3] for stamp in stamps if stamp[:3] == latest
    )


def test_an_answered_gap_is_closed_until_it_is_opened_again() -> None:
    found = gap("Who built the light?")
    closed = ResearchMemory([found]).closing(found, 0, "1", 2)
    assert ResearchMemory([found]).open_gaps() == [found]
    assert ResearchMemory([found, *closed]).open_gaps() == []
    reopened = gap("who built the lights", 1)
    assert ResearchMemory([found, *closed, reopened]).open_gaps() == [reopened]


def test_an_answer_closes_all_gaps_that_say_nearly_the_same_and_no_other() -> None:
    same = [
        gap(f"Who built the {light} of Harbour Point in the bay?")
        for light in ("old light", "light")
    ]
    asked_elsewhere = same[0].model_copy(update={"question_id": "other"})
    others = [asked_elsewhere, gap("When was the light of Harbour Point in the bay built?")]
    shown = next(found for found in ResearchMemory([*same, *others]).open_gaps() if found in same)
    left = ResearchMemory(
        [*same, *others, *ResearchMemory([*same, *others]).closing(shown, 1, "1", 1)]
    ).open_gaps()
    assert {found.key for found in left} == {found.key for found in others}


def test_similar_insights_merge_with_the_highest_confidence_and_all_learnings() -> None:
    same = [
        insight(LIT, 0.4, "b"),
        insight(f"{LIT}, keeper", 0.9, "a", "b"),
        insight(f"{LIT}, the lights", 0.5),
    ]
    (merged,) = ResearchMemory(same).insights()
    first = min(same, key=lambda found: found.key)
    assert (merged.text, merged.score, merged.learnings) == (first.text, 0.9, ("a", "b"))


def test_similarity_is_transitive() -> None:
    chain = ["a b c d e f g h i", "a b c d e f g h j", "a b c d e f g k j"]
    texts = [" ".join(f"word{letter}" for letter in text.split()) for text in chain]
    assert len(ResearchMemory([insight(texts[0]), insight(texts[2])]).insights()) == 2
    assert len(ResearchMemory([insight(text) for text in texts]).insights()) == 1
    assert components([1, 5, 2, 6, 3], lambda first, second: abs(first - second) == 1) == [
        [1, 2, 3],
        [5, 6],
    ]


@pytest.mark.parametrize(
    "other",
    [
        LIT.replace("1844", "1855"),
        LIT.replace("was", "was not"),
        LIT.replace("Ada Moran", "Ada Lind"),
        f"Why {LIT}",
    ],
)
def test_one_decisive_word_makes_a_different_statement(other: str) -> None:
    assert (
        len(
            ResearchMemory(
                [
                    insight(f"{LIT} with oil lamps of brass"),
                    insight(f"{other} with oil lamps of brass"),
                ]
            ).insights()
        )
        == 2
    )


def test_a_contradiction_is_shown_once_in_either_order_of_its_claims() -> None:
    other = LIT.replace("1844", "1855")
    first, again = against(LIT, other), against(f"{other}.", LIT, 1)
    apart = against(LIT, TALL, 2)
    assert ResearchMemory([apart, again, first]).contradictions() == [first, apart]


def test_the_final_check_decides_about_the_contradictions_that_it_was_shown() -> None:
    kept, dropped = against(LIT, TALL), against(TALL, "It is not tall.")
    late = against(LIT, "It was never lit.", 1)
    checked = [
        found.model_copy(update={"step": FINAL_CHECK, "is_open": found is kept})
        for found in (kept, dropped)
    ]
    found = [kept, dropped, late, *checked]
    assert ResearchMemory(found).contradictions() == [checked[0], late]
    again = dropped.model_copy(update={"step": FINAL_CHECK, "round": 2})
    assert ResearchMemory([*found, again]).contradictions() == [checked[0], late, again]


def test_what_is_known_of_the_sources_of_a_dispute_does_not_change_its_key() -> None:
    found = against(LIT, TALL)
    assert found.dispute
    dated = found.dispute.model_copy(
        update={"dates": ("2001", "2019"), "resolution": "The newer source is right."}
    )
    assert found.model_copy(update={"dispute": dated}).key == found.key
    assert against(TALL, LIT).key != found.key


def test_relevance_is_the_share_of_the_tasks_specific_words() -> None:
    assert relevance("The lights were lit in 1844.", "When was the light lit?") == 1.0
    assert relevance("A light.", "Tell me something about the light and its keeper") == 0.5
    assert relevance("A light.", "Find information about it") == 0.0


def test_kinds_take_turns_in_the_order_in_which_models_named_them() -> None:
    second, first = (insight(text, 0.8) for text in ("Oil was dear", "The tower was lit with oil"))
    noticed = [
        second.model_copy(update={"rank": 1}),
        first,
        gap("When was the tower built"),
        against("The tower was lit in 1844", "The tower was lit in 1855"),
    ]
    memory = ResearchMemory(noticed)
    shown = memory.elements([("2", "The tower matters"), ("3", " ")], 9)
    assert [(element.kind, element.content) for element in shown] == [
        ("insight", "The tower was lit with oil"),
        ("contradiction", "The tower was lit in 1844 – but: The tower was lit in 1855"),
        ("reasoning", "The tower matters"),
        ("insight", "Oil was dear"),
    ]
    assert memory.elements([], 2) == shown[:2]


@given(st.permutations(range(4)))
def test_gaps_stand_in_the_order_in_which_the_model_named_them(order: list[int]) -> None:
    named = [Observation.of_gap(f"What is number {rank}?", "q", 0, "", rank) for rank in range(4)]
    shown = ResearchMemory([named[index] for index in order]).open_gaps()
    assert shown == named == ResearchMemory(named).declared_gaps()


def test_the_same_words_are_shown_once_per_kind() -> None:
    noticed = [
        Observation(kind="insight", text=text, question_id="q", step=step)
        for step, text in (("1", "the tower is lit"), ("2", "The towers are lit."))
    ]
    thoughts = [
        ("1", "The tower is lit"),
        ("2", "The tower is lit!"),
        ("2", "The tower is not lit"),
    ]
    shown = ResearchMemory(noticed).elements(thoughts, 9)
    assert sorted(element.kind for element in shown) == ["insight", "reasoning", "reasoning"]
