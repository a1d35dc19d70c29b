"""Leaves out texts that say word for word what one before them says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..checking.reprints import FEWEST, runs_of
from .likeness import inner_names
from .words import tokens

Item = TypeVar("Item")

REPEATED = 0.8
"""Share of a text's runs of words that another one must hold for it to be left out."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class _Text:
    def __init__(self, text: str) -> None:
        self.words = tokens(text)
        self.runs = runs_of(text)
        self.telling = {*_FIGURE.findall(text), *inner_names(text)}

    def is_held_by(self, other: _Text) -> bool:
        """Whether the other text says all of this one; another figure or name makes it another statement."""
        if self.words == other.words:
            return True
        is_long = len(self.runs) >= FEWEST
        return is_long and self.telling <= other.telling and len(self.runs & other.runs) >= REPEATED * len(self.runs)


def without_repeated(items: Iterable[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """The items in order, without those whose text one before them holds nearly word for word."""
    kept: list[tuple[Item, _Text]] = []
    for item in items:
        text = _Text(text_of(item))
        if not any(text.is_held_by(other) for _, other in kept):
            kept.append((item, text))
    return [item for item, _ in kept]
