"""Thoughts over learnings: plain statements about them, which hold nothing that they do not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from langchain_core.messages import BaseMessage

from ...evidence.words import names
from .coverage import (
    LEAST_IN_SENTENCE,
    MOST_WORDS,
    is_answered,
    share_of_name,
    words_with,
)
from .pool import Pool, Sentence
from .prose import counted, listed
from .quotations import pool_of_learnings, pool_of_quotations, quoted_in
from .reading import knowledge_in, question_in
from .topics import topic_of

LEAST_ALIKE = 0.5
"""Share of the words of the shorter of two sentences that both must hold to be called alike."""
LEAST_SHARED = 3
NOTHING = "Nothing was learned from a source that could be thought over."


def record_analysis(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """How much was learned, what of the question it speaks of, and where its sources are alike."""
    pool = pool_of_quotations(quoted_in(knowledge_in(messages).learnings), topic_of(question_in(messages)).question)
    if not pool.sentences:
        return {"statements": [NOTHING]}
    statements = [_extent(pool), _scope(pool), _likeness(pool)]
    return {"statements": [statement for statement in statements if statement]}


def record_inconsistencies(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """All pairs that look contradictory: the rule that found them is strict; and the gaps that learnings answer."""
    known = knowledge_in(messages)
    gaps = enumerate(known.gaps, start=1)
    return {
        "inconsistencies": [{"claim": claim, "other": other} for claim, other in known.candidates],
        "answered_gaps": [n for n, gap in gaps if is_answered(pool_of_learnings(known.learnings, gap))],
    }


def _extent(pool: Pool) -> str:
    statements, sources = len(pool.sentences), len(pool.titles)
    return f"What was learned comes to {counted(statements, 'statement')} from {counted(sources, 'source')}."


def _scope(pool: Pool) -> str:
    sought = names(pool.question) or words_with(pool.wanted, pool.question)
    found = [name for name in sought if share_of_name(name, pool.sentences) >= LEAST_IN_SENTENCE]
    absent = [name for name in sought if name not in found]
    said = [f"speaks of {listed(found)}"] if found else []
    said += [f"does not speak of {listed(absent)}"] if absent else []
    return f"What was learned {', but '.join(said)}." if said else ""


def _likeness(pool: Pool) -> str:
    pairs = [pair for pair in combinations(pool.sentences, 2) if pair[0].number != pair[1].number]
    alike = [pair for pair in pairs if len(_shared(pair)) >= LEAST_SHARED and _likeness_of(pair) >= LEAST_ALIKE]
    if alike:
        pair = max(alike, key=lambda pair: (_likeness_of(pair), len(_shared(pair))))
        words = words_with(_shared(pair), pair[0].text)[:MOST_WORDS]
        return f"Two sources are most alike where both speak of {listed(words)}."
    return "No two statements of different sources share half of their words." if pairs else ""


def _likeness_of(pair: tuple[Sentence, Sentence]) -> float:
    return len(_shared(pair)) / min(len(sentence.stems) for sentence in pair)


def _shared(pair: tuple[Sentence, Sentence]) -> frozenset[str]:
    return pair[0].stems & pair[1].stems
