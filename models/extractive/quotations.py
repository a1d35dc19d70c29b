"""The sentences that findings and learnings quote, judged by the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from deep_research.evidence.mixing import in_turn
from deep_research.evidence.words import names
from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.reading import ROW_MARKER, Found, Learned
from deep_research.models.extractive.sentences import linked

OPENING = 12
"""Characters within which a name must begin to be what a sentence is about."""


def pool_of_findings(findings: Sequence[Found], question: str, limit: int | None = None) -> Pool:
    """What is quoted, each sentence once, under the first document that it is quoted from.

    With a limit only from so many documents: those of tables, then the first of each finding, the second, and so on.
    """
    quotations = [[*found.answer, *found.evidence] for found in findings]
    shown = [int(number) for found in findings for table in found.tables for number in ROW_MARKER.findall(table)]
    orders = [dict.fromkeys(quoted.numbers[0] for quoted in found) for found in quotations]
    numbers = list(dict.fromkeys([*shown, *in_turn(orders)]))[:limit]
    quoted = [(one.text, one.numbers[0]) for found in quotations for one in found if one.numbers[0] in numbers]
    titles = {number: title for found in findings for number, title in found.titles.items()}
    return pool_of_sentences(_each_once(quoted), question, titles)


def pool_of_learnings(learnings: Iterable[Learned], question: str) -> Pool:
    """All learnings that a document says, each once, under the first document that says it."""
    return pool_of_sentences(_each_once(sourced(learnings)), question)


def sourced(learnings: Iterable[Learned]) -> list[tuple[str, int]]:
    """The learnings that a document says, with its number; thoughts are left out."""
    return [(learning.text, learning.document) for learning in learnings if learning.document is not None]


def pool_of_sentences(
    quoted: Iterable[tuple[str, int]], question: str, titles: Mapping[int, str] = MappingProxyType({})
) -> Pool:
    """Sentences with the numbers of their documents, and the titles of these where they are known."""
    texts: dict[int, list[str]] = {}
    for text, number in dict.fromkeys(quoted):
        texts.setdefault(number, []).append(text)
    named = {number: titles.get(number) or _title_of(sentences) for number, sentences in texts.items()}
    return Pool([Text(number, named[number], linked(sentences)) for number, sentences in texts.items()], question)


def _each_once(quoted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    first: dict[str, int] = {}
    for text, number in quoted:
        first.setdefault(text, number)
    return list(first.items())


def _title_of(sentences: Sequence[str]) -> str:
    """The name with which most of the sentences open."""
    opening = [name for sentence in sentences for name in names(sentence)[:1] if sentence.find(name) < OPENING]
    return max(opening, key=lambda name: (opening.count(name), len(name)), default="")
