"""The researcher's finding: the sentences that answer the task, then others of the same documents, all with markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from ...evidence.labels import labels_of_named
from .antecedents import understandable
from .chains import answer_first, best_chain
from .comparison import said_of_sides, sides_of
from .editions import meant, outdated, pending
from .leading import absent_names, leading
from .listing import asks_for_list, items
from .pool import Pool, Sentence, pool_of
from .reading import (
    OUTDATED,
    PENDING,
    documents_in,
    heading_of,
    language_in,
    question_in,
)
from .tables import telling_tables
from .topics import topic_of

CHAIN_LENGTH = 5
MAX_OF_ANSWER = 3
"""Sentences that are quoted of a document that is part of the answer."""
MAX_OF_OTHERS = 1
"""Those of a document that is not."""


class Choice(NamedTuple):
    """What is quoted."""

    answer: tuple[Sentence, ...]
    """The sentences that together serve the task best, in the order in which one leads to the next."""
    evidence: tuple[Sentence, ...]
    """Further ones, document by document in the order of the pool."""


def write_finding(messages: Sequence[BaseMessage]) -> str:
    """The answer in a paragraph, rows of tables, the evidence, what is outdated; or that nothing was found."""
    topic = topic_of(question_in(messages))
    documents = documents_in(messages)
    best = leading(meant(documents, topic.whole), topic.whole)
    pool = pool_of(best, topic.whole)
    answer, evidence = choose(pool, topic.text)
    tables = telling_tables(best, pool, labels_of_named(language_in(messages)).source)
    old = [f"{OUTDATED}{_in_full(one)}" for one in outdated(documents, topic.whole, answer)]
    old += [f"{PENDING}{_in_full(one)}" for one in pending(documents, topic.whole, answer)]
    absent = [f"Nothing was found on “{name}”." for name in absent_names(documents, topic.text)]
    if not answer and not tables:
        return " ".join([f"Nothing was found that fits the task: {' '.join(topic.text.split())}", *absent])
    further = _documents(pool, (*answer, *evidence), evidence)
    return "\n\n".join([*_paragraph(pool, answer), *tables, *further, *old, *absent])


def choose(pool: Pool, task: str) -> Choice:
    """What answers the task, and the sentences that serve the question best of each document that has to do with it.

    What they point back to is not among them.
    """
    answer = tuple(_answer(pool, task))
    return Choice(answer, tuple(sentence for number in pool.titles for sentence in _of_document(pool, number, answer)))


def _answer(pool: Pool, task: str) -> Sequence[Sentence]:
    """What is said of each side of a comparison, the items of a list, or the sentences that together fit best."""
    compared = said_of_sides(pool, sides_of(task))
    listed = items(pool) if not compared and asks_for_list(task) else []
    return compared or listed or answer_first(best_chain(pool, CHAIN_LENGTH), pool)


def _documents(pool: Pool, quoted: Sequence[Sentence], evidence: Sequence[Sentence]) -> Iterator[str]:
    """A heading with the title of each document that is quoted, and the evidence from it."""
    numbers = {sentence.number for sentence in quoted}
    for number in (number for number in pool.titles if number in numbers):
        yield heading_of(number, pool.titles[number])
        yield from _paragraph(pool, [one for one in evidence if one.number == number])


def _paragraph(pool: Pool, sentences: Sequence[Sentence]) -> list[str]:
    return [" ".join(map(_cited, understandable(pool, sentences)))] if sentences else []


def _in_full(sentence: Sentence) -> str:
    return " ".join(f"{text} [{sentence.number}]" for text in (sentence.antecedent, sentence.text) if text)


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} [{sentence.number}]"


def _of_document(pool: Pool, number: int, chain: Sequence[Sentence]) -> list[Sentence]:
    own = [sentence for sentence in pool.sentences if sentence.number == number]
    if not any(sentence in chain or _has_to_do(pool, sentence, chain) for sentence in own):
        return []
    most = MAX_OF_ANSWER if any(sentence in chain for sentence in own) else MAX_OF_OTHERS
    best = sorted(own, key=lambda one: (one not in chain, -pool.weight(one.stems), one.place))[:most]
    return [sentence for sentence in own if sentence in best and sentence not in chain]


def _has_to_do(pool: Pool, sentence: Sentence, chain: Sequence[Sentence]) -> bool:
    return pool.weight(sentence.held) > 0 or any(pool.is_linked(one, sentence) for one in chain)
