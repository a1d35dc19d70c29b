"""Learnings and gaps of findings, and the confidence in them, by a formula that can be checked by
hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.reports import source_at

from deep_research.core.evidence.memory.learned import (
    CONFIDENT,
    confidence,
    facts_of,
    is_confident,
    learnings_of,
    notice_findings,
)
from deep_research.core.evidence.text.sentences import sentences_of
from deep_research.core.records.plan import Learning
from deep_research.core.records.research import Finding
from deep_research.core.records.sources import Source
from deep_research.nodes.frame_report import thoughts

TASK = "Who built the light?"
SOURCES = ("https://a.example/", "https://b.example/", "file:///c.md")
A, B, C = SOURCES
LEARNINGS = st.builds(
    Learning,
    text=st.sampled_from(["It is tall.", "It is old.", "It is lit."]),
    source=st.sampled_from(["", "a", "b"]),
    step=st.sampled_from("12"),
    question_id=st.just("q"),
)


def finding(text: str, **fields: Any) -> Finding:
    known = {
        "id": "call",
        "question_id": "q",
        "cycle": 0,
        "position": 0,
        "task": TASK,
        "ended": "done",
    }
    return Finding.model_validate({**known, "text": text, "sources": SOURCES, **fields})


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Lit in 1844 [1].", [("Lit in 1844.", A)]),
        (
            "Lit in 1844 [1] and raised in 1901 [2].",
            [("Lit in 1844 and raised in 1901.", key) for key in (A, B)],
        ),
        ("Lit [1, 2], [3]. Dark.", [("Lit.", A), ("Lit.", B), ("Lit.", C)]),
        (
            "Built by Dr. J. Smith of the U.S. Navy [1].",
            [("Built by Dr. J. Smith of the U.S. Navy.", A)],
        ),
        ("- Lit in 1844 [1]\n2. Ada kept it [2]\n", [("Lit in 1844", A), ("Ada kept it", B)]),
        ("它建于1844年。[1]它很高。【2】", [("它建于1844年。", A), ("它很高。", B)]),
        ("Lit [9]. Tall [0]. Old [9, 3].", [("Old.", C)]),
        ("Lit. [1]\n\nSources:\n[1] A light, https://a.example\n- [2] B", [("Lit.", A)]),
        ("`x [1]` and [1](https://a.example). Lit [2].", [("Lit.", B)]),
        ("```\nLit [1].\n```\nTall [2].", [("Tall.", B)]),
        ("Nothing is cited.", []),
    ],
)
def test_each_cited_sentence_is_a_learning_of_each_source_it_cites(
    text: str, facts: list[tuple[str, str]]
) -> None:
    found = learnings_of(finding(text))
    assert [(learning.text, learning.source) for learning in found] == facts
    assert all((learning.step, learning.question_id) == ("call", "q") for learning in found)


@pytest.mark.parametrize(
    ("text", "fields", "gaps"),
    [
        ("Lit [1]. It was built by Anna Holm.", {}, []),
        ("Lit [1].", {"missing": ("its cost",)}, ["its cost"]),
        ("Nothing was found [9].", {"missing": ("its cost",)}, [TASK]),
        # Withheld and failed findings have no learnings.
        ("Lit [1].", {"is_withheld": True}, [TASK]),
        ("Lit [1].", {"failures": ("its model failed",)}, [TASK]),
        (
            "Lit [1].",
            {"ended": "partial", "reason": "time was up", "missing": ("its cost",)},
            ["its cost", TASK],
        ),
        ("", {"ended": "failed", "reason": "no model"}, [TASK]),
    ],
)
def test_gaps_are_declared_and_never_read_from_a_missing_citation(
    text: str, fields: Any, gaps: list[str]
) -> None:
    _, noticed = notice_findings([finding(text, **fields)], {})
    assert [gap.text for gap in noticed.values()] == gaps


def learning(text: str, source: str = "") -> Learning:
    return Learning(text=text, source=source, step="1", question_id="q")


def stated(*pairs: tuple[str, str]) -> list[Learning]:
    return [learning(*pair) for pair in pairs]


def test_thoughts_are_learnings_without_a_source() -> None:
    learnings = stated(
        ("It is tall.", "b"), ("So it is seen.", ""), ("It is lit.", "a"), ("So it stays.", "")
    )
    assert [thought.text for thought in thoughts(learnings)] == ["So it is seen.", "So it stays."]


@given(st.lists(LEARNINGS))
def test_repeated_learnings_change_nothing_and_none_is_lost(learnings: list[Learning]) -> None:
    once, twice = (
        [(fact.text, fact.sources) for fact in facts_of(given)]
        for given in (learnings, [*learnings, *learnings])
    )
    assert once == twice
    assert (
        thoughts([*learnings, *learnings]) == thoughts(learnings) == thoughts(thoughts(learnings))
    )
    merged = [learning.id for fact in facts_of(learnings) for learning in fact.learnings]
    assert sorted(merged) == sorted(learning.id for learning in learnings)
    assert {thought.text for thought in thoughts(learnings)} == {
        each.text for each in learnings if not each.source
    }


def test_a_fact_has_all_sources_that_state_it_in_the_same_words() -> None:
    tall, taller = "The light is 38 metres tall.", "It is 41 metres tall."
    rose, fell = (
        f"The level of the northern reservoir {verb} by 12 percent." for verb in ("rose", "fell")
    )
    learnings = stated((tall, "a"), (tall, "b"), (taller, "c"), (rose, "a"), (fell, "b"))
    facts = [(fact.text, fact.sources) for fact in facts_of(learnings)]
    assert facts == [(tall, ("a", "b")), (taller, ("c",)), (rose, ("a",)), (fell, ("b",))]


PIECES = [
    "Lit",
    " ",
    "\n",
    ".",
    "! ",
    "[1]",
    "[2, 3]",
    "[",
    "]",
    "`",
    "\0",
    "(a/b)",
    "- ",
    "Dr",
    "a",
    "。",
    ", ",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=14)
    .map("".join)
    .filter(lambda text: "```" not in text)
)
def test_sentences_of_a_text_without_code_lose_nothing(text: str) -> None:
    sentences = sentences_of(text)
    assert "".join("".join(sentence.raw for sentence in sentences).split()) == "".join(text.split())
    assert all("\0" not in sentence.text and "\n" not in sentence.raw for sentence in sentences)


LETTERS = [f"word{number}x" for number in range(20)]
PAGE = source_at("https://a.example/one")


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
    # Exactly the boundary is not confident.
    assert covering(5, 8, 1) == CONFIDENT == 0.6
    assert not is_confident(covering(5, 8, 1))
    assert covering(13, 20, 1) == 0.61
    assert is_confident(covering(13, 20, 1))


@pytest.mark.parametrize(
    ("sources", "agreement"),
    [
        ([], 0.0),
        ([PAGE], 0.25),
        ([PAGE, source_at("https://www.a.example/two"), source_at("http://a.example:8080/")], 0.25),
        ([PAGE, source_at("https://b.example/")], 0.375),
        (
            [
                source_at("file:///a.md", kind="document"),
                source_at("file:///b.md", kind="document"),
            ],
            0.375,
        ),
        ([source_at("http://[broken"), PAGE], 0.375),
    ],
)
def test_pages_of_one_host_are_one_source_and_each_document_is_one(
    sources: list[Source], agreement: float
) -> None:
    learnings = [learning("a fact", source.key) for source in sources] + [learning("a thought")]
    assert confidence("light", learnings, {source.key: source for source in sources}, 6) == round(
        agreement, 2
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(LETTERS),
            st.sampled_from(["", "https://a.example/", "https://b.example/"]),
        )
    ),
    st.integers(1, 9),
)
def test_confidence_is_between_0_and_1_and_independent_of_order(
    facts: list[tuple[str, str]], iteration: int
) -> None:
    learnings = [learning(text, key) for text, key in facts]
    sources = {key: source_at(key) for key in ("https://a.example/", "https://b.example/")}
    value = confidence(" ".join(LETTERS), learnings, sources, iteration)
    assert 0 <= value <= 1
    assert value == round(value, 2)
    assert (
        confidence(" ".join(LETTERS), [*reversed(learnings), *learnings], sources, iteration)
        == value
    )
