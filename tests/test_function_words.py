"""A language is told by its commonest words only where that is beyond doubt."""

from __future__ import annotations

import pytest

from deep_research.evidence.function_words import evident_language, is_evidently


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("When was the lighthouse built, and by whom was it lit for the first time?", "en"),
        ("Wann wurde der Turm gebaut, und wer hat das Licht zum ersten Mal angezündet?", "de"),
        ("Quand le phare a-t-il été construit, et qui est le premier gardien du feu?", "fr"),
        ("Wanneer was de toren gebouwd en wat is de hoogte van het licht?", "nl"),
        ("Ada Moran", ""),
        ("Was ist das?", ""),
        ("Hvornår blev fyrtårnet bygget, og hvem var den første fyrpasser?", ""),
        ("Quando è stato costruito il faro e chi lo ha acceso per la prima volta?", ""),
        ("灯塔是什么时候建的？", ""),
        ("", ""),
    ],
)
def test_a_language_is_evident_or_not(text: str, code: str) -> None:
    assert evident_language(text) == code
    assert not code or is_evidently(text, code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the of" + " kvorp" * 2, ""),
        ("the of and" + " kvorp" * 9, "en"),
        ("the of and" + " kvorp" * 10, ""),
        ("the of and der die" + " kvorp" * 2, ""),
        ("the of and to is that der die" + " kvorp" * 2, "en"),
        ("the of and to is der die" + " kvorp" * 2, ""),
    ],
)
def test_a_language_is_evident_by_three_words_a_quarter_and_thrice_the_next(text: str, code: str) -> None:
    assert evident_language(text) == code


@pytest.mark.parametrize(
    ("text", "is_evident"),
    [
        ("the kvorp", False),
        ("the of" + " kvorp" * 11, True),
        ("the of" + " kvorp" * 12, False),
        ("the of and der" + " kvorp" * 2, True),
        ("the of der" + " kvorp" * 2, False),
    ],
)
def test_less_is_evident_where_the_language_is_expected(text: str, is_evident: bool) -> None:
    assert is_evidently(text, "en") is is_evident


@pytest.mark.parametrize("code", ["de", "fr", "xx", ""])
def test_english_is_evidently_no_other_language(code: str) -> None:
    assert not is_evidently("The tower of the light was built in 1844, and it is high.", code)
