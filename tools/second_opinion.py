"""Asks the verifier's model where rules cannot tell whether a passage supports a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..audit import CitedPassage
from ..models.resolve import profile_of
from ..reading.language import language_of
from ..run.context import Context
from .check_forms import JudgeSentences
from .checker import Checker

PAIRS = 40
"""Pairs of one call."""
UNSURE = (0.2, 0.7)
"""Scores between which the rules' verdict is not certain."""


class Pair(NamedTuple):
    """A sentence and a passage that should support it."""

    claim: str
    passage: CitedPassage


def is_unsure(claim: str, passage: CitedPassage) -> bool:
    """Whether a model should look at a passage, too: the rules are not sure, or it is in another language."""
    least, most = UNSURE
    if not passage.quote or passage.judge or passage.score >= most:
        return False
    return passage.score > least or _differ(language_of(claim), language_of(passage.quote))


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


async def second_opinions(pairs: Sequence[Pair], context: Context, checker: Checker, calls: int) -> list[Pair]:
    """The pairs on which the verifier's model has given a verdict, in at most so many calls, without the others."""
    judge = profile_of("verifier", context).name
    judged: list[Pair] = []
    for start in range(0, min(len(pairs), calls * PAIRS), PAIRS):
        some = pairs[start : start + PAIRS]
        shown = [
            {"pair": number, "sentence": pair.claim, "passage": pair.passage.quote, "doubts": pair.passage.reasons}
            for number, pair in enumerate(some, 1)
        ]
        form = await checker.ask(JudgeSentences, "verifier", "verdicts", pairs=shown)
        verdicts = {one.pair: one.verdict for one in form.verdicts} if form else {}
        judged += [
            pair._replace(passage=pair.passage.model_copy(update={"verdict": verdicts[number], "judge": judge}))
            for number, pair in enumerate(some, 1)
            if number in verdicts
        ]
    return judged
