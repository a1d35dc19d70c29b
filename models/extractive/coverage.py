"""How much of a question some sentences hold, and what of it they leave open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from ...evidence.inflection.common_words import IN_QUESTION, common_words, evident
from ...evidence.inflection.wording import sought_words
from ...evidence.words import names, stems, tokens
from .answers import without_cues
from .asking import QUESTION_TOKENS, QUESTION_WORDS_OF
from .holding import holds
from .leading import sure_names
from .pool import Pool, Sentence

ENOUGH = 0.8
"""Share of the question's words that must be held for it to need no more research."""
LEAST_IN_SENTENCE = 0.6
"""Share of a name's words that one sentence must hold for the name to count as found.

Less than of a document, which gives the name in full somewhere: its sentences often give a part of it.
"""
MOST_WORDS = 6
_ABOUT = {
    "en": r"\babout\b",
    "de": r"\büber\b",
    "fr": r"\bsur\b",
    "es": r"\bsobre\b",
    "pt": r"\bsobre\b",
    "nl": r"\bover\b",
    **dict.fromkeys(("sv", "da", "no"), r"\bom\b"),
    "ru": r"\bоб?\b",
    "zh": "关于",
    "ja": "について",
}
"""What asks for whatever there is, by language: the Dutch word means something else in English."""
FEWEST_UNSAID = 2
"""Words of a question without any of which its names, and things of the kind asked for, are no answer."""
ANYTHING = frozenset({"kind", "name", "people", "person", "sort", "type"})
"""Stems that stand for what is sought, whatever it is."""
PUNCTUATION = " .,;:?!…\"'“”„«»()[]。？！，；：「」《》¿¡"


def share(pool: Pool, sentences: Iterable[Sentence]) -> float:
    """The share of the pool's question, from 0 to 1, that sentences hold together."""
    return min(1.0, pool.weight(_held(sentences)))


def share_of_name(name: str, sentences: Iterable[Sentence]) -> float:
    """The largest share of the name's words, from 0 to 1, that one sentence holds."""
    parts = set(stems(name))
    return max((len(parts & sentence.meaning) / len(parts) for sentence in sentences), default=0.0)


def lacks_its_kind(pool: Pool) -> bool:
    """Whether the question asks for a kind of thing that no sentence holds beside a word of the question.

    A reason may be told without any word that says so.
    """
    return pool.kind not in ("any", "reason") and not any(
        sentence.is_right and sentence.stems & pool.wanted.keys() for sentence in pool.sentences
    )


def is_answered(pool: Pool) -> bool:
    """Whether the sentences hold nearly all of the question, and the kind of thing that it asks for."""
    return share(pool, pool.sentences) >= ENOUGH and not lacks_its_kind(pool)


def missing_names(pool: Pool) -> list[str]:
    """The names in the question of which the sentences say nothing."""
    return [name for name in names(pool.question) if share_of_name(name, pool.sentences) < LEAST_IN_SENTENCE]


def missing(pool: Pool) -> list[str]:
    """The names and the other words of the question that the sentences do not hold, at most six."""
    absent = missing_names(pool)
    known = _held(pool.sentences) | {stem for name in absent for stem in stems(name)}
    return [*absent, *words_with(pool.wanted.keys() - known, pool.question)][:MOST_WORDS]


def unsaid(pool: Pool, rows: Sequence[str]) -> list[str]:
    """The words by which the question asks for something of what it names, if no sentence or row holds any of them.

    One word may merely be worded otherwise, so a single one counts only where nothing of the kind asked for is said,
    either.
    """
    language = evident(sought_words(pool.question), IN_QUESTION)
    if pool.kind == "any" and _about(language).search(pool.question):
        return []
    question = without_cues(pool.question)
    named = {stem for name in sure_names(pool.question) for stem in stems(name)}
    asking = common_words().get(language, frozenset()) | QUESTION_WORDS_OF.get(language, QUESTION_TOKENS)
    asked = {stem for word in set(tokens(question)) - asking for stem in stems(word)} & pool.wanted.keys()
    open_words = asked - named - ANYTHING
    held = {stem for sentence in pool.sentences for stem in sentence.held}.union(*map(stems, rows))
    said = any(one.is_right for one in pool.sentences) or any(holds(pool.kind, row, pool.question) for row in rows)
    fewest = FEWEST_UNSAID if said else 1
    return words_with(open_words, question) if len(open_words) >= fewest and not open_words & held else []


@cache
def _about(language: str) -> re.Pattern[str]:
    return re.compile(_ABOUT.get(language) or "|".join(_ABOUT.values()), re.IGNORECASE)


def words_with(wanted: Collection[str], text: str) -> list[str]:
    """The words of the text, as it writes them, that have one of these stems."""
    words = [word.strip(PUNCTUATION) for word in text.split()]
    return list(dict.fromkeys(word for word in words if any(stem in wanted for stem in stems(word))))


def _held(sentences: Iterable[Sentence]) -> set[str]:
    return {stem for sentence in sentences for stem in sentence.meaning}
