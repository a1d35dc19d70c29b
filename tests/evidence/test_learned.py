"""What findings teach: cited sentences as learnings, and what they say was not found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.memory.learned import (
    facts_of,
    learnings_of,
    merged_by_source,
    notice_findings,
    thoughts,
)
from deep_research.core.evidence.text.sentences import cited_sentences, sentences_of
from deep_research.core.records.plan import Learning
from deep_research.core.records.research import Finding

TASK = "Who built the light?"
SOURCES = ("https://a.example/", "https://b.example/", "file:///c.md")
LEARNINGS = st.builds(
    Learning,
    text=st.sampled_from(["It is tall.", "It is old.", "It is lit."]),
    source=st.sampled_from(["", "a", "b"]),
    step=st.sampled_from("12"),
    question_id=st.just("q"),
)


def finding(text: str, **fields: Any) -> Finding:
    known = {"id": "call", "question_id": "q", "cycle": 0, "position": 0, "task": TASK, "ended": "done"}
    return Finding.model_validate({**known, "text": text, "sources": SOURCES, **fields})


def learned(text: str, **fields: Any) -> list[tuple[str, str]]:
    return [(learning.text, learning.source) for learning in learnings_of(finding(text, **fields))]


A, B, C = SOURCES


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Lit in 1844 [1].", [("Lit in 1844.", A)]),
        ("Lit in 1844 [1] and raised in 1901 [2].", [("Lit in 1844 and raised in 1901.", key) for key in (A, B)]),
        ("Lit [1, 2], [3]. Dark.", [("Lit.", A), ("Lit.", B), ("Lit.", C)]),
        ("Built by Dr. J. Smith of the U.S. Navy [1].", [("Built by Dr. J. Smith of the U.S. Navy.", A)]),
        ("- Lit in 1844 [1]\n2. Ada kept it [2]\n", [("Lit in 1844", A), ("Ada kept it", B)]),
        ("它建于1844年。[1]它很高。【2】", [("它建于1844年。", A), ("它很高。", B)]),
        ("Lit [9]. Tall [0]. Old [9, 3].", [("Old.", C)]),
        ("Lit. [1]\n\nSources:\n[1] A light, https://a.example\n- [2] B", [("Lit.", A)]),
        ("`x [1]` and [1](https://a.example). Lit [2].", [("Lit.", B)]),
        ("```\nLit [1].\n```\nTall [2].", [("Tall.", B)]),
        ("Nothing is cited.", []),
    ],
)
def test_each_cited_sentence_is_a_learning_of_each_source_that_it_cites(
    text: str, facts: list[tuple[str, str]]
) -> None:
    assert learned(text) == facts


def test_a_learning_knows_its_finding_and_its_question() -> None:
    assert learnings_of(finding("Lit [1].")) == [Learning(text="Lit.", source=A, step="call", question_id="q")]


@pytest.mark.parametrize("fields", [{"is_withheld": True}, {"ended": "partial", "failures": ("its model failed",)}])
def test_what_no_model_has_read_teaches_nothing(fields: dict[str, Any]) -> None:
    assert learned("Lit in 1844 [1].", **fields) == []


@pytest.mark.parametrize(
    ("text", "fields", "gaps"),
    [
        ("Lit [1]. It was built by Anna Holm.", {}, []),
        ("Lit [1].", {"missing": ("its cost",)}, ["its cost"]),
        ("Nothing was found [9].", {"missing": ("its cost",)}, [TASK]),
        ("Lit [1].", {"is_withheld": True}, [TASK]),
        ("Lit [1].", {"ended": "partial", "reason": "time was up", "missing": ("its cost",)}, ["its cost", TASK]),
        ("", {"ended": "failed", "reason": "no model"}, [TASK]),
    ],
)
def test_gaps_are_declared_and_never_read_from_a_missing_citation(
    text: str, fields: dict[str, Any], gaps: list[str]
) -> None:
    _, noticed = notice_findings([finding(text, **fields)], {})
    assert [gap.text for gap in noticed.values()] == gaps


@pytest.mark.behaviour("A-74")
def test_learnings_come_together_by_source_and_thoughts_stay_apart() -> None:
    facts = [
        ("It is tall.", "b"),
        ("So it is seen.", ""),
        ("It is lit.", "a"),
        ("It is old.", "b"),
        ("So it stays.", ""),
    ]
    learnings = [Learning(text=text, source=source, step="1", question_id="q") for text, source in facts]
    by_source = [(source, [fact.text for fact in facts]) for source, facts in merged_by_source(learnings)]
    assert by_source == [("b", ["It is tall.", "It is old."]), ("a", ["It is lit."])]
    assert [thought.text for thought in thoughts(learnings)] == ["So it is seen.", "So it stays."]


@given(st.lists(LEARNINGS))
def test_adding_learnings_twice_changes_nothing(learnings: list[Learning]) -> None:
    twice = merged_by_source([*learnings, *learnings])
    assert [(key, [(one.text, one.sources) for one in facts]) for key, facts in twice] == [
        (key, [(one.text, one.sources) for one in facts]) for key, facts in merged_by_source(learnings)
    ]
    assert thoughts([*learnings, *learnings]) == thoughts(learnings)
    assert thoughts(thoughts(learnings)) == thoughts(learnings)


@given(st.lists(LEARNINGS))
def test_every_learning_is_either_of_a_source_or_a_thought(learnings: list[Learning]) -> None:
    merged = [one for _, facts in merged_by_source(learnings) for fact in facts for one in fact.learnings]
    assert sorted(merged, key=lambda one: one.id) == sorted(
        (one for one in learnings if one.source), key=lambda one: one.id
    )
    assert {one.text for one in thoughts(learnings)} == {one.text for one in learnings if not one.source}


def test_a_fact_of_several_sources_is_told_once_with_all_of_them() -> None:
    said = [
        ("The light is 38 metres tall.", "a"),
        ("The light is 38 metres tall.", "b"),
        ("It is 41 metres tall.", "c"),
        ("The level of the northern reservoir rose by 12 percent.", "a"),
        ("The level of the northern reservoir fell by 12 percent.", "b"),
    ]
    learnings = [Learning(text=text, source=source, step="1", question_id="q") for text, source in said]
    assert [(fact.text, fact.sources) for fact in facts_of(learnings)] == [
        ("The light is 38 metres tall.", ("a", "b")),
        ("It is 41 metres tall.", ("c",)),
        ("The level of the northern reservoir rose by 12 percent.", ("a",)),
        ("The level of the northern reservoir fell by 12 percent.", ("b",)),
    ]


PIECES = ["Lit", " ", "\n", ".", "! ", "[1]", "[2, 3]", "[", "]", "`", "\0", "(a/b)", "- ", "Dr", "a", "。", ", "]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join).filter(lambda text: "```" not in text))
def test_a_text_without_code_is_cut_and_nothing_is_lost(text: str) -> None:
    sentences = sentences_of(text)
    assert "".join("".join(sentence.raw for sentence in sentences).split()) == "".join(text.split())
    assert all("\0" not in sentence.text and "\n" not in sentence.raw for sentence in sentences)


def test_a_line_that_begins_with_a_marker_still_counts_as_proof() -> None:
    assert cited_sentences("Open.\n[1] Lit in 1844. [2] Tall.", 1.0) == "[1] Lit in 1844. [2] Tall."
