"""The labels of a report in its language."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.labels import all_labels, is_right_to_left, labels


@pytest.mark.parametrize("code", all_labels())
def test_labels_are_complete_without_stray_spaces_and_with_distinct_verdicts(code: str) -> None:
    own = labels(code)
    assert vars(own).keys() == vars(labels("en")).keys()
    for name, words in vars(own).items():
        assert words == words.strip() != "", name
    assert len({own.supported, own.unchecked, own.unsupported, own.uncited}) == 4


@pytest.mark.parametrize("code", sorted(all_labels().keys() - {"en", "fr"}))
def test_labels_are_translated(code: str) -> None:
    same = [name for name, words in vars(labels(code)).items() if words == getattr(labels("en"), name)]
    assert same == []


@pytest.mark.parametrize(
    ("code", "heading"),
    [
        ("de", "Quellen"),
        ("de-AT", "Quellen"),
        ("ZH_hans", "来源"),
        ("", "Sources"),
        ("xx", "Sources"),
        ("deu", "Sources"),
    ],
)
def test_region_and_script_are_ignored_and_english_is_the_default(code: str, heading: str) -> None:
    assert labels(code).sources == heading


@pytest.mark.fault(50)
def test_arabic_persian_and_hebrew_run_from_right_to_left() -> None:
    assert [code for code in ("ar", "fa", "he-IL", "en", "ja", "") if is_right_to_left(code)] == ["ar", "fa", "he-IL"]
