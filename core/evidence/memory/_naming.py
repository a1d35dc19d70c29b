"""Finds out whether a text names a dispute itself, so that no table has to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...records.sources import Dispute
from ..citations.citing import cited_numbers
from ..citations.markers import without_markers
from ..text.numbers import plain_figures
from ..text.similarity import normalised

_BLANK_LINES = re.compile(r"\n\s*\n")
_SHARED = 1 / 3
"""Minimum share of the words in which a claim differs from the other that a text stating it has, if
none of them is a figure."""


def names_dispute(text: str, keys: Mapping[int, str], dispute: Dispute) -> bool:
    """Whether two neighbouring blocks of a text, or one, cite both sources of a dispute and state
    both claims, in whichever words.

    A block is a paragraph, a list or a table; `keys` are the keys of the cited sources by number.
    """
    if not set(keys.values()).issuperset(dispute.sources):
        return False
    claim, other = dispute.claims
    blocks = _BLANK_LINES.split(text)
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        both = f"{block}\n\n{following}"
        cited = set(map(keys.get, cited_numbers(both, keys)))
        stated = without_markers(both)
        if not cited.issuperset(dispute.sources):
            continue
        if _states(stated, claim, other) and _states(stated, other, claim):
            return True
    return False


def _states(text: str, claim: str, other: str) -> bool:
    """Whether a text has all figures in which a claim differs from the other; if it differs in
    none, enough of the words."""
    figures = plain_figures(claim) - plain_figures(other)
    if figures:
        return figures <= plain_figures(text)
    words = set(normalised(claim).split()) - set(normalised(other).split())
    return len(words.intersection(normalised(text).split())) >= _SHARED * len(words)
