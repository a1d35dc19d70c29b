"""How much of a question some sentences hold, and what of it they leave open."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from deep_research.evidence.words import names, stems
from deep_research.models.extractive.pool import Pool, Sentence

ENOUGH = 0.8
"""Share of the question's words that must be held for it to need no more research."""
LEAST_OF_NAME = 0.6
"""Share of a name's words that one sentence must hold for the name to count as found."""
MOST_WORDS = 6
PUNCTUATION = " .,;:?!…\"'“”„«»()[]。？！，；：「」《》¿¡"


def share(pool: Pool, sentences: Iterable[Sentence]) -> float:
    """The share of the pool's question, from 0 to 1, that sentences hold together."""
    return min(1.0, pool.weight(_held(sentences)))


def share_of_name(name: str, sentences: Iterable[Sentence]) -> float:
    """The largest share of the name's words, from 0 to 1, that one sentence holds."""
    parts = set(stems(name))
    return max((len(parts & sentence.stems) / len(parts) for sentence in sentences), default=0.0)


def lacks_its_kind(pool: Pool) -> bool:
    """Whether the question asks for a kind of thing that no sentence holds beside a word of the question."""
    return pool.kind != "any" and not any(
        sentence.is_right and sentence.stems & pool.wanted.keys() for sentence in pool.sentences
    )


def is_answered(pool: Pool) -> bool:
    """Whether the sentences hold nearly all of the question, and the kind of thing that it asks for."""
    return share(pool, pool.sentences) >= ENOUGH and not lacks_its_kind(pool)


def missing_names(pool: Pool) -> list[str]:
    """The names in the question of which the sentences say nothing."""
    return [name for name in names(pool.question) if share_of_name(name, pool.sentences) < LEAST_OF_NAME]


def missing(pool: Pool) -> list[str]:
    """The names and the other words of the question that the sentences do not hold, at most six."""
    absent = missing_names(pool)
    known = _held(pool.sentences) | {stem for name in absent for stem in stems(name)}
    return [*absent, *words_with(pool.wanted.keys() - known, pool.question)][:MOST_WORDS]


def words_with(wanted: Collection[str], text: str) -> list[str]:
    """The words of the text, as it writes them, that have one of these stems."""
    words = [word.strip(PUNCTUATION) for word in text.split()]
    return list(dict.fromkeys(word for word in words if any(stem in wanted for stem in stems(word))))


def _held(sentences: Iterable[Sentence]) -> set[str]:
    return {stem for sentence in sentences for stem in sentence.stems}
