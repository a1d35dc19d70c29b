"""Changes true sentences into false ones, always the same for the same seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, get_args

Kind = Literal["number", "unit", "year", "name", "negation", "source"]
KINDS: tuple[Kind, ...] = get_args(Kind)

YEAR = re.compile(r"(?<![\w.,-])(?:1[1-9]\d\d|20\d\d)(?![\w.-]*\d)")
NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/-]*\d)")
NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-zé]{2,}(?: [A-Z][a-zé]{2,})*)")
AUXILIARY = re.compile(r"\b(?:is|are|was|were|has|have|had|can|will|would|did|does|could)\b")
NEGATION = re.compile(r"\b(?:not|never) |n['’]t\b")
CALENDAR = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
)
UNITS = {
    "kilometres": "miles",
    "kilometers": "miles",
    "km": "miles",
    "miles": "kilometres",
    "mi": "km",
    "metres": "feet",
    "meters": "feet",
    "m": "ft",
    "feet": "metres",
    "ft": "m",
    "inches": "centimetres",
    "acres": "hectares",
    "hectares": "acres",
    "kg": "tonnes",
    "pounds": "tonnes",
    "tonnes": "kilograms",
    "tons": "pounds",
    "million": "billion",
    "billion": "million",
    "thousand": "million",
    "percent": "degrees",
    "minutes": "hours",
    "hours": "days",
    "days": "weeks",
    "weeks": "months",
    "months": "years",
    "years": "months",
    "%": " degrees",
}
MEASURED = re.compile(rf"(?<=\d)[ -]?({'|'.join(sorted(UNITS, key=len, reverse=True))})(?!\w)")


def mutate(
    kind: Kind, sentence: str, random: Random, names: Sequence[str] = (), others: Sequence[str] = ()
) -> str | None:
    """The sentence with one change of a kind that makes it false; none if it holds nothing to change.

    `names` are what a name can be replaced by, `others` the sentences of other sources that can stand in for it.
    """
    if kind == "source":
        strangers = [other for other in others if other != sentence]
        return random.choice(strangers) if strangers else None
    return _MUTATORS[kind](sentence, random, names)


def names_in(text: str) -> list[str]:
    """The names inside the sentences of a text."""
    return [name for name in dict.fromkeys(NAME.findall(text)) if not CALENDAR.search(name)]


def _put(sentence: str, match: re.Match[str], new: str) -> str:
    return sentence[: match.start()] + new + sentence[match.end() :]


def _number(sentence: str, random: Random, _names: Sequence[str]) -> str | None:
    years = {match.start() for match in YEAR.finditer(sentence)}
    found = [match for match in NUMBER.finditer(sentence) if match.start() not in years]
    if not found:
        return None
    match = random.choice(found)
    whole, point, decimals = match.group().replace(",", "").partition(".")
    new = int(whole) + random.choice([1, 2, 3, 7, 10, 40, max(1, int(whole) // 3)])
    grouped = f"{new:,}" if "," in match.group() or new > 9999 else str(new)
    return _put(sentence, match, grouped + point + decimals)


def _unit(sentence: str, random: Random, _names: Sequence[str]) -> str | None:
    found = list(MEASURED.finditer(sentence))
    if not found:
        return None
    match = random.choice(found)
    return sentence[: match.start(1)] + UNITS[match.group(1)] + sentence[match.end(1) :]


def _year(sentence: str, random: Random, _names: Sequence[str]) -> str | None:
    found = list(YEAR.finditer(sentence))
    if not found:
        return None
    match = random.choice(found)
    return _put(sentence, match, str(int(match.group()) + random.choice([-30, -11, -5, -2, -1, 1, 2, 4, 10])))


def _name(sentence: str, random: Random, names: Sequence[str]) -> str | None:
    found = [match for match in NAME.finditer(sentence) if not CALENDAR.search(match.group())]
    others = [name for name in names if name not in sentence]
    if not found or not others:
        return None
    match = random.choice(found)
    fresh = [name for name in others if not set(name.split()) & set(match.group().split())]
    return _put(sentence, match, random.choice(fresh)) if fresh else None


def _negation(sentence: str, random: Random, _names: Sequence[str]) -> str | None:
    if denied := NEGATION.search(sentence):
        return _put(sentence, denied, "")
    match = AUXILIARY.search(sentence)
    return _put(sentence, match, f"{match.group()} {random.choice(['not', 'not', 'never'])}") if match else None


_MUTATORS: dict[str, Callable[[str, Random, Sequence[str]], str | None]] = {
    "number": _number,
    "unit": _unit,
    "year": _year,
    "name": _name,
    "negation": _negation,
}
