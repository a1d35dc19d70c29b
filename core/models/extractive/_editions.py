"""Finds the documents that are older editions of others, such as last year's price list.

They are told by their names and dates; `docs/decisions/retrieval.md` says what a document states
about itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...evidence.text.words import tokens
from ..request import ShownDocument

_MONTH = len("2024-06")
_VERSION = re.compile(r"(?<![^\W_])(?:version[ _-]?|v)(\d+)", re.IGNORECASE)
_MARK = re.compile(r"\b(?:v|rev|version|q)\s*\w?\d*\b")
"""Matches the mark of an edition, such as a version or quarter."""
_SEPARATORS = re.compile(r"[/_\-.]+")


class _Edition:
    """A document as compared with others."""

    def __init__(self, document: ShownDocument) -> None:
        file = document.address.rpartition("/")[2]
        self.document = document
        self.names = [_name_words(file.rpartition(".")[0]), _name_words(document.title)]
        self.length = len(file) + len(document.title)
        self.versions = versions_in(document.address)

    def is_edition_of(self, other: _Edition) -> bool:
        """Whether two documents have similar file names or titles."""
        for words, other_words in zip(self.names, other.names, strict=True):
            shared = len(words & other_words)
            is_similar = 2 * shared >= len(words | other_words)
            is_same = bool(words) and words == other_words
            if is_similar and (shared > 1 or is_same):
                return True
        return False

    def is_older_than(self, other: _Edition) -> bool:
        """Whether this is the older edition: by standing, month, version, or else by the longer
        name."""
        first = self.document
        second = other.document
        if first.is_in_force != second.is_in_force:
            return not first.is_in_force
        if first.date and second.date and first.date[:_MONTH] != second.date[:_MONTH]:
            return first.date < second.date
        if self.versions and other.versions:
            return max(self.versions) < max(other.versions)
        # A name such as "prices-old" has a mark that the current one lacks.
        return self.length > other.length


def versions_in(text: str) -> frozenset[int]:
    """Return the numbers of the versions that a text names: 3 for "v3" and "version 3"."""
    return frozenset(map(int, _VERSION.findall(text)))


def newest_editions(documents: Sequence[ShownDocument]) -> dict[int, int]:
    """Return the number of the newest edition for each document that is an older one."""
    editions = list(map(_Edition, documents))
    newest: dict[int, int] = {}
    for edition in editions:
        newer = list[_Edition]()
        for other in editions:
            is_edition = other is not edition and edition.is_edition_of(other)
            if is_edition and edition.is_older_than(other):
                newer.append(other)
        if newer:
            best = max(newer, key=lambda other: (other.document.date, -other.length))
            newest[edition.document.number] = best.document.number
    return newest


def _name_words(name: str) -> frozenset[str]:
    """Return the words of a file name or title without versions and numbers."""
    bare = _MARK.sub(" ", _SEPARATORS.sub(" ", name.lower()))
    return frozenset(word for word in tokens(bare) if word.isalpha())
