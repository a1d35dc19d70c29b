"""Reads numbers and fractions in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from ._around_numbers import Following, measure_at, scale_at, sign_of, unit_at, what_follows
from ._number import ABOUT, Number, step_of
from ._number_tables import (
    AMBIGUOUS_NUMBERS,
    CARDINALS,
    CURRENCY_NAMES,
    DENOMINATORS,
    HALVES,
    JOINTS,
    OF_WORDS,
    ONES,
    ORDINAL_FRACTIONS,
    ORDINALS,
    PLAIN_WORD,
    TIMES,
    folded,
    gap,
)
from .words import STOP_WORDS

_BEGINNINGS = frozenset({*CARDINALS, *ONES, *DENOMINATORS, *HALVES})
"""The words with which a number or fraction may begin."""
_HUNDRED = 100
_QUARTERS = 4
_MOST_OF_WORDS = 2
"""Maximum number of words between a fraction and its whole: of an hour."""
_AMOUNT_BEFORE = re.compile(r"\d\W*(?:[^\W\d_]{1,3}\W*)?$")
_LONGEST_AMOUNT = 12
"""Number of characters before "a quarter" in which an amount makes it a rate: 300 a quarter."""


class _Word(NamedTuple):
    """A word of a text."""

    folded: str
    """In lower case."""
    start: int
    end: int
    is_next: bool
    """Whether only a space or hyphen separates it from the word before."""


class _Cardinal(NamedTuple):
    """A number that words make together."""

    value: float
    """0 if they make none."""
    behind: int
    """Index of the word behind them."""
    is_one: bool = False
    """Whether it is "a" or "one", which is a number only before a scale, a half or a fraction."""


_NOTHING = _Word("", 0, 0, is_next=False)


def numbers_in_words(plain: str, taken: bytearray) -> Iterator[Number]:
    """Yield the numbers and fractions in words of a uniform text, outside what is `taken`."""
    words = list[_Word]()
    end = 0
    for token in PLAIN_WORD.finditer(plain):
        if not taken[token.start()]:
            is_next = bool(words) and plain[end : token.start()] in (" ", "-")
            words.append(_Word(folded(token[0]), token.start(), token.end(), is_next))
            end = token.end()
    position = 0
    for index, word in enumerate(words):
        if word.start < position or word.folded not in _BEGINNINGS:
            continue
        number = _number_at(plain, words, index)
        if number:
            yield number
            position = number.end


def _number_at(plain: str, words: list[_Word], index: int) -> Number | None:
    """Return the number or fraction in words that begins with a word; None if there is none."""
    first = words[index]
    cardinal = _cardinal_at(words, index)
    fraction = _fraction_at(plain, words, cardinal)
    if fraction:
        return fraction._replace(start=first.start)
    if not cardinal.value or _at(words, cardinal.behind).folded in TIMES:
        return None

    following = what_follows(plain, words[cardinal.behind - 1].end)
    is_scaled = following.scale > 1 or following.half > 0
    if cardinal.is_one and not is_scaled:
        return None
    is_alone = cardinal.behind == index + 1 and not following.measure
    if first.folded in AMBIGUOUS_NUMBERS and is_alone and not is_scaled:
        return None
    figure = cardinal.value + following.half
    step = following.half or step_of(f"{cardinal.value:.15g}")
    return Number(
        figure * following.scale,
        figure,
        following.measure,
        step * following.scale,
        is_word=True,
        sign=sign_of(plain, first.start, first.start),
        start=first.start,
        end=following.end,
    )


def _at(words: list[_Word], index: int) -> _Word:
    """Return the word at an index; an empty one at the end."""
    return words[index] if index < len(words) else _NOTHING


def _cardinal_at(words: list[_Word], index: int) -> _Cardinal:
    """Return the number that words from an index on make together, such as "two hundred and
    fifty"; larger scales than a hundred are left to `what_follows`."""
    value = CARDINALS.get(words[index].folded, 0.0)
    if not value:
        if words[index].folded in ONES:
            return _Cardinal(1.0, index + 1, is_one=True)
        return _Cardinal(0.0, index)
    index += 1
    while _at(words, index).is_next:
        is_joined = words[index].folded in JOINTS
        following = _at(words, index + 1 if is_joined else index)
        added = CARDINALS.get(following.folded, 0.0) if following.is_next else 0.0
        # In French, 80 is four twenties, and 70 and 90 are 60 and 80 with 10.
        is_factor = (added == _HUNDRED and value < 10) or (value, added) == (4, 20)
        most = 20 if value in (60, 80) else 10
        adds_to_hundreds = value % _HUNDRED == 0 and added < _HUNDRED
        adds_to_tens = value % _HUNDRED >= 20 and value % 10 == 0 and added < most
        if is_factor and not is_joined:
            value *= added
        elif added and (adds_to_hundreds or adds_to_tens):
            value += added
        else:
            break
        index += 2 if is_joined else 1
    return _Cardinal(value, index)


def _fraction_at(plain: str, words: list[_Word], numerator: _Cardinal) -> Number | None:
    """Return the fraction whose denominator follows its numerator; None if there is none.

    A numerator of 0 stands for none: half of it.
    """
    index = numerator.behind
    word = _at(words, index)
    denominator = DENOMINATORS.get(word.folded, 2.0 if word.folded in HALVES else 0.0)
    if not denominator or (numerator.value and not word.is_next):
        return None
    if not numerator.value and index and words[index - 1].folded in ORDINALS:
        # The first half, the third quarter.
        return None
    may_be_ordinal = word.folded in ORDINAL_FRACTIONS
    if may_be_ordinal and _is_ordinal(plain, words, numerator):
        return None

    count = numerator.value or 1.0
    share = count / denominator
    whole = _whole_at(plain, word.end, word.folded in HALVES)
    if may_be_ordinal and denominator == _QUARTERS:
        # Two quarters are periods: nobody calls half of a thing so.
        is_reducible = math.gcd(int(count), _QUARTERS) > 1
        if is_reducible or (whole and whole.measure == "year"):
            return Number(count, count, is_word=True, end=word.end)
    if whole:
        value = share * whole.scale
        return Number(value, share, whole.measure, 2 * ABOUT * value, is_word=True, end=whole.end)
    if word.folded not in DENOMINATORS:
        return None
    percent = 100 * share
    step = 2 * ABOUT * percent
    return Number(percent, percent, "%", step, is_word=True, is_share=True, end=word.end)


def _is_ordinal(plain: str, words: list[_Word], numerator: _Cardinal) -> bool:
    """Whether a word such as "third" behind a numerator is an ordinal or a period.

    A third of it is a fraction; a third party and 300 a quarter are none.
    """
    if not numerator.value:
        return True
    if not numerator.is_one:
        return False
    start = words[numerator.behind - 1].start
    if _AMOUNT_BEFORE.search(plain, max(0, start - _LONGEST_AMOUNT), start):
        return True
    following = _at(words, numerator.behind + 1)
    is_function_word = following.folded in STOP_WORDS or following.folded in OF_WORDS
    return following.is_next and not is_function_word


def _whole_at(plain: str, end: int, is_half: bool) -> Following | None:
    """Return the unit or scale of which a fraction is a part, as in "a quarter of an hour".

    None if it is a part of something else. "Half" needs no "of" and no article.
    """
    start = gap(plain, end)
    article = ""
    for _ in range(_MOST_OF_WORDS):
        word = PLAIN_WORD.match(plain, start)
        if not word or word[0].casefold() not in OF_WORDS:
            break
        article = word[0].casefold()
        start = gap(plain, word.end())
    if article not in (*ONES, "the") and not is_half:
        return None
    scale, scale_end = scale_at(plain, start)
    if scale > 1:
        measure, measure_end = measure_at(plain, scale_end, has_scale=True)
        return Following(0, scale, measure, measure_end if measure else scale_end)
    unit = unit_at(plain, start)
    if not unit or unit[0] in CURRENCY_NAMES or plain.startswith("'", unit[1]):
        return None
    if article == "the" and unit[0] != "year":
        # Half of the hours.
        return None
    return Following(0, 1, *unit)
