"""Names that what was read brings up, and that are worth a search of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ...evidence.months import sure_month_names
from ...evidence.vocabulary import STOP_WORDS
from ...evidence.words import names, stem, tokens
from .chains import best_chain
from .pool import Pool, Sentence

CHAIN_LENGTH = 4
"""Sentences of the chain whose names are preferred: one for each step of a question over four documents."""
OPEN_WORDS = 6
"""Words of the question that go into a query beside the name, the heaviest: more would drown the name."""
IN_CHAIN = 0.2
"""What it counts, as a share of the question, that the name stands in the chain that answers best so far."""
NAMED = 0.2
"""What it counts that it stands in a document that the question names; as much as to be in the chain."""
SEVERAL_WORDS = 0.3
"""By what share a name of several words is worth more: it finds one thing, where a single word finds many."""
SHORTEST = 4
"""Characters of the shortest name that is followed; shorter ones are mostly abbreviations."""


class Lead(NamedTuple):
    """A name to follow, and the sentence that holds it."""

    name: str
    sentence: Sentence
    worth: float


def queries_in(pool: Pool, asked: Sequence[str], count: int) -> list[str]:
    """The best names, each with the words of the question that its sentence leaves open; none asked for before."""
    best: dict[str, str] = {}
    for lead in sorted(_leads(pool), key=lambda lead: -lead.worth):
        if not any(query.startswith(lead.name) for query in asked):
            best.setdefault(lead.name, f"{lead.name} {_open_words(pool, lead.sentence)}".strip())
    return list(best.values())[:count]


def _leads(pool: Pool) -> Iterator[Lead]:
    chain = best_chain(pool, CHAIN_LENGTH).sentences
    for sentence in pool.sentences:
        worth = pool.weight(sentence.held)
        worth += IN_CHAIN * (sentence in chain) + NAMED * (sentence.number in pool.named)
        for name in names(f"{pool.titles[sentence.number]}\n{sentence.text}"):
            if _is_new(name, pool):
                factor = 1 + _nearness(name, sentence.text, pool.wanted) + SEVERAL_WORDS * (" " in name)
                yield Lead(name, sentence, worth * factor)


def _is_new(name: str, pool: Pool) -> bool:
    known = STOP_WORDS | sure_month_names()
    fresh = [word for word in tokens(name) if word not in known and stem(word) not in pool.wanted]
    return len(name) >= SHORTEST and not all(word.isdigit() for word in fresh)


def _nearness(name: str, text: str, wanted: Collection[str]) -> float:
    before, _, after = text.partition(name)
    ahead, behind = [stem(token) for token in reversed(tokens(before))], [stem(token) for token in tokens(after)]
    distances = [place for words in (ahead, behind) for place, word in enumerate(words) if word in wanted]
    return 1 / (1 + min(distances)) if distances else 0.0


def _open_words(pool: Pool, sentence: Sentence) -> str:
    covered = sentence.held
    content = dict.fromkeys(token for token in tokens(pool.question) if token not in STOP_WORDS)
    words = [token for token in content if stem(token) not in covered]
    heaviest = sorted(words, key=lambda word: -pool.wanted.get(stem(word), 0.0))[:OPEN_WORDS]
    return " ".join(word for word in words if word in heaviest)
