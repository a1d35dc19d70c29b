"""Finds out whether a text names a dispute itself, so that no table has to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...records.sources import Dispute
from ..citations.citing import cited_numbers
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
    claim, other_claim = dispute.claims
    words = set(normalised(claim).split())
    other_words = set(normalised(other_claim).split())
    blocks = _BLANK_LINES.split(text)
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        both = f"{block}\n\n{following}"
        cited = set(map(keys.get, cited_numbers(both, keys)))
        if not cited.issuperset(dispute.sources):
            continue
        stated = set(normalised(both).split())
        if _states(stated, words - other_words) and _states(stated, other_words - words):
            return True
    return False


def _states(stated: set[str], differing: set[str]) -> bool:
    """Whether a text with the words `stated` has enough of those in which a claim differs."""
    figures = set(filter(_has_digit, differing))
    if figures:
        return not figures.isdisjoint(stated)
    return len(differing & stated) >= _SHARED * len(differing)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
