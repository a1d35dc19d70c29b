"""Finds which of the sources that a model was shown states what: cites the source of statements
that name none, and corrects the number of those that name a wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import NamedTuple

from ..citations.citing import Edit, with_edits
from ..citations.markers import marker_numbers, replace_markers
from ..text.language import is_written_in, language_of_question, language_of_text
from ..text.numbers import Number, numbers_in, plain_figures
from ..text.words import names, sought_words, stems
from ._calculations import follows, premises_in
from .proof import Grounds, Known, doubt_about, prove, stands_in
from .source_text import words_and_figures
from .units import ReportUnit, report_units

_LEAST_SHARED = 0.5
"""Minimum share of a statement's words and figures in a passage that does not match verbatim."""
_PLAIN_NAMES = frozenset(("da", "en", "es", "fr", "it", "nl", "no", "pt", "sv"))
"""ISO 639-1 codes of languages that neither capitalise all nouns nor inflect names, so that a name
is known by its capitals and stays the same in every sentence."""
_FEWEST_CAPITALISED = 2
"""Minimum number of capitalised words of a name; a single one may only begin a sentence."""
_NEAREST = 3
"""Number of windows of a text from whose numbers a figure of a statement may be worked out."""
_MOST_INPUTS = 30
"""Maximum number of numbers in these windows that are tried."""
_LANGUAGE_CHARACTERS = 4_000
"""Length of the beginning of a text by which its language is detected."""


class Attribution(NamedTuple):
    """Whether a statement stands in the source that a model names for it."""

    lacking: tuple[str, ...] = ()
    """The figures and names of the statement that the source, as far as it was shown, certainly
    lacks; without years, which are often inferred."""
    stated_by: tuple[int, ...] = ()
    """If it lacks some, or a year: the numbers of the other sources that state all of it."""
    right: int | None = None
    """The number of the only one of these, if no further source may state it in other words."""


class Recited(NamedTuple):
    """A text with corrected citations."""

    text: str
    corrected: int
    """How many citations named the wrong source."""


class ShownSources:
    """The sources that a model was shown, by the numbers that it cites."""

    def __init__(self, sources: Mapping[int, Known], worked_out: Iterable[str] = ()) -> None:
        """`worked_out`: calculations with their results, which no source needs to state."""
        self._sources = sources
        self._worked_out = " ".join(worked_out)
        # What each source has, as far as it was needed.
        self._texts = dict[int, str]()
        self._figures = dict[int, frozenset[str]]()
        self._stems = dict[int, frozenset[str]]()

    def with_found_citations(self, text: str) -> str:
        """Cite the source of each uncited statement whose source can be identified.

        Small models often state what a source says but omit its number, which would make every
        statement unsupported. The source is the first one with a verbatim match, or the only source
        that has all of the statement's numbers, months and names and half of its words in one or
        two windows. A statement without numbers and names needs a verbatim match.
        """
        edits = list[Edit]()
        for unit in report_units(text, {}):
            if unit.kind != "statement" or unit.is_cited:
                continue
            number = self._source_of(unit)
            if number:
                edits.append(Edit(unit.end, unit.end, f" [{number}]"))
        return with_edits(text, edits)

    def with_right_citations(self, text: str) -> Recited:
        """Correct the citation of each statement that certainly names a wrong source.

        That is a statement with one citation, of a source that lacks one of its figures or names,
        while exactly one other source states all of it (see `attribution`).
        """
        edits = list[Edit]()
        for unit in report_units(text, {}):
            cited = set(marker_numbers(unit.raw))
            if unit.kind != "statement" or len(cited) != 1:
                continue
            right = self._attribution(unit, cited.pop()).right
            if right is not None and text[unit.start : unit.end] == unit.raw:
                edits.append(Edit(unit.start, unit.end, replace_markers(unit.raw, f"[{right}]")))
        return Recited(with_edits(text, edits), len(edits))

    def attribution(self, statement: str, number: int) -> Attribution:
        """Return whether a statement stands in the source with this number.

        Nothing is certain, and so nothing lacking, if the source is in another language, if it has
        a figure that is the statement's one when rounded, or two near the statement's words from
        which that one follows.
        """
        unit = ReportUnit(statement, 0, statement, (), False, statement, 0)
        return self._attribution(unit, number)

    def _attribution(self, unit: ReportUnit, number: int) -> Attribution:
        known = self._sources.get(number)
        if known is None or not known.texts:
            return Attribution()
        figures = self._lacking_figures(unit, number, with_results=True)
        if not figures and plain_figures(unit.text):
            return Attribution()
        language = language_of_question(sought_words(unit.text))
        lacking_names = list[str]()
        if language in _PLAIN_NAMES:
            lacking_names = self._absent_names(unit, number)
        if not figures and not lacking_names:
            return Attribution()
        unit_names = names(unit.text)
        stated_by = list[int]()
        is_unclear = False
        for other, of_other in self._sources.items():
            if other == number or not of_other.texts:
                continue
            if _says(of_other, unit, unit_names):
                stated_by.append(other)
            elif figures and not self._lacking_figures(unit, other, with_results=False):
                # It may say the same in other words, or before its figures were rounded.
                is_unclear = True
        if not language and stated_by:
            words = sought_words(self._text(stated_by[0])[:_LANGUAGE_CHARACTERS])
            language = language_of_text(words)
        # In another language, figures may stand in words, and names be spelled otherwise.
        if is_written_in(self._text(number)[:_LANGUAGE_CHARACTERS], language) is False:
            return Attribution()
        lacking = [figure.words or figure.digits for figure in figures if not figure.is_year]
        right = None
        if len(stated_by) == 1 and not is_unclear:
            right = stated_by[0]
        distinct = tuple(dict.fromkeys([*lacking, *lacking_names]))
        return Attribution(distinct, tuple(stated_by), right)

    def _source_of(self, unit: ReportUnit) -> int | None:
        """Return the number of the source that states a unit.

        None if there is none, or no single one.
        """
        verbatim = unit.text.rstrip(" .!")
        for number, known in self._sources.items():
            if any(stands_in(verbatim, text.text) for text in known.texts):
                return number
        unit_names = names(unit.text)
        if not unit_names and not numbers_in(unit.text):
            return None
        matching = list[int]()
        for number, known in self._sources.items():
            if _says(known, unit, unit_names):
                matching.append(number)
        return matching[0] if len(matching) == 1 else None

    def _lacking_figures(
        self, unit: ReportUnit, number: int, *, with_results: bool
    ) -> list[Number]:
        """Return the figures of a unit that a source certainly lacks; years, which are often
        inferred, only if it has no other figures.

        With `with_results`, a source may have two numbers near the unit's words instead, from which
        a figure follows.
        """
        text = self._text(number)
        if number not in self._figures:
            self._figures[number] = plain_figures(text)
        if plain_figures(unit.text) <= self._figures[number]:
            return []
        known = self._sources[number]
        doubt = doubt_about(unit, text, texts=known.texts)
        if doubt is None or not doubt.figures:
            return []
        given = list[float]()
        for stated in numbers_in(text):
            given += [*stated.readings, stated.figure]
        if with_results:
            given += _results_near(unit, known)
        lacking = [figure for figure in doubt.figures if not follows(figure, given)]
        if all(figure.is_year for figure in numbers_in(unit.text) if figure.digits):
            return lacking
        return [figure for figure in lacking if not figure.is_year]

    def _absent_names(self, unit: ReportUnit, number: int) -> list[str]:
        """Return the names of a unit, of several words or with several capitals, of which a source
        has no word; none if it may say the same with a pronoun."""
        shares = [text.windows.share(unit.text) for text in self._sources[number].texts]
        if max(shares) >= _LEAST_SHARED:
            return []
        if number not in self._stems:
            self._stems[number] = frozenset(stems(self._text(number)))
        absent = list[str]()
        for name in names(unit.text):
            words = name.split()
            capitalised = sum(1 for word in words if word[0].isupper())
            is_acronym = any(sum(map(str.isupper, word)) >= _FEWEST_CAPITALISED for word in words)
            is_name = capitalised >= _FEWEST_CAPITALISED or is_acronym
            if is_name and self._stems[number].isdisjoint(stems(name)):
                absent.append(name)
        return absent

    def _text(self, number: int) -> str:
        """Return all that was shown of a source, and all calculations."""
        if number not in self._texts:
            known = self._sources[number]
            shown = [text.text for text in known.texts]
            self._texts[number] = "\n".join([*shown, known.about, self._worked_out])
        return self._texts[number]


def _results_near(unit: ReportUnit, known: Known) -> list[float]:
    """Return what follows from any two numbers of a source near a unit's words, also shares: their
    sum, difference, product and ratio, and the change from one to the other."""
    near = dict[float, None]()
    for text in known.texts:
        windows = text.windows
        nearest = windows.best(unit.text, _NEAREST)
        if len(windows.windows) <= _NEAREST:
            # It may say so in other words.
            nearest = [*range(len(windows.windows))]
        for words in windows.texts(nearest):
            near |= dict.fromkeys(given.value for given in premises_in(words, "source"))
    results = list[float]()
    for first, second in permutations(list(near)[:_MOST_INPUTS], 2):
        results += [first + second, first - second, first * second]
        if second:
            results += [first / second, (first - second) / second]
    return results


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
            if not prove(unit, Grounds(words), {"": known}).doubt:
                return True
    return False
