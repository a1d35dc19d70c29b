"""Which of the candidate passages answers a question best, over all indexes together."""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from deep_research.knowledge import Source
from deep_research.tools.index import TOKENIZER
from deep_research.tools.wording import spaced, title_key

SATURATION = 1.2
LENGTH_SHARE = 0.5
USUAL_CHARACTERS = 700
COLUMN_WEIGHTS = {"title": 2.5, "heading": 1.5, "text": 1.0}
MENTION_WEIGHT = 1.5


class Passage(NamedTuple):
    """A passage of a document that answers a query."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """The headings above it."""
    text: str


def match_any(terms: Iterable[str]) -> str:
    """The FTS5 query for passages with any of these words; safe for any word."""
    return " OR ".join('"' + term.replace('"', '""').replace("\x00", "") + '"' for term in terms)


def stems_of(terms: Sequence[str]) -> list[str]:
    """The words as the index stores them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return list(dict.fromkeys(stem for stem, _, _ in _instances(connection, [(" ".join(terms), "", "")], None)))


def rarity(total: int, count: int) -> float:
    """Weight of a word that stands in `count` of `total` passages."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def scores(candidates: Sequence[Passage], weights: Mapping[str, float], mentioned: Mapping[str, float]) -> list[float]:
    """The score of each candidate: BM25 over its title, headings and text, plus a bonus if its title is mentioned."""
    rows = [(spaced(one.source.title), spaced(one.heading), spaced(one.text)) for one in candidates]
    counts: dict[tuple[int, str], float] = defaultdict(float)
    with closing(sqlite3.connect(":memory:")) as connection:
        for stem, row, column in _instances(connection, rows, weights):
            counts[row, stem] += COLUMN_WEIGHTS[column]
    totals = [0.0] * len(candidates)
    for (row, stem), count in sorted(counts.items()):
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * len(candidates[row].text) / USUAL_CHARACTERS
        totals[row] += weights[stem] * count * (SATURATION + 1) / (count + SATURATION * length)
    _add_mentions(totals, candidates, mentioned)
    return totals


def _add_mentions(totals: list[float], candidates: Sequence[Passage], mentioned: Mapping[str, float]) -> None:
    # Only the best passage of a document gains by its title; else one long document would fill the list.
    best: dict[str, int] = {}
    for row, one in enumerate(candidates):
        holder = best.setdefault(one.source.key, row)
        if (totals[row], -one.start) > (totals[holder], -candidates[holder].start):
            best[one.source.key] = row
    for row in best.values():
        totals[row] += MENTION_WEIGHT * mentioned.get(title_key(candidates[row].source.title), 0.0)


def _instances(
    connection: sqlite3.Connection, rows: Sequence[tuple[str, str, str]], stems: Iterable[str] | None
) -> list[tuple[str, int, str]]:
    """Every occurrence of the stems (or of any word) in these rows: stem, row, column."""
    connection.execute(f"CREATE VIRTUAL TABLE part USING fts5 (title, heading, text, tokenize = '{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE word USING fts5vocab (part, instance)")
    numbered = ((number, *row) for number, row in enumerate(rows))
    connection.executemany("INSERT INTO part (rowid, title, heading, text) VALUES (?, ?, ?, ?)", numbered)
    every = "SELECT term, doc, col FROM word"
    if stems is None:
        return connection.execute(f"{every} ORDER BY offset").fetchall()
    return [found for stem in stems for found in connection.execute(f"{every} WHERE term = ?", (stem,))]
