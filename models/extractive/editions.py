"""Which of the documents that were shown a question means, where there are several versions of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...evidence.likeness import likeness
from ...evidence.versions.asked import Dated, unwanted
from .pool import Sentence, pool_of
from .reading import Document

ALIKE = 0.4
"""Likeness of their words from which on a sentence of an outdated version says the same thing of another time."""


def meant(documents: Sequence[Document], question: str) -> list[Document]:
    """The documents without those versions, and parts of a series, that the question does not mean."""
    left_out = _left_out(documents, question)
    return [document for document in documents if document not in left_out]


def outdated(documents: Sequence[Document], question: str, answer: Sequence[Sentence]) -> list[Sentence]:
    """What outdated versions say in place of the sentences of the answer; what is not in force yet is not outdated."""
    return _in_place_of(answer, [one for one in _left_out(documents, question) if not one.is_pending], question)


def pending(documents: Sequence[Document], question: str, answer: Sequence[Sentence]) -> list[Sentence]:
    """What drafts, and versions that are not in force yet, say in place of the sentences of the answer."""
    return _in_place_of(answer, [one for one in _left_out(documents, question) if one.is_pending], question)


def _in_place_of(answer: Sequence[Sentence], documents: Sequence[Document], question: str) -> list[Sentence]:
    old = [document for document in documents if document.superseded_by]
    current = {one.number: one.superseded_by for one in old}
    found = pool_of(old, question).sentences
    return [
        sentence
        for said in answer
        for sentence in _counterparts(said, [one for one in found if current[one.number] == said.number])
    ]


def _counterparts(said: Sentence, found: Sequence[Sentence]) -> Iterator[Sentence]:
    """Of each outdated version the sentence that is most like this one, unless that is the same or none is like it."""
    for number in dict.fromkeys(one.number for one in found):
        own = [one for one in found if one.number == number]
        best = max(own, key=lambda one: (likeness(one.meaning, said.meaning), -one.place))
        if best.text != said.text and likeness(best.meaning, said.meaning) >= ALIKE:
            yield best


def _left_out(documents: Sequence[Document], question: str) -> list[Document]:
    dated = [
        Dated(str(one.number), one.title, one.address, one.date, one.is_draft, one.in_force_from) for one in documents
    ]
    newer = {str(one.number): str(one.superseded_by) for one in documents if one.superseded_by}
    keys = unwanted(question, dated, newer)
    return [document for document in documents if str(document.number) in keys]
