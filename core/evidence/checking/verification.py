"""Compares the units of a text (sentences, headings, cells) with the texts of sources, without a
model: finds the best passage of a source, of which quotes alone count (`Verifier`), and which of
the sources that a model was shown states what (`ShownSources`)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from ..citations.citing import Edit, with_edits
from ..citations.markers import marker_numbers, replace_markers
from ..text.language import is_written_in, language_of_question, language_of_text
from ..text.numbers import Number, numbers_in, plain_figures, replace_numbers
from ..text.sentences import page_at
from ..text.words import names, sought_words, stems
from ._calculations import follows, premises_in
from .proof import Grounds, Known, ProofPassage, doubt_about, prove, stands_in
from .source_text import SourceText, rarity_weight, words_and_figures
from .units import ReportUnit, report_units

_NO_TEXT = "the source's text is not stored"
_LONGEST = 2000
"""Number of characters at the start of a unit that are searched for; a longer unit is never a
quote."""
_MOST_SENTENCES = 3
"""Maximum number of neighbouring sentences in a passage."""
_LEAST_ADDED = 0.04
"""Minimum share of a unit's words, weighted by rarity, that each further sentence of a passage must
add."""
_AROUND = 80
"""Number of characters before and after a quote in which the sentences around it may end and
begin."""
_LONGEST_ROWS = 500
"""Maximum length of the rows added below a table header, in characters."""
_LEAST_SHARED = 0.5
"""Minimum share of a statement's words and figures in a passage that does not match verbatim."""
_FEWEST_SHARED = 3
"""Minimum number of a statement's words in a passage of another source than the cited one; a clause
such as “and 41 % in that of 2026” has too few to tell what it is about."""
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
_ROWS = re.compile(r"[ \t|]*\n[ \t]*\|[ \t:|-]+(?:\n[ \t]*\|.*)+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
# Characters that a whole sentence or line ends with, and that may precede one; empty at the ends of
# a text.
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


class Verifier:
    """Finds (and caches) the best passage of a source for a unit: `supported` if word for word,
    else `unchecked`."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts`: the whole text of each source, or its excerpts, by source key."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}
        self._are_quoted: dict[tuple[str, tuple[str, ...], str], bool] = {}

    def passage(self, unit: ReportUnit, source: str) -> CitedPassage:
        """Return the passage of a source that has most of a unit's words.

        It is empty if the source has no text.
        """
        key = (unit.text, source)
        if key not in self._passages:
            self._passages[key] = self._best(unit, source)
        return self._passages[key]

    def _best(self, unit: ReportUnit, source: str) -> CitedPassage:
        best: tuple[PassageMatch, SourceText] | None = None
        for text in self._texts.get(source, ()):
            match = best_passage(unit, text)
            if best is None or match.share > best[0].share:
                best = match, text
        if best is None:
            return CitedPassage(
                source=source,
                verdict="unchecked",
                quote="",
                start=0,
                end=0,
                content_hash="",
                reasons=(_NO_TEXT,),
            )
        match, text = best
        verdict: SupportVerdict = "supported" if match.is_quote else "unchecked"
        return _passage(source, text, match.start, match.end, verdict)

    def check(self, unit: ReportUnit) -> ClaimCheck:
        """Return the verdict on a unit, and the best passage of each source that it cites."""
        passages = tuple(self.passage(unit, source) for source in unit.sources)
        verdict: ClaimVerdict
        if any(passage.verdict == "supported" for passage in passages):
            verdict = "supported"
        elif passages:
            verdict = "unchecked"
        elif unit.is_cited:
            # Its citation names an unknown source.
            verdict = "unsupported"
        else:
            verdict = "uncited"
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def at(self, passage: ProofPassage) -> CitedPassage:
        """Return a passage of a proof as a cited passage with the verdict `supported`."""
        texts = self._texts[passage.source]
        text = next(text for text in texts if text.content_hash == passage.content_hash)
        return _passage(passage.source, text, passage.start, passage.end, "supported")

    def is_quoted(self, unit: ReportUnit, source: str) -> bool:
        """Whether a source contains a unit word for word, as a whole sentence, line or row."""
        key = (unit.text, unit.rows, source)
        if key not in self._are_quoted:
            texts = self._texts.get(source, ())
            self._are_quoted[key] = any(find_quote(unit, text) for text in texts)
        return self._are_quoted[key]


def _passage(
    source: str, text: SourceText, start: int, end: int, verdict: SupportVerdict
) -> CitedPassage:
    """Return the part of a source's text between two offsets, with its page."""
    page = page_at(text.text, start)
    return CitedPassage(
        source=source,
        verdict=verdict,
        quote=text.text[start:end],
        start=start,
        end=end,
        content_hash=text.content_hash,
        page=page.number,
        printed_page=page.printed,
    )


class PassageMatch(NamedTuple):
    """A part of a source, and how many of a unit's words it has."""

    start: int
    """Offset in the text, in characters."""
    end: int
    share: float
    """Share (0 to 1) of the unit's words and numbers in it, weighted by rarity; 1 for a quote."""
    is_quote: bool = False
    """Whether it has the unit word for word."""


def best_passage(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the passage of a source that has a unit word for word, or else the most similar
    sentences.

    Without any similarity, that is the first sentence; empty if the source has no sentences.
    """
    quote = find_quote(unit, source)
    if quote:
        return quote
    best = _most_similar(unit, source)
    # A table header alone proves nothing, so the rows below it are added.
    rows = _ROWS.match(source.text, best.end)
    if not rows:
        return best
    end = rows.end()
    limit = best.end + _LONGEST_ROWS
    if end > limit:
        end = source.text.rindex("\n", best.end, limit)
    return best._replace(end=end)


def _most_similar(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the neighbouring sentences that have most of a unit's words.

    The first is returned if none has any.
    """
    sentences = source.sentences
    wanted = words_and_figures(unit.text[:_LONGEST])
    weights = dict[str, float]()
    for key in wanted:
        weights[key] = rarity_weight(key, len(sentences), source.counts[key] or 1)
    whole = math.fsum(weights.values())
    best = PassageMatch(0, 0, 0.0)
    if sentences:
        best = PassageMatch(sentences[0].start, sentences[0].end, 0.0)
    for index, first in enumerate(sentences):
        shared = frozenset[str]()
        for added, last in enumerate(sentences[index : index + _MOST_SENTENCES]):
            shared |= last.keys & wanted
            if not shared:
                continue
            # Summing the same numbers in another order changes the last digit.
            share = math.fsum(weights[key] for key in shared) / whole
            share = min(1.0, share) - _LEAST_ADDED * added
            if share > best.share:
                best = PassageMatch(first.start, last.end, share)
    return best


def find_quote(unit: ReportUnit, source: SourceText) -> PassageMatch | None:
    """Return where a source has a unit word for word, as a whole sentence, line or table row.

    None if nowhere. White space and emphasis do not matter. The unit may begin with the heading or
    title above the quote: "Report of May: It rained."
    """
    if unit.rows:
        header, row = unit.rows
        if not _find_row(header, source.text):
            return None
        return _find_row(row, source.text)
    title = source.text.strip().partition("\n")[0].strip("# \t")
    splits = [("", unit.text)]
    for joint in re.finditer(": ", unit.text):
        if len(unit.text) - joint.end() > _LONGEST:
            # What follows is too long for a quote.
            continue
        splits.append((unit.text[: joint.start()], unit.text[joint.end() :]))
    for heading, words in splits:
        parts = list[range]()
        if heading in ("", title):
            # The first line of a source is the heading of all of it.
            parts.append(range(len(source.text)))
        else:
            for window in source.windows.windows:
                if window.head == heading:
                    parts.append(range(window.start, window.end))
        if not parts:
            continue
        for quote in _matches(_pattern(words), words, source.text):
            is_below = any(quote.start in part for part in parts)
            if is_below and _is_whole(source.text, quote.start, quote.end):
                return quote
    return None


def _find_row(words: str, text: str) -> PassageMatch | None:
    """Return the first line of a text that consists of these words and table borders."""
    line = rf"(?m)^[ \t|]*{_pattern(words)}[ \t|]*$"
    return next(_matches(line, words, text), None)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a part of a text begins and ends where a sentence, line or cell may begin and end."""
    before = text[max(0, start - _AROUND) : start].rstrip(" \t")
    after = text[end : end + _AROUND].lstrip(" \t*_`|")
    may_begin = before[-1:] in _OPENS
    may_end = text[end - 1] in _ENDS or after[:1] in _ENDS
    return may_begin and may_end


def _pattern(words: str) -> str:
    """Return a regular expression for these words, which may be emphasised and on several lines."""
    pattern = ""
    end = 0
    for piece in _PIECE.finditer(words):
        if not pattern:
            gap = ""
        elif piece.start() > end:
            gap = r"[*_`]*\s[\s*_`]*"
        else:
            gap = "[*_`]*"
        pattern += gap + re.escape(piece.group())
        end = piece.end()
    return pattern


def _matches(pattern: str, words: str, text: str) -> Iterator[PassageMatch]:
    """Yield the quotes in a text that match the pattern of these words.

    There are none if the words are too long or empty.
    """
    if len(words) > _LONGEST or not _HAS_WORD.search(words):
        return
    for match in re.finditer(pattern, text):
        yield PassageMatch(match.start(), match.end(), 1.0, is_quote=True)


class Attribution(NamedTuple):
    """Whether a statement stands in the source that a model names for it."""

    lacking: tuple[str, ...] = ()
    """The figures and names of the statement that the source, as far as it was shown, certainly
    lacks; without years, which are often inferred."""
    stated_by: tuple[int, ...] = ()
    """If it lacks some, or a year: the numbers of the other sources that state all of it."""
    right: int | None = None
    """The number of the only one of these, if it has more of the statement's words than the named
    source, and no further source may state it in other words."""


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
        while exactly one other source states all of it (see `attribution`). If the sentence cites
        that one too, nothing changes: each may prove a part.
        """
        edits = list[Edit]()
        for unit in report_units(text, {}):
            cited = set(marker_numbers(unit.raw))
            if unit.kind != "statement" or len(cited) != 1:
                continue
            right = self._attribution(unit, cited.pop()).right
            is_wrong = right is not None and right not in marker_numbers(unit.sentence)
            if is_wrong and text[unit.start : unit.end] == unit.raw:
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
            [only] = stated_by
            shared = self._words_shared(unit, only)
            if shared >= _FEWEST_SHARED and shared > self._words_shared(unit, number):
                right = only
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

    def _words_shared(self, unit: ReportUnit, number: int) -> int:
        """Return how many of a unit's words, figures left out, a window of a source has at most."""
        wanted = frozenset(stems(replace_numbers(unit.text, lambda _: " ")))
        most = 0
        for text in self._sources[number].texts:
            windows = text.windows
            for words in windows.texts(windows.best(unit.text, _NEAREST)):
                most = max(most, len(wanted.intersection(stems(words))))
        return most

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
