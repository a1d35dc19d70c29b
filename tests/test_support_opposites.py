"""A short sentence that turns round what the source says is not supported; one that says it in other words is."""

from __future__ import annotations

import pytest

from deep_research.evidence.support import check_claim


@pytest.mark.parametrize(
    ("plain", "denied"),
    [
        ("The pump failed.", "The pump never failed."),
        ("The offer was refused.", "The offer was not refused."),
        ("The valve failed on the second day.", "On the second day the valve didn't fail."),
        ("The valve failed.", "No valve failed."),
        ("Reid denied the debt.", "Reid did not deny the debt."),
        ("The barge lacked a rudder.", "The barge did not at all lack a rudder."),
        ("Der Versuch scheiterte.", "Der Versuch scheiterte nicht. Der Kessel hielt."),
        ("Die Fähre kam im Mai.", "Die Fähre kam im Mai nie und fuhr nach Kiel."),
    ],
)
def test_a_denial_that_is_denied_itself_says_the_contrary(plain: str, denied: str) -> None:
    mine, theirs = check_claim(denied, plain), check_claim(plain, denied)
    assert "supported" not in (mine.verdict, theirs.verdict)
    assert "the claim denies what the passage says" in mine.reasons
    assert "the passage denies it" in theirs.reasons


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The pump never failed.", "In all these years the pump did not fail."),
        ("Reid did not pay and failed to write.", "Reid failed to write and did not pay."),
        ("Reid failed to pay the crew.", "Reid did not pay the crew."),
        ("The barge failed in May.", "The barge failed in May but never failed in June."),
        ("The pump failed and the crew left.", "The crew did not stay and the pump failed and they left."),
    ],
)
def test_two_ways_to_deny_the_same_are_no_contradiction(claim: str, text: str) -> None:
    check = check_claim(claim, text)
    assert (check.verdict, check.reasons) == ("supported", ())
