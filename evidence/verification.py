"""Checks the units of a report against the texts of the sources that they cite, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ..audit import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from .checking.figures import foreign_figures
from .checking.units import Unit
from .checking.windows import Windows
from .pages import page_of
from .support import Evidence, check_claim, read_evidence, stands_in

NO_TEXT = "no text of the source is kept"


class SourceText:
    """One text of a source, read only when a sentence is held against it."""

    def __init__(self, content_hash: str, text: str) -> None:
        self.content_hash = content_hash
        """SHA-256 (hex) under which the text is kept."""
        self.text = text
        """The text."""

    @cached_property
    def evidence(self) -> Evidence:
        """The text, read."""
        return read_evidence(self.text)

    @cached_property
    def windows(self) -> Windows:
        """The text, cut into places."""
        return Windows(self.text)


class Verifier:
    """Holds the units of a report against sources by rules, each pair once; what a model found can be put in."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts` by the key of the source: its whole text, or what is known of it."""
        self._texts = texts
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
        return ClaimCheck(start=unit.start, end=unit.end, verdict=self._verdict(unit, passages), passages=passages)

    def is_quoted(self, statement: str, source: str) -> bool:
        """Whether a statement stands in a source word by word, as a sentence or line of its own."""
        return any(stands_in(statement, one.evidence) for one in self._texts.get(source, ()))

    def _found(self, claim: str, source: str) -> CitedPassage:
        checks = [(check_claim(claim, one.evidence), one) for one in self._texts.get(source, ())]
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
        verdict: SupportVerdict = "unsupported" if best.is_denied else "unchecked"
        return CitedPassage(
            source=source,
            verdict="supported" if best.verdict == "supported" else verdict,
            score=best.score,
            quote=best.quote,
            start=best.start,
            end=best.end,
            content_hash=own.content_hash,
            page=page_of(own.text, best.start),
            reasons=best.reasons,
        )

    def _verdict(self, unit: Unit, passages: Sequence[CitedPassage]) -> ClaimVerdict:
        """That of all its sources together: what one of them says is said, and what each has otherwise is not."""
        if not passages:
            # A citation of nothing has claimed to be somebody's word.
            return "unsupported" if unit.is_cited else "uncited"
        verdicts = {one.verdict for one in passages}
        if "supported" in verdicts:
            return "supported"
        if any(one.judge for one in passages):
            return "unsupported"
        if self._is_supported_together(unit, passages):
            return "supported"
        return "unsupported" if verdicts == {"unsupported"} or self._has_foreign_figures(unit) else "unchecked"

    @staticmethod
    def _is_supported_together(unit: Unit, passages: Sequence[CitedPassage]) -> bool:
        quotes = [one.quote for one in passages]
        return len(quotes) > 1 and check_claim(unit.text, "\n".join(quotes)).verdict == "supported"

    def _has_foreign_figures(self, unit: Unit) -> bool:
        windows = [one.windows for source in unit.sources for one in self._texts.get(source, ())]
        return bool(windows) and bool(foreign_figures(unit.text, windows, is_cell=unit.is_cell))
