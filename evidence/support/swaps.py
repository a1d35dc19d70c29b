"""Names that have changed places: who did it, and to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, groupby, product
from typing import NamedTuple

from .alignment import Alignment
from .matching import Matches
from .reading import Evidence
from .spelling import key_of
from .terms import Term, is_telling

BETWEEN = 8
"""Words between two names at most."""
NAME = 6
"""Words of a name at most."""
_MUTUAL = """
and or with between versus vs as well together plus und oder mit zwischen wie et ou avec entre y con meet met marry
married marries wed divorce divorced play played draw drew tie tied fight fought face faced compete competed debate
debated correspond corresponded cooperate collaborate share shared exchange exchanged border borders adjoin adjoins
neighbour neighbours neighbor neighbors touch touches join joins link links connect connects unite unites merge merged
combine run runs ran lead leads stretch stretches extend extends resemble resembles equal equals like similar same
different differ differs separate separated near close next beside alongside opposite accompany accompanied far apart
distant kilometre kilometres kilometer kilometers km mile miles metres hour hours minutes friend friends cousin cousins
brother brothers sister sisters sibling siblings colleague colleagues partner partners ally allies rival rivals twin
twinned known called named alias aka heiratete traf grenzt gleicht spielte say says said ask asked reply replied write
writes wrote add added note noted explain explained sagte schrieb
"""
MUTUAL = frozenset(key_of(word) for word in _MUTUAL.split())
"""Stems of words before and behind which either name can stand: Ann met Mary; said Ann."""


_AUXILIARIES = frozenset({"is", "are", "was", "were", "be", "been", "being", "has", "have", "had"})
"""Words with which the passive begins."""


class Fact(NamedTuple):
    """Who did what to whom, by keys."""

    doer: str
    deed: tuple[str, ...]
    other: str


class Statement(NamedTuple):
    """Two names and what is said between them."""

    first: tuple[Term, ...]
    between: tuple[Term, ...]
    second: tuple[Term, ...]

    def __str__(self) -> str:
        return " ".join(term.raw for term in (*self.first, *self.between, *self.second))

    @property
    def facts(self) -> frozenset[Fact]:
        """What it says of each pair of its names that is not on both sides, in the active; nothing if it is mutual."""
        core = list(self.between)
        is_passive = core[-1].raw == "by" and core[0].raw in _AUXILIARIES
        if is_passive:
            core = list(dropwhile(lambda term: term.raw in _AUXILIARIES, core[:-1]))
        deed = tuple(term.key for term in core)
        if not any(map(is_telling, core)) or not MUTUAL.isdisjoint(deed):
            return frozenset()
        first, second = {term.key for term in self.first}, {term.key for term in self.second}
        doers, others = (second, first) if is_passive else (first, second)
        return frozenset(Fact(*fact) for fact in product(doers - others, [deed], others - doers))


def swaps(matches: Matches, alignment: Alignment, evidence: Evidence) -> Iterator[str]:
    """Where two names have changed places, in plain words; nothing if the source says it of both."""
    theirs = {fact: statement for statement in _statements(alignment.terms) for fact in statement.facts}
    for statement in _statements(matches.terms) if theirs else ():
        facts = statement.facts
        turned = (theirs.get(Fact(fact.other, fact.deed, fact.doer)) for fact in facts)
        other = next(filter(None, turned), None)
        if other and facts.isdisjoint(_all_facts(matches, evidence)):
            yield f"the passage says '{other}', not '{statement}'"


def _all_facts(matches: Matches, evidence: Evidence) -> Iterator[Fact]:
    """What the whole source says."""
    for passage in evidence.passages:
        terms = [term._replace(key=matches.keys.get(term.key, term.key)) for term in passage.terms]
        for statement in _statements(terms):
            yield from statement.facts


def _statements(terms: Sequence[Term]) -> Iterator[Statement]:
    runs = [tuple(run) for _, run in groupby(terms, key=lambda term: term.kind == "name")]
    for first, between, second in zip(runs, runs[1:], runs[2:], strict=False):
        is_one_sentence = not any(term.is_first for term in (*between, second[0]))
        is_short = max(len(first), len(second)) <= NAME and len(between) <= BETWEEN
        if first[0].kind == "name" and is_short and is_one_sentence:
            yield Statement(first, between, second)
