"""Words as the index counts them: one way for texts and for questions."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import chain
from operator import add

from ..words import UNSPACED

_ACCENTS = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
# Characters of these scripts take the marks above, below and beside them along.
_FIRST = re.compile(f"[{UNSPACED}]")
_MARKED = (0x300, 0xFE30)
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")


def words_and_pieces(text: str) -> tuple[list[str], list[str]]:
    """The words of a text in lower case; and of unspaced scripts each character, and each pair of neighbours."""
    plain = _plain(text)
    runs = [] if plain.isascii() else _run().findall(plain)
    if not runs:
        return _words(plain), []
    units = map(_units, _words(" ".join(runs)))
    return _words(_run().sub(" ", plain)), [*chain.from_iterable((*of_run, *_pairs(of_run)) for of_run in units)]


def sought_words(question: str) -> list[str]:
    """The words of a question in order, in lower case; of unspaced scripts the pairs of neighbouring characters."""
    # Words of other scripts may stand beside unspaced ones without a space.
    return [*chain.from_iterable(map(_sought, _words(_run().sub(r" \g<0> ", _plain(question)))))]


def words_of(text: str) -> list[str]:
    """The words of a question or a title in order, without accents."""
    return [bare(word) for word in sought_words(text)]


def bare(word: str) -> str:
    """The word without accents and vowel points; those of unspaced scripts are kept, being parts of its letters."""
    if word.isascii() or is_unspaced(word):
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def is_unspaced(word: str) -> bool:
    """Whether it is of a script that puts no spaces between words."""
    return not word.isascii() and _FIRST.match(word) is not None


def title_key(title: str) -> str:
    """What a question must contain to mention this title: its words, without a remark in brackets at the end."""
    return " ".join(words_of(_IN_BRACKETS.sub("", title)) or words_of(title))


def _plain(text: str) -> str:
    return (text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()).replace("_", " ")


def _words(plain: str) -> list[str]:
    words: list[str] = _word().findall(plain)
    return words


def _sought(word: str) -> list[str]:
    if not is_unspaced(word):
        return [word]
    units = _units(word)
    return _pairs(units) or units


def _units(run: str) -> list[str]:
    # Without marks, which Chinese, Japanese and Korean have none of, every character is one.
    return _unit().findall(run) if _mark().search(run) else list(run)


def _pairs(units: list[str]) -> list[str]:
    return [*map(add, units, units[1:])]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"\w[\w{_marks()}]*")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}][{UNSPACED}{_marks()}]*")


@cache
def _unit() -> re.Pattern[str]:
    return re.compile(rf"\w[{_marks()}]*")


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{_marks()}]")


@cache
def _marks() -> str:
    """The marks that belong to the letter before them, for use in a regular expression."""
    return "".join(mark for mark in map(chr, range(*_MARKED)) if unicodedata.category(mark) in ("Mn", "Mc"))
