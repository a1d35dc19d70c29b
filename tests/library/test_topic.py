"""Documents on the topic of a long text: also those that say the same in other words."""

from __future__ import annotations

from itertools import combinations

import pytest
from shelf import Place

from deep_research.core.library.library import LONG, OF_LONG
from deep_research.core.library.topic import near_topic

SUBJECTS = (
    "salt brine pools wind crystals coast rakes",
    "bells bronze copper tin casting pits clay",
    "looms wool thread dyes shuttles cloth weavers",
    "ships sails ropes masts anchors decks harbour",
)


def test_documents_without_a_word_of_the_text_are_near_if_they_speak_of_the_same() -> None:
    documents = {
        f"{subject[:4]} {number}": f"{' '.join(words)} remark{number}{subject[:4]}"
        for subject in SUBJECTS
        for number, words in enumerate(combinations(subject.split(), 3))
    }
    near = [key for key in near_topic("salt and brine", documents)[:35] if key.startswith("salt")]
    held = [key for key in near if {"salt", "brine"} & {*documents[key].split()}]
    assert len(held) == 25
    assert len(near) >= 30


@pytest.mark.parametrize("documents", [{}, {"a": ""}, {"a": "", "b": "salt"}, {"a": "salt", "b": "salt"}])
@pytest.mark.parametrize("text", ["", "salt", "bronze"])
def test_all_documents_are_ranked_whatever_they_hold(text: str, documents: dict[str, str]) -> None:
    assert sorted(near_topic(text, documents)) == sorted(documents)


def test_a_long_text_finds_one_passage_of_each_document_on_its_topic(place: Place) -> None:
    for number in range(2 * OF_LONG):
        subject = "salt brine crystals" if number % 2 else "bells bronze copper"
        (place.docs / f"{number}.md").write_text(f"# {subject} {number}\n\nAbout {subject} in the year {number}.\n")
    text = "We study how brine dries into crystals of salt. " * LONG
    found = place.indexed().follow(text, 25)
    assert len({one.source.key for one in found}) == len(found) == OF_LONG
    assert all("salt" in one.text for one in found)
