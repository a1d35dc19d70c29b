"""Splits text in any script into words, English stems and names, finds the dates in it, and loads
the word tables."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

_LANGUAGES_OF_MONTHS = ("en", "de", "fr", "es", "it", "pt", "nl")
_AMBIGUOUS = frozenset({"ago", "out", "set"})
"""Spanish, Italian and Portuguese short month names that are also English words; months only after
a day number."""
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = dict(zip(_NUMBERS.split(), range(1, 13), strict=True))
"""The numbers 1 to 12 by their English words."""
UNSPACED = (
    "\u0e00-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109d\u1780-\u17d3\u17d7\u17dc-\u17ff"
    "\u1950-\u19dd\u1a20-\u1a9f\u1aa7\ua9e0-\ua9ff\uaa60-\uaa76\uaa7a-\uaadd"
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
"""Character ranges, for a regular expression, of scripts that are split into pairs of characters
instead of words.

Thai, Lao, Burmese, Khmer, Tai, Japanese and Chinese have no spaces between words; Korean has, but
its words are long.
"""
_ACCENTS = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
_UNSPACED_TEXT = rf"[{UNSPACED}][{UNSPACED}MARKS]*"
_MARKED = (0x300, 0xFE30)
"""Code points between which all combining marks are."""
_GROUPED_DIGITS = re.compile(
    r"(?<![\d.,'’])\d{1,3}"
    r"(?:([.,'’\u00a0\u2009\u202f])\d{3}(?:\1\d{3})*(?!\1?\d)|(?:,\d\d)+,\d{3}(?!\d))"
)
"""Digits with grouping, such as 1,250 or 4,50,000; three digits behind a single point may also be
decimals, in texts and questions alike."""
_SEPARATORS = re.compile(r"\D")
_SEPARATED_DIGITS = re.compile(r"[0-9][.,'’\u00a0\u2009\u202f][0-9]")
"""What every text with grouped digits has; found faster, since a digit comes first."""
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_WITHOUT_SIGNS = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
"""Translates each ASCII character that is neither letter nor digit to a space: to translate and
split a text takes half the time of a regular expression."""
QUOTED = re.compile(r'(?:(?<!\d)"|[“„«《「])([^"“”„«»《》「」]{2,80})["”»》」]')
"""A phrase in quotation marks; group 1 is the phrase."""
POSSESSIVE = re.compile(r"['’]s\b")
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_ENDINGS = (("ies", 2, "y"), ("sses", 2, "ss"), ("ing", 4, ""), ("ed", 4, ""), ("s", 3, ""))
"""English endings, each with the least number of letters before it, and what replaces it."""
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_ANY_YEAR = re.compile(rf"(?={_YEAR})")
_LONGEST = 40
"""Maximum number of characters before the year in a date."""
# A date does not span lines.
_GAP = r"(?:[^\S\n]|[._-])*"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_OF = r"(?:(?:de|del|of|di)\s+)?"
_WORD_END = r"(?![^\W_])"


def without_accents(text: str) -> str:
    """Return the text without accents, and with compatibility variants of letters normalised."""
    return "".join(
        sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign)
    )


WORDS: Mapping[str, str] = tomllib.loads(
    resources.files(__package__).joinpath("words.toml").read_text("utf-8")
)
"""The tables of `words.toml` by name; each is a text of words, some with one entry a line."""


def _table(name: str) -> frozenset[str]:
    return frozenset(WORDS[name].split())


_FUNCTION_WORDS = {code: _table(f"function_{code}") for code in ("en", "de", "fr", "es")}
"""Function words of some languages, without accents; none is a content word in another of these
languages."""
STOP_WORDS = frozenset().union(*_FUNCTION_WORDS.values())
GENERIC_WORDS = _table("generic")
"""Words of requests that say nothing about the subject."""


def _stems_by_relative() -> dict[str, str]:
    stems_by_relative = dict[str, str]()
    for line in WORDS["families"].strip().splitlines():
        related = line.split()
        stems_by_relative.update(dict.fromkeys(related, related[0]))
    return stems_by_relative


FAMILIES = _stems_by_relative()
"""The common stem of related words, which is the first word of their group: death for died and
mort."""
ABBREVIATIONS = _table("abbreviations")
"""Abbreviations, in lower case, whose full stop usually does not end a sentence."""
CLOSING_ABBREVIATIONS = _table("closing_abbreviations")
"""Abbreviations such as "Inc." that may also end a sentence."""
NEGATIONS = _table("negations")
"""Words such as "not", "never" and "nicht"."""
CHANGE_WORDS = _table("changes")
"""Words in headings of columns that state changes or differences, not levels."""
VALUE_WORDS = _table("values")
"""Words in headings of columns whose cells may be quantities of any kind."""
QUESTION_WORDS = _table("question_words")
DRAFT_WORDS = _table("draft_words")
"""Words for a draft, such as "draft" and "entwurf"."""
_UNSPECIFIC_WORDS = STOP_WORDS | GENERIC_WORDS


def _month_names(tables: Iterable[str]) -> Mapping[str, int]:
    numbers = dict[str, int]()
    for table in tables:
        for number, spellings in enumerate(WORDS[table].split(), 1):
            for name in spellings.split("/"):
                numbers[name] = number
                numbers[without_accents(name)] = number
    return numbers


MONTHS = frozenset(_month_names(["months_en"]))
"""The English names of the months, in lower case."""


@cache
def all_month_names() -> Mapping[str, int]:
    """Return the month numbers (from 1) by full and short names in seven languages.

    The names are in lower case, with and without accents.
    """
    tables = list[str]()
    for length in ("months", "short_months"):
        tables += [f"{length}_{code}" for code in _LANGUAGES_OF_MONTHS]
    return _month_names(tables)


@cache
def sure_month_names() -> frozenset[str]:
    """Return the names in `all_month_names` that are not also English words."""
    return frozenset(all_month_names()) - _AMBIGUOUS


def tokens(text: str) -> list[str]:
    """Split a text into lower-case words without accents and possessive endings, and numbers
    without digit grouping.

    Text in unspaced scripts (see `UNSPACED`) gives each pair of neighbouring characters instead.
    """
    plain = _with_plain_digits(text)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain).replace("’", "'")
    plain = plain.lower().replace("'s ", " ")
    if plain.isascii():
        return plain.encode().translate(_WITHOUT_SIGNS).decode().split()
    words = list[str]()
    for run in _token().findall(plain):
        if run.isascii():
            words.append(run)
        elif re.match(rf"[{UNSPACED}]", run):
            last_start = max(1, len(run) - 1)
            words += [run[start : start + 2] for start in range(last_start)]
        else:
            words.append(without_accents(run))
    return words


def words_and_pieces(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text in lower case, and the pieces of its parts in unspaced scripts.

    The pieces are characters and pairs of characters.
    """
    plain = _plain(text)
    if plain.isascii():
        return _words(plain), []
    unspaced = _with_marks(_UNSPACED_TEXT)
    parts = unspaced.findall(plain)
    if not parts:
        return _words(plain), []
    pieces = list[str]()
    for word in _words(" ".join(parts)):
        characters = _characters(word)
        pieces += characters
        pieces += _pairs(characters)
    return _words(unspaced.sub(" ", plain)), pieces


def sought_words(question: str) -> list[str]:
    """Return the words of a question in lower case.

    Words in unspaced scripts give each pair of neighbouring characters instead.
    """
    # Words in other scripts may adjoin unspaced ones.
    separated = _with_marks(_UNSPACED_TEXT).sub(r" \g<0> ", _plain(question))
    sought = list[str]()
    for word in _words(separated):
        if is_unspaced(word):
            characters = _characters(word)
            sought += _pairs(characters) or characters
        else:
            sought.append(word)
    return sought


def unaccented(word: str) -> str:
    """Return the word without accents and vowel points.

    Words in unspaced scripts stay unchanged.
    """
    if word.isascii() or is_unspaced(word):
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def is_unspaced(word: str) -> bool:
    """Whether the word begins with a character of a script without spaces between words."""
    return not word.isascii() and _UNSPACED_LETTER.match(word) is not None


def _plain(text: str) -> str:
    """Return the text in lower case, without underscores and digit grouping, and with variants of
    letters and digits unified."""
    plain = _with_plain_digits(text)
    if plain.isascii():
        return plain.lower().replace("_", " ")
    return unicodedata.normalize("NFKC", plain).casefold().replace("_", " ")


def _with_plain_digits(text: str) -> str:
    """Return the text with digits in ASCII and without their grouping."""
    plain = with_ascii_digits(text)
    if not _SEPARATED_DIGITS.search(plain):
        return plain
    return _GROUPED_DIGITS.sub(lambda found: _SEPARATORS.sub("", found[0]), plain)


def with_ascii_digits(text: str) -> str:
    """Return the text, of the same length, with the digits of all scripts in ASCII."""
    if text.isascii():
        return text
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def _words(plain: str) -> list[str]:
    words: list[str] = _with_marks(r"\w[\wMARKS]*").findall(plain)
    return words


def _characters(word: str) -> list[str]:
    """Return the characters of a word, each with its combining marks."""
    if not _with_marks("[MARKS]").search(word):
        return list(word)
    characters: list[str] = _with_marks(r"\w[MARKS]*").findall(word)
    return characters


def _pairs(characters: list[str]) -> list[str]:
    return [first + second for first, second in pairwise(characters)]


@cache
def _with_marks(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which `MARKS` means all combining marks.

    Listing them at import would be too slow.
    """
    return re.compile(pattern.replace("MARKS", marks()))


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{marks()}])*")


@cache
def marks() -> str:
    """Return all combining marks as one string, for use in a regular expression; Python's `\\w`
    does not match them."""
    return "".join(
        mark for mark in map(chr, range(*_MARKED)) if unicodedata.category(mark) in ("Mn", "Mc")
    )


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a word (see `tokens`) without common English endings.

    Related words in `FAMILIES` share a stem.
    """
    if word in FAMILIES:
        return FAMILIES[word]
    short = _without_ending(word)
    if short in FAMILIES:
        return FAMILIES[short]
    if len(short) > 4:
        return short.removesuffix("e")
    return short


@lru_cache(maxsize=100_000)
def stem_of_content(word: str) -> str:
    """Return the stem of a word (see `tokens`), or an empty string for a stop word."""
    return "" if word in STOP_WORDS else stem(word)


def stems(text: str) -> list[str]:
    """Return the stems of a text's words in order, without stop words."""
    return [*filter(None, map(stem_of_content, tokens(text)))]


def names(text: str) -> list[str]:
    """Return the distinct names in a text.

    First come phrases in quotation marks, then sequences of capitalised words.
    """
    distinct = dict[str, None]()
    for quotation in QUOTED.finditer(text):
        phrase = quotation[1].strip(" ,.?!")
        if len(phrase) > 1 and stems(phrase):
            distinct[phrase] = None
    unquoted = POSSESSIVE.sub(" ; ", QUOTED.sub(" ; ", text))
    for run in _name().finditer(unquoted):
        name = _trimmed(run.group())
        is_unspecific = _UNSPECIFIC_WORDS.issuperset(tokens(name))
        if len(name) > 1 and not is_unspecific:
            distinct[name] = None
    return list(distinct)


@cache
def _name() -> re.Pattern[str]:
    """Return the pattern of a sequence of capitalised words, with words such as "of the" between
    them."""
    # Python's patterns have no class for lower-case letters.
    small = "".join(letter for letter in map(chr, range(0x10000)) if letter.islower())
    word = rf"(?:[A-Z]\.(?=[\s,;])|[^\W\d_{small}][\w’'\-.]*\w|[A-Z])"
    joint = "(?:of|the|de|del|la|von|van|der|den|ibn|bin|al|du|da|di|y|in|at) "
    return re.compile(rf"(?:\b\d{{4}} )?{word}(?: (?:{joint}){{0,2}}(?:{word}|\d+\b(?![.,]\d)))*")


def _trimmed(run: str) -> str:
    """Return a sequence of words without stop words and lower-case words at its ends."""
    words = run.split()
    while words:
        may_begin = words[0][0].isupper() or words[0].isdigit()
        if may_begin and words[0].lower() not in STOP_WORDS:
            break
        words.pop(0)
    while words and words[-1].lower() in STOP_WORDS:
        words.pop()
    return " ".join(words)


def _without_ending(word: str) -> str:
    """Return an English word without a plural, "-ing" or "-ed" ending."""
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, least_rest, replacement in _ENDINGS:
        if not word.endswith(ending) or len(word) < len(ending) + least_rest:
            continue
        short = word.removesuffix(ending) + replacement
        # The stem of "planned" is "plan", but that of "added" is "add", and that of "called" is
        # "call".
        is_doubled = len(short) > 3 and short[-1] == short[-2] and short[-1] not in "aeiouflsz"
        if is_doubled and ending in ("ing", "ed"):
            return short[:-1]
        return short
    return word


class WrittenDate(NamedTuple):
    """A date found in a text."""

    iso: str
    """ISO year, month or day: 2024, 2024-05, 2024-05-03."""
    start: int
    """Offset in the text, in characters."""
    end: int


def date_at(words: str, position: int) -> WrittenDate | None:
    """Return the date that begins at this offset of a text; None if there is none."""
    for form in _forms():
        match = form.match(words, position)
        if not match:
            continue
        iso = _iso(match)
        if iso:
            return WrittenDate(iso, match.start(), match.end())
    return None


def dates_in(words: str) -> Iterator[WrittenDate]:
    """Yield the dates in a text from left to right.

    Parts of a longer date, number or word do not count.
    """
    position = 0
    # Every date has a year.
    for year in _ANY_YEAR.finditer(words):
        position = max(position, year.start() - _LONGEST)
        while position <= year.start():
            date_here = date_at(words, position) if _may_begin(words, position) else None
            if date_here:
                yield date_here
                position = date_here.end
            else:
                position += 1


def _may_begin(words: str, position: int) -> bool:
    """Whether a date may begin at this offset: with a word, or with digits (also in
    IMG20240501)."""
    before = words[position - 1 : position]
    first = words[position]
    if not first.isalnum():
        return False
    return not before.isalnum() or (first.isdigit() and before.isalpha())


def may_be_year(number: float) -> bool:
    """Whether a number may be a year, from 1900 to 2100."""
    return _FIRST_YEAR <= number <= _LAST_YEAR


def _iso(found: re.Match[str]) -> str:
    """Return the date matched by one of `_forms`, as far as it is certain.

    It is empty if there is no such date.
    """
    parts = found.groupdict()
    year = int(parts["year"])
    if not may_be_year(year):
        return ""

    until = parts.get("until") or parts.get("short")
    if until:
        # A season counts as its first year: 2026/27, or 2010-11, which may also be a month.
        is_season = int(until) == (year + 1) % 100
        if len(until) > 2:
            is_season = int(until) > year
        return str(year) if is_season else ""

    if "first" in parts:
        first = int(parts["first"])
        second = int(parts["second"])
        if first > 12 or first == second:
            return _day(year, second, first)
        if second > 12:
            return _day(year, first, second)
        # 03/05/2024: only the year is certain if both numbers can be a month.
        return str(year)

    month = int(parts.get("month") or 0)
    if "name" in parts:
        # A case-insensitive pattern matches a dotless "ı" with "i"; the table does not.
        month = all_month_names().get(parts["name"].casefold(), 0)
    if not month:
        return str(year)
    if parts.get("day"):
        return _day(year, month, int(parts["day"]))
    return _day(year, month, 1)[:7]


def _day(year: int, month: int, day: int) -> str:
    """Return the ISO date; empty if the calendar has no such day."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of dates.

    The first that matches at an offset gives the longest date there.
    """
    name = f"(?P<name>{_alternatives(all_month_names())})"
    sure_name = f"(?P<name>{_alternatives(sure_month_names())})"
    day = r"(?P<day>\d{1,2})"
    month = r"(?P<month>\d{1,2})"
    end = r"(?![.,]?\d)"
    forms = (
        rf"{_YEAR}([-/._]){month}\2{day}(?!\d)",
        rf"{_YEAR}(?: ?[-–/] ?(?P<until>(?:19|20|21)\d\d)|[-–/](?P<short>\d\d))(?![-/.,]?\d)",
        rf"{_YEAR} (?P<month>0[1-9]|1[0-2]) (?P<day>[0-2]\d|3[01])(?!\d)",
        rf"{_YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>[0-2]\d|3[01])(?=\d{{6}}(?!\d)|(?!\d))",
        rf"{_YEAR}\s?[年년]\s?{month}\s?[月월](?:\s?{day}\s?[日일])?",
        rf"{day}{_ORDINAL}{_GAP}{_OF}{name}\.?,?{_GAP}{_OF}{_YEAR}{end}",
        rf"{sure_name}\.?{_GAP}{day}{_ORDINAL},?{_GAP}{_YEAR}{end}",
        rf"{sure_name}\.?,?{_GAP}{_OF}{_YEAR}{end}",
        rf"{_YEAR}{_GAP}{sure_name}{_WORD_END}",
        rf"{day}\.\s?{month}\.\s?{_YEAR}{end}",
        rf"(?P<first>\d{{1,2}})([/_-])(?P<second>\d{{1,2}})\2{_YEAR}{end}",
        rf"{_YEAR}[-/_]{month}(?![-/._]?\d)",
        rf"{month}[-/.]{_YEAR}{end}",
        rf"{_YEAR}(?![-/.,]?\d){_WORD_END}",
    )
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


def _alternatives(words: Iterable[str]) -> str:
    """Return a regular expression for any of these words, longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
