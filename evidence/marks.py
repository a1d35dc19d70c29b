"""Marks in the text of a report the sentences that are not verified."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.audit import ClaimCheck
from deep_research.evidence.citing import end_of_words, without_unknown
from deep_research.evidence.labels.words import Labels


def with_marks(text: str, claims: Iterable[ClaimCheck], labels: Labels) -> tuple[str, tuple[ClaimCheck, ...]]:
    """The text with a mark behind each claim that is not supported, and the claims with their places in it.

    The claims are in the order of the text. Citations that name no source (`[0]`) are taken off.
    """
    pieces, done, length, moved = list[str](), 0, 0, list[ClaimCheck]()
    for claim in claims:
        mark, place = _mark(claim, labels), _place(text, claim)
        if mark and text[place : place + 1].isalnum():
            # Without a space, the stars would be no mark but stars.
            mark += " "
        before, words = without_unknown(text[done : claim.start]), without_unknown(text[claim.start : place]) + mark
        start = length + len(before)
        end = start + len(words) + claim.end - place
        moved.append(claim.model_copy(update={"start": start, "end": end, "is_marked": bool(mark)}))
        pieces += [before, words]
        done, length = place, start + len(words)
    return "".join([*pieces, without_unknown(text[done:])]), tuple(moved)


def _mark(claim: ClaimCheck, labels: Labels) -> str:
    if claim.verdict == "supported":
        return ""
    return f" *({labels.partly if claim.verdict == 'partly' else labels.not_verified})*"


def _place(text: str, claim: ClaimCheck) -> int:
    """Where the mark stands: at the end, but inside the last cell of a table's row."""
    return claim.start + end_of_words(text[claim.start : claim.end])
