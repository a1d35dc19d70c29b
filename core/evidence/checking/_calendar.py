"""Finds the months and units of time that a text names in its own language, by the data of the
Unicode CLDR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_WORD = re.compile(r"[^\W\d_]+")
_UNITS = ("minute", "hour", "day", "week", "month", "year")
"""Units of time: the names of their measures, and of their patterns in the CLDR."""
_COUNTS = (1, 2, 5)
"""Numbers before which a unit has different forms, as in Russian."""
_COMPOUNDING = frozenset({"da", "de", "fi", "nl", "no", "sv"})
"""ISO 639-1 codes of languages that write compounds as one word: Jahresende, Werktage."""
_FEWEST_LETTERS = 3
"""Minimum number of letters of a unit at the start of a compound; at the end, it and what precedes
it have one letter more, since "Montage" and "Etage" have nothing to do with days."""


def named_months(text: str, code: str) -> frozenset[int]:
    """Return the months (from 1) that a text in this language (ISO 639-1) names in words."""
    names = _month_names(code)
    months = set[int]()
    for word in _WORD.findall(text):
        # A name in lower case may begin a sentence; one with a capital is another word without it.
        month = names.get(word) or names.get(word.casefold())
        if month:
            months.add(month)
    return frozenset(months)


def named_times(text: str, code: str) -> frozenset[str]:
    """Return the names of the units of time that a text in this language names, alone or in a
    compound."""
    forms = _unit_forms(code)
    named = set[str]()
    for word in {word.casefold() for word in _WORD.findall(text)}:
        if word in forms:
            named.add(forms[word])
        elif code in _COMPOUNDING:
            named.update(unit for form, unit in forms.items() if _is_part(form, word))
    return frozenset(named)


def _is_part(form: str, word: str) -> bool:
    """Whether a compound begins or ends with a form of a unit."""
    if word.startswith(form):
        return len(form) >= _FEWEST_LETTERS
    is_long = min(len(form), len(word) - len(form)) > _FEWEST_LETTERS
    return is_long and word.endswith(form)


@cache
def _month_names(code: str) -> Mapping[str, int]:
    """Return the numbers of the months by their names, as the language writes them."""
    # Only texts in other languages than English need it.
    from babel.dates import get_month_names

    numbers = dict[str, int]()
    for context in ("format", "stand-alone"):
        for number, name in get_month_names("wide", context, locale=code).items():
            numbers[name] = number
    return numbers


@cache
def _unit_forms(code: str) -> Mapping[str, str]:
    """Return the units of time by their forms, in lower case."""
    from babel.units import format_unit

    units = dict[str, str]()
    for unit in _UNITS:
        for count in _COUNTS:
            form = format_unit(count, f"duration-{unit}", locale=code)
            words = _WORD.findall(form.casefold())
            # Without data, Babel gives the name of the pattern.
            if len(words) == 1:
                units[words[0]] = unit
    return units
