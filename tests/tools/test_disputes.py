"""The form for contradictions: which entries count, and that a bad one costs nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from deep_research.core.records.sources import Source
from deep_research.core.writing.forms import form_schema
from deep_research.nodes._control import GENERATE_FINDING_SCHEMA
from deep_research.nodes._disputes import StatedDispute, read_disputes
from deep_research.nodes.cross_check import RecordContradictions
from deep_research.nodes.step_turn import RecordRound

GOOD: dict[str, Any] = {
    "claim": "Lit in 1844.",
    "document": 1,
    "other": "Lit in 1846.",
    "other_document": 2,
}
KEYS = {1: "a", 2: "b"}
SOURCES = {
    key: Source(key=key, title=key, location=key, address=key, kind="web", date=date)
    for key, date in (("a", "2001"), ("b", "2019-03"))
}


def properties(schema: dict[str, Any]) -> Any:
    return schema["function"]["parameters"]["properties"]["contradictions"]["items"]


def test_one_form_serves_researchers_steps_and_the_final_check() -> None:
    schemas = (GENERATE_FINDING_SCHEMA, form_schema(RecordRound), form_schema(RecordContradictions))
    first, *others = map(properties, schemas)
    assert [*first["properties"]] == [
        *GOOD,
        "about",
        "resolution",
    ]
    assert others == [first, first]


@pytest.mark.parametrize(
    "malformed",
    [
        "none",
        None,
        3,
        {},
        {"claim": "Lit in 1844."},
        {**GOOD, "document": "first"},
        {**GOOD, "other": []},
    ],
)
def test_a_malformed_dispute_costs_only_itself(malformed: Any) -> None:
    learned = {"text": "It is red.", "document": 1}
    form = RecordRound.model_validate({"learnings": [learned], "contradictions": [malformed, GOOD]})
    assert [stated.model_dump() for stated in form.contradictions] == [
        {**GOOD, "about": "fact", "resolution": "open"}
    ]
    assert [fact.text for fact in form.learnings] == ["It is red."]


@pytest.mark.parametrize("given", ["none", None, {}, 7, [{"nonsense": 7}]])
def test_a_final_check_without_a_readable_pair_is_asked_for_again(given: Any) -> None:
    with pytest.raises(ValidationError, match="contradictions"):
        RecordContradictions.model_validate({"contradictions": given})
    mixed = RecordContradictions.model_validate({"contradictions": [{"nonsense": 7}, GOOD]})
    assert len(mixed.contradictions) == 1
    assert RecordContradictions(contradictions=[]).contradictions == []


@pytest.mark.parametrize(
    ("given", "read"), [("advice", "advice"), ("fact", "fact"), ("opinion", "fact"), (None, "fact")]
)
def test_a_dispute_with_an_unknown_subject_is_about_a_fact(given: Any, read: str) -> None:
    assert StatedDispute.model_validate({**GOOD, "about": given}).about == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("The survey\n[2] is older.", "The survey is older."),
        ("Open.", "open"),
        (" ", "open"),
        (None, "open"),
        (["older"], "open"),
    ],
)
def test_a_resolution_is_one_line_without_citations_or_open(given: Any, read: str) -> None:
    stated = StatedDispute.model_validate({**GOOD, "resolution": given})
    [dispute] = read_disputes([stated], KEYS, SOURCES)
    assert dispute.resolution == read


def test_a_dispute_has_the_dates_and_kinds_of_its_sources() -> None:
    [dispute] = read_disputes([StatedDispute(**GOOD)], KEYS, SOURCES)
    assert dispute.claims == (GOOD["claim"], GOOD["other"])
    assert (dispute.sources, dispute.dates, dispute.origins) == (
        ("a", "b"),
        ("2001", "2019-03"),
        ("other", "other"),
    )
    assert dispute.newer == "b" and not dispute.is_resolved


@pytest.mark.parametrize(
    "changed",
    [
        {"document": 2},
        {"document": 3},
        {"other_document": 0},
        {"claim": " "},
        {"other": "lit in 1844."},
    ],
)
def test_claims_that_are_equal_or_not_from_two_known_sources_are_no_dispute(
    changed: dict[str, Any],
) -> None:
    assert read_disputes([StatedDispute(**{**GOOD, **changed})], KEYS, SOURCES) == ()
