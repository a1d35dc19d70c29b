"""The few sentences that together serve a question best, one leading to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .pool import Pool, Sentence

WIDTH = 12
"""Chains kept at each length."""
CONTEXT_SHARE = 0.7
"""What a word of the title counts, compared with a word of the sentence."""
REPEATED_SHARE = 0.2
"""What a word counts that an earlier sentence holds."""
COST = 0.1
"""Share of the question that a further sentence must add by its words or its relation to be worth reading."""
LINKED = 0.25
"""What it counts that a sentence of another document names the document of an earlier one, or is named there."""
NAMED = 0.12
"""What it counts, without such a link, that the question names the sentence's document: about half a link."""
UNRELATED = -0.12
"""What it costs that it has neither: as much as the other is worth, so that words alone must pay for it."""
RIGHT = 0.25
"""What it counts that the last sentence holds the kind of thing asked for: as much as a link."""
PLACE = 0.01
"""What each sentence before it in its document costs: it settles draws, as the beginning tells most."""
LONG = 0.001
"""What each of its words costs: of two sentences that serve alike the short one is taken."""


class Chain(NamedTuple):
    """Sentences in the order in which they were found, and what they are worth together."""

    sentences: tuple[Sentence, ...] = ()
    worth: float = 0.0

    def ends_well(self) -> float:
        """The worth, with a bonus if the last sentence holds the kind of thing asked for."""
        return self.worth + RIGHT * (bool(self.sentences) and self.sentences[-1].is_right)


def best_chain(pool: Pool, length: int) -> Chain:
    """The best chain of at most so many sentences."""
    candidates = [
        sentence
        for sentence in pool.sentences
        if sentence.is_right or any(stem in pool.wanted for stem in sentence.held)
    ]
    best, beam = Chain(), [Chain()]
    for _ in range(length):
        longer = [longer for chain in beam for longer in _continued(chain, pool, candidates)]
        beam = sorted(longer, key=Chain.ends_well, reverse=True)[:WIDTH]
        best = max([best, *beam[:1]], key=Chain.ends_well)
    return best


def answer_first(chain: Chain, pool: Pool) -> tuple[Sentence, ...]:
    """The sentences, with the one that the chain ends well by before those of its document that add nothing to it."""
    if not chain.sentences or not chain.sentences[-1].is_right:
        return chain.sentences
    *before, last = chain.sentences
    held = [(one, one.held & pool.wanted.keys()) for one in chain.sentences]
    fillers = [one for one, own in held[:-1] if one.number == last.number and own <= held[-1][1]]
    return (*(one for one in before if one not in fillers), last, *fillers)


def _continued(chain: Chain, pool: Pool, candidates: Sequence[Sentence]) -> Iterator[Chain]:
    known = frozenset(stem for earlier in chain.sentences for stem in earlier.held)
    # An antecedent is quoted with the sentence that needs it.
    quoted = {(one.number, one.antecedent) for one in chain.sentences}
    for sentence in candidates:
        relation = _relation(pool, sentence, chain.sentences)
        # The kind of thing that is asked for stands in many sentences that have nothing to do with the question.
        has_to_do = relation > 0 or not pool.wanted.keys().isdisjoint(sentence.held)
        is_new = sentence not in chain.sentences and (sentence.number, sentence.text) not in quoted
        if is_new and has_to_do:
            worth = _fit(pool, sentence, known) + relation
            yield Chain((*chain.sentences, sentence), chain.worth + worth)


def _fit(pool: Pool, sentence: Sentence, known: frozenset[str]) -> float:
    around = sentence.context - sentence.meant - known
    worth = pool.weight(sentence.meaning - known) + CONTEXT_SHARE * pool.weight(around)
    worth += REPEATED_SHARE * pool.weight(sentence.held & known)
    return worth - COST - PLACE * sentence.place - LONG * len(sentence.text.split())


def _relation(pool: Pool, sentence: Sentence, before: Sequence[Sentence]) -> float:
    if any(earlier.number == sentence.number for earlier in before):
        return 0.0
    if any(pool.is_linked(earlier, sentence) for earlier in before):
        return LINKED
    return NAMED if sentence.number in pool.named else UNRELATED * bool(before)
