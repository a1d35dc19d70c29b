"""Proves what a model says of a unit: by words that stand in a source, and by the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..text.quantities import (
    Calculation,
    Number,
    follows,
    fractions_in,
    is_about,
    is_same,
    measures_alone_in,
    measures_in,
    months_in,
    numbers_in,
)
from ..text.words import QUOTED, dates_in, stems, tokens
from .source_text import SourceText, comparable
from .units import ReportUnit

SHORTEST_QUOTATION = 3
"""Words between quotation marks from which on they must stand in a source as they are."""
_PIECES = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?|\n)\s*")
_PER = re.compile(r"(?i)\b(per|pro|je|par|por)\s+([^\W\d_]+(?:\s+[^\W\d_]+){0,3})")
_NUMBERED = re.compile(r"^[^\W\d_]+ \d+[.:] ")
"""What numbers a table or figure in its caption: Table 1: …"""
LIKELIEST = 12
"""Windows of a source that share most with words, among which these are looked for."""


class ProofPassage(NamedTuple):
    """Sentences or rows of a source that contain the words on which a verdict rests."""

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

    places: tuple[ProofPassage, ...] = ()
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


def prove(unit: ReportUnit, words: str, calculation: Calculation, sources: Mapping[str, Known]) -> Proof:
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
    # A title may name the year, in the head of a table that of each column.
    titles = (known.about for key, known in sources.items() if key in unit.sources)
    around = " ".join([*(one.around for one in places), *titles])
    fault = unproved(
        unit, evidence, calculation, around, [text for one in places for text in sources[one.source].texts]
    )
    return Proof(places, fault or _misquoted(unit, sources))


def not_stated(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return which number, month or quotation of a unit none of these sources states near its words; empty if none."""
    texts = [text for known in sources.values() for text in known.texts]
    near = (words for text in texts for _, words in text.windows.runs(text.windows.best(unit.text, LIKELIEST)))
    evidence = " ".join([*near, *(known.about for known in sources.values())])
    return unproved(unit, evidence, Calculation(), texts=texts) or _misquoted(unit, sources)


def has_something_to_look_up(unit: ReportUnit) -> bool:
    """Whether a unit states a number or quotes somebody."""
    return bool(numbers_in(unit.text) or QUOTED.search(unit.text))


def unproved(
    unit: ReportUnit, evidence: str, calculation: Calculation, around: str = "", texts: Sequence[SourceText] = ()
) -> str:
    """Return what a unit states that the evidence does not hold, in words; empty if it holds all.

    These are numbers, fractions in words, months and units of measure. What a sentence counts in words, no source needs
    to count: two studies, in three respects. Years, months and units of measure may also
    stand `around` the words that decide; the unit of measure of a number that is given without one, and the numbers
    of names (the 7 of "Route 7"), anywhere in the `texts`.
    """
    said, wide = unit.raw_words if unit.kind == "cell" else _NUMBERED.sub("", unit.text), f"{evidence} {around}"
    numbers, shares = numbers_in(evidence), fractions_in(evidence)
    held = [*numbers, *shares]
    # Who names a year need not say that it is one.
    is_dated = any(one.is_year for one in numbers_in(wide))
    measures = measures_in(wide) | ({"year"} if is_dated else set())
    # A column of shares or changes is calculated.
    measures |= {"%"} if unit.kind == "head" else set()
    # Who gives a date need not say that it is a day.
    measures |= {"day"} if any(len(one.iso) == len("2026-05-04") for one in dates_in(said)) else set()
    years = {one.value for one in numbers_in(around) if one.is_year}

    def is_known(measure: str) -> bool:
        return measure in measures or any(measure in measures_in(text.text) for text in texts)

    def is_held(one: Number) -> bool:
        is_share = one.measure == "%" and any(is_about(one, share) for share in shares)
        return one.value in years or is_share or any(is_same(one, other, evidence, is_known) for other in numbers)

    is_prose = unit.kind not in ("head", "label", "cell")
    stated = [one for one in numbers_in(said) if not (is_prose and one.is_count)]
    missing = [one for one in stated if not is_held(one)]
    missing = [one for one in missing if not (one.name and any(_holds(text, one.name) for text in texts))]
    # In the head of a table, half names what is counted, as half a year.
    fractions = [] if unit.kind == "head" else fractions_in(said)
    missing += [one for one in fractions if not any(is_about(one, other) for other in held)]
    named = f"{wide} {unit.text} {unit.around}"
    results = calculation.results(held, lambda words: stands_in(words, named)) if missing else []
    is_percent = unit.kind == "cell" and "%" in measures_in(unit.text)
    if missing := [one for one in missing if not follows(one._replace(measure="%") if is_percent else one, results)]:
        tried = ", and the calculations given do not lead to it" if calculation.lines else ""
        return f"{round(missing[0].figure, 2):g} does not stand in those words{tried}"
    if months_in(said) - months_in(wide):
        return "its month does not stand in those words"
    # Daily operation is no quantity.
    names_none = (is_prose and not stated) or not (measures_alone_in(said) - measures or _other_than(said, wide))
    has_measures = bool(results) or names_none
    return "" if has_measures else "its unit of measure does not stand in those words"


def _other_than(said: str, evidence: str) -> bool:
    """Whether something is given per one thing in a statement, and per others in the evidence, in one language."""
    others: dict[str, set[str]] = {}
    for found in _PER.finditer(evidence):
        others.setdefault(found[1].casefold(), set()).update(stems(found[2]))
    given = ((others.get(found[1].casefold()), {*stems(found[2].split()[0])}) for found in _PER.finditer(said))
    return any(known and not noun & known for known, noun in given)


def stands_in(words: str, text: str) -> bool:
    """Whether words stand in a text, whatever the white space, dashes, quotation marks, emphasis and grouped digits."""
    return bool(tokens(words)) and comparable(words) in comparable(text)


def _holds(text: SourceText, words: str) -> bool:
    return bool(tokens(words)) and comparable(words) in text.comparable


def _found(piece: str, sources: Mapping[str, Known], cited: Collection[str]) -> list[ProofPassage]:
    """Return where a piece stands: in all sources that are cited, or else in the first of the others."""
    texts = ((key, text) for key, known in sources.items() for text in known.texts if _holds(text, piece))
    places = {key: _place(piece, key, text) for key, text in texts}
    places = places or {
        key: ProofPassage(key, piece) for key, known in sources.items() if stands_in(piece, known.about)
    }
    own = [place for key, place in places.items() if key in cited]
    return own or [*places.values()][:1]


def _place(piece: str, key: str, text: SourceText) -> ProofPassage:
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
                    return ProofPassage(key, words, window.head, around, text.content_hash, start, end)
        return ProofPassage(key, around, window.head, around, text.content_hash, window.start, window.end)
    return ProofPassage(key, piece)


def _misquoted(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    for quoted in QUOTED.finditer(unit.text):
        words = quoted[1].rstrip(" .,;:!?…")
        if len(tokens(words)) >= SHORTEST_QUOTATION and not any(
            _holds(text, words) for known in sources.values() for text in known.texts
        ):
            return "no source has the words in quotation marks"
    return ""
