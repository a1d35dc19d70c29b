"""Puts before sentences that begin with a pronoun the one that says who or what is meant."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.evidence.titles import subject_of
from deep_research.evidence.words import stems
from deep_research.models.extractive.pool import Pool, Sentence

OF_TITLE = 0.5
"""Share of the words of a document's title from which on a sentence speaks of what the whole document is about."""


def understandable(pool: Pool, chosen: Iterable[Sentence]) -> list[Sentence]:
    """The chosen sentences, each behind its antecedent, which is added where it is not among them.

    Where that speaks of what the whole document is about, the title tells as much.
    """
    found = list[Sentence]()
    for one in chosen:
        if one in found:
            continue
        antecedent = antecedent_of(pool, one)
        if antecedent is None:
            found.append(one)
            continue
        if antecedent not in found:
            found.append(antecedent)
        place = found.index(antecedent) + 1
        while place < len(found) and _is_about(found[place], antecedent):
            place += 1
        found.insert(place, one)
    return found


def antecedent_of(pool: Pool, sentence: Sentence) -> Sentence | None:
    """The sentence without which this one would seem to speak of something else; none if it needs none."""
    if not sentence.antecedent:
        return None
    title = frozenset(stems(subject_of(pool.titles[sentence.number])))
    found = next((one for one in pool.sentences if _is_about(sentence, one)), None)
    return None if found is None or (title and len(title & found.stems) >= OF_TITLE * len(title)) else found


def _is_about(sentence: Sentence, antecedent: Sentence) -> bool:
    return sentence.number == antecedent.number and sentence.antecedent == antecedent.text
