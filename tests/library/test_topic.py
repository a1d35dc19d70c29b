"""Documents on the topic of a long text, including those that use other words."""

from __future__ import annotations

from itertools import combinations

import pytest
from kit.files import Papers

from deep_research.core.library.library import TOPIC_DOCUMENTS, TOPIC_WORDS, near_topic

SUBJECTS = (
    "salt brine pools wind crystals coast rakes",
    "bells bronze copper tin casting pits clay",
    "looms wool thread dyes shuttles cloth weavers",
    "ships sails ropes masts anchors decks harbour",
)


def test_documents_without_a_word_of_the_text_are_close_if_they_are_on_its_topic() -> None:
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
def test_documents_with_any_text_are_ranked(text: str, documents: dict[str, str]) -> None:
    assert sorted(near_topic(text, documents)) == sorted(documents)


def test_a_long_text_finds_one_passage_of_each_document_on_its_topic(papers: Papers) -> None:
    for number in range(2 * TOPIC_DOCUMENTS):
        subject = "salt brine crystals" if number % 2 else "bells bronze copper"
        (papers.docs / f"{number}.md").write_text(f"# {subject} {number}\n\nAbout {subject} in the year {number}.\n")
    text = "We study how brine dries into crystals of salt. " * TOPIC_WORDS
    found = papers.indexed().follow(text, 25)
    assert len({passage.source.key for passage in found}) == len(found) == TOPIC_DOCUMENTS
    assert all("salt" in passage.text for passage in found)
