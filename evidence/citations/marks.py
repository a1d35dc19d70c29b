"""Marks in the text of a report the sentences that are not verified, and those of what is not in force yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...audit import ClaimCheck
from ...knowledge import Source
from .citing import end_of_words, without_unknown
from .labels import Labels
from .sanitizing import sanitized_at


def with_marks(
    text: str,
    claims: Iterable[ClaimCheck],
    labels: Labels,
    sources: Mapping[str, Source] = MappingProxyType({}),
) -> tuple[str, tuple[ClaimCheck, ...]]:
    """The text with its marks behind claims, and the claims with their places in it.

    Marked are those that are not supported, and those that nothing cited says but drafts and what is to come. The
    claims are in the order of the text, `sources` by key. Citations that name no source (`[0]`) are taken off, and what
    by that becomes active is made inert.
    """
    pieces, done, length, moved = list[str](), 0, 0, list[ClaimCheck]()
    for claim in claims:
        doubt, place = _doubt(claim, labels), _place(text, claim)
        mark = _standing(claim, sources, labels) + doubt
        if mark and text[place : place + 1].isalnum():
            # Without a space, the stars would be no mark but stars.
            mark += " "
        before, words = without_unknown(text[done : claim.start]), without_unknown(text[claim.start : place]) + mark
        start = length + len(before)
        end = start + len(words) + claim.end - place
        moved.append(claim.model_copy(update={"start": start, "end": end, "is_marked": bool(doubt)}))
        pieces += [before, words]
        done, length = place, start + len(words)
    places = [place for claim in moved for place in (claim.start, claim.end)]
    marked = sanitized_at("".join([*pieces, without_unknown(text[done:])]), places)
    bounds = zip(marked.places[::2], marked.places[1::2], strict=True)
    return marked.text, tuple(
        claim.model_copy(update={"start": start, "end": end}) for claim, (start, end) in zip(moved, bounds, strict=True)
    )


def _doubt(claim: ClaimCheck, labels: Labels) -> str:
    return f" *({labels.not_verified})*" if claim.verdict == "unsupported" else ""


def _standing(claim: ClaimCheck, sources: Mapping[str, Source], labels: Labels) -> str:
    cited = [sources[one.source] for one in claim.passages if one.source in sources]
    if not cited or not all(one.is_draft or one.in_force_from for one in cited):
        return ""
    return f" *({labels.draft if any(one.is_draft for one in cited) else labels.to_come})*"


def _place(text: str, claim: ClaimCheck) -> int:
    """Where the mark stands: at the end, but inside the last cell of a table's row."""
    return claim.start + end_of_words(text[claim.start : claim.end])
