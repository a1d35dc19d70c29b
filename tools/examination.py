"""Examines a report sentence by sentence, and mends what its sources do not support."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from ..audit import ClaimCheck, Draft, Repair
from ..evidence.citing import Edit, citing, numbered_draft, with_edits
from ..evidence.verification import Claim, Verifier, bare_sentences, claims_of
from ..models.resolve import is_extractive
from ..reading.language import is_written_in
from ..run.context import Context
from .checker import Checker
from .rewriting import Fault, Rewrite, kind_of, rewrites
from .second_opinion import PAIRS, Pair, is_unsure, second_opinions

CLEAR = 0.75
"""Score from which on a sentence is cited to another source without a model having a look."""


class Examined(NamedTuple):
    """A report that was examined."""

    text: str
    """Its body, with numbers in order of first use, and `[0]` where a citation named no source."""
    sources: tuple[str, ...]
    """Keys of the cited sources by these numbers."""
    claims: tuple[ClaimCheck, ...]
    """What was found about its sentences."""


class Examination:
    """One report under examination."""

    def __init__(
        self, draft: Draft, verifier: Verifier, context: Context, checker: Checker, language_code: str
    ) -> None:
        """`language_code`: that of the report (ISO 639-1), empty if it is not known."""
        self._verifier, self._context, self._checker = verifier, context, checker
        self._language_code = language_code
        self._text, self._sources = draft.text, list(draft.sources)
        self._repairs: dict[str, Repair] = {}
        self._opinions = context.limits.max_opinions

    async def examine(self) -> Examined:
        """Look at every sentence; mend once, if that is wanted, and look again."""
        flagged = await self._flagged()
        if self._context.verify == "repair":
            await asyncio.to_thread(self._cite_anew, flagged)
            await self._rewrite()
        self._text, sources = await asyncio.to_thread(numbered_draft, self._text, dict(enumerate(self._sources, 1)))
        self._sources = list(sources)
        checks = await asyncio.to_thread(self._checks)
        claims = tuple(check.model_copy(update={"repair": self._repairs.get(claim.text)}) for claim, check in checks)
        return Examined(self._text, sources, claims)

    async def _flagged(self) -> list[Claim]:
        """The sentences that are not supported; of those of which the rules are not sure, by the model's word."""
        await self._ask_for_opinions(await asyncio.to_thread(self._checks))
        checks = await asyncio.to_thread(self._checks)
        return [claim for claim, check in checks if check.verdict != "supported"]

    async def _ask_for_opinions(self, checks: Sequence[tuple[Claim, ClaimCheck]]) -> None:
        """Take the model's word where the rules are not sure, as long as it may be asked."""
        if not self._opinions or is_extractive("verifier", self._context):
            return
        unsure = await asyncio.to_thread(_unsure, checks)
        for pair in await second_opinions(unsure, self._context, self._checker, self._opinions):
            self._verifier.put(pair.claim, pair.passage)
        self._opinions = max(0, self._opinions - -(-len(unsure) // PAIRS))

    def _checks(self) -> list[tuple[Claim, ClaimCheck]]:
        return self._checks_of(self._text)

    def _checks_of(self, text: str) -> list[tuple[Claim, ClaimCheck]]:
        return [(claim, self._verifier.check(claim)) for claim in claims_of(text, self._sources)]

    def _cite_anew(self, flagged: Sequence[Claim]) -> None:
        """Cite the source that does say it, where that is clear."""
        edits: list[Edit] = []
        for claim in [*flagged, *bare_sentences(self._text)]:
            found = [one for one in self._verifier.elsewhere(claim) if one.score >= CLEAR]
            if found:
                sentence, number = claim.sentence, self._number(found[0].source)
                edits.append(Edit(sentence.start, sentence.end, citing(sentence.raw, number)))
                self._repairs[claim.text] = "cited anew"
        self._text = with_edits(self._text, edits)

    async def _rewrite(self) -> None:
        """Have the writer's model mend what is left; what it hands in stands only if it is supported."""
        left = await self._flagged()
        if not left or is_extractive("writer", self._context):
            return
        faults = await asyncio.to_thread(lambda: [self._fault(claim) for claim in left])
        numbers = {key: self._number(key) for fault in faults for key in _named(fault)}
        handed_in = await rewrites(faults, numbers, self._checker, self._context.limits.max_rewrites)
        checks = await asyncio.to_thread(lambda: [one for rewrite in handed_in for one in self._checks_of(rewrite.raw)])
        await self._ask_for_opinions(checks)
        self._text = with_edits(self._text, await asyncio.to_thread(self._accepted, handed_in))

    def _fault(self, claim: Claim) -> Fault:
        return Fault(claim, self._verifier.check(claim).passages, self._verifier.elsewhere(claim))

    def _accepted(self, handed_in: Sequence[Rewrite]) -> list[Edit]:
        edits: list[Edit] = []
        known = {claim.text for claim in claims_of(self._text, self._sources)}
        for fault, raw in handed_in:
            new, old = claims_of(raw, self._sources), fault.claim
            is_new = known.isdisjoint(claim.text for claim in new if claim.text != old.text)
            is_ours = is_written_in(raw, self._language_code) is not False
            if is_new and is_ours and all(self._verifier.check(claim).verdict == "supported" for claim in new):
                edits.append(Edit(old.sentence.start, old.sentence.end, raw))
                known |= {claim.text for claim in new}
                self._repairs |= {claim.text: kind_of(old.text, claim.text) for claim in new}
        return edits

    def _number(self, key: str) -> int:
        """The number of a source in the text; a new one if it has none yet."""
        if key not in self._sources:
            self._sources.append(key)
        return self._sources.index(key) + 1


def _unsure(checks: Sequence[tuple[Claim, ClaimCheck]]) -> list[Pair]:
    """The passages of which the rules are not sure, of sentences that no other passage supports."""
    wanted = [(claim.text, one) for claim, check in checks if check.verdict != "supported" for one in check.passages]
    return [Pair(text, one) for text, one in wanted if is_unsure(text, one)]


def _named(fault: Fault) -> list[str]:
    return [one.source for one in (*fault.cited, *fault.others)]
