"""Reads numbers and fractions in words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator

from ._around_numbers import Following, measure_at, scale_at, sign_of, unit_at, what_follows
from ._number import ABOUT, Number, step_of
from ._number_tables import (
    AMBIGUOUS_NUMBERS,
    CURRENCY_NAMES,
    DENOMINATORS,
    HALVES,
    JOINTS,
    NUMBER_WORDS,
    OF_WORDS,
    ONES,
    ORDINAL_FRACTIONS,
    ORDINALS,
    TIMES,
    WORD,
    gap,
)
from .words import STOP_WORDS


def in_words(plain: str, taken: bytearray) -> Iterator[Number]:
    """Yield the numbers and fractions in words of a uniform text, outside what is `taken`."""
    tokens = [token for token in WORD.finditer(plain) if not taken[token.start()]]
    folded = [unicodedata.normalize("NFC", token[0].casefold()) for token in tokens]
    index = 0
    while index < len(tokens):
        found = _word_number_at(plain, tokens, folded, index)
        if found:
            yield found
            while index < len(tokens) and tokens[index].start() < found.end:
                index += 1
        else:
            index += 1


def _word_number_at(
    plain: str, tokens: list[re.Match[str]], folded: list[str], index: int
) -> Number | None:
    """Return the number or fraction in words that begins with a word; None if there is none."""
    word = folded[index]
    if not (word in NUMBER_WORDS or word in ONES or word in DENOMINATORS or word in HALVES):
        return None
    start = tokens[index].start()
    value, after_value = _cardinal_at(plain, tokens, folded, index)
    is_one = value == 0 and word in ONES
    if is_one:
        value, after_value = 1.0, index + 1
    fraction_index = after_value if value else index
    if fraction_index < len(tokens):
        is_next = fraction_index == index or _are_adjacent(
            plain, tokens[fraction_index - 1], tokens[fraction_index]
        )
        if is_next:
            fraction = _fraction_at(plain, tokens, folded, fraction_index, value, is_one)
            if fraction:
                return fraction._replace(start=start)
    if not value:
        return None
    end = tokens[after_value - 1].end()
    if after_value < len(tokens) and folded[after_value] in TIMES:
        return None
    after = what_follows(plain, end)
    if is_one and not after.half and after.scale == 1:
        return None
    is_alone = after_value == index + 1 and not after.measure and after.scale == 1
    if word in AMBIGUOUS_NUMBERS and is_alone:
        return None
    figure = value + after.half
    step = after.half or step_of(f"{value:.15g}")
    return Number(
        figure * after.scale,
        figure,
        after.measure,
        step * after.scale,
        is_word=True,
        sign=sign_of(plain, start, start),
        start=start,
        end=after.end,
    )


def _cardinal_at(
    plain: str, tokens: list[re.Match[str]], folded: list[str], index: int
) -> tuple[float, int]:
    """Return the number that words from an index on make together, such as "two hundred and
    fifty", and the index behind them; 0 if the first word is no number.

    Larger scales than a hundred are left to `after`.
    """
    value = NUMBER_WORDS.get(folded[index], 0.0)
    index += 1
    if not value:
        return 0.0, index
    while index < len(tokens) and _are_adjacent(plain, tokens[index - 1], tokens[index]):
        following = index
        if folded[index] in JOINTS:
            following += 1
            if following >= len(tokens):
                break
            if not _are_adjacent(plain, tokens[index], tokens[following]):
                break
        added = NUMBER_WORDS.get(folded[following], 0.0)
        continues_hundreds = value >= 100 and value % 100 == 0 and 0 < added < 100
        # In French, 70 and 90 are 60 and 80 with 10.
        most = 20 if value in (60, 80) else 10
        continues_tens = value % 100 >= 20 and value % 10 == 0 and 0 < added < most
        is_factor = value < 10 and following == index
        if is_factor and (added == 100 or (value, added) == (4, 20)):
            value *= added
        elif continues_hundreds or continues_tens:
            value += added
        else:
            break
        index = following + 1
    return value, index


def _are_adjacent(plain: str, token: re.Match[str], following: re.Match[str]) -> bool:
    """Whether only a space or hyphen separates two words."""
    return plain[token.end() : following.start()] in (" ", "-")


def _fraction_at(
    plain: str,
    tokens: list[re.Match[str]],
    folded: list[str],
    index: int,
    numerator: float,
    is_one: bool,
) -> Number | None:
    """Return the fraction whose denominator is the word at an index; None if it is none.

    `numerator` is the number before it, 0 for none; `is_one` says whether that is "a" or "one".
    """
    word = folded[index]
    before = index - 1 if numerator else index
    if before > 0 and folded[before - 1] in ORDINALS and not numerator:
        # The first half, the third quarter.
        return None
    denominator = DENOMINATORS.get(word, 2.0 if word in HALVES else 0.0)
    if not denominator:
        return None
    end = tokens[index].end()
    following = folded[index + 1] if index + 1 < len(tokens) else ""
    if following and not _are_adjacent(plain, tokens[index], tokens[index + 1]):
        following = ""
    if word in ORDINAL_FRACTIONS:
        is_followed = following and following not in STOP_WORDS and following not in OF_WORDS
        if not numerator or (is_one and is_followed):
            return None
        if is_one and _ends_with_amount(plain, tokens[index - 1].start()):
            # 300 a quarter.
            return None
    count = numerator or 1.0
    whole = _whole_at(plain, end, word in HALVES)
    if denominator == 4 and word in ORDINAL_FRACTIONS:
        is_period = math.gcd(int(count), 4) > 1 or (whole and whole.measure == "year")
        if is_period:
            # Two quarters are half a year, but nobody says so of other things.
            return Number(count, count, is_word=True, start=end, end=end)
    share = count / denominator
    if whole:
        step = 2 * ABOUT * share * whole.scale
        measure = whole.measure
        return Number(share * whole.scale, share, measure, step, is_word=True, end=whole.end)
    if word not in DENOMINATORS:
        return None
    percent = 100 * share
    return Number(percent, percent, "%", 2 * ABOUT * percent, is_word=True, is_share=True, end=end)


def _ends_with_amount(plain: str, end: int) -> bool:
    """Whether the text before an offset ends with a number, perhaps with a unit."""
    return re.search(r"\d\W*(?:[^\W\d_]{1,3}\W*)?$", plain[max(0, end - 12) : end]) is not None


def _whole_at(plain: str, end: int, is_half: bool) -> Following | None:
    """Return the unit or scale of which a fraction is a part, as in "a quarter of an hour".

    None if it is a part of something else. "Half" needs no "of" and no article.
    """
    start = gap(plain, end)
    has_article = False
    for _ in range(2):
        word = WORD.match(plain, start)
        if not word or word[0].casefold() not in OF_WORDS:
            break
        has_article = word[0].casefold() in ONES or word[0].casefold() == "the"
        start = gap(plain, word.end())
    if not has_article and not is_half:
        return None
    scale, scale_end = scale_at(plain, start, is_money=False, has_comma=False)
    measure, measure_end = measure_at(plain, scale_end, has_scale=True) if scale > 1 else ("", 0)
    if scale == 1:
        unit = unit_at(plain, start)
        if not unit or unit[0] in CURRENCY_NAMES or plain.startswith("'", unit[1]):
            return None
        return Following(0, 1, unit[0], unit[1])
    return Following(0, scale, measure, measure_end or scale_end)
