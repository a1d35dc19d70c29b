"""Mentions of documents in questions, and words of scripts without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.text.similarity import SUBJECT_ONLY, WHOLE_TITLE, mentions, title_match
from deep_research.core.evidence.text.stems import sought_words
from deep_research.core.evidence.text.words import stem_run, tokens
from deep_research.core.library.candidates import mentions as mentions_in


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
def test_a_question_names_a_document_by_its_title_or_by_the_name_in_it(title: str, question: str, worth: float) -> None:
    assert title_match(title, question, stem_run(question)) == worth


def test_a_text_mentions_a_name_as_whole_words() -> None:
    assert mentions("The Velm's bank", "Velm")
    assert not mentions("The Velmer bank", "Velm")
    assert not mentions("the velm", "Velm")


def test_titles_of_up_to_ten_words_are_looked_up() -> None:
    words = [f"word{number}" for number in range(11)]
    found = mentions_in(" ".join(words))
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
def test_words_of_scripts_without_spaces_are_pairs_of_neighbours(text: str, pairs: list[str]) -> None:
    assert tokens(text) == pairs


@given(st.text("港口ア항ກ၅ក𠀀 ・。x7"))
def test_index_terms_and_tokens_have_the_same_words(text: str) -> None:
    assert tokens(text) == [part for word in sought_words(text) for part in word.split()]
