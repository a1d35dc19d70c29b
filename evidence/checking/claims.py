"""Statements that can be compared with others without understanding them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...knowledge import Learning
from ..text.cues import (
    ANAPHORS,
    EVENTS,
    FILLERS,
    INDEFINITE,
    LIFE,
    NEGATIONS,
    NUMBER_WORDS,
    PAST,
    PRESENT,
    PRONOUNS,
    RESTRICTING,
    SAME,
    UNSURE,
    VAGUE,
)
from ..text.likeness import inner_names, whole_negations
from ..text.sentences import sentences_of
from ..text.vocabulary import STOP_WORDS
from ..text.words import stem, tokens
from .comparable import Figures, figures_in

_NO_STATEMENT = re.compile(r"^#|\||[?:;]$|: |\n|\bmay\b|https?://")
_SOFT_NEGATION = re.compile(
    r"\b(?:not|no|never|nicht|kein\w*|pas)\s+(?:only|just|merely|simply|solely|all|every\w*|always|necessarily|until|yet|"
    r"least|more|fewer|less|later|longer|earlier|sooner|others?|one|doubt|fully|entirely|completely|quite|very|exactly|"
    r"far|before|again|know|known|clear|nur|alle\w*|immer|mehr|bis|erst|ganz|tous|toujours|encore)\b|"
    r"\bwithout\s+(?:doubt|question|exception)\b",
    re.IGNORECASE,
)
_NAMED_ELSEWHERE = re.compile(
    r"^The (?:film|movie|book|novel|song|album|single|series|show|game|play|story|company|station|outlet|club|team|"
    r"band|school|village|town|city|district|competition|tournament|season|event|building|ship|report|study|author|"
    r"article) "
    r"(?!of\b|in\b|at\b|on\b|by\b|called\b|named\b)[a-z]"
)
_TRAPS = (_NO_STATEMENT, _NAMED_ELSEWHERE, _SOFT_NEGATION)
_TENSES = {"past": PAST, "present": PRESENT}
_RUNNING_WORD = re.compile(r"(?<!\w)[^\W\d_A-Z]{2}")
_NUMBER_SIGN = re.compile(r"\bNo\.\s?(?=\d)")
_PER_CENT = re.compile(r"\bper cent\b")
_FIRST = re.compile(r"\bfirst (\w+)")
_FEWEST_WORDS = 2


class Claim(NamedTuple):
    """A sentence of a learning, in parts that can be compared."""

    learning: Learning
    words: frozenset[str]
    """Stems of what it says, without numbers, negations and words that can be left out."""
    names: frozenset[str]
    """Those of its words that are names, as far as they do not begin it."""
    figures: Figures
    is_negated: bool
    tenses: frozenset[str]
    """Whether it speaks of the past or the present: `past`, `present`; both or none where that cannot be told."""
    events: frozenset[str]
    """Those of its words that name what happens to a thing once."""
    is_of_one: bool
    """Whether these happen to one certain thing or person."""


def claims_of(learning: Learning) -> list[Claim]:
    """The sentences of a learning that state something for certain, and understandably without their neighbours."""
    claims = (_claim(learning, sentence.text) for sentence in sentences_of(learning.text))
    return [claim for claim in claims if claim]


def _claim(learning: Learning, text: str) -> Claim | None:
    plain = _PER_CENT.sub("percent", _NUMBER_SIGN.sub("number ", whole_negations(_FIRST.sub(_without_first, text))))
    spoken, names, figures = tokens(plain), inner_names(plain), figures_in(plain)
    words = frozenset(_words(figures.rest))
    if not (_is_statement(plain, spoken, names) and figures.is_clear and len(words) >= _FEWEST_WORDS):
        return None
    events = words & EVENTS
    return Claim(
        learning=learning,
        words=words,
        names=frozenset(SAME.get(name, name) for name in names) & words,
        figures=figures,
        is_negated=not NEGATIONS.isdisjoint(spoken),
        tenses=frozenset(name for name, cues in _TENSES.items() if not cues.isdisjoint(spoken)),
        events=events,
        is_of_one=bool(events & LIFE) or INDEFINITE.isdisjoint(spoken),
    )


def _is_statement(plain: str, spoken: Sequence[str], names: Collection[str]) -> bool:
    if not _RUNNING_WORD.search(plain) or any(trap.search(plain) for trap in _TRAPS):
        return False
    if sum(word in NEGATIONS for word in spoken) > 1 or not UNSURE.isdisjoint(spoken):
        return False
    return PRONOUNS.isdisjoint(spoken[:1]) and (bool(names) or ANAPHORS.isdisjoint(spoken))


def _words(text: str) -> list[str]:
    return [SAME.get(stem(word), stem(word)) for word in tokens(text) if _is_telling(word)]


def _is_telling(word: str) -> bool:
    if word in RESTRICTING:
        return True
    return len(word) > 1 and not any(word in idle for idle in (STOP_WORDS, NEGATIONS, NUMBER_WORDS, FILLERS, VAGUE))


def _without_first(match: re.Match[str]) -> str:
    word = stem(match.group(1).lower())
    return match.group(1) if SAME.get(word, word) in EVENTS else match.group()
