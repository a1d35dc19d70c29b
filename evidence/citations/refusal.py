"""Knows the paragraphs in which a report that only quotes says what the documents do not answer."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..text.sentences import Sentence
from .labels import Labels, all_labels

_QUOTED = "“[^”]+”"


class Refusals(NamedTuple):
    """Where such paragraphs stand in a text."""

    spans: tuple[tuple[int, int], ...]

    def hold(self, sentence: Sentence) -> bool:
        """Whether the sentence is a part of one: what was sought in vain is told there, and nothing is claimed."""
        return any(start <= sentence.start and sentence.end <= end for start, end in self.spans)


def refusals_in(text: str) -> Refusals:
    """The refusals of a text, in whatever language."""
    return Refusals(tuple(match.span() for match in _refusal().finditer(text)))


def is_refusal(text: str) -> bool:
    """Whether a report says this alone."""
    return bool(_refusal().fullmatch(text.strip()))


@cache
def _refusal() -> re.Pattern[str]:
    # Only the whole line counts, so that nothing else is passed by which a writer says in the same breath.
    return re.compile(rf"^(?:{'|'.join(map(_line, all_labels().values()))})$", re.MULTILINE)


def _line(labels: Labels) -> str:
    before, _, behind = labels.nothing_on.partition("{names}")
    nothing = rf"{re.escape(before)}{_QUOTED}(?:, {_QUOTED})*{re.escape(behind)}"
    return rf"(?:{re.escape(labels.unanswered)}\s?)?{nothing}(?:\s?{nothing})*"
