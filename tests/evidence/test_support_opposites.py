"""A short sentence that turns round what the source says is not supported; one that says it in other words is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.checking.amounts import MEASURES, amounts_of, pieces_of, says
from deep_research.core.evidence.checking.score import best_passage


@pytest.mark.parametrize(
    ("plain", "denied"),
    [
        ("The pump failed.", "The pump never failed."),
        ("The offer was refused.", "The offer was not refused."),
        ("The valve failed on the second day.", "On the second day the valve didn't fail."),
        ("The valve failed.", "No valve failed."),
        ("Reid denied the debt.", "Reid did not deny the debt."),
        ("The barge lacked a rudder.", "The barge did not at all lack a rudder."),
    ],
)
def test_a_denial_that_is_denied_itself_says_the_contrary(plain: str, denied: str) -> None:
    mine, theirs = best_passage(denied, plain), best_passage(plain, denied)
    assert "supported" not in (mine.verdict, theirs.verdict)
    assert "the claim denies what the passage says" in mine.reasons
    assert "the passage denies it" in theirs.reasons


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The pump never failed.", "In all these years the pump did not fail."),
        ("Reid did not pay and failed to write.", "Reid failed to write and did not pay."),
        ("Der Kessel hielt lange.", "Der Kessel hielt lange, war nicht rot."),
        ("The barge failed in May.", "The barge failed in May but never failed in June."),
    ],
)
def test_two_ways_to_deny_the_same_are_no_contradiction(claim: str, text: str) -> None:
    check = best_passage(claim, text)
    assert (check.verdict, check.reasons) == ("supported", ())


@pytest.mark.parametrize(
    ("claim", "text", "reason"),
    [
        ("The vat holds 40 gallons.", "The vat holds 40 litres.", "40 litre, not 40 gallon"),
        ("The vat holds 3 litres of oil.", "The vat holds 3 m³ of oil.", "3 cubic metre, not 3 litre"),
        ("The organ cost 300 euros.", "The organ cost 300 Swedish kronor.", "300 crowns, not 300 euro"),
        ("The organ cost 1500 yen.", "The organ cost 1500 US dollars.", "1500 dollar, not 1500 yen"),
        ("The heath covers 12 km.", "The heath covers 12 square kilometres.", "square kilometre, not 12 kilometre"),
        ("The heath covers 12 square miles.", "The heath covers 12 sq. km.", "square kilometre, not 12 square mile"),
        ("Die Heide misst 12 Kilometer.", "Die Heide misst 12 Quadratkilometer.", "square kilometre, not 12 kilometre"),
        ("The island lies 12 miles off.", "The island lies 12 nautical miles off.", "nautical mile, not 12 mile"),
    ],
)
def test_another_unit_of_the_same_kind_is_another_amount(claim: str, text: str, reason: str) -> None:
    for check in (best_passage(claim, text), best_passage(text, claim)):
        assert check.verdict != "supported"
    assert any(reason in one for one in best_passage(claim, text).reasons)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The organ cost 300 crowns.", "The organ cost 300 Swedish kronor."),
        ("The organ cost $1500.", "The organ cost 1500 US dollars."),
        ("The heath covers 12 km².", "The heath covers 12 square kilometres."),
        ("La lande couvre 12 mètres carrés.", "La lande couvre 12 m²."),
        ("Die Heide misst 12 km².", "Die Heide misst 12 Quadratkilometer."),
        ("The wind blew at 40 mph.", "The wind blew at 40 miles per hour."),
        ("The vat holds 40 litres.", "The vat holds 40 litres (11 gallons)."),
        ("Crown Prince Olav came in 1954.", "In 1954 Crown Prince Olav came."),
    ],
)
def test_one_unit_may_be_written_in_many_ways(claim: str, text: str) -> None:
    check = best_passage(claim, text)
    assert (check.verdict, check.reasons) == ("supported", ())


@given(st.sampled_from(sorted(MEASURES)), st.sampled_from(sorted(MEASURES)))
def test_an_amount_says_another_one_only_if_both_have_one_unit(unit: str, other: str) -> None:
    mine, theirs = (amounts_of(pieces_of(f"of 40 {name} or so"))[0] for name in (unit, other))
    assert says(mine, theirs) == (MEASURES[unit] == MEASURES[other])
