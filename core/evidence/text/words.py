"""Splits text into words, stems and names, finds its dates, and loads the word tables."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache, lru_cache
from heapq import nlargest
from importlib import resources
from typing import NamedTuple

_LANGUAGES_OF_MONTHS = ("en", "de", "fr", "es", "it", "pt", "nl")
AMBIGUOUS = frozenset({"ago", "out", "set"})
"""Short names that are also English words: they are a month only after a day."""
EVERYDAY = 6000
"""The commonest words of a language, which name nothing in particular."""
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBERS.split(), 1)}
"""Small numbers in words."""
UNSPACED = (
    "\u0e00-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109d\u1780-\u17d3\u17d7\u17dc-\u17ff"
    "\u1950-\u19dd\u1a20-\u1a9f\u1aa7\ua9e0-\ua9ff\uaa60-\uaa76\uaa7a-\uaadd"
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
"""The letters, marks and digits of scripts that put no spaces between words, which are read as pairs of neighbours.

Thai, Lao, Burmese, Khmer, Tai, Japanese, Chinese and, as its words are long, Korean.
"""
MARKED = (0x300, 0xFE30)
"""Range of the characters that are written above, below or beside a letter."""
ASCII_TOKEN = re.compile(r"[a-z0-9]+")
QUOTED = re.compile(r'["“„«《「]([^"“”„«»《》「」]{2,80})["”»》」]')
POSSESSIVE = re.compile(r"['’]s\b")
FIRST_YEAR, LAST_YEAR = 1900, 2100
YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_ANY_YEAR = re.compile(rf"(?={YEAR})")
LONGEST = 40
"""Characters of a date before its year, at most."""
_GAP = r"(?:[^\S\n]|[._-])*"
"""A date does not span lines."""
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_OF = r"(?:(?:de|del|of|di)\s+)?"
_WORD_END = r"(?![^\W_])"


def without_accents(text: str) -> str:
    """Return the text without accents, with variants of a letter as the usual one."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))


@cache
def word_tables(package: str) -> Mapping[str, str]:
    """Return the tables of a package's `words.toml`, by name: words, a line a group where they go together."""
    tables: dict[str, str] = tomllib.loads(resources.files(package).joinpath("words.toml").read_text("utf-8"))
    return tables


WORDS = word_tables(__package__)


def month_names(full: Iterable[str], short: Iterable[str] = ()) -> Mapping[str, int]:
    """Return the numbers of the months by their names in some languages, in lower case, with accents and without.

    Args:
        full: ISO 639-1 codes of the languages whose whole names are wanted.
        short: Codes of those whose short names are.
    """
    lists = [*(WORDS[f"months_{code}"] for code in full), *(WORDS[f"short_months_{code}"] for code in short)]
    numbered = [pair for names in lists for pair in enumerate(names.split(), 1)]
    return {
        form: number
        for number, names in numbered
        for name in names.split("/")
        for form in (name, without_accents(name))
    }


@cache
def sure_month_names() -> frozenset[str]:
    """Return the names that are a month wherever they stand."""
    return frozenset(all_month_names()) - AMBIGUOUS


@cache
def all_month_names() -> Mapping[str, int]:
    """Return the numbers of the months by all known names."""
    return month_names(_LANGUAGES_OF_MONTHS, _LANGUAGES_OF_MONTHS)


FUNCTION_WORDS = {code: frozenset(WORDS[f"function_{code}"].split()) for code in ("en", "de", "fr", "es")}
"""Function words of some languages, without accents, that are no content words of another of these."""
STOP_WORDS = frozenset().union(*FUNCTION_WORDS.values())
"""All of them."""
GENERIC_WORDS = frozenset(WORDS["generic"].split())
"""Words of requests that name nothing."""
FAMILIES = {member: line.split()[0] for line in WORDS["families"].strip().splitlines() for member in line.split()}
"""Words whose forms no ending connects, each with the one that stands for its family."""
ABBREVIATIONS = frozenset(WORDS["abbreviations"].split())
"""Words whose full stop does not end a sentence."""
CLOSING_ABBREVIATIONS = frozenset(WORDS["closing_abbreviations"].split())
"""Abbreviations that often do stand at the end of one."""
NEGATIONS = frozenset(WORDS["negations"].split())
"""Words that negate."""
QUESTION_WORDS = frozenset(WORDS["question_words"].split())
"""Words that say what is asked for."""
UNSURE = frozenset(WORDS["unsure"].split())
"""Words of statements that are not meant as certain, or not of all."""
THIRD_PERSONS = frozenset(WORDS["third_persons"].split())
"""Words for somebody or something that was named before."""

MONTHS = frozenset(month_names(["en"]))
"""The months in English."""


@cache
def everyday_words(language: str) -> frozenset[str]:
    """Return the commonest words of a language, without accents; none without a list. The first call takes a second."""
    # Loading its lists is too slow for an import.
    from spellchecker import SpellChecker

    try:
        counts = SpellChecker(language=language).word_frequency.dictionary if language else {}
    except ValueError:
        return frozenset()
    return frozenset(map(without_accents, nlargest(EVERYDAY, counts, key=counts.__getitem__)))


UNTELLING = STOP_WORDS | GENERIC_WORDS


def tokens(text: str) -> list[str]:
    """Return the words without case, accents and possessive endings; of unspaced scripts the pairs of characters."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").lower().replace("'s ", " ")
    if plain.isascii():
        return ASCII_TOKEN.findall(plain)
    return [piece for run in _token().findall(plain) for piece in ([run] if run.isascii() else _pieces(run))]


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{marks()}])*")


@cache
def marks() -> str:
    """Return the combining marks, for use in a regular expression; Python's `\\w` leaves them out."""
    return "".join(mark for mark in map(chr, range(*MARKED)) if unicodedata.category(mark) in ("Mn", "Mc"))


@lru_cache(maxsize=20_000)
def run_of(name: str) -> str:
    """Return the words of a name, separated by spaces."""
    return " ".join(tokens(name))


def plain_run(text: str) -> str:
    """Return the words of a text between spaces, so that a phrase can be found in it."""
    return f" {' '.join(tokens(text))} "


def stem_run(text: str) -> str:
    """Return the stems of a text's words, between spaces."""
    return f" {' '.join(map(stem, tokens(text)))} "


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the word without its commonest English endings; words of one family share one stem."""
    if word in FAMILIES:
        return FAMILIES[word]
    short = _without_ending(word)
    return FAMILIES.get(short, short.removesuffix("e") if len(short) > 4 else short)


def stems(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in order."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


def names(text: str) -> list[str]:
    """Return phrases in quotation marks and runs of capitalised words, in order, each once."""
    quoted = [match.group(1).strip(" ,.?!") for match in QUOTED.finditer(text)]
    matches = _name().finditer(POSSESSIVE.sub(" ; ", QUOTED.sub(" ; ", text)))
    runs = dict.fromkeys(_trimmed(match.group()) for match in matches)
    specific = [name for name in runs if not UNTELLING.issuperset(run_of(name).split())]
    found = [*(name for name in quoted if stems(name)), *specific]
    return list(dict.fromkeys(name for name in found if len(name) > 1))


@cache
def _name() -> re.Pattern[str]:
    """Return the pattern of a run of capitalised words; Python's patterns have no class for lower-case letters."""
    small = "".join(letter for letter in map(chr, range(0x10000)) if letter.islower())
    word = rf"(?:[A-Z]\.(?=[\s,;])|[^\W\d_{small}][\w’'\-.]*\w|[A-Z])"
    joint = "(?:of|the|de|del|la|von|van|der|den|ibn|bin|al|du|da|di|y|in|at) "
    return re.compile(rf"(?:\b\d{{4}} )?{word}(?: (?:{joint}){{0,2}}(?:{word}|\d+\b))*")


def _trimmed(run: str) -> str:
    parts = run.split()
    while parts and (parts[0].lower() in STOP_WORDS or not (parts[0][0].isupper() or parts[0].isdigit())):
        parts.pop(0)
    while parts and parts[-1].lower() in STOP_WORDS:
        parts.pop()
    return " ".join(parts)


def _pieces(run: str) -> list[str]:
    if not re.match(rf"[{UNSPACED}]", run):
        return [without_accents(run)]
    return [run[start : start + 2] for start in range(max(1, len(run) - 1))]


def _without_ending(word: str) -> str:
    for ending, rest, replacement in (("ies", 2, "y"), ("sses", 2, "ss"), ("ing", 4, ""), ("ed", 4, ""), ("s", 3, "")):
        if word.endswith(ending) and len(word) >= len(ending) + rest and not word.endswith(("ss", "us", "is")):
            short = word.removesuffix(ending) + replacement
            # "planned" is of "plan", but "added" of "add", and "called" of "call".
            is_doubled = ending in ("ing", "ed") and len(short) > 3 and short[-1] == short[-2] not in "aeiouflsz"
            return short[:-1] if is_doubled else short
    return word


class WrittenDate(NamedTuple):
    """A date and its place in the text."""

    iso: str
    """A year, a month or a day: 2024, 2024-05, 2024-05-03."""
    start: int
    end: int


def date_at(words: str, place: int) -> WrittenDate | None:
    """Return the date whose words begin at this place of a text."""
    for form in _forms():
        found = form.match(words, place)
        if found and (iso := _iso(found)):
            return WrittenDate(iso, *found.span())
    return None


def dates_in(words: str) -> Iterator[WrittenDate]:
    """Yield the dates from left to right, none inside a longer date, number or word."""
    place = 0
    # There is no date without a year.
    for year in _ANY_YEAR.finditer(words):
        place = max(place, year.start() - LONGEST)
        while place <= year.start():
            found = date_at(words, place) if _may_begin(words, place) else None
            if found:
                yield found
            place = found.end if found else place + 1


def _may_begin(words: str, place: int) -> bool:
    """Whether a word begins here, or digits after letters: IMG20240501."""
    if not words[place].isalnum():
        return False
    before = words[place - 1 : place]
    return not before.isalnum() or (words[place].isdigit() and before.isalpha())


def _iso(found: re.Match[str]) -> str:
    parts = found.groupdict()
    year, month, day = int(parts["year"]), int(parts.get("month") or 0), int(parts.get("day") or 0)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return ""
    if until := parts.get("until") or parts.get("short"):
        # The year in which a season begins: 2026/27, or 2010-11, which may be a month.
        is_season = int(until) > year if len(until) > 2 else int(until) == (year + 1) % 100
        return str(year) if is_season else ""
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second"])
        if first > 12 or first == second:
            return _day(year, second, first)
        # 03/05/2024: only the year is certain if both numbers can be a month.
        return _day(year, first, second) if second > 12 else str(year)
    if "name" in parts:
        # Without regard to case, the pattern takes a dotless "ı" for an "i", which the table does not.
        month = all_month_names().get(parts["name"].casefold(), 0)
    if not month:
        return str(year)
    return _day(year, month, day) if parts.get("day") else _day(year, month, 1)[:7]


def _day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _one_of(names: Iterable[str]) -> str:
    return f"(?P<name>{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})"


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    """Return the forms of dates, the longest first, so that no date is taken for a part of itself."""
    name, sure_name = _one_of(all_month_names()), _one_of(sure_month_names())
    day, month = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
    end = r"(?![.,]?\d)"
    return tuple(
        re.compile(form, re.IGNORECASE)
        for form in (
            rf"{YEAR}([-/._]){month}\2{day}(?!\d)",
            rf"{YEAR}(?: ?[-–/] ?(?P<until>(?:19|20|21)\d\d)|[-–/](?P<short>\d\d))(?![-/.,]?\d)",
            rf"{YEAR} (?P<month>0[1-9]|1[0-2]) (?P<day>[0-2]\d|3[01])(?!\d)",
            rf"{YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>[0-2]\d|3[01])(?=\d{{6}}(?!\d)|(?!\d))",
            rf"{YEAR}\s?[年년]\s?{month}\s?[月월](?:\s?{day}\s?[日일])?",
            rf"{day}{_ORDINAL}{_GAP}{_OF}{name}\.?,?{_GAP}{_OF}{YEAR}{end}",
            rf"{sure_name}\.?{_GAP}{day}{_ORDINAL},?{_GAP}{YEAR}{end}",
            rf"{sure_name}\.?,?{_GAP}{_OF}{YEAR}{end}",
            rf"{YEAR}{_GAP}{sure_name}{_WORD_END}",
            rf"{day}\.\s?{month}\.\s?{YEAR}{end}",
            rf"(?P<first>\d{{1,2}})([/_-])(?P<second>\d{{1,2}})\2{YEAR}{end}",
            rf"{YEAR}[-/_]{month}(?![-/._]?\d)",
            rf"{month}[-/.]{YEAR}{end}",
            rf"{YEAR}(?![-/.,]?\d){_WORD_END}",
        )
    )
