"""Checks whether quoted words are in the sources and prove a unit's numbers; adds citations that
are missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..citations.citing import Edit, with_edits
from ..text.numbers import (
    Number,
    fractions_in,
    measures_alone_in,
    measures_in,
    numbers_in,
    plain_figures,
)
from ..text.words import QUOTED, dates_in, names, stems, tokens
from .quantities import follows, is_about, is_same_quantity, months_in, results_of
from .source_text import SourceSentence, SourceText, Window, comparable, words_and_figures
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

    def shared_with(self, unit: ReportUnit) -> tuple[int, int]:
        """Return how many numbers, and how many numbers and words, it shares with a unit."""
        figures = plain_figures(unit.text) & plain_figures(self.words)
        words = words_and_figures(unit.text) & words_and_figures(self.words)
        return len(figures), len(words)


class Proof(NamedTuple):
    """The passages of sources quoted for or against a unit, and whether they prove it."""

    passages: tuple[ProofPassage, ...] = ()
    """The passages in the order of the quoted words."""
    fault: str = ""
    """Why they do not prove the unit, in words for the reader; empty if they do."""

    def is_by_source_of(self, unit: ReportUnit) -> bool:
        """Whether a source cited by the unit proves it.

        For a unit without citations, any source may.
        """
        return not unit.is_cited or any(passage.source in unit.sources for passage in self.passages)


class Known(NamedTuple):
    """What was read of a source."""

    texts: Sequence[SourceText]
    """Its whole text, or excerpts."""
    about: str
    """Its title and date."""


def prove(
    unit: ReportUnit, words: str, calculations: Sequence[str], sources: Mapping[str, Known]
) -> Proof:
    """Return the proof of a unit by `words` that a model quotes.

    They prove it if they are in the sources, with all the unit's numbers. Line breaks and ellipses
    separate words from different passages. `sources` are by key, cited ones first. Numbers, months
    and units of measure are compared by value; they may also be in the heading or table header
    above the words, or in the source's title and date, and numbers may follow from
    `calculations` (see `results_of`). Quotations must be verbatim.
    """
    pieces = [piece for piece in _PIECES.split(words) if tokens(piece)]
    if not pieces:
        return Proof((), "no words of a source were given for it")
    quoted = list[ProofPassage]()
    is_complete = True
    for piece in pieces:
        with_piece = _passages_with(piece, unit, sources)
        quoted += with_piece
        is_complete = is_complete and bool(with_piece)
    passages = tuple(dict.fromkeys(quoted))
    if not is_complete:
        return Proof(passages, "its words are in no source")

    evidence = list[str]()
    around = list[str]()
    texts = list[SourceText]()
    for passage in passages:
        known = sources[passage.source]
        evidence.append(f"{passage.words} {passage.above} {known.about}")
        around.append(passage.around)
        texts += known.texts
    # A title may name the year; a table header may name the year of each column.
    for key, known in sources.items():
        if key in unit.sources:
            around.append(known.about)
    fault = unproved(unit, " ".join(evidence), calculations, " ".join(around), texts)
    return Proof(passages, fault or _misquoted(unit, sources))


def not_stated(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return a message about a number, month or quotation that no source has near a unit's words.

    It is empty if the sources have them all.
    """
    texts = _texts_of(sources)
    evidence = list[str]()
    for text in texts:
        similar = text.windows.best(unit.text, _LIKELIEST)
        evidence += text.windows.texts(similar)
    for known in sources.values():
        evidence.append(known.about)
    fault = unproved(unit, " ".join(evidence), (), texts=texts)
    return fault or _misquoted(unit, sources)


def unproved(
    unit: ReportUnit,
    evidence: str,
    calculations: Sequence[str],
    around: str = "",
    texts: Sequence[SourceText] = (),
) -> str:
    """Return a message about a number, month or unit of measure that the evidence of a unit lacks.

    It is empty if the evidence has all. `evidence` are the quoted words. Years, months and units of
    measure may also be in the text `around` them; units of measure, and numbers that belong to
    names (the 7 of "Route 7"), anywhere in `texts`. Counts in words (two studies) need no evidence.
    """
    claim = unit.raw_words if unit.kind == "cell" else _NUMBERED.sub("", unit.text)
    is_prose = unit.kind not in ("head", "label", "cell")
    wide = f"{evidence} {around}"
    measures = _measures_given(unit, claim, wide)
    given = _Evidence(evidence, around, measures, texts)
    own_context = f"{unit.text} {unit.around}"
    dates = [range(date.start, date.end) for date in dates_in(claim)]

    has_figures = False
    missing = list[Number]()
    for number in numbers_in(claim):
        if is_prose and number.is_count:
            continue
        # "The prices in euros of 3 May 2026" states no quantity.
        has_figures = has_figures or not any(number.start in date for date in dates)
        if not given.has(number, own_context):
            missing.append(number)
    if unit.kind != "head":
        # In a table header, "half" names a quantity, such as half a year.
        for fraction in fractions_in(claim):
            if not given.has_fraction(fraction):
                missing.append(fraction)

    results = list[float]()
    if missing:
        named = f"{wide} {unit.text} {unit.around}"
        known = [*given.numbers, *given.shares]
        results = results_of(calculations, known, lambda item: stands_in(item, named))
    is_percent = unit.kind == "cell" and "%" in measures_in(unit.text)
    for number in missing:
        wanted = number._replace(measure="%") if is_percent else number
        if number.is_name or not follows(wanted, results):
            written = number.name if number.is_name else f"{round(number.figure, 2):g}"
            fault = f"{written} is not in those words"
            if calculations:
                fault += ", and the calculations given do not lead to it"
            return fault

    if months_in(claim) - months_in(wide):
        return "its month is not in those words"
    if results or (is_prose and not has_figures):
        # A calculation may change the unit of measure; "daily operation" states no quantity.
        return ""
    if measures_alone_in(claim) - measures or _has_other_rate(claim, wide):
        return "its unit of measure is not in those words"
    return ""


def _measures_given(unit: ReportUnit, claim: str, wide: str) -> set[str]:
    """Return the units of measure that a text gives, and those that the unit may use without it."""
    measures = {*measures_in(wide)}
    if any(number.is_year for number in numbers_in(wide)):
        # A year needs no word "year" beside it.
        measures.add("year")
    if unit.kind == "head":
        # Columns of shares or changes hold calculated values.
        measures.add("%")
    for date in dates_in(claim):
        if len(date.iso) == len("2026-05-04"):
            # A date needs no word "day" beside it.
            measures.add("day")
    return measures


class _Evidence:
    """The numbers in quoted words, with what the text around them and whole sources add."""

    def __init__(
        self, words: str, around: str, measures: Collection[str], texts: Sequence[SourceText]
    ) -> None:
        # The 40 of "LX-40" is no amount.
        self.numbers = [number for number in numbers_in(words) if not number.is_name]
        self.shares = fractions_in(words)
        self._words = words
        self._years = {number.value for number in numbers_in(around) if number.is_year}
        self._measures = measures
        self._texts = texts

    def has(self, number: Number, own_context: str) -> bool:
        """Whether it has this number, or a name to which the number belongs.

        `own_context` is the text around the number.
        """
        if number.value in self._years:
            return True
        if number.measure == "%" and _is_about_any(number, self.shares):
            return True
        for other in self.numbers:
            if is_same_quantity(number, other, self._words, self._has_measure, own_context):
                return True
        return bool(number.name) and self._has_name(number.name)

    def has_fraction(self, fraction: Number) -> bool:
        """Whether it has this fraction, in figures or in words."""
        return _is_about_any(fraction, [*self.numbers, *self.shares])

    def _has_name(self, name: str) -> bool:
        if _any_holds(self._texts, name):
            return True
        return stands_in(name, self._words)

    def _has_measure(self, measure: str) -> bool:
        if measure in self._measures:
            return True
        return any(measure in text.measures for text in self._texts)


def _is_about_any(number: Number, others: Iterable[Number]) -> bool:
    return any(is_about(number, other) for other in others)


def _has_other_rate(claim: str, evidence: str) -> bool:
    """Whether a claim has a rate ("per day") that the evidence only has in other units.

    Rates are compared if they have the same word for "per".
    """
    units: dict[str, set[str]] = {}
    for rate in _PER.finditer(evidence):
        units.setdefault(rate[1].casefold(), set()).update(stems(rate[2]))
    for rate in _PER.finditer(claim):
        known = units.get(rate[1].casefold())
        noun = stems(rate[2].split()[0])
        if known and known.isdisjoint(noun):
            return True
    return False


def stands_in(words: str, text: str) -> bool:
    """Whether a text has these words.

    Capitals, layout, markup, digit grouping and kinds of signs do not matter.
    """
    return bool(tokens(words)) and comparable(words) in comparable(text)


def _holds(text: SourceText, words: str) -> bool:
    """Like `stands_in`, for a source's text."""
    return bool(tokens(words)) and comparable(words) in text.comparable


def _any_holds(texts: Iterable[SourceText], words: str) -> bool:
    """Whether one of these texts has these words."""
    return any(_holds(text, words) for text in texts)


def _texts_of(sources: Mapping[str, Known]) -> list[SourceText]:
    """Return the texts of all sources."""
    texts = list[SourceText]()
    for known in sources.values():
        texts += known.texts
    return texts


def _passages_with(
    piece: str, unit: ReportUnit, sources: Mapping[str, Known]
) -> list[ProofPassage]:
    """Return the passages that have `piece` in the sources that the unit cites.

    If there are none, only the first passage of other sources is returned.
    """
    by_key = dict[str, ProofPassage]()
    for key, known in sources.items():
        for text in known.texts:
            if _holds(text, piece):
                by_key[key] = _passage_with(piece, key, text)
    if not by_key:
        for key, known in sources.items():
            if stands_in(piece, known.about):
                by_key[key] = ProofPassage(key, piece)
    cited = [passage for key, passage in by_key.items() if key in unit.sources]
    return cited or [*by_key.values()][:1]


def _passage_with(piece: str, key: str, text: SourceText) -> ProofPassage:
    """Return the fewest neighbouring sentences of a source that have `piece`.

    The passage is `piece` alone if it spans windows.
    """
    windows = text.windows
    for number in windows.best(piece, _LIKELIEST):
        window = windows.windows[number]
        raw = text.text[window.start : window.end]
        if stands_in(piece, raw):
            start, end = _narrowest_span(piece, text, window)
            words = " ".join(text.text[start:end].split())
            around = " ".join(raw.split())
            return ProofPassage(key, words, window.head, around, text.content_hash, start, end)
    return ProofPassage(key, piece)


def _narrowest_span(piece: str, text: SourceText, window: Window) -> tuple[int, int]:
    """Return the (start, end) offsets of the fewest sentences of a window that have `piece`.

    If there are none, these are its own.
    """
    within = list[SourceSentence]()
    for sentence in text.sentences:
        if window.start <= sentence.start and sentence.end <= window.end:
            within.append(sentence)
    for added in range(len(within)):
        for first, last in zip(within, within[added:], strict=False):
            if stands_in(piece, text.text[first.start : last.end]):
                return first.start, last.end
    return window.start, window.end


def _misquoted(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return a message if a quotation in a unit is in no source; otherwise empty."""
    texts = _texts_of(sources)
    for quotation in QUOTED.finditer(unit.text):
        words = quotation[1].rstrip(" .,;:!?…")
        is_long = len(tokens(words)) >= _SHORTEST_QUOTATION
        if is_long and not _any_holds(texts, words):
            return "no source has the words in quotation marks"
    return ""


def with_found_citations(text: str, sources: Mapping[int, Known]) -> str:
    """Cite the source of each uncited statement whose source can be identified.

    `sources` are by number. Small models often state what a source says but omit its number, which
    would make every statement unsupported. The source is the first one with a verbatim match, or
    the only source that has all of the statement's numbers, months and names and half of its words
    in one or two windows. A statement without numbers and names needs a verbatim match.
    """
    edits = list[Edit]()
    for unit in report_units(text, {}):
        if unit.kind != "statement" or unit.is_cited:
            continue
        number = _source_of(unit, sources)
        if number:
            edits.append(Edit(unit.end, unit.end, f" [{number}]"))
    return with_edits(text, edits)


def _source_of(unit: ReportUnit, sources: Mapping[int, Known]) -> int | None:
    """Return the number of the source that states a unit.

    None if there is none, or no single one.
    """
    verbatim = unit.text.rstrip(" .!")
    for number, known in sources.items():
        if any(stands_in(verbatim, text.text) for text in known.texts):
            return number
    unit_names = names(unit.text)
    if not unit_names and not numbers_in(unit.text):
        return None
    matching = [number for number, known in sources.items() if _says(known, unit, unit_names)]
    return matching[0] if len(matching) == 1 else None


def _says(known: Known, unit: ReportUnit, unit_names: list[str]) -> bool:
    """Whether one or two windows of a source's text prove a unit.

    They also need its names and half of its words.
    """
    wanted = words_and_figures(unit.text)
    for text in known.texts:
        windows = text.windows
        for most in (1, 2):
            words = "\n".join(windows.texts(windows.best(unit.text, most)))
            described = f"{words} {known.about}"
            if not all(stands_in(name, described) for name in unit_names):
                continue
            shared = len(wanted & words_and_figures(words)) / max(1, len(wanted))
            if shared < _LEAST_SHARED:
                continue
            if not prove(unit, words, (), {"": known}).fault:
                return True
    return False
