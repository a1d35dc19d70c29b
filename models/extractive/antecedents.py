"""Puts before sentences that begin with a pronoun the one that says who or what is meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...evidence.titles import subject_of
from ...evidence.words import stems
from .pool import Pool, Sentence
from .pronouns import points_back

OF_TITLE = 0.5
"""Share of the words of a document's title from which on a sentence speaks of what the whole document is about."""


def understandable(pool: Pool, chosen: Iterable[Sentence]) -> list[Sentence]:
    """The chosen sentences, each behind its antecedent, which is added where it is not among them.

    One whose antecedent is not known comes first: behind another sentence it would seem to speak of that.
    """
    found = list[Sentence]()
    for one in chosen:
        if one in found:
            continue
        antecedent = next((said for said in pool.sentences if _is_about(one, said)), None)
        if antecedent is None:
            found.insert(0 if points_back(one.text) else len(found), one)
        else:
            _place(found, one, antecedent)
    return found


def without_title(pool: Pool, lead: Sequence[Sentence]) -> list[Sentence]:
    """An answer without its first sentence, if the second is what was asked for and the title tells what it means.

    Only where all of it is of one document: else a name must stand there.
    """
    is_of_one = len(lead) > 1 and len({one.number for one in lead}) == 1
    if not is_of_one or lead[0].is_right or not lead[1].is_right or not _is_about(lead[1], lead[0]):
        return [*lead]
    title = frozenset(stems(subject_of(pool.titles[lead[0].number])))
    return [*lead[len(title & lead[0].stems) >= OF_TITLE * len(title) > 0 :]]


def _place(found: list[Sentence], one: Sentence, antecedent: Sentence) -> None:
    if antecedent not in found:
        found.append(antecedent)
    place = found.index(antecedent) + 1
    while place < len(found) and _is_about(found[place], antecedent):
        place += 1
    found.insert(place, one)


def in_full(sentence: Sentence) -> str:
    """The sentence behind its antecedent, to be understood alone."""
    return f"{sentence.antecedent} {sentence.text}".strip()


def _is_about(sentence: Sentence, antecedent: Sentence) -> bool:
    return sentence.number == antecedent.number and sentence.antecedent == antecedent.text
