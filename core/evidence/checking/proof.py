"""Checks whether quoted words are in the sources and prove a unit's numbers; adds citations that are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..citations.citing import Edit, with_edits
from ..text.quantities import (
    Calculation,
    Number,
    follows,
    fractions_in,
    is_about,
    is_same_quantity,
    measures_alone_in,
    measures_in,
    months_in,
    numbers_in,
)
from ..text.words import QUOTED, dates_in, names, stems, tokens
from .source_text import SourceText, comparable, words_and_figures
from .units import ReportUnit, report_units

_SHORTEST_QUOTATION = 3
"""Minimum number of words of a quotation that must be in a source verbatim."""
_PIECES = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?|\n)\s*")
_PER = re.compile(r"(?i)\b(per|pro|je|par|por)\s+([^\W\d_]+(?:\s+[^\W\d_]+){0,3})")
_NUMBERED = re.compile(r"^[^\W\d_]+ \d+[.:] ")
"""The number of a table or figure at the start of its caption: `Table 1: `."""
_LIKELIEST = 12
"""Number of windows of a text, the most similar ones, that are searched for words."""
_LEAST_SHARED = 0.5
"""Minimum share of a statement's words and figures in a passage that does not match verbatim."""


class ProofPassage(NamedTuple):
    """Sentences or rows of a source that have the words quoted for a unit."""

    source: str
    """Key of the source."""
    words: str
    """Their text."""
    above: str = ""
    """The heading above them, or their table's header."""
    around: str = ""
    """The paragraph or row that contains them."""
    content_hash: str = ""
    """SHA-256 (hex) of the source's text; empty if the words are only in its title or date."""
    start: int = 0
    """Offset in the text, in characters."""
    end: int = 0


class Proof(NamedTuple):
    """The passages of sources quoted for or against a unit, and whether they prove it."""

    passages: tuple[ProofPassage, ...] = ()
    """The passages in the order of the quoted words."""
    fault: str = ""
    """Why they do not prove the unit, in words for the reader; empty if they do."""


class Known(NamedTuple):
    """What was read of a source."""

    texts: Sequence[SourceText]
    """Its whole text, or excerpts."""
    about: str
    """Its title and date."""


def prove(unit: ReportUnit, words: str, calculation: Calculation, sources: Mapping[str, Known]) -> Proof:
    """Return the proof of a unit by `words` that a model quotes: are they in the sources, with all the unit's numbers?

    Line breaks and ellipses separate words from different passages. `sources` are by key, cited ones first. Numbers,
    months and units of measure are compared by value; they may also be in the heading or table header above the words,
    or in the source's title and date, and numbers may follow from `calculation`. Quotations must be verbatim.
    """
    pieces = [piece for piece in _PIECES.split(words) if tokens(piece)]
    # The passages that have each piece.
    found = list[list[ProofPassage]]()
    for piece in pieces:
        texts = ((key, text) for key, known in sources.items() for text in known.texts if _holds(text, piece))
        by_key = {key: _passage_with(piece, key, text) for key, text in texts}
        if not by_key:
            described = (key for key, known in sources.items() if stands_in(piece, known.about))
            by_key = {key: ProofPassage(key, piece) for key in described}
        # All cited sources count, or else the first other source.
        own = [passage for key, passage in by_key.items() if key in unit.sources]
        found.append(own or [*by_key.values()][:1])
    passages = tuple(dict.fromkeys(passage for each in found for passage in each))
    if not pieces or not all(found):
        return Proof(passages, "its words are in no source" if pieces else "no words of a source were given for it")
    evidence = " ".join(f"{passage.words} {passage.above} {sources[passage.source].about}" for passage in passages)
    # A title may name the year; a table header may name the year of each column.
    titles = (known.about for key, known in sources.items() if key in unit.sources)
    around = " ".join([*(passage.around for passage in passages), *titles])
    read = [text for passage in passages for text in sources[passage.source].texts]
    fault = unproved(unit, evidence, calculation, around, read)
    return Proof(passages, fault or _misquoted(unit, sources))


def not_stated(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return a message about a number, month or quotation of a unit that no source has near its words; else empty."""
    texts = [text for known in sources.values() for text in known.texts]
    near = (words for text in texts for _, words in text.windows.joined(text.windows.best(unit.text, _LIKELIEST)))
    evidence = " ".join([*near, *(known.about for known in sources.values())])
    return unproved(unit, evidence, Calculation(), texts=texts) or _misquoted(unit, sources)


def has_something_to_look_up(unit: ReportUnit) -> bool:
    """Whether a unit states a number or quotes somebody."""
    return bool(numbers_in(unit.text) or QUOTED.search(unit.text))


def unproved(
    unit: ReportUnit, evidence: str, calculation: Calculation, around: str = "", texts: Sequence[SourceText] = ()
) -> str:
    """Return a message about a number, month or unit of measure of a unit that the evidence lacks; empty if it has all.

    `evidence` are the quoted words. Years, months and units of measure may also be in the text `around` them; units of
    measure, and numbers that belong to names (the 7 of "Route 7"), anywhere in `texts`. Counts in words (two studies)
    need no evidence.
    """
    claim = unit.raw_words if unit.kind == "cell" else _NUMBERED.sub("", unit.text)
    wide = f"{evidence} {around}"
    numbers, shares = numbers_in(evidence), fractions_in(evidence)
    # A year needs no word "year" beside it.
    is_dated = any(number.is_year for number in numbers_in(wide))
    measures = measures_in(wide) | ({"year"} if is_dated else set())
    # Columns of shares or changes hold calculated values.
    measures |= {"%"} if unit.kind == "head" else set()
    # A date needs no word "day" beside it.
    measures |= {"day"} if any(len(date.iso) == len("2026-05-04") for date in dates_in(claim)) else set()
    years = {number.value for number in numbers_in(around) if number.is_year}

    def is_known(measure: str) -> bool:
        return measure in measures or any(measure in measures_in(text.text) for text in texts)

    def is_given(number: Number) -> bool:
        is_share = number.measure == "%" and any(is_about(number, share) for share in shares)
        if is_share or number.value in years:
            return True
        return any(is_same_quantity(number, other, evidence, is_known) for other in numbers)

    is_prose = unit.kind not in ("head", "label", "cell")
    stated = [number for number in numbers_in(claim) if not (is_prose and number.is_count)]
    missing = [number for number in stated if not is_given(number)]
    missing = [number for number in missing if not (number.name and any(_holds(text, number.name) for text in texts))]
    # In a table header, "half" names a quantity, such as half a year.
    fractions = [] if unit.kind == "head" else fractions_in(claim)
    missing += [number for number in fractions if not any(is_about(number, other) for other in (*numbers, *shares))]
    named = f"{wide} {unit.text} {unit.around}"
    results = calculation.results([*numbers, *shares], lambda words: stands_in(words, named)) if missing else []
    is_percent = unit.kind == "cell" and "%" in measures_in(unit.text)
    wanted = [number._replace(measure="%") if is_percent else number for number in missing]
    unproved_numbers = [number for number in wanted if not follows(number, results)]
    if unproved_numbers:
        tried = ", and the calculations given do not lead to it" if calculation.lines else ""
        return f"{round(unproved_numbers[0].figure, 2):g} is not in those words{tried}"
    if months_in(claim) - months_in(wide):
        return "its month is not in those words"
    if results or (is_prose and not stated):
        # A calculation may change the unit of measure; "daily operation" states no quantity.
        return ""
    lacks_unit = measures_alone_in(claim) - measures or _has_other_rate(claim, wide)
    return "its unit of measure is not in those words" if lacks_unit else ""


def _has_other_rate(claim: str, evidence: str) -> bool:
    """Whether a claim says "per day" where the evidence, with the same word for "per", only has other units."""
    others: dict[str, set[str]] = {}
    for found in _PER.finditer(evidence):
        others.setdefault(found[1].casefold(), set()).update(stems(found[2]))
    given = ((others.get(found[1].casefold()), {*stems(found[2].split()[0])}) for found in _PER.finditer(claim))
    return any(known and not noun & known for known, noun in given)


def stands_in(words: str, text: str) -> bool:
    """Whether a text has these words; capitals, layout, markup, digit grouping and kinds of signs do not matter."""
    return bool(tokens(words)) and comparable(words) in comparable(text)


def _holds(text: SourceText, words: str) -> bool:
    """Like `stands_in`, for a source's text."""
    return bool(tokens(words)) and comparable(words) in text.comparable


def _passage_with(piece: str, key: str, text: SourceText) -> ProofPassage:
    """Return the fewest neighbouring sentences of a source that have `piece`; `piece` alone if it spans windows."""
    windows = text.windows
    for window in (windows.windows[number] for number in windows.best(piece, _LIKELIEST)):
        if not stands_in(piece, text.text[window.start : window.end]):
            continue
        around = " ".join(text.text[window.start : window.end].split())
        within = [found for found in text.sentences if window.start <= found.start and found.end <= window.end]
        for size in range(len(within)):
            for first, last in zip(within, within[size:], strict=False):
                if stands_in(piece, text.text[first.start : last.end]):
                    words = " ".join(text.text[first.start : last.end].split())
                    return ProofPassage(key, words, window.head, around, text.content_hash, first.start, last.end)
        return ProofPassage(key, around, window.head, around, text.content_hash, window.start, window.end)
    return ProofPassage(key, piece)


def _misquoted(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return a message if a quotation in a unit is in no source; otherwise empty."""
    quotations = (quoted[1].rstrip(" .,;:!?…") for quoted in QUOTED.finditer(unit.text))
    long = (words for words in quotations if len(tokens(words)) >= _SHORTEST_QUOTATION)
    texts = [text for known in sources.values() for text in known.texts]
    is_misquoted = any(not any(_holds(text, words) for text in texts) for words in long)
    return "no source has the words in quotation marks" if is_misquoted else ""


def with_found_citations(text: str, sources: Mapping[int, Known]) -> str:
    """Cite the source of each uncited statement whose source can be identified; `sources` by number.

    Small models often state what a source says but omit its number, which would make every statement unsupported.
    That is the first source with a verbatim match, or the only source that has all of the statement's numbers, months
    and names and half of its words in one or two windows. A statement without numbers and names needs a verbatim match.
    """
    stated = (unit for unit in report_units(text, {}) if unit.kind == "statement" and not unit.is_cited)
    found = ((unit, _source_of(unit, sources)) for unit in stated)
    return with_edits(text, [Edit(unit.end, unit.end, f" [{number}]") for unit, number in found if number])


def _source_of(unit: ReportUnit, sources: Mapping[int, Known]) -> int | None:
    """Return the number of the source that states a unit; None if there is none, or no single one."""
    for number, known in sources.items():
        if any(stands_in(unit.text.rstrip(" .!"), text.text) for text in known.texts):
            return number
    own_names = names(unit.text)
    if not (own_names or numbers_in(unit.text)):
        return None
    matching = [number for number, known in sources.items() if _says(known, unit, own_names)]
    return matching[0] if len(matching) == 1 else None


def _says(known: Known, unit: ReportUnit, own_names: list[str]) -> bool:
    """Whether one or two windows of a source's text prove a unit and have its names and half of its words."""
    wanted = words_and_figures(unit.text)
    for text in known.texts:
        windows = text.windows
        for most in (1, 2):
            words = "\n".join(words for _, words in windows.joined(windows.best(unit.text, most)))
            has_names = all(stands_in(name, f"{words} {known.about}") for name in own_names)
            shared = len(wanted & words_and_figures(words)) / max(1, len(wanted))
            if has_names and shared >= _LEAST_SHARED and not prove(unit, words, Calculation(), {"": known}).fault:
                return True
    return False
