"""Compares the numbers of two texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ..text.numbers import (
    Number,
    scales_in,
)
from ..text.words import all_month_names, dates_in

_WORD = re.compile(r"[^\W\d_]+")


def is_about(number: Number, other: Number) -> bool:
    """Whether two percentages are equal to within the first one's step.

    The second may be given as a fraction of 1.
    """
    tolerance = number.step / 2
    is_near = abs(other.value - number.value) <= tolerance
    return is_near or abs(100 * other.value - number.value) <= tolerance


def months_in(text: str) -> frozenset[int]:
    """Return the months (from 1) that a text names, alone or in dates."""
    names = all_month_names()
    months = set[int]()
    for word in _WORD.findall(text):
        name = word.casefold()
        if len(word) > 3 and word[0].isupper() and name in names:
            months.add(names[name])
    for date in dates_in(text):
        if len(date.iso) > len("2024"):
            months.add(int(date.iso[5:7]))
    return frozenset(months)


def is_same_quantity(
    number: Number,
    other: Number,
    context: str,
    is_known: Callable[[str], bool],
    own_context: str = "",
) -> bool:
    """Whether two numbers are the same quantity, with the same sign.

    The scale (million) of `other` may be in `context`, the text around it, and that of `number` in
    `own_context`; `is_known` says whether the text around `other` names a unit of measure.
    """
    if number.is_name or other.is_name:
        return number.is_name and number.name.casefold() == other.name.casefold()
    if not number.may_have_sign_of(other):
        return False
    if not _is_same_value(number, other, own_context, context):
        return False
    if not number.measure or number.may_have_measure_of(other):
        return True
    return not other.measure and is_known(number.general_measure)


def _is_same_value(number: Number, other: Number, own_context: str, context: str) -> bool:
    """Whether two numbers have the same value, with a scale that may be named once for many, as in
    a column's header."""
    if math.isclose(number.value, other.value, rel_tol=1e-9):
        return True
    if not math.isclose(number.figure, other.figure, rel_tol=1e-9):
        return False
    if number.has_scale and other.has_scale:
        return False
    scale = max(number.scale, other.scale)
    named = scales_in(context if number.has_scale else own_context)
    return any(math.isclose(scale, known, rel_tol=1e-9) for known in named)
