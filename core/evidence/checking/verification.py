"""Checks the units of a report against the sources that they cite without a model: quotes are supported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from ...records.sources import Source
from ..text.sentences import page_of, printed_page
from .passages import best_passage, find_quote
from .proof import ProofPassage
from .source_text import SourceText
from .units import ReportUnit

NO_TEXT = "no text of the source is kept"


def with_independence(claims: Iterable[ClaimCheck], organisations: Mapping[str, str]) -> tuple[ClaimCheck, ...]:
    """Return the claims with the number of organisations whose sources support each; these by key of the source."""
    counts = (len({organisations[key] for key in _supporting(claim)}) for claim in claims)
    return tuple(one.model_copy(update={"independent": count}) for one, count in zip(claims, counts, strict=True))


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """Count the sources found that have been read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


def _supporting(claim: ClaimCheck) -> list[str]:
    return [passage.source for passage in claim.passages if passage.verdict == "supported"]


class Verifier:
    """Finds the passages behind units, each once: what a source says word for word is supported, all else unchecked."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """Take the texts by the key of their source: the whole text, or the excerpts that were shown of it."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, unit: ReportUnit, source: str) -> CitedPassage:
        """Return the passage of a source that fits a unit best."""
        if (unit.text, source) not in self._passages:
            self._passages[unit.text, source] = self._found(unit, source)
        return self._passages[unit.text, source]

    def check(self, unit: ReportUnit) -> ClaimCheck:
        """Return the verdict on a unit, and the passages it rests on."""
        passages = tuple(self.passage(unit, source) for source in unit.sources)
        return ClaimCheck(start=unit.start, end=unit.end, verdict=_verdict(unit, passages), passages=passages)

    def at(self, place: ProofPassage) -> CitedPassage:
        """Return the passage at a place of a source."""
        text = next(one for one in self._texts[place.source] if one.content_hash == place.content_hash)
        return _passage(place.source, text, place.start, place.end, "supported")

    def is_quoted(self, unit: ReportUnit, source: str) -> bool:
        """Whether a source says a unit word for word, as a whole sentence, line or row."""
        return any(find_quote(unit, text) for text in self._texts.get(source, ()))

    def _found(self, unit: ReportUnit, source: str) -> CitedPassage:
        found = [(best_passage(unit, text), text) for text in self._texts.get(source, ())]
        if not found:
            return CitedPassage(
                source=source, verdict="unchecked", quote="", start=0, end=0, content_hash="", reasons=(NO_TEXT,)
            )
        best, text = max(found, key=lambda pair: pair[0].share)
        return _passage(source, text, best.start, best.end, "supported" if best.is_quote else "unchecked")


def _passage(source: str, text: SourceText, start: int, end: int, verdict: SupportVerdict) -> CitedPassage:
    page = page_of(text.text, start)
    return CitedPassage(
        source=source,
        verdict=verdict,
        quote=text.text[start:end],
        start=start,
        end=end,
        content_hash=text.content_hash,
        page=page,
        printed_page=printed_page(text.text, page),
    )


def _verdict(unit: ReportUnit, passages: Sequence[CitedPassage]) -> ClaimVerdict:
    """Return the verdict over all sources of a unit."""
    if not passages:
        # It cited something, if only a source that does not exist.
        return "unsupported" if unit.is_cited else "uncited"
    return "supported" if any(passage.verdict == "supported" for passage in passages) else "unchecked"
