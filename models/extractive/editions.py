"""Which of the documents that were shown a question means, where there are several versions of one."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.sources import DOCUMENT_SCHEME
from deep_research.evidence.versions.asked import Dated, unwanted
from deep_research.models.extractive.chains import best_chain
from deep_research.models.extractive.leading import MOST_SOURCES
from deep_research.models.extractive.pool import Sentence, pool_of
from deep_research.models.extractive.reading import Document


def meant(documents: Sequence[Document], question: str) -> list[Document]:
    """The documents without those versions that the question does not mean."""
    left_out = _left_out(documents, question)
    return [document for document in documents if document not in left_out]


def outdated(documents: Sequence[Document], question: str) -> list[Sentence]:
    """The sentence of each outdated version left out that would have served the question best."""
    old = [document for document in _left_out(documents, question) if document.superseded_by][:MOST_SOURCES]
    return [sentence for one in old for sentence in best_chain(pool_of([one], question), 1).sentences]


def _left_out(documents: Sequence[Document], question: str) -> list[Document]:
    dated = [
        Dated(str(one.number), one.title, one.address.removeprefix(DOCUMENT_SCHEME), one.date) for one in documents
    ]
    newer = {str(one.number): str(one.superseded_by) for one in documents if one.superseded_by}
    keys = unwanted(question, dated, newer)
    return [document for document in documents if str(document.number) in keys]
