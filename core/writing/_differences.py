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
_WORD = re.compile(rf"\s*(\[\d+(?:, ?\d+)*\]|[{_CJK}]|[^\W{_CJK}]+(?:[.,:'’-][^\W{_CJK}]+)*|\S)")
"""A citation, a word or number, or another character, with the space before it.

Chinese, Japanese and Korean characters are compared one by one, since no space separates their
words.
"""
_ALIKE = 0.4
"""Minimum share of common words from which on two blocks are two versions of one block."""
_NEAR = 30
"""Number of following blocks among which the other version of a block is searched."""
_MOST_WORDS = 4_000
"""Number of words of a block above which it is compared as a whole: the time grows with their
square."""


class WordPiece(NamedTuple):
    """A piece of a block."""

    change: Change
    text: str


class BlockDifference(NamedTuple):
    """A block of either text, or of both."""

    pieces: tuple[WordPiece, ...]
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
                differences.append(BlockDifference((WordPiece("same", block),)))
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
    counts = list(map(_counted, new))
    for block in old:
        counted = _counted(block)
        partner = None
        for index in range(position, min(position + _NEAR, len(new))):
            if _share(counted, counts[index]) >= _ALIKE:
                partner = index
                break
        if partner is None:
            differences.append(BlockDifference((WordPiece("removed", block),)))
            continue
        for added in new[position:partner]:
            differences.append(BlockDifference((WordPiece("added", added),)))
        differences.append(BlockDifference(_word_pieces(block, new[partner])))
        position = partner + 1
    for added in new[position:]:
        differences.append(BlockDifference((WordPiece("added", added),)))
    return differences


def _counted(block: str) -> Counter[str]:
    """Return how often each word occurs in a block."""
    return Counter(word for word in _WORD.findall(block) if any(map(str.isalnum, word)))


def _share(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of the words of two blocks that they have in common, from 0 to 1."""
    words = old.total() + new.total()
    return 2 * (old & new).total() / words if words else 0.0


def _word_pieces(before: str, after: str) -> tuple[WordPiece, ...]:
    """Return the pieces of two versions of a block; a space alone is no difference."""
    old = list(_WORD.finditer(before))
    new = list(_WORD.finditer(after))
    if max(len(old), len(new)) > _MOST_WORDS:
        return tuple(_pieces(before, after))
    old_words = _WORD.findall(before)
    new_words = _WORD.findall(after)
    pieces = list[WordPiece]()
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        removed = _joined(old[old_start:old_end])
        added = _joined(new[new_start:new_end])
        if kind != "equal":
            pieces += _pieces(removed, added)
        elif removed[:1].isspace() and not added[:1].isspace():
            # What stood before it is gone, and is shown in front of it.
            pieces.append(WordPiece("same", removed))
        else:
            pieces.append(WordPiece("same", added))
    return tuple(pieces)


def _joined(words: Sequence[re.Match[str]]) -> str:
    """Return words as one text, with the spaces before them."""
    return "".join(word[0] for word in words)


def _pieces(removed: str, added: str) -> list[WordPiece]:
    """Return the pieces of one change."""
    pieces = list[WordPiece]()
    if removed:
        pieces.append(WordPiece("removed", removed))
    if added:
        pieces.append(WordPiece("added", added))
    return pieces
