"""A language is told by its commonest words, by as clear a lead as what hangs on it needs."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.language import IN_QUESTION, IN_TEXT, language_beyond_doubt, language_by_words
from deep_research.core.evidence.text.stems import sought_words


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("When was the lighthouse built, and by whom was it lit for the first time?", "en"),
        ("Wann wurde der Turm gebaut, und wer hat das Licht zum ersten Mal angezündet?", "de"),
        ("Quand le phare a-t-il été construit, et qui est le premier gardien du feu?", "fr"),
        ("Ada Moran", ""),
        ("Hvornår blev fyrtårnet bygget, og hvem var den første fyrpasser?", ""),
        ("灯塔是什么时候建的？", ""),
        ("", ""),
    ],
)
def test_a_language_is_evident_or_not(text: str, code: str) -> None:
    assert language_beyond_doubt(text) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the of" + " kvorp" * 2, ""),
        ("the of and" + " kvorp" * 9, "en"),
        ("the of and" + " kvorp" * 10, ""),
        ("the of and to is that der die" + " kvorp" * 2, "en"),
        ("the of and to is der die" + " kvorp" * 2, ""),
    ],
)
def test_a_language_is_evident_by_three_words_a_quarter_and_thrice_the_next(text: str, code: str) -> None:
    assert language_beyond_doubt(text) == code


@pytest.mark.parametrize(
    ("words", "in_text", "in_question"),
    [
        ("the of", "", "en"),
        ("the of and to", "en", "en"),
        ("the of and to der die", "en", "en"),
        ("the of and to" + " kvorp" * 37, "", ""),
        ("der die kvorp kvorp kvorp", "", "de"),
    ],
)
def test_words_are_cut_by_the_rules_of_a_language_that_leads_less(words: str, in_text: str, in_question: str) -> None:
    assert [language_by_words(words.split(), lead) for lead in (IN_TEXT, IN_QUESTION)] == [in_text, in_question]


def test_a_text_is_not_taken_for_that_of_a_language_near_to_its_own() -> None:
    bulgarian = (
        "Фарът на острова е построен на скалата за да не се разбиват корабите и от брега се вижда по цялата нощ."
    )
    assert language_by_words(sought_words(bulgarian), IN_TEXT) == "ru"
    assert language_beyond_doubt(bulgarian) == ""
