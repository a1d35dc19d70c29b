"""A text of a source, read as far as something is held against it."""

from __future__ import annotations

import zlib
from functools import cached_property

from .reading import Evidence
from .terms import terms_of
from .windows import Windows

FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""
CAPITALS = 0.35
"""Share of a text's words with a meaning that begin with a capital letter, up to which these are names."""


class SourceText:
    """One text of a source, read only when a sentence is held against it."""

    def __init__(self, content_hash: str, text: str, title: str = "") -> None:
        self.content_hash = content_hash
        """SHA-256 (hex) under which the text is kept."""
        # A run reads far more than is held against its report.
        self._packed = zlib.compress(text.encode("utf-8", "surrogatepass"), FAST)
        self.title = title
        """The source's title and date; may be empty."""

    @property
    def text(self) -> str:
        """The text."""
        return zlib.decompress(self._packed).decode("utf-8", "surrogatepass")

    @cached_property
    def evidence(self) -> Evidence:
        """The text, read."""
        return Evidence(self.text, self.title)

    @cached_property
    def windows(self) -> Windows:
        """The text, cut into places."""
        return self.evidence.windows

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of text and title, as `key_of` gives them."""
        return frozenset(self.evidence.places) | {term.key for term in terms_of(self.title)}

    @cached_property
    def has_telling_capitals(self) -> bool:
        """Whether a capital letter makes a name in it, as it does not in German."""
        kinds = [term.kind for one in self.evidence.passages for term in one.terms if not term.is_first]
        return kinds.count("name") <= CAPITALS * (kinds.count("name") + kinds.count("word"))
