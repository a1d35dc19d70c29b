"""Word tables for numbers, and how an entry of them is found in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import TypeVar

from .words import UNSPACED, WORDS, is_unspaced, with_ascii_digits

_LONGEST_ENTRY = 6
"""Length of the longest entry of a word table in an unspaced script, in characters."""
_MOST_WORDS = 3
"""Maximum number of words of an entry of a word table."""
UNIFORM_SIGNS = str.maketrans("–—‑−‐’‘“”„«»\u00a0\u202f", '-----\'\'"""""  ')
"""Table for `str.translate` that maps all dashes, quotation marks and spaces to one character of
each kind."""
# A long dash is no minus.
_SIGNS_OF_NUMBERS = UNIFORM_SIGNS | str.maketrans(
    "—－﹣＋，．％￥＄（）／\u2007\u2009\u3000٫٬٪×⋅∙·", "—--+,.%¥$()/   .,%xxxx"
)
"""The same for numbers; each character is replaced by one, so that offsets stay valid."""
PLAIN_WORD = re.compile(
    r"°?[^\W\d_](?:[^\W\d_]|[\u0900-\u0963\u0970-\u097f])*(?:[²³$]|\^[23](?!\d))?"
)
"""A word, with the vowel signs of Devanagari, or a unit such as °C, m², m^2 or US$."""
_MARK = re.compile(r"[^\w\s]")
_WITHIN_ENTRIES = (" ", "-", "'", "x", "॰")
"""Characters between two words of an entry; "x" stands for a multiplication sign."""
_Entry = TypeVar("_Entry")


class WordTable(dict[str, _Entry]):
    """Values by the words of a word table, of which some entries are several words."""

    def __init__(self, values: Mapping[str, _Entry]) -> None:
        super().__init__()
        for form, value in values.items():
            self[unicodedata.normalize("NFC", form)] = value
        self.first_words = frozenset(re.split("[ '-]", form)[0] for form in self)
        """The first word of each entry."""


def _lines(table: str) -> list[list[str]]:
    """Return the entries of each line of a word table, with spaces for underscores."""
    lines = list[list[str]]()
    for line in WORDS[table].strip().splitlines():
        lines.append([entry.replace("_", " ") for entry in line.split()])
    return lines


def _entries(table: str) -> frozenset[str]:
    """Return the entries of a word table without lines."""
    return frozenset(entry.replace("_", " ") for entry in WORDS[table].split())


def _values(table: str) -> WordTable[float]:
    """Return the numbers of a word table, by word; each line has a number, then its words."""
    values = dict[str, float]()
    for value, *words in _lines(table):
        values.update(dict.fromkeys(words, float(value)))
    return WordTable(values)


def _names(*tables: str) -> WordTable[str]:
    """Return the name of each unit of measure of some tables, by its forms: km by kilometres."""
    names = dict[str, str]()
    for table in tables:
        for forms in _lines(table):
            names.update(dict.fromkeys(forms, forms[0]))
    return WordTable(names)


def _pattern(*tables: str) -> re.Pattern[str]:
    """Return a pattern of the words of tables in which an asterisk means any ending."""
    spaced = list[str]()
    unspaced = list[str]()
    for table in tables:
        for word in sorted(_entries(table), key=len, reverse=True):
            if is_unspaced(word):
                unspaced.append(word)
            elif word.endswith("*"):
                spaced.append(re.escape(word[:-1]) + r"[\w\u0900-\u097f]*")
            else:
                spaced.append(re.escape(word))
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(unspaced)}", re.IGNORECASE)


def _before(table: str) -> re.Pattern[str]:
    """Return a pattern of a word of a table at the end of a text, perhaps with a space."""
    words = "|".join(_entries(table))
    return re.compile(rf"(?:^|(?<=[\W{UNSPACED}]))(?:{words}) ?$", re.IGNORECASE)


CARDINALS = _values("numbers")
AMBIGUOUS_NUMBERS = _entries("ambiguous_numbers")
ONES = _entries("ones")
JOINTS = _entries("number_joints")
SCALES = _values("scales")
LONG_SCALES = _values("long_scales")
MONEY_SCALES = _entries("money_scales")
DENOMINATORS = _values("fractions")
ORDINAL_FRACTIONS = _entries("ordinal_fractions")
HALVES = _entries("halves")
PLUS_HALF = WordTable(dict.fromkeys(_entries("plus_half"), 0.5))
OF_WORDS = _entries("of_words")
ORDINALS = _entries("ordinals")
TIMES = _entries("times")
RATES = _entries("rates")
CURRENCIES = _names("currencies")
CURRENCY_NAMES = frozenset(CURRENCIES.values())
CURRENCY_CODES = "|".join(
    sorted({form.upper() for form in CURRENCIES if re.fullmatch("[A-Za-z]{3}", form)})
)
"""Pattern of the three-letter codes of currencies."""
CURRENCY_SIGNS = frozenset("$€£¥₹₽₩₺₴₪₫฿")
MEASURES = _names("measures", "currencies")
"""The name of each unit of measure and currency, by its forms: km by kilometres."""
SHARED_CURRENCIES = {
    name: shared for shared, *names in _lines("shared_currencies") for name in names
}
"""The sign or word that a currency shares with others: $ by aud."""
AMBIGUOUS_MEASURES = _entries("ambiguous_measures")
BEFORE_AMOUNTS = _entries("before_amounts")
LEVELS = _entries("level_words")
RISING = _pattern("rising_words")
FALLING = _pattern("falling_words")
GAINS = _pattern("gain_words")
LOSSES = _pattern("loss_words")
BELOW = _pattern("falling_words", "loss_words", "below_words")
MINUS = _before("minus_words")
PLUS = _before("plus_words")


def general_measure(measure: str) -> str:
    """Return the sign or word that several currencies share, such as "$" for Australian dollars;
    other units of measure as they are."""
    return SHARED_CURRENCIES.get(measure, measure)


def uniform_numbers(text: str) -> str:
    """Return a text of the same length with ASCII digits and one sign each for minus, quotation
    marks and spaces."""
    if text.isascii():
        return text
    return with_ascii_digits(text.translate(_SIGNS_OF_NUMBERS))


def entry_at(entries: WordTable[_Entry], plain: str, start: int) -> tuple[_Entry, int] | None:
    """Return the longest entry of a word table that stands at an offset, and the offset of its
    end."""
    first = plain[start : start + 1]
    if not first:
        return None
    if is_unspaced(first):
        for length in range(_LONGEST_ENTRY, 0, -1):
            words = plain[start : start + length]
            if words in entries:
                return entries[words], start + len(words)
        return None
    word = PLAIN_WORD.match(plain, start) or _MARK.match(plain, start)
    if not word:
        return None
    if entries.first_words.isdisjoint((word[0], folded(word[0]))):
        return None
    ends = [word.end()]
    while len(ends) < _MOST_WORDS and plain[ends[-1] : ends[-1] + 1] in _WITHIN_ENTRIES:
        following = PLAIN_WORD.match(plain, ends[-1] + 1)
        if not following:
            break
        ends.append(following.end())
    for end in reversed(ends):
        if plain[end : end + 1].isdigit():
            continue
        words = plain[start:end]
        for key in (words, folded(words)):
            if key in entries:
                return entries[key], end
    return None


def folded(words: str) -> str:
    """Return words as the tables have them."""
    if words.isascii() and "^" not in words:
        # Most words are so, and this is by far quicker.
        return words.lower()
    plain = unicodedata.normalize("NFC", words.casefold())
    return plain.replace("^2", "²").replace("^3", "³")


def gap(plain: str, end: int) -> int:
    """Return the offset behind the space or hyphen that may separate a number from its unit."""
    if plain[end : end + 1] in (" ", "-") and plain[end + 1 : end + 2].strip():
        return end + 1
    return end
