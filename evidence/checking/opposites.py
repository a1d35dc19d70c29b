"""Words that turn a statement round if one stands where the other stood."""

from __future__ import annotations

from itertools import combinations

from ..text.cues import NEGATIONS as _COUNTED
from ..text.tables import word_tables
from ..text.words import tokens
from .spelling import key_of, plain

_WORDS = word_tables(__package__)

_DENYING = _WORDS["denying"]
DENYING = {word: line.split()[0] for line in _DENYING.strip().splitlines() for word in line.split()}
"""Words that negate and can be negated themselves, each with the one that stands for its forms."""
_MORE = _WORDS["more"]
NEGATIONS = _COUNTED | frozenset(tokens(_MORE)) | DENYING.keys()
"""Words that negate."""
CJK_NEGATIONS = ("不", "没", "沒", "未", "无", "無", "非", "ない", "않", "아니")
"""Signs that negate in writing without spaces."""

_EXCLUSIVE = _WORDS["exclusive"]


def _pairs() -> frozenset[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for line in _EXCLUSIVE.strip().splitlines():
        sides = [{key_of(word) for word in side.split("|")} for side in line.split()]
        for one, other in combinations(sides, 2):
            found |= {pair for mine in one for theirs in other for pair in ((mine, theirs), (theirs, mine))}
    return frozenset((one, other) for one, other in found if one != other)


OPPOSITES = _pairs()
"""Stems of words that exclude each other, in both orders."""
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti", "mis")

_LOOKING_ALIKE = _WORDS["looking_alike"]
_ALONE = frozenset(map(key_of, _LOOKING_ALIKE.split()))
"""Words that only look like the denial of another."""


def are_opposite(one: str, other: str) -> bool:
    """Whether two words exclude each other, by what they mean or by how they are made (possible, impossible)."""
    one, other = key_of(plain(one)), key_of(plain(other))
    if (one, other) in OPPOSITES:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.endswith(short) and long.removesuffix(short) in _PREFIXES:
        return long not in _ALONE
    return long.endswith("less") and long.removesuffix("less") in {short, short.removesuffix("ful")}
