"""The form in which models state disputes between sources, and how its entries become records."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, field_validator

from ..core.evidence.citations.markers import without_markers
from ..core.records.sources import UNRESOLVED, Dispute, DisputeSubject, Source, in_one_line
from ..state import BranchState


class StatedDispute(BaseModel):
    """Two statements of different sources on the same matter that cannot both be true, or that advise or judge differently."""  # noqa: E501

    model_config = ConfigDict(use_attribute_docstrings=True, coerce_numbers_to_str=True)

    claim: str
    """What the first says, in at most twelve words that are understandable on their own, with its figures."""  # noqa: E501
    document: int
    """Number of the result (`document`) or learning (`number`) that says it."""
    other: str
    """What the second says, in as few."""
    other_document: int
    """Number of the result or learning that says this."""
    about: DisputeSubject = "fact"
    """`fact`: both cannot be true. `advice`: good sources recommend or judge differently."""
    resolution: str = UNRESOLVED
    """Which one to follow and why, in a clause: the other is older, measures something else, has another aim, or is a weaker source. `open` if the results do not say."""  # noqa: E501

    @field_validator("about", mode="before")
    @classmethod
    def _fact_unless_advice(cls, given: Any) -> DisputeSubject:
        return "advice" if given == "advice" else "fact"

    @field_validator("resolution", mode="before")
    @classmethod
    def _open_unless_resolved(cls, given: Any) -> str:
        if not isinstance(given, str):
            return UNRESOLVED
        # The numbers in it are those of the model's results, not those of the report.
        words = in_one_line(without_markers(given))
        # Models also write "open: both are from the same year".
        is_open = not words or re.match(rf"{UNRESOLVED}(?:$|\s*[.:;,(–—-])", words, re.IGNORECASE)
        return UNRESOLVED if is_open else words


def _well_formed(entries: list[Any]) -> list[StatedDispute]:
    """Return the well-formed entries of a list; a malformed entry costs only itself."""
    found = list[StatedDispute]()
    for entry in entries:
        try:
            found.append(StatedDispute.model_validate(entry))
        except ValidationError as error:
            logging.getLogger(__name__).info("A dispute is dropped: %d faults", error.error_count())
    return found


def _without_malformed(given: Any) -> Any:
    # Anything but a list is left to pydantic, whose error has the model asked again.
    if not isinstance(given, list):
        return given
    return _well_formed(given)


StatedDisputes = Annotated[list[StatedDispute], BeforeValidator(_without_malformed)]
"""A list of disputes; entries that are malformed are dropped."""


def read_disputes(
    stated: Iterable[StatedDispute], keys: Mapping[int, str], sources: Mapping[str, Source]
) -> tuple[Dispute, ...]:
    """Return the disputes whose claims differ and come from two different sources.

    `keys`: source keys by the numbers that the model was shown; `sources`: at least these sources.
    """
    disputes = list[Dispute]()
    for entry in stated:
        claim, other = without_markers(entry.claim), without_markers(entry.other)
        first, second = keys.get(entry.document), keys.get(entry.other_document)
        if first is None or second is None or first == second:
            continue
        if claim and other and claim.casefold() != other.casefold():
            both = sources[first], sources[second]
            dispute = Dispute.between((claim, other), both, entry.about, entry.resolution)
            disputes.append(dispute)
    return tuple(disputes)


def declared_disputes(arguments: Mapping[str, Any], state: BranchState) -> tuple[Dispute, ...]:
    """Return the disputes that a researcher declares in the argument `contradictions` of a call."""
    entries = arguments.get("contradictions")
    if not isinstance(entries, list):
        return ()
    keys = dict(enumerate(state.numbered, 1))
    return read_disputes(_well_formed(entries), keys, state.sources)
