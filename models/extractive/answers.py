"""What kind of answer a question wants."""

from __future__ import annotations

import re

from ...evidence.inflection.common_words import IN_QUESTION, evident
from ...evidence.inflection.wording import sought_words
from .asking import QUESTION_WORDS
from .cues import Kind, cues_of

ORDERS_LIST = (
    r"^\W*(?:(?:can|could|would|will) you\s+)?(?:please\s+)?(?:list|enumerate)\b|"
    r"\b(?:(?:make|write)(?: me)? a list|(?:give|show|tell) (?:me )?(?:a list|all))\b"
)
"""What asks for a list, and does not only speak of one."""
BROAD = re.compile(
    rf"{ORDERS_LIST}|"
    r"\b(?:compar\w+|differ\w*|versus|vs|overview|pros|cons|advantages?|disadvantages?|trends?|history of|"
    r"vergleich\w*|unterschied\w*|überblick|différences?|diferencias?)\b|[?？].*[?？]|比较|比較|对比|區別|区别|差异|違い",
    re.IGNORECASE | re.DOTALL,
)
_ASKING = re.compile(
    # "Que" asks, too, but mostly joins clauses.
    rf"\b(?:que|{'|'.join(QUESTION_WORDS)})\b|什么|什麼|哪|谁|誰|为何|为什么|几|多少|何|なぜ|どこ|いつ",
    re.IGNORECASE,
)


def is_broad(question: str) -> bool:
    """Whether more than one answer is wanted: by a comparison, a list, several questions, or a subject without one."""
    is_subject = not question.rstrip().endswith(("?", "？")) and not _ASKING.search(question)
    return is_subject or BROAD.search(question) is not None


def kind_of(question: str) -> Kind:
    """The kind of answer that the question asks for; the cue that stands first decides."""
    found = [
        (match.start(), place, kind)
        for place, (kind, cue) in enumerate(_cues(question))
        if (match := cue.search(question))
    ]
    return min(found)[2] if found else "any"


def without_cues(question: str) -> str:
    """The question without the words that tell the kind of answer: they need not stand where the answer does."""
    rest = question
    for _, cue in _cues(question):
        rest = cue.sub(" ", rest)
    return rest


def _cues(question: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """Those of its language, if that is evident: "wie" asks in German how, in Dutch who."""
    return cues_of(evident(sought_words(question), IN_QUESTION))
