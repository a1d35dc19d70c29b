"""Tables in documents, and the rows of them that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...evidence.dates import dates_in
from ...evidence.inflection.wording import sought_words
from ...evidence.months import all_month_names
from ...evidence.words import stems
from .pool import Pool
from .reading import Document
from .sentences import REFERENCE

MOST_ROWS = 8
MOST_TABLES = 2
ENOUGH = 0.5
"""Share of the question that a row, its header and the title must hold together."""
_RULE = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?\s*)?")
_BAR = re.compile(r"(?<!\\)\|")


class Table(NamedTuple):
    """A table of a document."""

    number: int
    """Number of the document."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Extract(NamedTuple):
    """The rows of a table that are shown, and the share of the question that they hold."""

    worth: float
    table: Table


def telling_tables(documents: Sequence[Document], pool: Pool, source: str) -> list[str]:
    """The rows that hold words of the question, as Markdown; `source` heads the column with the markers."""
    return [_markdown(table, source) for table in _best(documents, pool)]


def telling_rows(documents: Sequence[Document], pool: Pool) -> list[tuple[str, int]]:
    """The same rows in words, each cell behind its heading, with the numbers of their documents."""
    return [(_in_words(table.header, row), table.number) for table in _best(documents, pool) for row in table.rows]


def tables_of(document: Document) -> Iterator[Table]:
    """The Markdown tables in what is shown of a document."""
    for text in document.texts:
        lines = text.splitlines()
        for place, line in enumerate(lines):
            if place and _RULE.fullmatch(line.strip()):
                header, rows = _cells(lines[place - 1]), tuple(_rows(lines[place + 1 :]))
                yield Table(document.number, document.title, header, rows)


def _best(documents: Sequence[Document], pool: Pool) -> list[Table]:
    found = [extract for document in documents for table in tables_of(document) if (extract := _telling(table, pool))]
    best = sorted(found, key=lambda one: (-one.worth, one.table.number))[:MOST_TABLES]
    return [extract.table for extract in best]


def _in_words(header: Sequence[str], row: Sequence[str]) -> str:
    cells = [f"{name}: {cell}" if name else cell for name, cell in zip(header, row, strict=False) if cell]
    return f"{', '.join(cells)}."


def _rows(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        if "|" not in line:
            return
        yield _cells(line)


def _cells(line: str) -> tuple[str, ...]:
    # A number in brackets would be read as a citation of ours.
    parts = [REFERENCE.sub(r"(\1)", part).strip() for part in _BAR.split(line.strip())]
    return tuple(parts[bool(not parts[0]) : len(parts) - (not parts[-1])])


def _telling(table: Table, pool: Pool) -> Extract | None:
    around = frozenset(stems(" ".join((table.title, *table.header))))
    weights = [pool.weight(_stems_of(row, pool.question) - around) for row in table.rows]
    best = max(weights, default=0.0)
    rows = [row for row, weight in zip(table.rows, weights, strict=True) if weight == best > 0]
    worth = best + pool.weight(around)
    return Extract(worth, table._replace(rows=tuple(rows[:MOST_ROWS]))) if rows and worth >= ENOUGH else None


def _stems_of(row: Sequence[str], question: str) -> frozenset[str]:
    """The stems in a row, and of the question's months those that the row writes as numbers, as in 2026-03."""
    text = " ".join(row)
    months = {int(date.iso[5:7]) for date in dates_in(text) if len(date.iso) > len("2026")}
    asked = [word for word in sought_words(question) if all_month_names().get(word) in months]
    years = [date.iso[:4] for date in dates_in(text)]
    return frozenset(stems(" ".join((text, *asked, *years))))


def _markdown(table: Table, source: str) -> str:
    lines = [(*table.header, source), ("---",) * (len(table.header) + 1)]
    lines += [(*row, f"[{table.number}]") for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
