"""Checks the units of a report against the texts of the sources that they cite, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ...audit import CitedPassage, ClaimCheck, ClaimVerdict
from ..text.pages import page_of
from ..text.vocabulary import STOP_WORDS
from ..text.words import tokens
from .figures import Figures
from .reading import Evidence
from .score import best_passage, stands_in
from .source_text import SourceText
from .terms import terms_of
from .units import Unit
from .windows import words_and_figures

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
