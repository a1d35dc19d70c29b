"""Questions that go on from an earlier one, and are not understood without it."""

from __future__ import annotations

from itertools import chain

from ...evidence.inflection.common_words import common_words
from ...evidence.vocabulary import GENERIC_WORDS
from ...evidence.words import names, stems
from .pronouns import has_pronoun

_QUESTION_MARKS = str.maketrans("", "", "?？")


def understood(question: str, earlier: str) -> str:
    """The question, behind it in brackets the earlier one if it has no words of its own, or a pronoun and no name."""
    if not earlier or _stands_alone(question):
        return question
    # With a second question mark it would pass for two questions.
    return f"{question} ({earlier.translate(_QUESTION_MARKS).strip()})"


def _stands_alone(question: str) -> bool:
    common = frozenset(chain.from_iterable(common_words().values())) | GENERIC_WORDS
    says_something = any(stem not in common for stem in stems(question))
    first, _, rest = question.partition(" ")
    return says_something and not (has_pronoun(question) and not names(rest or first))
