"""Proves what a model says of a unit: by words that stand in a source, and by the numbers in them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Literal, NamedTuple

from ..text.words import FIRST_YEAR, LAST_YEAR, QUOTED, WORDS, all_month_names, dates_in, tokens
from .source_text import SAME, SourceText, comparable, plain_figure
from .units import Unit

Operation = Literal["none", "difference", "sum", "product", "share", "growth", "rounding", "conversion", "count"]
SHORTEST_QUOTATION = 3
"""Words between quotation marks from which on they must stand in a source as they are."""
NEAR = 0.006
"""By how much of its value a converted number may differ."""
_PIECES = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?|\n)\s*")
_NUMBER = re.compile(
    r"(?P<sign>[€£$]|°)?\s?(?<![\w.])(?P<figure>\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,']\d+)*)"
    r"(?:[ -]?(?P<scale>[^\W\d_]+)(?![^\W_]))?"
    r"(?:[ -]?(?P<measure>°?[^\W\d_]+[²³]?|%|[€£$](?!\s?\d)))?"
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_CAPITALISED = re.compile(r"([^\W\d_a-zß-öø-ÿ][\w-]*) $")
_WORD = re.compile(r"[^\W\d_]+")
LONGEST_FIGURE, LONGEST_NAME = 40, 40
"""Characters of a number, and of a word before it that may make it a name."""
MOST_OPERANDS = 4
"""Operands of which two at a time are tried."""
LIKELIEST = 12
"""Windows of a source that share most with words, among which these are looked for."""


class Place(NamedTuple):
    """Sentences or rows of a source among which deciding words stand."""

    source: str
    """Key of the source."""
    words: str
    above: str = ""
    """The heading above them, or the head of their table."""
    around: str = ""
    """The paragraph or row that they are a part of."""
    content_hash: str = ""
    """Hash of the text; empty if the words are those of the title or date."""
    start: int = 0
    """Where they begin in the text, in characters."""
    end: int = 0


class Proof(NamedTuple):
    """What sources say on a unit."""

    places: tuple[Place, ...] = ()
    """Where the deciding words stand, those of sources that the unit cites first."""
    fault: str = ""
    """Why they prove nothing, for the reader; empty if they do."""

    @property
    def words(self) -> str:
        """The sentences or rows."""
        return " … ".join(dict.fromkeys(one.words for one in self.places))


class Known(NamedTuple):
    """What is known of a source."""

    texts: Sequence[SourceText]
    about: str
    """Its title and its date."""


class Named(NamedTuple):
    """A calculation that a model names."""

    operation: Operation = "none"
    operands: tuple[float, ...] = ()


class Number(NamedTuple):
    """A number in a text."""

    value: float
    """With its scale: 1.2 million is 1 200 000."""
    figure: float
    """As it is written."""
    measure: str
    """Its unit of measure or currency; empty if none stands beside it."""
    step: float
    """Value of its last digit that is not zero: 10 for 340."""
    name: str = ""
    """The number with the capitalised word before it, which may be a name: Route 7."""


def prove(unit: Unit, words: str, named: Named, sources: Mapping[str, Known]) -> Proof:
    """Return what proves a unit: words that stand in one of these sources and hold, or lead to, all its numbers.

    The words of several places are separated by line breaks or an ellipsis. `sources` by key, those that the unit
    cites first. Numbers, months and units of measure are compared by value, with the heading or table head above the
    words and the title and date of the source; quotations must stand in a source as they are.
    """
    pieces = [piece for piece in _PIECES.split(words) if tokens(piece)]
    found = [_found(piece, sources, unit.sources) for piece in pieces]
    places = tuple(dict.fromkeys(place for each in found for place in each))
    if not pieces or not all(found):
        return Proof(places, "its words stand in no source" if pieces else "no words of a source were given for it")
    evidence = " ".join(f"{one.words} {one.above} {sources[one.source].about}" for one in places)
    around = " ".join(one.around for one in places)
    fault = unproved(unit, evidence, named, around, [text for one in places for text in sources[one.source].texts])
    return Proof(places, fault or _misquoted(unit, sources))


def not_stated(unit: Unit, sources: Mapping[str, Known]) -> str:
    """Return which number, month or quotation of a unit none of these sources states near its words; empty if none."""
    texts = [text for known in sources.values() for text in known.texts]
    near = (words for text in texts for _, words in text.windows.runs(text.windows.best(unit.text, LIKELIEST)))
    evidence = " ".join([*near, *(known.about for known in sources.values())])
    return unproved(unit, evidence, Named(), texts=texts) or _misquoted(unit, sources)


def has_something_to_look_up(unit: Unit) -> bool:
    """Whether a unit states a number or quotes somebody."""
    return bool(numbers_in(unit.text) or QUOTED.search(unit.text))


def unproved(unit: Unit, evidence: str, named: Named, around: str = "", texts: Sequence[SourceText] = ()) -> str:
    """Return which number or month of a unit does not stand in the evidence, in words; empty if all do.

    Years and months may also stand `around` the words that decide; the unit of measure of a number that is given
    without one, and the numbers of names (the 7 of "Route 7"), anywhere in the `texts`.
    """
    said = unit.raw_words if unit.kind == "cell" else unit.text
    wide = f"{evidence} {around}"
    held = [*numbers_in(evidence), *_fractions_in(evidence)]
    near = frozenset(_measures_in(wide))

    def is_known(measure: str) -> bool:
        return measure in near or any(measure in _measures_in(text.text) for text in texts)

    years = {one.value for one in numbers_in(around) if _is_year(one)}
    missing = [
        one
        for one in numbers_in(said)
        if one.value not in years and not any(_is_same(one, other, evidence, is_known) for other in held)
    ]
    missing = [one for one in missing if not (one.name and any(_holds(text, one.name) for text in texts))]
    if missing and not is_computed(missing, named, held, near):
        tried = f", nor is it the {named.operation} of {[*named.operands]}" if named.operation != "none" else ""
        return f"{missing[0].figure:g} does not stand in those words{tried}"
    if _months_in(said) - _months_in(wide):
        return "its month does not stand in those words"
    # The head of a table names units of measure without a number.
    measures = set(_measures_in(said)) - near if unit.kind == "head" else ()
    return "its unit of measure does not stand in those words" if measures else ""


def numbers_in(text: str) -> list[Number]:
    """Return the numbers of a text, in figures and in words; of dates, the day and the year."""
    plain = _ISO.sub(r"\1 \3", _plain(text))
    return [*(_read(one, plain) for one in _NUMBER.finditer(plain)), *_in_words(plain)]


def _plain(text: str) -> str:
    """Return a text with one sign for each kind of dash, quotation mark and space, and signs for measures of space."""
    plain = text.translate(SAME)
    for sign, *forms in _lines("powers"):
        plain = re.sub(rf"(?i)\b(?:{'|'.join(forms)})\b", sign, plain)
    return plain


def _is_year(one: Number) -> bool:
    return FIRST_YEAR <= one.value <= LAST_YEAR and one.step >= 1 and not one.measure and one.value == one.figure


def stands_in(words: str, text: str) -> bool:
    """Whether words stand in a text, whatever the white space, dashes, quotation marks, emphasis and grouped digits."""
    return bool(tokens(words)) and comparable(words) in comparable(text)


def _holds(text: SourceText, words: str) -> bool:
    return bool(tokens(words)) and comparable(words) in text.comparable


def _found(piece: str, sources: Mapping[str, Known], cited: Collection[str]) -> list[Place]:
    """Return where a piece stands: in all sources that are cited, or else in the first of the others."""
    texts = ((key, text) for key, known in sources.items() for text in known.texts if _holds(text, piece))
    places = {key: _place(piece, key, text) for key, text in texts}
    places = places or {key: Place(key, piece) for key, known in sources.items() if stands_in(piece, known.about)}
    own = [place for key, place in places.items() if key in cited]
    return own or [*places.values()][:1]


def _place(piece: str, key: str, text: SourceText) -> Place:
    """Return the fewest sentences of a window among which a piece stands; the words alone, if it spans windows."""
    windows = text.windows
    for window in (windows.windows[number] for number in windows.best(piece, LIKELIEST)):
        if not stands_in(piece, text.text[window.start : window.end]):
            continue
        around = " ".join(text.text[window.start : window.end].split())
        spans = [(one.start, one.end) for one in text.sentences if window.start <= one.start and one.end <= window.end]
        for size in range(1, len(spans) + 1):
            for first in range(len(spans) - size + 1):
                start, end = spans[first][0], spans[first + size - 1][1]
                if stands_in(piece, text.text[start:end]):
                    words = " ".join(text.text[start:end].split())
                    return Place(key, words, window.head, around, text.content_hash, start, end)
        return Place(key, around, window.head, around, text.content_hash, window.start, window.end)
    return Place(key, piece)


def _misquoted(unit: Unit, sources: Mapping[str, Known]) -> str:
    for quoted in QUOTED.finditer(unit.text):
        words = quoted[1].rstrip(" .,;:!?…")
        if len(tokens(words)) >= SHORTEST_QUOTATION and not any(
            _holds(text, words) for known in sources.values() for text in known.texts
        ):
            return "no source has the words in quotation marks"
    return ""


def _read(found: re.Match[str], text: str) -> Number:
    figure = plain_figure(found["figure"])
    if figure.count(".") > 1 or len(figure) > LONGEST_FIGURE:
        return Number(math.nan, math.nan, "", 1.0)
    value = float(figure)
    scale, measure = (found["scale"] or "").casefold(), (found["measure"] or "").casefold()
    # A letter is a scale behind an amount of money alone: £2m, but 74 m.
    factor = _scales().get(scale) if len(scale) > 1 or found["sign"] else None
    # What follows the number directly is its measure, if it is no scale: 12 km, but 12 million km.
    beside = [found["sign"] or "", *([measure] if factor else [scale, measure])]
    known = _measure_names()
    named = next((known[one] for one in beside if one in known), "")
    digits = figure.partition(".")
    step = 10.0 ** -len(digits[2]) if digits[2] else 10.0 ** (len(digits[0]) - len(digits[0].rstrip("0") or "0"))
    start = found.start("figure")
    before = _CAPITALISED.search(text[max(0, start - LONGEST_NAME) : start])
    number = Number(value * (factor or 1), value, named, step * (factor or 1))
    return number._replace(name=f"{before[1]} {found['figure']}") if before and not _is_year(number) else number


def _is_same(one: Number, other: Number, evidence: str, is_known: Callable[[str], bool]) -> bool:
    """Whether a number of the evidence is the same quantity; what stands beside it may stand above it in a table."""
    is_equal = math.isclose(one.value, other.value, rel_tol=1e-9)
    if not is_equal and math.isclose(one.figure, other.figure, rel_tol=1e-9):
        # The scale may be named once, in the head of a column.
        is_equal = one.value == one.figure or (other.value == other.figure and _has_scale(one, evidence))
    if not is_equal:
        return False
    return not one.measure or one.measure == other.measure or (not other.measure and is_known(one.measure))


def _has_scale(one: Number, evidence: str) -> bool:
    words = {word.casefold() for word in _WORD.findall(evidence)}
    return any(factor * one.figure == one.value for word, factor in _scales().items() if word in words)


def is_computed(missing: Sequence[Number], named: Named, held: Sequence[Number], known: Collection[str]) -> bool:
    """Whether all missing numbers are results of the named operation on numbers of the evidence.

    Several numbers may each follow from two of the operands. `known`: the units of measure that are named beside or
    around the numbers of the evidence.
    """
    return all(_follows(one, named, held, known) for one in missing)


def _follows(one: Number, named: Named, held: Sequence[Number], known: Collection[str]) -> bool:
    if named.operation == "count":
        return one.value == len(named.operands)
    if named.operation == "none" or not named.operands:
        return False
    if named.operation == "conversion":
        return _are_held(named.operands, held, 1.0) and _is_converted(one, named.operands[0], known)
    pairs = permutations(named.operands, 2) if 2 < len(named.operands) <= MOST_OPERANDS else ()
    results = [each for operands in (named.operands, *pairs) for each in _OPERATIONS[named.operation](operands)]
    # Operands may be given as they are written: 5.5 and 8.9 for $5.5m and $8.9m, which are $14.4m together.
    scale = one.value / one.figure if one.figure else 1.0
    targets = {(one.value, one.step, 1.0), (one.figure, one.step / scale, scale)}
    return any(
        abs(abs(result) - value) <= step / 2 * (1 + 1e-9) and _are_held(named.operands, held, scale)
        for value, step, scale in targets
        for result in results
    )


def _are_held(operands: Sequence[float], held: Sequence[Number], scale: float) -> bool:
    """Whether all operands are numbers of the evidence, as they are written there with this scale, or by value."""
    written = [one.figure for one in held if scale == 1.0 or math.isclose(one.value, one.figure * scale)]
    values = [*written, *(one.value for one in held if scale == 1.0)]
    return all(any(math.isclose(operand, value, rel_tol=1e-9) for value in values) for operand in operands)


def _is_converted(one: Number, operand: float, known: Iterable[str]) -> bool:
    factors = [_factors().get((measure, one.measure)) for measure in known]
    return any(
        factor and abs(operand * factor - one.value) <= max(one.step / 2, NEAR * one.value) for factor in factors
    )


def _shares(x: Sequence[float]) -> Iterator[float]:
    if len(x) > 1 and x[1]:
        yield from (100 * x[0] / x[1], x[0] / x[1])


def _growths(x: Sequence[float]) -> Iterator[float]:
    if len(x) > 1 and x[0]:
        yield 100 * (x[1] - x[0]) / x[0]


def _products(x: Sequence[float]) -> Iterator[float]:
    # One of the factors may be a percentage.
    yield from (math.prod(x), math.prod(x) / 100)


_OPERATIONS: Mapping[str, Callable[[Sequence[float]], Iterable[float]]] = {
    "difference": lambda x: [x[0] - sum(x[1:])],
    "sum": lambda x: [math.fsum(x)],
    "product": _products,
    "share": _shares,
    "growth": _growths,
    "rounding": lambda x: x[:1],
}


def _months_in(text: str) -> set[int]:
    own = {int(one.iso[5:7]) for one in dates_in(text) if len(one.iso) > 4}
    names = all_month_names()
    words = _WORD.findall(text)
    return own | {
        names[word.casefold()] for word in words if len(word) > 3 and word[0].isupper() and word.casefold() in names
    }


def _measures_in(text: str) -> Iterator[str]:
    known = _measure_names()
    for word in re.findall(r"°?[^\W\d_]+[²³]?|[%€£$]", _plain(text).casefold()):
        if word in known:
            yield known[word]


def _in_words(text: str) -> Iterator[Number]:
    """Yield the numbers in words, but for those of fractions: two thirds."""
    known, measures = _number_words(), _measure_names()
    parts = {*_shares_in_words(), *WORDS["times"].split()}
    words = [word.casefold() for word in _WORD.findall(text)]
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in known and following not in parts:
            yield Number(known[word], known[word], measures.get(following, ""), 1.0)


def _fractions_in(text: str) -> Iterator[Number]:
    for word in _WORD.findall(text.casefold()):
        if share := _shares_in_words().get(word):
            yield Number(share, share, "%", 1.0)


@cache
def _shares_in_words() -> Mapping[str, float]:
    return {word: 100 / float(value) for value, *words in _lines("fractions") for word in words}


@cache
def _number_words() -> Mapping[str, float]:
    return {word: float(value) for value, *words in _lines("numbers") for word in words}


@cache
def _scales() -> Mapping[str, float]:
    return {word: float(value) for value, *words in _lines("scales") for word in words}


@cache
def _measure_names() -> Mapping[str, str]:
    return {word: words[0] for words in _lines("measures") for word in words}


@cache
def _factors() -> Mapping[tuple[str, str], float]:
    pairs = {(one, other): float(factor) for one, other, factor in _lines("factors")}
    return pairs | {(other, one): 1 / factor for (one, other), factor in pairs.items()}


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in WORDS[table].strip().splitlines()]
