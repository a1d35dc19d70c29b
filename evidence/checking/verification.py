"""Checks the units of a report against the sources that they cite, without a model, and draws up the audit."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ...records.plan import Learning
from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, Disagreement, Report
from ...records.sources import Source
from ..citations.document import without_marks
from ..text.passages import page_of
from ..text.reprints import independent
from ..text.words import STOP_WORDS, tokens
from .contradictions import contradicting
from .figures import Figures
from .score import best_passage, stands_in
from .source_text import Evidence, SourceText, words_and_figures
from .terms import terms_of
from .units import Unit, units_of

MOST_DISAGREEMENTS = 10
"""Contradictions that are shown."""


def with_independence(claims: Iterable[ClaimCheck], groups: Sequence[Collection[str]]) -> tuple[ClaimCheck, ...]:
    """The claims with the number of independent sources that support each; `groups`: sources of the same text."""
    return tuple(claim.model_copy(update={"independent": independent(_supporting(claim), groups)}) for claim in claims)


def disagreements(claims: Iterable[ClaimCheck], question_id: str) -> list[Disagreement]:
    """Where the passages behind the report contradict each other, at most `MOST_DISAGREEMENTS`."""
    passages = {(one.source, one.quote): one for claim in claims for one in claim.passages if one.quote}
    learnings = [
        Learning(text=one.quote, source=one.source, step="", question_id=question_id) for one in passages.values()
    ]
    found = [
        Disagreement(claims=(one.text, other.text), sources=(one.source, other.source))
        for one, other in contradicting(learnings)
    ]
    return found[:MOST_DISAGREEMENTS]


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """How many of the sources that were found have been read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


def _supporting(claim: ClaimCheck) -> list[str]:
    return [one.source for one in claim.passages if one.verdict == "supported"]


FEW, MOST = 0.34, 0.66
"""Shares of a part's words: what a passage of the sources cited holds at most, and one of another source at least."""
SAMPLE = 20_000
"""Characters of a text that show in which language it is."""
TELLING = 3
"""Words and figures from which on a part can be told to come from another source."""
SAID_ELSEWHERE = "another source says so"
NO_TEXT = "no text of the source is kept"


class Verifier:
    """Holds the units of a report against sources by rules, each pair once; what a model found can be put in."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts` by the key of the source: its whole text, or what is known of it."""
        self._texts = texts
        self._all = [one for some in texts.values() for one in some]
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, claim: str, source: str) -> CitedPassage:
        """The best passage of a source for a sentence."""
        if (claim, source) not in self._passages:
            self._passages[claim, source] = self._found(claim, source)
        return self._passages[claim, source]

    def put(self, claim: str, passage: CitedPassage) -> None:
        """Take this passage and its verdict from now on."""
        self._passages[claim, passage.source] = passage

    def check(self, unit: Unit) -> ClaimCheck:
        """What there is for one part of a report."""
        passages = tuple(self.passage(unit.text, source) for source in unit.sources)
        verdict, doubts = self._verdict(unit, passages)
        if doubts:
            update = {"verdict": verdict, "reasons": doubts}
            passages = tuple(one.model_copy(update=update) for one in passages)
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def is_quoted(self, statement: str, source: str) -> bool:
        """Whether a statement stands in a source word by word, as a sentence or line of its own."""
        return any(stands_in(statement, one.evidence) for one in self._texts.get(source, ()))

    def _found(self, claim: str, source: str) -> CitedPassage:
        checks = [(best_passage(claim, one.evidence), one) for one in self._texts.get(source, ())]
        if not checks:
            return CitedPassage(
                source=source,
                verdict="unchecked",
                score=0.0,
                quote="",
                start=0,
                end=0,
                content_hash="",
                reasons=(NO_TEXT,),
            )
        best, own = max(checks, key=lambda pair: pair[0].score)
        return CitedPassage(
            source=source,
            verdict="supported" if best.verdict == "supported" else "unchecked",
            score=best.score,
            quote=best.quote,
            start=best.start,
            end=best.end,
            content_hash=own.content_hash,
            page=page_of(own.text, best.start),
        )

    def _verdict(self, unit: Unit, passages: Sequence[CitedPassage]) -> tuple[ClaimVerdict, tuple[str, ...]]:
        """That of all its sources together, with what speaks against it where rules are sure of that."""
        if not passages:
            # A citation of nothing has claimed to be somebody's word.
            return "unsupported" if unit.is_cited else "uncited", ()
        verdicts = {one.verdict for one in passages}
        if any(one.judge for one in passages):
            return "supported" if "supported" in verdicts else "unsupported", ()
        texts = [one.evidence for source in unit.sources for one in self._texts.get(source, ())]
        if not texts:
            return "unchecked", ()
        figures = Figures(unit.words, unit.text, unit.within, texts, is_cell=unit.is_cell)
        if others := figures.otherwise():
            return "unsupported", tuple(f"the source gives {one} in another unit" for one in others)
        if turn := figures.against_itself():
            return "unsupported", (f"its figures go the other way than “{turn}”",)
        if "supported" in verdicts or self._is_supported_together(unit, passages):
            return "supported", ()
        cited = [one for source in unit.sources for one in self._texts.get(source, ())]
        is_comparable = _share_a_language(unit, cited)
        names = self._names_of_others(unit, cited) if is_comparable else []
        doubts = tuple(f"the source does not say {one}" for one in (*figures.foreign(), *names))
        if not doubts and is_comparable and self._is_said_elsewhere(unit):
            doubts = (SAID_ELSEWHERE,)
        return "unsupported" if doubts else "unchecked", doubts

    @staticmethod
    def _is_supported_together(unit: Unit, passages: Sequence[CitedPassage]) -> bool:
        quotes = [one.quote for one in passages]
        return len(quotes) > 1 and best_passage(unit.text, Evidence("\n".join(quotes))).verdict == "supported"

    def _is_said_elsewhere(self, unit: Unit) -> bool:
        """Whether another source says it, in about its words, of which those that it cites hold few."""
        if len(words_and_figures(unit.text)) < TELLING:
            return False
        cited = max((self._share(unit, key) for key in unit.sources), default=0.0)
        return cited <= FEW and any(self._share(unit, key) >= MOST for key in self._texts if key not in unit.sources)

    def _share(self, unit: Unit, source: str) -> float:
        return max((one.windows.share(unit.text) for one in self._texts.get(source, ())), default=0.0)

    def _names_of_others(self, unit: Unit, cited: Sequence[SourceText]) -> list[str]:
        """The names in it of which only other sources than those that it cites know a word."""
        if unit.is_cell or not all(one.has_telling_capitals for one in cited):
            return []
        own, known = ({word for one in some for word in one.words} for some in (cited, self._all))
        groups = groupby(terms_of(unit.text), key=lambda term: term.kind == "name")
        names = [list(terms) for is_name, terms in groups if is_name]
        foreign = [name for name in names if not any(one.is_first or one.key in own for one in name)]
        return [" ".join(one.raw for one in name) for name in foreign if all(one.key in known for one in name)]


def _share_a_language(unit: Unit, texts: Sequence[SourceText]) -> bool:
    """Whether the words that every text of a language holds stand in these texts as well."""
    idle = {word for word in tokens(unit.within) if word in STOP_WORDS}
    held = {word for one in texts for word in tokens(one.text[:SAMPLE])}
    return len(idle & held) >= len(idle) / 2


class Rechecked(NamedTuple):
    """A part of a report, checked again."""

    words: str
    """As it stands in the report, without a mark."""
    check: ClaimCheck
    """What was found this time."""
    before: ClaimVerdict | None
    """What was found the first time; none if that was not told apart then."""
    is_marked: bool
    """Whether the report says that it is not verified."""

    @property
    def is_new(self) -> bool:
        """Whether the first check came to something else."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """What a second look at a report has found."""

    claims: tuple[Rechecked, ...]
    """Its parts, in order."""
    faults: tuple[str, ...]
    """Where texts or quotes are not what they were, in words."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The parts that are not supported although the report does not say so."""
        return [one for one in self.claims if one.check.verdict == "unsupported" and not one.is_marked]


def reaudit(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Check each part of a report again by rules; what a model has said of it counts on.

    `texts` by the key of the source.
    """
    verifier, said = Verifier(texts), dict(_said(report))
    judged = {(words, one.source): one for words, check in said.items() for one in check.passages if one.judge}
    checks = list[tuple[str, ClaimCheck]]()
    for unit in units_of(without_marks(report.text), report.sources):
        known = said.get(unit.raw)
        if judged and known is None:
            # A model has said that it needs no source.
            continue
        for source in unit.sources:
            if opinion := judged.get((unit.raw, source)):
                verifier.put(unit.text, opinion)
        # Only a model can say something of what cites nothing.
        is_told = known is not None and bool(judged) and not unit.sources
        checks.append((unit.raw, known if known and is_told else verifier.check(unit)))
    return Reaudit(tuple(_beside(report, checks)), faults_of(report, texts))


def compared(report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Lay a report beside the same one that was checked anew; `texts` by the key of the source."""
    return Reaudit(tuple(_beside(report, _said(again))), faults_of(report, texts))


def _said(report: Report) -> list[tuple[str, ClaimCheck]]:
    """What was found about each part of a report, with its words."""
    return [(without_marks(report.text[one.start : one.end]), one) for one in report.claims]


def _beside(report: Report, checks: Iterable[tuple[str, ClaimCheck]]) -> Iterator[Rechecked]:
    """Checks beside those of the report; of several parts in the same words, the first is laid beside the first."""
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, one in _said(report):
        before[words].append(one)
    for words, check in checks:
        known = before[words].pop(0) if before[words] else None
        yield Rechecked(words, check, known.verdict if known else None, bool(known and known.is_marked))


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Where the texts behind a report, or its quotes, are not what they were when it was checked, in words."""
    passages = [one for claim in report.claims for one in claim.passages if one.content_hash]
    found = (_fault(one, texts.get(one.source, ())) for one in passages)
    return tuple(dict.fromkeys(fault for fault in found if fault))


def _fault(passage: CitedPassage, texts: Sequence[SourceText]) -> str:
    text = next((one.text for one in texts if one.content_hash == passage.content_hash), None)
    if text is None:
        return f"The text of {passage.source} is no longer kept, or cannot be read."
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != passage.content_hash:
        return f"The text of {passage.source} is not the one that was read."
    if text[passage.start : passage.end] != passage.quote:
        return f"A quote does not stand in {passage.source} where it should: {passage.quote[:80]!r}."
    return ""
