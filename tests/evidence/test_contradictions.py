"""Contradictions that are found without a model, and the traps that are none."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.checking.contradictions import contradicting, numbers_in
from deep_research.core.records.plan import Learning

CONTRARY = [
    ("The light at Harbour Point was lit in 1844.", "The light at Harbour Point was lit in 1855."),
    ("Harbour Point lighthouse was built in 1844.", "The lighthouse at Harbour Point was erected in May 1851."),
    ("Ada Moran was born on 3 May 1901 in a village.", "Ada Moran was born on 5 May 1901 in a village."),
    ("The tower is 38 metres tall.", "The tower is 45 m high."),
    ("The tower, built in 1844, is 38 metres tall.", "The tower is 45 metres tall."),
    ("The tower is 38 metres tall (125 feet).", "The height of the tower is 45 metres."),
    ("The Tay Bridge cost $1.2 million.", "The Tay Bridge cost 1,500,000 dollars."),
    ("The light had three keepers.", "The light had 2 keepers."),
    ("Maine counted 1,200 lighthouses in 1901.", "Maine counted 1.3 thousand lighthouses in 1901."),
    ("In 1901 the town of Portland had 4,300 inhabitants.", "The town of Portland had 5,200 inhabitants in 1901."),
    ("The island has between 30 and 40 houses.", "The island has 55 houses."),
    ("Harbour Point is visible from the island.", "Harbour Point isn't visible from the island."),
    ("The lamp of the light can be moved.", "The lamp of the light cannot be moved."),
    ("Der Turm am Hafen ist begehbar.", "Der Turm am Hafen ist nicht begehbar."),
    ("La tour du port est ouverte aux visiteurs.", "La tour du port n'est pas ouverte aux visiteurs."),
    (
        "The keeper was tall. The tower was built of granite in 1844.",
        "The tower was built of granite in 1851. It is dry.",
    ),
]

COMPATIBLE = [
    # other things, other persons
    ("Ada Moran kept the light from 1901 to 1932.", "Bob Doe kept the light from 1933 to 1950."),
    ("In 1901 Ada Moran was born.", "In 1905 Bob Moran was born."),
    ("The north tower is 38 metres tall.", "The south tower is 45 metres tall."),
    ("The tower is 38 metres tall.", "The old tower is 45 metres tall."),
    ("The great tower of Harbour Point is 12 metres wide.", "The great tower of Harbour Point is 38 metres tall."),
    ("The first light was built in 1844.", "The second light was built in 1901."),
    ("The first light was built in 1844.", "The light was built in 1901."),
    ("Apollo 11 carried three astronauts.", "Apollo 12 carried two astronauts."),
    ("The 1998 World Cup opened in June.", "The 2002 World Cup opened in June."),
    ("Chapter 3 holds 12 pages.", "Chapter 4 holds 14 pages."),
    ("A lighthouse was built at Harbour Point in 1844.", "A lighthouse was built at Harbour Point in 1901."),
    ("It was built in 1844 by the harbour board.", "It was built in 1901 by the harbour board."),
    ("At the 2006 census, its population was 339.", "At the 2006 census, its population was 65."),
    ("The film was released on January 31, 1931.", "The film was released on December 7, 1916."),
    ("The museum has 40 rooms.", "The museum in Boston has 60 rooms."),
    # what may happen twice
    ("France won the World Cup in 1998.", "France won the World Cup in 2018."),
    ("The light of Harbour Point was repaired in 1901.", "The light of Harbour Point was repaired in 1950."),
    (
        "The light of Harbour Point was designed in 1840 and built later.",
        "The light of Harbour Point was built in 1844.",
    ),
    # other times
    ("The town of Portland had 4,300 inhabitants in 1901.", "The town of Portland had 5,200 inhabitants in 1950."),
    ("The town of Portland had 4,300 inhabitants in 1901.", "The town of Portland had 5,200 inhabitants."),
    ("The lamp of the light was 38 metres high.", "The lamp of the light is 45 metres high."),
    ("The light was open until 1901.", "The light was opened in 1844."),
    ("The light of the harbour was not automatic.", "The light of the harbour is automatic."),
    # ranges, rough and rounded numbers, more and less exact ones
    ("The railway ran from 1901 to 1932.", "The railway ran from 1905 to 1930."),
    ("The tower is between 30 and 40 metres tall.", "The tower is 38 metres tall."),
    ("The tower is about 40 metres tall.", "The tower is 38 metres tall."),
    ("The tower is more than 30 metres tall.", "The tower is 38 metres tall."),
    ("The tower is up to 30 metres tall.", "The tower is 38 metres tall."),
    ("The tower is 38 metres tall.", "The tower is 38.4 metres tall."),
    ("The bridge cost 1.2 million dollars.", "The bridge cost 1,230,000 dollars."),
    ("Ada Moran was born on 3 May 1901.", "Ada Moran was born in 1901."),
    ("The light was built before 1850.", "The light was built in 1844."),
    ("The light was built in the 1840s.", "The light was built in 1844."),
    # units, and what a number does
    ("The tower is 38 metres tall.", "The tower is 125 feet tall."),
    ("The tower was raised by 3 metres.", "The tower was raised to 38 metres."),
    ("The tower has 38 stone steps.", "The tower has 3 stone lamps."),
    ("The keeper was paid 3 pounds per day.", "The keeper was paid 90 pounds per month."),
    # lists, headings, questions, doubts
    ("# The tower in 1844", "# The tower in 1901"),
    ("Height of the tower: 38 metres", "Height of the tower: 45 metres"),
    ("Thu 6 Sep 2018 10.54 EDT", "Thu 12 Apr 2018 10.40 EDT"),
    ("| tower | 38 metres |", "| tower | 45 metres |"),
    ("Was the tower built in 1844?", "The tower was built in 1901."),
    ("The tower may have been built in 1844.", "The tower was built in 1901."),
    ("The planned tower was 45 metres tall.", "The tower was 38 metres tall."),
    ("The team won 3–1 in Portland.", "The team won 4–1 in Portland."),
    # negations that deny something else
    ("The tower is open to all visitors.", "The tower is not open to all visitors in winter."),
    ("The tower is not only open to visitors.", "The tower is open to visitors."),
    ("The tower was not built in 1844.", "The tower was built in 1901."),
    ("The tower was not built in 1844.", "The tower was not built in 1901."),
    ("Some keepers were not paid.", "Some keepers were paid."),
    ("The light is no longer lit by the keeper.", "The light is lit by the keeper."),
    ("Lit in 1844.", "Lit in 1901."),
]


def learning(text: str, source: str) -> Learning:
    return Learning(text=text, source=source, step="1", question_id="q")


def are_contrary(one: str, other: str) -> bool:
    return bool(contradicting([learning(one, "a"), learning(other, "b")]))


@pytest.mark.parametrize(("one", "other"), CONTRARY)
def test_claims_that_cannot_both_hold_are_found(one: str, other: str) -> None:
    assert are_contrary(one, other)


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_claims_that_may_both_hold_are_no_contradiction(one: str, other: str) -> None:
    assert not are_contrary(one, other)


def test_a_source_does_not_contradict_itself_and_a_thought_nobody() -> None:
    texts = ("The tower is 38 metres tall.", "The tower is 45 metres tall.")
    assert contradicting([learning(text, "a") for text in texts]) == []
    assert contradicting([learning(texts[0], "a"), learning(texts[1], "")]) == []


def test_each_pair_comes_once_in_the_order_of_the_words() -> None:
    heights = [learning(f"The tower is {metres} metres tall.", f"page {metres}") for metres in (38, 45, 51)]
    pairs = contradicting([*heights, *heights])
    low, middle, high = heights
    assert pairs == [(low, middle), (low, high), (middle, high)]


def test_the_order_of_arrival_changes_nothing() -> None:
    known = [learning(text, str(place)) for place, text in enumerate(text for pair in CONTRARY[:2] for text in pair)]
    first = contradicting(known)
    assert first
    assert all(contradicting(order) == first for order in permutations(known))


@given(st.lists(st.sampled_from([text for pair in CONTRARY + COMPATIBLE for text in pair]), max_size=8))
def test_whatever_is_compared_neither_order_nor_repeats_change_what_is_found(texts: list[str]) -> None:
    known = [learning(text, str(place % 3)) for place, text in enumerate(texts)]
    found = contradicting(known)
    assert contradicting([*reversed(known), *known]) == found
    assert all(one.source != other.source and (one.text, one.id) < (other.text, other.id) for one, other in found)


@given(st.text(max_size=60), st.text(alphabet="0123456789.,'-– %$mMayin", max_size=30))
def test_any_text_can_be_compared(words: str, numbers: str) -> None:
    numbers_in(numbers)
    contradicting([learning(f"{words} {numbers}", "a"), learning(f"{numbers} {words}", "b")])


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_hundreds_of_learnings_are_compared_soon() -> None:
    # More than a run keeps; a second on a slow computer, and the limit of the test is thirty.
    known = [learning(f"The tower of Harbour Point number {n} is {n} metres tall.", str(n)) for n in range(250)]
    known += [learning(f"The tower of Harbour Point is {n % 2 + 30} metres tall.", str(n)) for n in range(250)]
    assert contradicting(known)
