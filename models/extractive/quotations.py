"""The sentences that findings and learnings quote, judged by the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ...evidence.mixing import distinct, in_turn
from ...evidence.words import names
from .pool import Pool, Text
from .reading import ROW_MARKER, Found, Learned, Quotation, quotations_of
from .sentences import Quotable, each_once

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
    quoted = [one for found in quotations for one in found if one.numbers[0] in numbers]
    titles = {number: title for found in findings for number, title in found.titles.items()}
    return pool_of_quotations(_each_once(quoted), question, titles)


def pool_of_learnings(learnings: Iterable[Learned], question: str) -> Pool:
    """All sentences of learnings that a document says, each once, under the first document that says it."""
    return pool_of_quotations(_each_once(quoted_in(learnings)), question)


def quoted_in(learnings: Iterable[Learned]) -> list[Quotation]:
    """The sentences of the learnings that a document says; thoughts are left out."""
    said = [(one.text, (one.document,)) for one in learnings if one.document is not None]
    return [quoted for one in said for quoted in quotations_of([one])]


def pool_of_quotations(
    quoted: Iterable[Quotation], question: str, titles: Mapping[int, str] = MappingProxyType({})
) -> Pool:
    """Sentences under the first of their documents, and the titles of these where they are known."""
    of_documents: dict[int, list[Quotable]] = {}
    for one in quoted:
        of_documents.setdefault(one.numbers[0], []).append(Quotable(one.text, antecedent=one.antecedent))
    named = {number: titles.get(number) or _title_of(said) for number, said in of_documents.items()}
    texts = [Text(number, named[number], tuple(each_once(said))) for number, said in of_documents.items()]
    return Pool(texts, question)


def _each_once(quoted: Iterable[Quotation]) -> list[Quotation]:
    return distinct(quoted, lambda one: (one.text, one.antecedent))


def _title_of(sentences: Sequence[Quotable]) -> str:
    """The name with which most of the sentences open."""
    opening = [name for one in sentences for name in names(one.text)[:1] if one.text.find(name) < OPENING]
    return max(opening, key=lambda name: (opening.count(name), len(name)), default="")
