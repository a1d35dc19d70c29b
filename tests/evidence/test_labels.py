"""The labels of a report in its language."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.labels import all_labels, is_right_to_left, labels


@pytest.mark.parametrize("code", all_labels())
def test_no_label_is_missing_or_has_stray_spaces(code: str) -> None:
    assert vars(labels(code)).keys() == vars(labels("en")).keys()
    for name, words in vars(labels(code)).items():
        assert words == words.strip() != "", name


@pytest.mark.parametrize("code", sorted(all_labels().keys() - {"en", "fr"}))
def test_labels_are_translated(code: str) -> None:
    same = [name for name, words in vars(labels(code)).items() if words == getattr(labels("en"), name)]
    assert same == []


@pytest.mark.parametrize("code", all_labels())
def test_the_verdicts_can_be_told_apart(code: str) -> None:
    words = labels(code)
    assert len({words.supported, words.unchecked, words.unsupported, words.uncited}) == 4


@pytest.mark.parametrize(("code", "heading"), [("de", "Quellen"), ("de-AT", "Quellen"), ("ZH_hans", "来源")])
def test_a_region_or_script_behind_the_language_changes_nothing(code: str, heading: str) -> None:
    assert labels(code).sources == heading


@pytest.mark.parametrize("code", ["", "xx", "deu"])
def test_a_language_without_labels_gets_english_ones(code: str) -> None:
    assert labels(code) == labels("en")


@pytest.mark.fault(50)
def test_arabic_persian_and_hebrew_run_from_the_right() -> None:
    assert [code for code in ("ar", "fa", "he-IL", "en", "ja", "") if is_right_to_left(code)] == ["ar", "fa", "he-IL"]
