"""The sentences that findings and learnings quote, judged by the question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from deep_research.evidence.words import names
from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.reading import Learned, Quotation, findings_in

OPENING = 12
"""Characters within which a name must begin to be what a sentence is about."""


def pool_of_findings(messages: Sequence[BaseMessage], question: str) -> Pool:
    """All quoted sentences, each once, under the first document that it is quoted from."""
    findings = findings_in(messages)
    return pool_of_quotations([quoted for found in findings for quoted in (*found.answer, *found.evidence)], question)


def pool_of_quotations(quotations: Iterable[Quotation], question: str) -> Pool:
    """Quoted sentences, each once, under the first document that it is quoted from."""
    return pool_of_sentences(_each_once([(quoted.text, quoted.numbers[0]) for quoted in quotations]), question)


def pool_of_learnings(learnings: Iterable[Learned], question: str) -> Pool:
    """All learnings that a document says, each once, under the first document that says it."""
    return pool_of_sentences(_each_once(sourced(learnings)), question)


def sourced(learnings: Iterable[Learned]) -> list[tuple[str, int]]:
    """The learnings that a document says, with its number; thoughts are left out."""
    return [(learning.text, learning.document) for learning in learnings if learning.document is not None]


def pool_of_sentences(quoted: Iterable[tuple[str, int]], question: str) -> Pool:
    """Sentences with the numbers of their documents."""
    texts: dict[int, list[str]] = {}
    for text, number in dict.fromkeys(quoted):
        texts.setdefault(number, []).append(text)
    return Pool([Text(number, _title_of(sentences), tuple(sentences)) for number, sentences in texts.items()], question)


def _each_once(quoted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    first: dict[str, int] = {}
    for text, number in quoted:
        first.setdefault(text, number)
    return list(first.items())


def _title_of(sentences: Sequence[str]) -> str:
    """The name with which most of the sentences open, since a finding does not tell titles."""
    opening = [name for sentence in sentences for name in names(sentence)[:1] if sentence.find(name) < OPENING]
    return max(opening, key=lambda name: (opening.count(name), len(name)), default="")
