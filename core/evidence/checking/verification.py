"""Checks the units of a report against the sources that they cite, without a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict
from ...records.sources import Source
from ..text.sentences import page_of
from ..text.similarity import independent
from ..text.words import STOP_WORDS, tokens
from .figures import Figures
from .score import best_passage, stands_in
from .source_text import SourceText
from .terms import terms_of
from .units import Unit


def with_independence(claims: Iterable[ClaimCheck], groups: Sequence[Collection[str]]) -> tuple[ClaimCheck, ...]:
    """Return the claims with the number of independent sources of each; the sources of a group have the same text."""
    return tuple(claim.model_copy(update={"independent": independent(_supporting(claim), groups)}) for claim in claims)


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """Count the sources found that have been read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


def _supporting(claim: ClaimCheck) -> list[str]:
    return [one.source for one in claim.passages if one.verdict == "supported"]


SAMPLE = 20_000
"""Characters of a text by which its language is compared with that of a claim."""
NO_TEXT = "no text of the source is kept"


class Verifier:
    """Checks units by rules, each pair of claim and source once; the opinion of a model can be put in its place."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """Take the texts by the key of their source: the whole text, or the excerpts that were shown of it."""
        self._texts = texts
        self._all = [one for some in texts.values() for one in some]
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, claim: str, source: str) -> CitedPassage:
        """Return the passage of a source that fits a claim best."""
        if (claim, source) not in self._passages:
            self._passages[claim, source] = self._found(claim, source)
        return self._passages[claim, source]

    def put(self, claim: str, passage: CitedPassage) -> None:
        """Use this passage and its verdict from now on."""
        self._passages[claim, passage.source] = passage

    def check(self, unit: Unit) -> ClaimCheck:
        """Return the verdict on a unit, and the passages it rests on."""
        passages = tuple(self.passage(unit.text, source) for source in unit.sources)
        verdict, doubts = self._verdict(unit, passages)
        if doubts:
            update = {"verdict": verdict, "reasons": doubts}
            passages = tuple(one.model_copy(update=update) for one in passages)
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def is_quoted(self, statement: str, source: str) -> bool:
        """Whether a statement stands in a source word by word, as a whole sentence or line."""
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
        """Return the verdict over all its sources, and what speaks against it where rules are sure of that."""
        if not passages:
            # It cited something, if only a source that does not exist.
            return "unsupported" if unit.is_cited else "uncited", ()
        verdicts = {one.verdict for one in passages}
        if any(one.judge for one in passages):
            return "supported" if "supported" in verdicts else "unsupported", ()
        cited = [one for source in unit.sources for one in self._texts.get(source, ())]
        if not cited:
            return "unchecked", ()
        figures = Figures(unit.words, unit.text, unit.within, [one.evidence for one in cited], is_cell=unit.is_cell)
        if others := figures.in_other_unit():
            return "unsupported", tuple(f"the source gives {one} in another unit" for one in others)
        if turn := figures.wrong_direction():
            return "unsupported", (f"its figures go the other way than “{turn}”",)
        if "supported" in verdicts:
            return "supported", ()
        names = self._names_of_others(unit, cited) if _share_a_language(unit, cited) else []
        doubts = tuple(f"the source does not say {one}" for one in (*figures.missing(), *names))
        return "unsupported" if doubts else "unchecked", doubts

    def _names_of_others(self, unit: Unit, cited: Sequence[SourceText]) -> list[str]:
        """Return its names that only sources it does not cite mention."""
        if unit.is_cell or not all(one.marks_names for one in cited):
            return []
        own, known = ({word for one in some for word in one.words} for some in (cited, self._all))
        groups = groupby(terms_of(unit.text), key=lambda term: term.kind == "name")
        names = [list(terms) for is_name, terms in groups if is_name]
        foreign = [name for name in names if not any(one.is_first or one.key in own for one in name)]
        return [" ".join(one.raw for one in name) for name in foreign if all(one.key in known for one in name)]


def _share_a_language(unit: Unit, texts: Sequence[SourceText]) -> bool:
    """Whether most function words of the unit also stand in the texts."""
    function_words = {word for word in tokens(unit.within) if word in STOP_WORDS}
    held = {word for one in texts for word in tokens(one.text[:SAMPLE])}
    return len(function_words & held) >= len(function_words) / 2
