"""Checks whether quoted words are in the sources and prove a unit's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Literal, NamedTuple

from ...records.research import Calculation, CalculationInput
from ..text.numbers import (
    Number,
    fractions_in,
    measures_alone_in,
    measures_in,
    numbers_in,
    numbers_stated,
    plain_figures,
)
from ..text.words import QUOTED, dates_in, may_be_year, stems, tokens
from ._calculations import Calculated, Premise, premises_in, recalculated, results_as_premises
from ._calendar import named_months, named_times
from ._date_lines import known_dates, without_dates
from ._quantities import is_about, is_same_quantity, months_in
from .source_text import SourceSentence, SourceText, Window, comparable, words_and_figures
from .units import ReportUnit

_SHORTEST_QUOTATION = 3
"""Minimum number of words of a quotation that must be in a source verbatim."""
_PIECES = re.compile(r"(?<!\s)\s*(?:\[?…\]?|\[?\.\.\.\]?|\n)\s*")
_PER = re.compile(r"(?i)\b(per|pro|je|par|por)\s+([^\W\d_]+(?:\s+[^\W\d_]+){0,3})")
_READ_BY_TABLES = frozenset({"", "en"})
"""Languages (ISO 639-1) whose months and units of time are all read by the tables of words, and an
unknown one."""
_NUMBERED = re.compile(r"^[^\W\d_]+ \d+[.:] ")
"""The number of a table or figure at the start of its caption: `Table 1: `."""
_LIKELIEST = 12
"""Number of windows of a text, the most similar ones, that are searched for words."""
_MOST_NAMED = 5
"""Maximum number of unknown numbers in calculations that a model is told about."""


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

    def has(self, other: ProofPassage) -> bool:
        """Whether another passage is a part of this one."""
        is_same_text = (other.source, other.content_hash) == (self.source, self.content_hash)
        return is_same_text and self.start <= other.start and other.end <= self.end

    def shared_with(self, unit: ReportUnit) -> tuple[int, int]:
        """Return how many numbers, and how many numbers and words, it shares with a unit."""
        figures = plain_figures(unit.text) & plain_figures(self.words)
        words = words_and_figures(unit.text) & words_and_figures(self.words)
        return len(figures), len(words)


class Doubt(NamedTuple):
    """Why code cannot prove a model's verdict on a unit."""

    kind: Literal["figure", "quotation", "words", "assumption"]
    """What is not proved: a figure; words that are quoted, by the model or in the unit; other
    words, such as a month or a unit of measure, on which a model may be the better judge; or what a
    calculation assumes from which the figures follow, so that asking again changes nothing."""
    message: str
    """The reason, in words for the reader."""
    request: str = ""
    """What the model is asked to do about it; empty if it is told the reason alone."""
    figures: tuple[Number, ...] = ()
    """The figures that are not proved."""

    @property
    def for_model(self) -> str:
        """The reason, in words on which a model can act."""
        return self.request or self.message


class Proof(NamedTuple):
    """The passages of sources quoted for or against a unit, and whether they prove it."""

    passages: tuple[ProofPassage, ...] = ()
    """The passages in the order of the quoted words."""
    doubt: Doubt | None = None
    """Why they do not prove the unit; None if they do."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations from which its figures follow."""
    elsewhere: tuple[str, ...] = ()
    """The quoted words that are in the request or in another statement of the report."""

    def is_by_source_of(self, unit: ReportUnit) -> bool:
        """Whether a source cited by the unit proves it.

        For a unit without citations, any source may; what rests on no source is by none of them.
        """
        if not unit.is_cited or not self.passages:
            return True
        return any(passage.source in unit.sources for passage in self.passages)


class Known(NamedTuple):
    """What was read of a source."""

    texts: Sequence[SourceText]
    """Its whole text, or excerpts."""
    about: str
    """Its title and date."""


class OtherPremises(NamedTuple):
    """What a unit may rest on besides sources."""

    request: str = ""
    """The user's own messages."""
    report: str = ""
    """The statements of the report that are proved themselves, and facts about the research."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations for other statements."""
    text: str = ""
    """All statements of the report, which may name what a calculation assumes."""
    today: str = ""
    """The date of today, which a statement may name."""

    def has_today(self, statement: str) -> bool:
        """Whether a statement names the date of today."""
        today = {day.iso for day in dates_in(self.today)}
        return any(day.iso in today for day in dates_in(statement))

    @property
    def inputs(self) -> list[Premise]:
        """The numbers that calculations may use."""
        inputs = [*premises_in(self.request, "request"), *premises_in(self.report, "report")]
        for calculation in self.calculations:
            inputs += results_as_premises(calculation)
        return inputs

    @property
    def values(self) -> set[float]:
        """The values of the numbers that calculations may use."""
        return {premise.value for premise in self.inputs}

    def names(self, assumed: Collection[CalculationInput]) -> bool:
        """Whether the report has the numbers that calculations assume."""
        if not assumed:
            return True
        named = {premise.value for premise in premises_in(self.text, "report")}
        return named.issuperset(used.value for used in assumed)


_NO_OTHERS = OtherPremises()
_NOT_CALCULATED = Calculated()


class Grounds(NamedTuple):
    """What a model hands in to prove its verdict on a unit."""

    words: str
    """The words that decide; line breaks and ellipses separate those from different places."""
    calculations: Sequence[str] = ()
    """Lines of arithmetic (see `recalculated`)."""
    supposed: Sequence[str] = ()
    """Numbers that the unit supposes, as in "if only 340 order"."""


class _Quoted(NamedTuple):
    """The words that a model quotes, as they were found."""

    passages: tuple[ProofPassage, ...]
    """Those in sources."""
    elsewhere: tuple[str, ...]
    """Those in the request or in other statements of the report."""
    is_complete: bool
    """Whether all were found."""


def prove(
    unit: ReportUnit,
    grounds: Grounds,
    sources: Mapping[str, Known],
    premises: OtherPremises = _NO_OTHERS,
    calculations: Sequence[Calculation] = (),
) -> Proof:
    """Return the proof of a unit by the words that a model quotes.

    They prove it if they are in the sources, the request or a proved statement of the report, with
    all the unit's figures. `sources` are by key, cited ones first. Numbers, months and units of
    measure are compared by value; they may also be in the heading or table header above the words,
    or in the source's title and date, and numbers may follow from calculations with
    these numbers (see `recalculated`) or by `calculations` that were carried out before. Quotations
    must be verbatim.
    """
    quoted = _found(unit, grounds.words, sources, premises)
    evidence = [*quoted.elsewhere]
    around = list[str]()
    texts = list[SourceText]()
    stated = list[tuple[str, str]]()
    for passage in quoted.passages:
        known = sources[passage.source]
        words = f"{passage.words} {passage.above} {known.about}"
        evidence.append(words)
        around.append(passage.around)
        texts += known.texts
        stated.append((passage.source, f"{words} {passage.around}"))
    # A title may name the year; a table header may name the year of each column.
    for key, known in sources.items():
        if key in unit.sources:
            around.append(known.about)

    results = _NOT_CALCULATED
    # Few verdicts have lines of arithmetic, and all numbers of the report are premises of these.
    if grounds.calculations:
        inputs = _premises(grounds, stated, premises, calculations)
        named = " ".join([*evidence, *around, premises.request, unit.text, unit.around])
        results = recalculated(
            grounds.calculations,
            inputs,
            lambda item: stands_in(item, named),
            unit.text,
            known_dates([*evidence, *around, premises.request, premises.report, *grounds.supposed]),
        )
    results = results.with_records(calculations, unit.calculations)
    given = [*evidence]
    if not unit.is_cited:
        given.append(premises.report)
    if premises.has_today(unit.text):
        given.append(premises.today)
    doubt = doubt_about(unit, " ".join(given), results, " ".join(around), texts, grounds.supposed)
    about_quotations = _doubt_about_quotations(unit, quoted, results, sources, premises)
    if doubt is None or doubt.kind == "words":
        doubt = about_quotations or doubt
    elif about_quotations:
        doubt = doubt._replace(message=about_quotations.message)
    return Proof(quoted.passages, doubt, results.calculations, quoted.elsewhere)


def _premises(
    grounds: Grounds,
    stated: Iterable[tuple[str, str]],
    premises: OtherPremises,
    calculations: Iterable[Calculation],
) -> list[Premise]:
    """Return what the lines of a verdict may use; `stated`: sources with their words."""
    inputs = list[Premise]()
    for value in _values(grounds.supposed):
        inputs.append(Premise(value, "supposed"))
    for source, words in stated:
        inputs += premises_in(words, "source", source)
    inputs += premises.inputs
    for calculation in calculations:
        inputs += results_as_premises(calculation)
    return inputs


def _found(
    unit: ReportUnit, words: str, sources: Mapping[str, Known], premises: OtherPremises
) -> _Quoted:
    """Find the words that a model quotes for a unit."""
    passages = list[ProofPassage]()
    elsewhere = list[str]()
    is_complete = True
    for piece in _PIECES.split(words):
        if not tokens(piece):
            continue
        with_piece = _passages_with(piece, unit, sources)
        passages += with_piece
        if with_piece:
            continue
        if stands_in(piece, premises.request) or stands_in(piece, premises.report):
            elsewhere.append(piece)
        else:
            is_complete = False
    return _Quoted(tuple(dict.fromkeys(passages)), tuple(elsewhere), is_complete)


def _values(supposed: Iterable[str]) -> list[float]:
    """Return the values of numbers that a unit supposes."""
    values = list[float]()
    for text in supposed:
        values += [number.value for number in numbers_in(text)]
    return values


def _doubt_about_quotations(
    unit: ReportUnit,
    quoted: _Quoted,
    results: Calculated,
    sources: Mapping[str, Known],
    premises: OtherPremises,
) -> Doubt | None:
    """Return a doubt about words that are quoted for a unit, or in it; None if all were found."""
    if not quoted.is_complete:
        kind: Literal["quotation", "words"] = "words" if quoted.passages else "quotation"
        return Doubt(
            kind,
            "its words are in no source",
            "some of the words are in no passage: copy them exactly",
        )
    if not quoted.passages and not quoted.elsewhere and not results.calculations:
        return Doubt("quotation", "no words of a source were given for it")
    return _misquoted(unit, sources, premises)


def gives_results(unit: ReportUnit, calculations: Sequence[Calculation]) -> bool:
    """Whether all figures of a unit are results of calculations that it cites."""
    results = Calculated().with_records(calculations, unit.calculations)
    return bool(calculations) and all(map(results.leads_to, numbers_in(unit.text)))


def doubt_about_assumption(
    doubt: Doubt, unit: ReportUnit, calculations: Sequence[Calculation]
) -> Doubt | None:
    """Return a doubt about figures as one about what is assumed for them, if all follow from these
    calculations, which the unit cites; else None."""
    results = Calculated().with_records(calculations, unit.calculations)
    if not all(map(results.leads_to, doubt.figures)):
        return None
    words = ", ".join(assumptions_of(calculations))
    if not words:
        return None
    return Doubt("assumption", f"it rests on an assumption that the report does not name: {words}")


def assumptions_of(calculations: Iterable[Calculation]) -> list[str]:
    """Return what calculations assume, in words: "0.054 fl/km"."""
    assumed = dict[str, None]()
    for used in assumed_in(calculations):
        assumed[f"{used.value:.12g} {used.unit}".rstrip()] = None
    return [*assumed]


def assumed_in(calculations: Iterable[Calculation]) -> list[CalculationInput]:
    """Return the inputs of calculations that are assumed, not those that rest on an assumption of
    another calculation."""
    assumed = list[CalculationInput]()
    for calculation in calculations:
        for used in calculation.inputs:
            if used.origin == "supposed" and not used.calculation:
                assumed.append(used)
    return assumed


def not_stated(unit: ReportUnit, sources: Mapping[str, Known]) -> str:
    """Return a message about a number, month or quotation that no source has near a unit's words.

    It is empty if the sources have them all.
    """
    doubt = doubt_without_judge(unit, sources)
    return doubt.message if doubt else ""


def doubt_without_judge(
    unit: ReportUnit, sources: Mapping[str, Known], request: str = ""
) -> Doubt | None:
    """Return a doubt about a number, month or quotation of a unit that no source has near the
    unit's words, and that the user's `request` does not have either; None if all are there."""
    texts = _texts_of(sources)
    evidence = [request]
    for text in texts:
        similar = text.windows.best(unit.text, _LIKELIEST)
        evidence += text.windows.texts(similar)
    for known in sources.values():
        evidence.append(known.about)
    doubt = doubt_about(unit, " ".join(evidence), texts=texts)
    return doubt or _misquoted(unit, sources, OtherPremises(request))


def doubt_about(
    unit: ReportUnit,
    evidence: str,
    results: Calculated = _NOT_CALCULATED,
    around: str = "",
    texts: Sequence[SourceText] = (),
    supposed: Sequence[str] = (),
) -> Doubt | None:
    """Return a doubt about a number, month or unit of measure that the evidence of a unit lacks.

    None if the evidence has all. `evidence` are the quoted words, `results` what follows from
    calculations. Years, months and units of measure may also be in the text `around` them; units of
    measure, and numbers that belong to names (the 7 of "Route 7"), anywhere in `texts`. Counts in
    words (two studies) and numbers that the unit supposes need no evidence.
    """
    claim = unit.raw_words if unit.kind == "cell" else _NUMBERED.sub("", unit.text)
    claim = without_dates(claim, results.dates)
    wide = f"{evidence} {around}" if around else evidence
    languages = {text.language for text in texts}.difference(_READ_BY_TABLES)
    measures = partial(_measures_given, unit, claim, (evidence, around), languages)
    given = _Evidence(evidence, around, measures, texts)
    looked_up = _look_up(unit, claim, given, results, _values(supposed))
    if looked_up.missing:
        return _doubt_about_figures(looked_up.missing, results)
    if looked_up.in_words:
        return Doubt("words", _not_in_words(looked_up.in_words[0]))
    if _months_missing(claim, wide, languages):
        return Doubt("words", "its month is not in those words")
    if looked_up.is_calculated or (_is_prose(unit) and not looked_up.has_quantity):
        # A calculation may change the unit of measure; "daily operation" states no quantity.
        return None
    alone = measures_alone_in(claim)
    if (alone and alone - given.measures) or _has_other_rate(claim, wide):
        return Doubt("words", "its unit of measure is not in those words")
    return None


class _LookedUp(NamedTuple):
    """How the numbers of a unit are proved."""

    missing: Sequence[Number]
    """The figures that nothing proves."""
    in_words: Sequence[Number]
    """The zeros, the numbers and fractions in words, and the signs, that nothing proves: whether
    nothing is there, what such a number counts, and what a table counts as negative, is a matter
    of language."""
    is_calculated: bool
    """Whether some follow from calculations."""
    has_quantity: bool
    """Whether it has a number outside dates that needs evidence."""


def _look_up(
    unit: ReportUnit, claim: str, given: _Evidence, results: Calculated, free: Collection[float]
) -> _LookedUp:
    """Look the numbers of a unit up in its evidence and in results of calculations.

    `claim` are its words; numbers with a value in `free` need no evidence.
    """
    own_context = f"{unit.text} {unit.around}"
    in_dates = set[int]()
    for date in dates_in(claim):
        in_dates.update(range(date.start, date.end))
    is_percent = unit.kind == "cell" and "%" in measures_in(unit.text)
    missing = list[Number]()
    in_words = list[Number]()
    is_calculated = False
    has_quantity = False
    for number in numbers_in(claim):
        if (_is_prose(unit) and number.is_count) or number.value in free:
            continue
        # "The prices in euros of 3 May 2026" states no quantity.
        has_quantity = has_quantity or number.start not in in_dates
        if given.has(number, own_context):
            continue
        is_result = results.leads_to(number)
        if is_percent:
            # The sign may stand in the header.
            is_result = is_result or results.leads_to(number._replace(measure="%"))
        if is_result or (number.is_word and results.divides_into(number)):
            is_calculated = True
        elif number.is_word or not number.value or _has_unsigned(unit, number, given):
            in_words.append(number)
        else:
            missing.append(number)
    # In a table header, "half" names a quantity, such as half a year.
    fractions = fractions_in(claim) if unit.kind != "head" else []
    for fraction in fractions:
        if given.has_fraction(fraction):
            continue
        if results.leads_to(fraction) or results.divides_into(fraction):
            is_calculated = True
        else:
            in_words.append(fraction)
    return _LookedUp(missing, in_words, is_calculated, has_quantity)


def _is_prose(unit: ReportUnit) -> bool:
    """Whether a unit is no part of a table."""
    return unit.kind not in ("head", "label", "cell")


def _has_unsigned(unit: ReportUnit, number: Number, given: _Evidence) -> bool:
    """Whether a cell has a number of its evidence with a minus before it, as a table of costs has
    for a credit."""
    if unit.kind != "cell" or number.sign >= 0:
        return False
    return given.has(number._replace(sign=0), f"{unit.text} {unit.around}")


def _not_in_words(number: Number) -> str:
    written = number.name if number.is_name else f"{round(number.figure, 2):g}"
    if number.sign < 0:
        written = f"-{written}"
    return f"{written} is not in those words"


def _doubt_about_figures(missing: Sequence[Number], results: Calculated) -> Doubt:
    """Return the doubt about figures that are neither quoted nor calculated."""
    message = _not_in_words(missing[0])
    if results.calculations or results.unknown:
        message += ", and the calculations given do not lead to it"
    figures = dict.fromkeys(number.words or f"{number.figure:g}" for number in missing)
    request = (
        f"{', '.join(figures)}: this follows from nothing given. Quote the words that state it, or "
        "write the calculation from numbers in the passages, the request, right statements of the "
        "report or earlier results, or say that the unit is wrong"
    )
    if results.unknown:
        unknown = "; ".join(results.unknown[:_MOST_NAMED])
        request += f". In your calculations these are no such numbers: {unknown}"
    if results.wrong:
        request += f". Wrongly calculated: {'; '.join(results.wrong[:_MOST_NAMED])}"
    return Doubt("figure", message, request, tuple(missing))


def _months_missing(claim: str, wide: str, languages: Iterable[str]) -> frozenset[int]:
    """Return the months of a claim that a text, which has parts in these languages, lacks."""
    missing = months_in(claim)
    if missing:
        missing -= months_in(wide)
    for code in languages:
        if missing:
            missing -= named_months(wide, code)
    return missing


def _measures_given(
    unit: ReportUnit, claim: str, texts: Iterable[str], languages: Collection[str]
) -> set[str]:
    """Return the units of measure that texts, which have parts in these languages, give, and those
    that the unit may use without them."""
    measures = set[str]()
    for text in texts:
        measures |= measures_in(text)
        for code in languages:
            measures |= named_times(text, code)
        if any(number.is_year for number in numbers_in(text)):
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
    """The numbers in quoted words, with what the text around them and whole sources add.

    The text around them, which is long, is only read for a number that it may prove: cells of a
    table mostly have none.
    """

    def __init__(
        self,
        words: str,
        around: str,
        measures: Callable[[], set[str]],
        texts: Sequence[SourceText],
    ) -> None:
        # The 40 of "LX-40" is no amount.
        self.numbers = [number for number in numbers_stated(words) if not number.is_name]
        self.shares = fractions_in(words)
        self._words = words
        self._around = around
        self._find_measures = measures
        self._texts = texts

    @cached_property
    def measures(self) -> set[str]:
        """The units of measure that are given."""
        return self._find_measures()

    @cached_property
    def _years(self) -> set[float]:
        return {number.value for number in numbers_in(self._around) if number.is_year}

    def has(self, number: Number, own_context: str) -> bool:
        """Whether it has this number, or a name to which the number belongs.

        `own_context` is the text around the number.
        """
        if may_be_year(number.value) and number.value in self._years:
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
        if measure in self.measures:
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


def _misquoted(
    unit: ReportUnit, sources: Mapping[str, Known], premises: OtherPremises
) -> Doubt | None:
    """Return a doubt if a quotation in a unit is in no source, and not in the other premises."""
    texts = _texts_of(sources)
    for quotation in QUOTED.finditer(unit.text):
        words = quotation[1].rstrip(" .,;:!?…")
        if len(tokens(words)) < _SHORTEST_QUOTATION or _any_holds(texts, words):
            continue
        if not stands_in(words, premises.request) and not stands_in(words, premises.report):
            return Doubt("quotation", "no source has the words in quotation marks")
    return None
