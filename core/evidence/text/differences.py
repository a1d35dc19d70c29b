"""Compares two Markdown texts block by block, and changed blocks word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Change = Literal["same", "removed", "added"]
_NEW_BLOCK = re.compile(r"\s*(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|\||>)")
"""Beginning of a line that is a block of its own: heading, list item, table row or quote."""
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?\s*")
"""The line below the header of a table, which is no content."""
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(
    rf"\s+|\[\d+(?:, ?\d+)*\]|[{_CJK}]|[^\W{_CJK}]+(?:[.,:'’-][^\W{_CJK}]+)*|.", re.DOTALL
)
"""A space, a citation, a word or number, or another character.

Chinese, Japanese and Korean characters are compared one by one, since no space separates their
words.
"""
_ALIKE = 0.4
"""Minimum share of common words from which on two blocks are two versions of one block."""


class TextPiece(NamedTuple):
    """A piece of a block."""

    change: Change
    text: str


class BlockDifference(NamedTuple):
    """A block of either text, or of both."""

    pieces: tuple[TextPiece, ...]
    """Its words in order; of a changed block, those of both texts."""

    @property
    def is_changed(self) -> bool:
        """Whether the texts differ in it."""
        return any(piece.change != "same" for piece in self.pieces)


def text_differences(before: str, after: str) -> list[BlockDifference]:
    """Return the blocks of two Markdown texts in order, with what was removed and added.

    A block is a paragraph, a heading, a list item or a row of a table. A block that has moved is
    removed in one place and added in the other.
    """
    old = _blocks(before)
    new = _blocks(after)
    differences = list[BlockDifference]()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            for block in old[old_start:old_end]:
                differences.append(BlockDifference((TextPiece("same", block),)))
        else:
            differences += _changed(old[old_start:old_end], new[new_start:new_end])
    return differences


def _blocks(text: str) -> list[str]:
    """Return the blocks of a Markdown text."""
    blocks = list[str]()
    is_open = False
    for line in text.splitlines():
        if not line.strip():
            is_open = False
        elif _RULE.fullmatch(line):
            continue
        elif is_open and not _NEW_BLOCK.match(line):
            blocks[-1] += f"\n{line}"
        else:
            blocks.append(line)
            is_open = True
    return blocks


def _changed(old: Sequence[str], new: Sequence[str]) -> list[BlockDifference]:
    """Return the differences of two lists of blocks that have no block in common."""
    differences = list[BlockDifference]()
    position = 0
    counts = [_counted(block) for block in new]
    for block in old:
        counted = _counted(block)
        partner = None
        for index in range(position, len(new)):
            if _share(counted, counts[index]) >= _ALIKE:
                partner = index
                break
        if partner is None:
            differences.append(BlockDifference((TextPiece("removed", block),)))
            continue
        for added in new[position:partner]:
            differences.append(BlockDifference((TextPiece("added", added),)))
        differences.append(BlockDifference(_word_pieces(block, new[partner])))
        position = partner + 1
    for added in new[position:]:
        differences.append(BlockDifference((TextPiece("added", added),)))
    return differences


def _counted(block: str) -> Counter[str]:
    """Return how often each word occurs in a block."""
    return Counter(word for word in _WORD.findall(block) if any(map(str.isalnum, word)))


def _share(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of the words of two blocks that they have in common, from 0 to 1."""
    words = old.total() + new.total()
    return 2 * (old & new).total() / words if words else 0.0


def _word_pieces(before: str, after: str) -> tuple[TextPiece, ...]:
    """Return the pieces of two versions of a block."""
    old = _WORD.findall(before)
    new = _WORD.findall(after)
    pieces = list[TextPiece]()
    removed = ""
    added = ""
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        words = "".join(old[old_start:old_end])
        is_gap = bool(removed or added) and old_end < len(old) and not words.strip()
        if kind == "equal" and not is_gap:
            pieces += _pieces(removed, added)
            pieces.append(TextPiece("same", words))
            removed, added = "", ""
        else:
            # A space between two changes belongs to both, so that a new phrase is read as one.
            removed += words
            added += "".join(new[new_start:new_end])
    return (*pieces, *_pieces(removed, added))


def _pieces(removed: str, added: str) -> list[TextPiece]:
    """Return the pieces of one change."""
    pieces = list[TextPiece]()
    if removed:
        pieces.append(TextPiece("removed", removed))
    if added:
        pieces.append(TextPiece("added", added))
    return pieces
