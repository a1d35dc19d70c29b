"""Puts before sentences that begin with a pronoun the one that says who or what is meant."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.evidence.titles import subject_of
from deep_research.evidence.words import stems
from deep_research.models.extractive.pool import Pool, Sentence
from deep_research.models.extractive.pronouns import points_back

OF_TITLE = 0.5
"""Share of the words of a document's title from which on a sentence speaks of what the whole document is about."""


def understandable(pool: Pool, chosen: Iterable[Sentence], *, is_answer: bool) -> list[Sentence]:
    """The chosen sentences, each behind its antecedent, which is added where it is not among them.

    At the beginning of an answer a pronoun is understood without it, where that speaks of what the whole document is
    about: the answer comes first. One whose antecedent is not known comes first, too: behind another sentence it would
    seem to speak of that.
    """
    found = list[Sentence]()
    for one in chosen:
        if one in found:
            continue
        antecedent = _antecedent_of(pool, one)
        if antecedent is None:
            found.insert(0 if points_back(one.text) else len(found), one)
        elif is_answer and not found and _is_of_title(pool, antecedent):
            found.append(one)
        else:
            _place(found, one, antecedent)
    return found


def _place(found: list[Sentence], one: Sentence, antecedent: Sentence) -> None:
    if antecedent not in found:
        found.append(antecedent)
    place = found.index(antecedent) + 1
    while place < len(found) and _is_about(found[place], antecedent):
        place += 1
    found.insert(place, one)


def _antecedent_of(pool: Pool, sentence: Sentence) -> Sentence | None:
    return next((one for one in pool.sentences if _is_about(sentence, one)), None)


def _is_of_title(pool: Pool, sentence: Sentence) -> bool:
    title = frozenset(stems(subject_of(pool.titles[sentence.number])))
    return len(title & sentence.stems) >= OF_TITLE * len(title) > 0


def in_full(sentence: Sentence) -> str:
    """The sentence behind its antecedent, to be understood alone."""
    return f"{sentence.antecedent} {sentence.text}".strip()


def _is_about(sentence: Sentence, antecedent: Sentence) -> bool:
    return sentence.number == antecedent.number and sentence.antecedent == antecedent.text
