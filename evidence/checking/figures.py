"""Figures of a statement that its sources do not give, and that do not follow from theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from ..support.number_words import SMALL
from .windows import Windows, figures_of

NEAREST = 2
"""Windows of each source whose figures a statement may be reckoned from."""
FACTORS = (1.0, 1e3, 1e6, 60.0, 12.0)
"""By which units of one quantity differ: thousands and millions, minutes, months."""
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d_]+")


def foreign_figures(statement: str, sources: Sequence[Windows], *, is_cell: bool) -> list[str]:
    """Return the figures of a statement that stand in none of its sources and cannot be reckoned from them.

    A sum, a difference, a ratio, a share or a change of two figures near by is one, and another unit or rounding of
    one; a year is only what it is, and so is the cell of a table but for its unit.
    """
    held = frozenset[str]().union(*(figures_of(one.text) for one in sources))
    new = sorted(one for one in figures_of(statement) - held if _PLAIN.fullmatch(one))
    if not new:
        return []
    near = [*_near(statement, sources), *(float(one) for one in figures_of(statement) if _PLAIN.fullmatch(one))]
    return [one for one in new if not _follows(one, [other for other in near if other != float(one)], is_cell)]


def _near(statement: str, sources: Sequence[Windows]) -> Iterator[float]:
    for one in sources:
        for number in one.best(statement, NEAREST):
            text = one.text[one.windows[number].start : one.windows[number].end]
            yield from (float(figure) for figure in figures_of(text) if _PLAIN.fullmatch(figure))
            yield from (float(SMALL[word]) for word in map(str.lower, _WORD.findall(text)) if word in SMALL)


def _follows(figure: str, near: Sequence[float], is_cell: bool) -> bool:
    if _YEAR.fullmatch(figure):
        return False
    wanted, room = float(figure), _step(figure) / 2 + 1e-9
    reckoned = _alone(near) if is_cell else (*_alone(near), *_of_two(near))
    return any(abs(wanted - one) <= room for one in reckoned)


def _alone(near: Iterable[float]) -> Iterator[float]:
    for one in near:
        yield 100 - one
        for factor in FACTORS:
            yield one * factor
            yield one / factor


def _of_two(near: Iterable[float]) -> Iterator[float]:
    for one, other in permutations(near, 2):
        yield one + other
        yield one - other
        if other:
            yield one / other
            yield 100 * one / other
            yield 100 * abs(one - other) / other


def _step(figure: str) -> float:
    """How exactly a figure is said: 1,200 to the hundred, 3.5 to the tenth."""
    whole, _, decimals = figure.partition(".")
    if decimals:
        return 10.0 ** -len(decimals)
    return 10.0 ** (len(whole) - len(whole.rstrip("0"))) if whole.strip("0") else 1.0
