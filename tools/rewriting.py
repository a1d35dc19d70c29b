"""Has the writer's model mend sentences that their sources do not support."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..audit import CitedPassage, Repair
from ..evidence.cues import UNSURE
from ..evidence.likeness import likeness
from ..evidence.sentences import LINE_MARK, sentences_of
from ..evidence.verification import Claim, plain_words
from ..evidence.words import stems, tokens
from .check_forms import RewriteSentences
from .checker import Checker

SENTENCES = 20
"""Sentences of one call."""
ALIKE = 0.2
"""Likeness of its words to those of the old sentence that a new one must have."""
_FOREIGN = re.compile(r"[`<>$]|\]\(|://|!\[|^\s{0,3}#")


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


async def rewrites(faults: Sequence[Fault], numbers: Mapping[str, int], checker: Checker, calls: int) -> list[Rewrite]:
    """The sentences that the writer's model hands in, in at most so many calls; `numbers` by key of the source."""
    found: list[Rewrite] = []
    for start in range(0, min(len(faults), calls * SENTENCES), SENTENCES):
        some = faults[start : start + SENTENCES]
        shown = [_shown(number, fault, numbers) for number, fault in enumerate(some, 1)]
        form = await checker.ask(RewriteSentences, "writer", "sentences", sentences=shown)
        for one in form.sentences if form else ():
            if 0 < one.number <= len(some) and (raw := _in_place(some[one.number - 1], one.text, numbers)):
                found.append(Rewrite(some[one.number - 1], raw))
    return list({rewrite.fault.claim.sentence.start: rewrite for rewrite in found}.values())


def kind_of(before: str, after: str) -> Repair:
    """What was done to a sentence, by its plain words."""
    if tokens(before) == tokens(after):
        return "cited anew"
    return "hedged" if UNSURE & set(tokens(after)) - set(tokens(before)) else "rewritten"


def _shown(number: int, fault: Fault, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "number": number,
        "sentence": fault.claim.sentence.raw,
        "cited": [
            {"source": numbers[one.source], "says": one.quote, "problem": "; ".join(one.reasons)} for one in fault.cited
        ],
        "others": [{"source": numbers[one.source], "says": one.quote} for one in fault.others],
    }


def _in_place(fault: Fault, text: str, numbers: Mapping[str, int]) -> str:
    """The new sentence as it can stand in the place of the old one; empty if it cannot."""
    old, line = fault.claim.sentence.raw, " ".join(text.split())
    # A row of a table is more than a sentence, and links, code and images do not come in by a repair.
    if "|" in old + line or _FOREIGN.search(line):
        return ""
    found = LINE_MARK.match(old)
    line = (found.group() if found else "") + LINE_MARK.sub("", line)
    allowed = {numbers[one.source] for one in (*fault.cited, *fault.others)}
    new = sentences_of(line)
    is_cited = all(plain_words(sentence) and allowed.issuperset(sentence.numbers or (0,)) for sentence in new)
    return line if new and is_cited and _are_alike(old, line) else ""


def _are_alike(old: str, new: str) -> bool:
    """Whether the new sentence is about the same as the old one."""
    return likeness(frozenset(stems(old)), frozenset(stems(new))) >= ALIKE
