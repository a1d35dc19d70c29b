"""The wording of a text: its words without the layout, where they stand in a row, and how two texts differ in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from .words import UNSPACED

_WORD = re.compile(
    r"(?:(?<![^\W_])[-−+±~<>≤≥])?\d+(?:[.,'’\u00a0\u202f]\d+)*"
    rf"|[{UNSPACED}]|[^\W\d_{UNSPACED}]+(?:['’][^\W\d_{UNSPACED}]+)*|[%‰$€£¥°]"
)
_GROUPED = re.compile(r"[.,'’\u00a0\u202f](?=\d{3}(?:\D|$))")
_CLOSING = re.compile(r"[\"'”’»)\]]*[.!?…。！？]*[\"'”’»)\]]*")
_APART = "\n"


class Word(NamedTuple):
    """A word, a number with its sign, or the sign of a unit."""

    key: str
    """What it is compared by: without case, a number without what groups its digits."""
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Return the words of a text in order, without punctuation, marks of Markdown and white space."""
    return [Word(_key(found.group()), *found.span()) for found in _WORD.finditer(text)]


def _key(raw: str) -> str:
    if any(map(str.isdigit, raw)):
        return (raw if raw.startswith("0") else _GROUPED.sub("", raw)).replace(",", ".").replace("−", "-")
    return unicodedata.normalize("NFKC", raw).casefold().replace("’", "'")


class Wording:
    """A text by its words."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text itself."""

    @cached_property
    def words(self) -> list[Word]:
        """Its words in order."""
        return words_of(self.text)

    @cached_property
    def _row(self) -> str:
        return _row([one.key for one in self.words])

    def find(self, text: str) -> range | None:
        """Return the places of the words at which those of a text stand in a row; none if they do not, or it has none.

        Layout does not matter: white space, marks of Markdown, case and punctuation.
        """
        keys = [one.key for one in words_of(text)]
        place = self._row.find(_row(keys)) if keys else -1
        if place < 0:
            return None
        first = self._row.count(_APART, 0, place)
        return range(first, first + len(keys))

    def cut(self, places: range) -> str:
        """Return the words at these places as they are written, with what closes their sentence, in one line.

        Behind the last word of the text that is all that follows, but for marks of Markdown.
        """
        if not places:
            return ""
        end = self.words[places[-1]].end
        closing = _CLOSING.match(self.text, end)
        is_last = places[-1] == len(self.words) - 1
        text = self.text[self.words[places[0]].start : closing.end() if closing and not is_last else None]
        return " ".join(text.split()).rstrip("|*_ ") if is_last else " ".join(text.split())


def _row(keys: Sequence[str]) -> str:
    return f"{_APART}{_APART.join(keys)}{_APART}"


Edits = Sequence[tuple[str, int, int, int, int]]


def edits(before: Sequence[Word], now: Sequence[Word]) -> Edits:
    """Return by which edits the one text becomes the other, as `difflib` gives them, by the places of the words."""
    return SequenceMatcher(None, [one.key for one in before], [one.key for one in now], autojunk=False).get_opcodes()


def likeness(before: Sequence[Word], now: Sequence[Word]) -> float:
    """Return how much of two texts is the same, in words, from 0 to 1."""
    matcher = SequenceMatcher(None, [one.key for one in before], [one.key for one in now], autojunk=False)
    return matcher.ratio()


class Piece(NamedTuple):
    """A part of a text beside another one."""

    kind: Literal["same", "deleted", "inserted"]
    text: str
    space: str = ""
    """What separates it from the next part."""


def difference(before: str, now: str) -> list[Piece]:
    """Return two texts as one, word by word: what both say, what only the first says, and what only the second says.

    Where they differ in layout only, it is that of the second.
    """
    before, now = " ".join(before.split()), " ".join(now.split())
    one, other = words_of(before), words_of(now)
    pieces = list[Piece]()
    for kind, i1, i2, j1, j2 in edits(one, other):
        if kind == "equal":
            pieces.append(Piece("same", _text(now, other, j1, j2)))
            continue
        if i2 > i1:
            pieces.append(Piece("deleted", _text(before, one, i1, i2)))
        if j2 > j1:
            pieces.append(Piece("inserted", _text(now, other, j1, j2)))
    return [here._replace(space=_space(following)) for here, following in pairwise([*pieces, Piece("same", "")])]


def _text(text: str, words: Sequence[Word], first: int, last: int) -> str:
    """Return the words at these places with what stands before them, and with the end of the text behind the last."""
    start = words[first - 1].end if first else 0
    return text[start : len(text) if last == len(words) else words[last - 1].end].strip()


def _space(following: Piece) -> str:
    is_joined = not following.text or re.match(r"[.,;:!?)\]%…’”»]", following.text)
    return "" if is_joined else " "
