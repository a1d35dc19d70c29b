"""The baseline: plain BM25 over whole documents, without research."""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from deep_research import Library
from deep_research_evaluation.asking import path_below
from deep_research_evaluation.reports import Cited, Report
from deep_research_evaluation.wording import normalized

DOCUMENTS = 5
"""Documents that the baseline cites."""
SENTENCES = 2
"""Sentences that it quotes of each."""
BASELINE = f"BM25, {DOCUMENTS} documents, {SENTENCES} sentences each"

_SCHEMA = """
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, title TEXT, text TEXT);
CREATE VIRTUAL TABLE words USING fts5 (title, text, content = 'documents', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE counts USING fts5vocab (words, row);
"""
_BEST = """
SELECT documents.path, documents.title, documents.text FROM words JOIN documents ON documents.id = words.rowid
WHERE words MATCH ? ORDER BY bm25 (words), documents.path LIMIT ?
"""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_LEAST_WORDS = 4
"""Minimum number of words of a sentence; shorter lines are headings."""


class Baseline:
    """An index of the documents."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (self._documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()

    def report(self, question_id: str, question: str) -> Report:
        """Return the best sentences of the best documents, each cited."""
        begin = time.perf_counter()
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question)))
        found = self._connection.execute(_BEST, (match, DOCUMENTS)).fetchall() if match else []
        weights = self._weights(question)
        paragraphs = [
            _best_sentences(number, text, weights) for number, (*_, text) in enumerate(found, 1)
        ]
        sources = [
            Cited(n=number, path=path, title=title)
            for number, (path, title, _) in enumerate(found, 1)
        ]
        return Report(
            id=question_id,
            question=question,
            seconds=round(time.perf_counter() - begin, 3),
            text="\n\n".join(paragraphs),
            sources=tuple(sources),
        )

    def _weights(self, question: str) -> dict[str, float]:
        """Return the BM25 weights (IDF) of the question's words."""
        weights = {}
        for word in set(normalized(question).split()):
            row = self._connection.execute(
                "SELECT doc FROM counts WHERE term = ?", (word,)
            ).fetchone()
            count = row[0] if row else 0
            weights[word] = math.log(1 + (self._documents - count + 0.5) / (count + 0.5))
        return weights


@contextmanager
def open_baseline(library: Library, corpus: Path) -> Iterator[Baseline]:
    """Index the documents inside the context."""
    rows = (
        (path_below(corpus, document.source.location), document.source.title, document.text)
        for document in library.documents()
    )
    # An empty name is a temporary file that SQLite deletes with the connection.
    with closing(sqlite3.connect("")) as connection:
        connection.executescript(_SCHEMA)
        connection.executemany("INSERT INTO documents (path, title, text) VALUES (?, ?, ?)", rows)
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
        yield Baseline(connection)


def render_report(report: Report) -> str:
    """Return the report as Markdown, in the usual form."""
    sources = [
        f"- [{source.n}] {source.title or source.path} — {source.path}" for source in report.sources
    ]
    return (
        "\n".join([report.text, "", "## Sources", "", *sources, ""])
        if sources
        else f"{report.text}\n"
    )


def _best_sentences(number: int, text: str, weights: Mapping[str, float]) -> str:
    parts = (part.strip() for part in _SENTENCE_END.split(text))
    sentences = [
        part for part in parts if len(part.split()) >= _LEAST_WORDS and not part.startswith("#")
    ]
    worth = [
        sum(weights[word] for word in weights.keys() & set(normalized(sentence).split()))
        for sentence in sentences
    ]
    best = sorted(range(len(sentences)), key=lambda index: (-worth[index], index))[:SENTENCES]
    return " ".join(f"{sentences[index]} [{number}]" for index in sorted(best))
