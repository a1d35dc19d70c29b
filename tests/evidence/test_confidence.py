"""The confidence of a step, by a formula that can be checked by hand."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.memory.learned import CONFIDENT, confidence, is_confident
from deep_research.core.records.plan import Learning
from deep_research.core.records.sources import Source

LETTERS = [f"word{number}x" for number in range(20)]


def source(key: str, kind: Literal["web", "document"] = "web") -> Source:
    return Source(key=key, title=key, location=key, address=key, kind=kind)


def learning(text: str, key: str = "") -> Learning:
    return Learning(text=text, source=key, step="1", question_id="q")


PAGE = source("https://a.example/one")


def covering(covered: int, of: int, iteration: int) -> float:
    """Confidence with one source that contains `covered` of the task's words."""
    learnings = [learning(" ".join(LETTERS[:covered]), PAGE.key)]
    return confidence(" ".join(LETTERS[:of]), learnings, {PAGE.key: PAGE}, iteration)


@pytest.mark.behaviour("A-40")
def test_confidence_is_agreement_and_coverage_and_promptness() -> None:
    assert covering(8, 8, 1) == 0.25 + 0.4 + 0.1
    assert covering(4, 8, 1) == 0.25 + 0.2 + 0.1
    assert covering(8, 8, 3) == 0.25 + 0.4 + 0.06
    assert covering(0, 8, 6) == covering(0, 8, 9) == 0.25


def test_exactly_the_boundary_is_not_confident() -> None:
    assert covering(5, 8, 1) == CONFIDENT == 0.6
    assert not is_confident(covering(5, 8, 1))
    assert covering(13, 20, 1) == 0.61
    assert is_confident(covering(13, 20, 1))


@pytest.mark.parametrize(
    ("sources", "agreement"),
    [
        ([], 0.0),
        ([PAGE], 0.25),
        ([PAGE, source("https://www.a.example/two"), source("http://a.example:8080/")], 0.25),
        ([PAGE, source("https://b.example/")], 0.375),
        ([source("file:///a.md", "document"), source("file:///b.md", "document")], 0.375),
        ([source("http://[broken"), PAGE], 0.375),
    ],
)
def test_pages_of_one_host_are_one_source_and_each_document_is_one(sources: list[Source], agreement: float) -> None:
    learnings = [learning("a fact", source.key) for source in sources] + [learning("a thought")]
    assert confidence("light", learnings, {source.key: source for source in sources}, 6) == round(agreement, 2)


@given(
    st.lists(st.tuples(st.sampled_from(LETTERS), st.sampled_from(["", "https://a.example/", "https://b.example/"]))),
    st.integers(1, 9),
)
def test_confidence_is_between_0_and_1_and_independent_of_order(facts: list[tuple[str, str]], iteration: int) -> None:
    learnings = [learning(text, key) for text, key in facts]
    sources = {key: source(key) for key in ("https://a.example/", "https://b.example/")}
    value = confidence(" ".join(LETTERS), learnings, sources, iteration)
    assert 0 <= value <= 1
    assert value == round(value, 2)
    assert confidence(" ".join(LETTERS), [*reversed(learnings), *learnings], sources, iteration) == value
