"""The rows of a table: merges candidates, fills cells, finds rows that may be the same, and writes
the table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from typing import NamedTuple

from ..evidence.citations.citing import name_of
from ..evidence.citations.rendering import plain_line, words_of_line
from ..evidence.text.words import unaccented
from ..records.sources import Source, short_hash
from ..records.table import (
    RowCandidate,
    RowRecord,
    RowResult,
    TableCell,
    TableColumn,
)
from ..writing.blocks import TableRow
from .values import EMPTY_CELL, NOT_APPLICABLE

_ALIKE = 0.8
"""Likeness of two names, 0 to 1, from which on they may mean the same row."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s`|\\<>\[\]]+")
_ADDRESS_AS_CODE = re.compile(rf"`({_ADDRESS.pattern})`")
_PREFIX = 4
"""Length of the beginning that alike names share if they share no word, in characters."""
_MOST_SHARING = 60
"""Rows that share a word with more others are compared by their other words only."""


class RowPair(NamedTuple):
    """Two rows that may be the same."""

    first: RowRecord
    second: RowRecord


def row_id(candidate: RowCandidate) -> str:
    """Return the id of the row that a candidate names: the same for names that differ in case,
    spaces and punctuation only."""
    return short_hash(*map(name_of, candidate.key))[:12]


def with_candidates(
    rows: Mapping[str, RowRecord], candidates: Iterable[RowCandidate]
) -> dict[str, RowRecord]:
    """Return the rows that are new or have new candidates, by id.

    `rows` are known already, by id. A row that one source rejects and another one names counts.
    """
    changed = dict[str, RowRecord]()
    for candidate in candidates:
        row = row_id(candidate)
        known = changed.get(row) or rows.get(row)
        if known is None:
            changed[row] = RowRecord(id=row, candidates=(candidate,))
        elif candidate not in known.candidates:
            update = {"candidates": (*known.candidates, candidate)}
            changed[row] = known.model_copy(update=update)
    return changed


def rejection_of(row: RowRecord) -> RowCandidate | None:
    """Return the first candidate of a row if all of them reject it."""
    for candidate in row.candidates:
        if not candidate.reason:
            return None
    return row.candidates[0]


def own_rejections(row: RowRecord, sources: Mapping[str, Source]) -> Iterator[RowCandidate]:
    """Yield the candidates of a row that reject it by words of its own page, which another one has
    not read otherwise; `sources` are by key."""
    own = {candidate.address for candidate in row.candidates if candidate.address}
    counting = {candidate.source for candidate in row.candidates if not candidate.reason}
    for candidate in row.candidates:
        source = sources.get(candidate.source)
        is_own = source is not None and source.address in own
        if candidate.reason and is_own and candidate.source not in counting:
            yield candidate


def pairs_alike(rows: Sequence[RowRecord], most: int) -> list[RowPair]:
    """Return at most `most` pairs of rows whose names are alike, the most alike first."""
    names = dict[str, str]()
    by_word: dict[str, list[RowRecord]] = {}
    for row in rows:
        names[row.id] = _letters(row.name)
        for word in {*names[row.id].split(), names[row.id][:_PREFIX]}:
            by_word.setdefault(word, []).append(row)
    likeness = dict[tuple[str, str], float]()
    pairs = dict[tuple[str, str], RowPair]()
    for sharing in by_word.values():
        if len(sharing) > _MOST_SHARING:
            continue
        for first, second in combinations(sharing, 2):
            ids = (first.id, second.id)
            if ids in likeness:
                continue
            likeness[ids] = _likeness(names[first.id], names[second.id])
            if likeness[ids] >= _ALIKE:
                pairs[ids] = RowPair(first, second)
    best = sorted(pairs, key=lambda ids: -likeness[ids])
    return list(map(pairs.__getitem__, best[:most]))


def _letters(name: str) -> str:
    """Return the words of a name, without accents and case."""
    return " ".join(map(unaccented, name_of(name).split()))


def _likeness(name: str, other: str) -> float:
    """Return how alike two names are, 0 to 1: 1 if one has all words of the other."""
    words, others = set(name.split()), set(other.split())
    if words <= others or others <= words:
        return 1.0
    return SequenceMatcher(None, name, other).ratio()


def merged_rows(rows: Sequence[RowRecord]) -> RowRecord:
    """Return rows that are the same as one, under the name of the first."""
    first, *others = rows
    candidates = dict.fromkeys(first.candidates)
    for row in others:
        candidates |= dict.fromkeys(row.candidates)
        first = with_cells(first, RowResult(row=first.id, cells=row.cells), row.read)
    return first.model_copy(update={"candidates": tuple(candidates)})


def with_cells(
    row: RowRecord, result: RowResult, read: Iterable[str] = (), *, is_anew: bool = False
) -> RowRecord:
    """Return a row with what a researcher has handed in for it, who has `read` these sources; cells
    that were found before stay, unless they were found anew."""
    cells = dict[str, TableCell]()
    for cell in (*row.cells, *result.cells):
        known = cells.get(cell.column)
        if known is None or (is_anew and cell.state != "not found"):
            cells[cell.column] = cell
        elif known.state == "not found":
            looked = "; ".join(filter(None, (known.looked, cell.looked)))
            cells[cell.column] = cell.model_copy(update={"looked": looked})
    every = tuple(dict.fromkeys((*row.read, *read)))
    return row.model_copy(update={"cells": tuple(cells.values()), "read": every})


def open_columns(row: RowRecord, columns: Iterable[TableColumn]) -> list[str]:
    """Return the names of the columns of which nothing was found for a row, those aside that it
    was kept with."""
    missing = list[str]()
    for column in columns:
        cell = row.cell(column.name)
        if cell is None or (cell.state == "not found" and not cell.written):
            missing.append(column.name)
    return missing


class TableWriter(NamedTuple):
    """Writes the table of a report from its rows."""

    columns: Sequence[TableColumn]
    numbers: Mapping[str, int]
    """The numbers of the sources in the thread, by key."""
    excluded: Collection[str] = ()
    """Keys of sources that may not be cited."""

    def markdown(self, rows: Iterable[RowRecord]) -> str:
        """Return the table in Markdown, with the citations of each cell."""
        headings = map(plain_line, map(heading_of, self.columns))
        lines = [_table_line(headings), _table_line(["---"] * len(self.columns))]
        for row in rows:
            lines.append(_table_line(self._cells(row)))
        return "\n".join(lines)

    def is_citable(self, row: RowRecord) -> bool:
        """Whether any source that is not excluded says anything of a row."""
        for candidate in row.candidates:
            if candidate.source and candidate.source not in self.excluded:
                return True
        return any(map(self._stated, row.cells))

    def _cells(self, row: RowRecord) -> list[str]:
        """Return the words of a row's cells."""
        cells = list[str]()
        keys = 0
        for column in self.columns:
            named = ""
            if column.is_key:
                named = self._named(row, keys)
                keys += 1
            cells.append(self._stated(row.cell(column.name)) or named or EMPTY_CELL)
        return cells

    def _stated(self, cell: TableCell | None) -> str:
        """Return what sources say in a cell; empty if they say nothing."""
        if cell and cell.written:
            return cell.written
        citations = dict[str, dict[str, None]]()
        if cell:
            for value in cell.values:
                marker = self.marker(value.source)
                if marker:
                    citations.setdefault(value.text, {})[marker] = None
        stated = list[str]()
        for text, markers in citations.items():
            words = written_value(text) or NOT_APPLICABLE
            stated.append(words + "".join(markers))
        return "; ".join(stated)

    def _named(self, row: RowRecord, position: int) -> str:
        """Return the value of a key column, by its position among these, as candidates have it."""
        for candidate in row.candidates:
            if candidate.source in self.excluded or position >= len(candidate.key):
                continue
            return written_value(candidate.key[position]) + self.marker(candidate.source)
        return ""

    def marker(self, source: str) -> str:
        """Return the citation of a source with a space before it; empty if it may not be cited."""
        if source in self.excluded or source not in self.numbers:
            return ""
        return f" [{self.numbers[source]}]"


def written_value(text: str) -> str:
    """Return a value from a source as the report has it: without markup, and an address as code,
    since nothing has to be escaped in that and nobody makes a link of it."""
    if _ADDRESS.fullmatch(text):
        return f"`{text}`"
    return plain_line(text)


def value_of(words: str) -> str:
    """Return the value of which `written_value` has made these words."""
    return words_of_line(_ADDRESS_AS_CODE.sub(r"\1", words))


def heading_of(column: TableColumn) -> str:
    """Return the heading of a column, with its unit."""
    if not column.unit:
        return column.name
    return f"{column.name} ({column.unit})"


def _table_line(cells: Iterable[str]) -> str:
    return TableRow("|", tuple(map(TableRow.cell, cells)), "|").text
