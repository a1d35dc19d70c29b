"""Vector stores of LangChain's with a few parts of documents, found by the words that they share
with a query."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from deep_research.core.evidence.text.words import sought_words
from deep_research_bench.postgres import programs, started_cluster

LIT = "The Skerry Light was lit for the first time in 1844."
TALL = "The tower of the Skerry Light stands 38 metres tall."
KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."
WIKI = {
    "source": "https://wiki.lights.example/pages/7",
    "title": "The Light",
    "when": "2024-03-05T10:00:00.000Z",
}
"""As the loader of Confluence has it."""
BUCKET = {"source": "s3://lights/people/keepers of 1901.txt"}
"""As the loader of S3 has it."""
PARTS = (
    Document(LIT, metadata=WIKI),
    Document(TALL, metadata=WIKI),
    Document(KEPT, metadata=BUCKET),
)


class Words(Embeddings):
    """A vector counts the words of a text, each at the place of its hash."""

    def embed_query(self, text: str) -> list[float]:
        vector = [0.01] * 256
        for word in sought_words(text):
            vector[zlib.crc32(word.encode()) % len(vector)] += 1.0
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def in_memory(parts: Sequence[Document] = PARTS) -> VectorStore:
    return InMemoryVectorStore.from_documents(list(parts), Words())


@contextmanager
def filled(kind: str) -> Iterator[VectorStore]:
    """The parts in a store of this kind; skips the test where it is not installed."""
    if kind == "chroma":
        made: Any = pytest.importorskip(
            "langchain_chroma", reason="Chroma is missing: pip install langchain-chroma"
        )
        yield made.Chroma.from_documents(list(PARTS), Words())
    elif kind == "pgvector":
        made = pytest.importorskip("langchain_postgres", reason="pip install langchain-postgres")
        directory = programs()
        if directory is None:
            pytest.skip(
                "PostgreSQL's programs are not installed (Debian, Ubuntu: apt install postgresql)"
            )
        with started_cluster(directory, "password") as cluster:
            address = cluster.address()
            with psycopg.connect(address) as connection:
                query = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
                if connection.execute(query).fetchone() is None:
                    pytest.skip(
                        "This PostgreSQL has no pgvector (Debian, Ubuntu: apt install postgresql-NN-pgvector)"
                    )
            way = address.replace("postgresql://", "postgresql+psycopg://")
            yield made.PGVector.from_documents(list(PARTS), Words(), connection=way)
    else:
        yield in_memory()
