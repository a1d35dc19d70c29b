"""Has the writer's model mend sentences that their sources do not support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from deep_research.audit import CitedPassage, Repair
from deep_research.evidence.cues import UNSURE
from deep_research.evidence.sentences import sentences_of
from deep_research.evidence.verification import Claim, plain_words
from deep_research.evidence.words import tokens
from deep_research.run.knowing import known
from deep_research.tools.check_forms import RewriteSentences
from deep_research.tools.fill_in import Filler

SENTENCES = 20
"""Sentences of one call."""


class Fault(NamedTuple):
    """A sentence that is not supported, with what sources do say."""

    claim: Claim
    cited: Sequence[CitedPassage]
    """The best passages of the sources that it cites."""
    others: Sequence[CitedPassage]
    """Passages of other sources that may help."""


class Rewrite(NamedTuple):
    """A sentence that is to take the place of another."""

    fault: Fault
    raw: str
    """The new sentence with its markers."""


async def rewrites(faults: Sequence[Fault], numbers: dict[str, int], filler: Filler, calls: int) -> list[Rewrite]:
    """The sentences that the writer's model hands in, in at most so many calls; `numbers` by key of the source."""
    found: list[Rewrite] = []
    for start in range(0, min(len(faults), calls * SENTENCES), SENTENCES):
        some = faults[start : start + SENTENCES]
        shown = [_shown(number, fault, numbers) for number, fault in enumerate(some, 1)]
        form = await filler.ask_if_possible(
            RewriteSentences, "writer", "verify_report", (), asked="sentences", knowledge=known(sentences=shown)
        )
        for one in form.sentences if form else ():
            if 0 < one.number <= len(some) and (raw := _in_place(some[one.number - 1].claim, one.text)):
                found.append(Rewrite(some[one.number - 1], raw))
    return list({rewrite.fault.claim.sentence.start: rewrite for rewrite in found}.values())


def kind_of(before: str, after: str) -> Repair:
    """What was done to a sentence, by its plain words."""
    if tokens(before) == tokens(after):
        return "cited anew"
    return "hedged" if UNSURE & set(tokens(after)) - set(tokens(before)) else "rewritten"


def _shown(number: int, fault: Fault, numbers: dict[str, int]) -> dict[str, Any]:
    return {
        "number": number,
        "sentence": fault.claim.sentence.raw,
        "cited": [
            {"source": numbers[one.source], "says": one.quote, "problem": "; ".join(one.reasons)} for one in fault.cited
        ],
        "others": [{"source": numbers[one.source], "says": one.quote} for one in fault.others],
    }


def _in_place(claim: Claim, text: str) -> str:
    """The new sentence as it can stand in the place of the old one; empty if it cannot."""
    line = " ".join(text.split())
    mark = claim.sentence.raw[: len(claim.sentence.raw) - len(claim.sentence.raw.lstrip("-*+•> "))]
    line = mark + line.lstrip("-*+•> ") if line else ""
    new = sentences_of(line)
    is_cited = bool(new) and all(plain_words(sentence) and sentence.numbers for sentence in new)
    # A row of a table is more than a sentence.
    return line if is_cited and "|" not in claim.sentence.raw + line else ""
