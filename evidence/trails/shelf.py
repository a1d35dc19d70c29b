"""Where the search for trails takes its passages from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .candidate import Candidate


class Shelf(Protocol):
    """Passages that can be searched by words and by names as they are written; the same passage is one object."""

    @property
    def size(self) -> int:
        """How many passages there are."""

    def counted(self, words: Sequence[str]) -> int:
        """In how many passages each of these words stands, added up: no fewer than hold any of them."""

    def search(self, words: Sequence[str], limit: int) -> Sequence[Candidate]:
        """The passages that hold these words best, best first."""

    def titled(self, text: str) -> Sequence[Candidate]:
        """The first passages of documents whose titles stand in this text."""

    def holders(self, name: str) -> int:
        """How many passages hold the words of this name in a row; beyond a bound it may tell the bound."""

    def holding(self, name: str, words: Sequence[str], limit: int) -> Sequence[Candidate]:
        """Passages that hold the words of this name in a row, those first that hold these words, too."""
