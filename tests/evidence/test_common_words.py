"""Detection of a language by its commonest words, with a threshold for each use."""

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
        # Three common words, a quarter of all, and three times as many as of the next language.
        ("the of" + " kvorp" * 2, ""),
        ("the of and" + " kvorp" * 9, "en"),
        ("the of and" + " kvorp" * 10, ""),
        ("the of and to is that der die" + " kvorp" * 2, "en"),
        ("the of and to is der die" + " kvorp" * 2, ""),
    ],
)
def test_a_language_is_beyond_doubt_or_not(text: str, code: str) -> None:
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
def test_stemming_needs_a_smaller_lead(words: str, in_text: str, in_question: str) -> None:
    found = [language_by_words(words.split(), threshold) for threshold in (IN_TEXT, IN_QUESTION)]
    assert found == [in_text, in_question]


def test_a_related_language_is_not_beyond_doubt() -> None:
    bulgarian = "Фарът на острова е построен на скалата за да не се разбиват корабите и от брега се вижда по нощ."
    assert language_by_words(sought_words(bulgarian), IN_TEXT) == "ru"
    assert language_beyond_doubt(bulgarian) == ""
