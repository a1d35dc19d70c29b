"""What of a question the documents do not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...evidence.text.inflection.common_words import IN_QUESTION, evident
from ...evidence.text.inflection.wording import sought_words
from ...evidence.text.words import tokens
from .pool import Pool, Sentence
from .wanted import counted_in

FEWEST = 2
"""Words of a question, beside the names in it, from which on it can be told that they are not there."""
LITTLE = 0.34
"""Share of them up to which a unit has nothing to do with the question."""
ABSENT = 0.45
"""Share of them that no unit holds at all, from which on they are missing and not only put otherwise."""
SHORT, MOST_OF_NAME = 2, 0.6
"""Words of a name up to which all of them must stand together, and the share of those of a longer one."""
LEAST_TOGETHER = 0.25
"""Share of a question that all that was chosen must hold together."""
CAPITALS = frozenset({"de"})
"""Languages in which capitals do not tell names."""


def missing_in(pool: Pool, chosen: Sequence[Sentence]) -> list[str]:
    """Return the names in a question of which the documents hold nothing; or else the question, if nothing answers it.

    An empty list means that what was chosen may well be the answer.
    """
    if not chosen:
        return [pool.asked]
    language = evident(sought_words(pool.asked), IN_QUESTION)
    if language and language not in {pool.language_of(one.number) for one in chosen}:
        # Words of one language are not missed in another.
        return []
    if pool.weight(frozenset[int]().union(*(one.held for one in chosen))) < LEAST_TOGETHER:
        return [pool.asked]
    named = [*_names(pool, language)]
    absent = [name for name in named if _is_absent(pool, name)]
    if absent:
        return absent
    in_names = {word for name in named for word in tokens(name)}
    told = [place for place, word in enumerate(pool.words[: pool.own_count]) if not in_names.issuperset(tokens(word))]
    if told and pool.context and pool.kind == "number" and not any(one.held & {*told} for one in chosen):
        # Something may be told in other words, but an amount without a word for it is one of something else.
        return [pool.asked]
    if len(told) < FEWEST:
        return []
    best = max(len(one.held & {*told}) for one in chosen) / len(told)
    is_about = any(" " in name and any(_holds(pool, one, name) for one in chosen) for name in named)
    if best and is_about:
        # What is said of the name itself may be worded otherwise.
        return []
    unseen = [place for place in told if not pool.counts[place]]
    is_uncounted = any(pool.words[place] == counted_in(pool.asked) for place in unseen)
    is_missing = best <= LITTLE and len(unseen) >= ABSENT * len(told)
    return [pool.asked] if is_missing or is_uncounted else []


def _names(pool: Pool, language: str) -> Iterator[str]:
    """The names in a question; a single word that begins it is none, nor is one where all nouns have capitals."""
    begins = re.sub(r"^\W+", "", pool.asked)
    for name in pool.names:
        is_plain = " " not in name and name.replace("-", "").isalpha()
        if not (is_plain and (language in CAPITALS or begins.startswith(name))):
            yield name


def _places(pool: Pool, name: str) -> list[int]:
    """The places of its words that tell it from others: those with capitals or figures."""
    telling = {word for part in name.split() if not part.islower() for word in tokens(part)}
    return [place for place, word in enumerate(pool.words) if not telling.isdisjoint(tokens(word))]


def _is_absent(pool: Pool, name: str) -> bool:
    """Whether no unit holds its words together, with what stands above it: most of them, if it has more than two."""
    places = frozenset(_places(pool, name))
    least = len(places) if len(places) <= SHORT else MOST_OF_NAME * len(places)
    return bool(places) and not any(len(places & one.held) >= least for one in pool.sentences)


def _holds(pool: Pool, one: Sentence, name: str) -> bool:
    return one.held.issuperset(_places(pool, name))
