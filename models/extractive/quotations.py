"""The sentences that the findings quote, judged by the question."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.reading import quotations_in
from deep_research.models.extractive.words import names

OPENING = 12
"""Characters within which a name must begin to be what a sentence is about."""


def pool_of_findings(messages: Sequence[BaseMessage], question: str) -> Pool:
    """All quoted sentences, each once, under the first document that it is quoted from."""
    found: dict[str, int] = {}
    for finding in quotations_in(messages):
        for quotation in finding:
            found.setdefault(quotation.text, quotation.numbers[0])
    texts: dict[int, list[str]] = {}
    for text, number in found.items():
        texts.setdefault(number, []).append(text)
    return Pool([Text(number, _title_of(sentences), tuple(sentences)) for number, sentences in texts.items()], question)


def _title_of(sentences: Sequence[str]) -> str:
    """The name with which most of the sentences open, since a finding does not tell titles."""
    opening = [name for sentence in sentences for name in names(sentence)[:1] if sentence.find(name) < OPENING]
    return max(opening, key=lambda name: (opening.count(name), len(name)), default="")
