"""Marks in the text of a report the sentences that are not verified."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.audit import ClaimCheck
from deep_research.evidence.labels.words import Labels


def with_marks(text: str, claims: Iterable[ClaimCheck], labels: Labels) -> tuple[str, tuple[ClaimCheck, ...]]:
    """The text with a mark behind each claim that is not supported, and the claims with their places in it.

    The claims are in the order of the text.
    """
    pieces, done, shift, moved = list[str](), 0, 0, list[ClaimCheck]()
    for claim in claims:
        mark = _mark(claim, labels)
        place = _place(text, claim)
        pieces += [text[done:place], mark]
        moved.append(
            claim.model_copy(
                update={"start": claim.start + shift, "end": claim.end + shift + len(mark), "is_marked": bool(mark)}
            )
        )
        done, shift = place, shift + len(mark)
    return "".join([*pieces, text[done:]]), tuple(moved)


def _mark(claim: ClaimCheck, labels: Labels) -> str:
    if claim.verdict == "supported":
        return ""
    return f" *({labels.partly if claim.verdict == 'partly' else labels.not_verified})*"


def _place(text: str, claim: ClaimCheck) -> int:
    """Where the mark stands: at the end, but inside the last cell of a table's row."""
    sentence = text[claim.start : claim.end]
    return claim.start + len(sentence[:-1].rstrip()) if sentence.endswith("|") else claim.end
