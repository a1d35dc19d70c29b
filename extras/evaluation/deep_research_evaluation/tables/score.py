"""Compares the table of a report with the gold, by rows and by cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from deep_research.core.tables.report_tables import ReportSheet, SheetCell
from deep_research_evaluation.tables.facts import Entity, Stated, TableRequest


class TableScore(NamedTuple):
    """How a table compares with the gold."""

    rows: int
    """Rows of the gold."""
    found: int
    """Those that the table has."""
    extra: int
    """Rows of the table that are not in the gold, or a second time."""
    cells: int
    """Cells of the gold in rows that the table should have, without those of the key."""
    right: int
    """Cells that say what they should, unmarked; blank ones of which no source says anything are
    right."""
    marked: int
    """Cells that are marked as not verified, without those of the key."""
    marked_right: int
    """Those of them that say what they should."""
    missing: int
    """Blank cells of which a source says something, and cells of missing rows."""
    marked_keys: int
    """Cells of the key that are marked, though they name a row of the gold."""
    wrong: tuple[str, ...]
    """What wrong and unmarked cells say, in words."""
    planted: int = 0
    """Wrong values of the model that stand, or would stand, in cells of the table."""
    mended: int = 0
    """Those that the check has corrected."""
    planted_marked: int = 0
    """Those that the check has marked."""

    @property
    def precision(self) -> float:
        """Share of the table's rows that are in the gold, 0 to 1."""
        return self.found / max(1, self.found + self.extra)

    @property
    def recall(self) -> float:
        """Share of the gold's rows that the table has, 0 to 1."""
        return self.found / max(1, self.rows)


def score_table(
    request: TableRequest,
    sheet: ReportSheet | None,
    planted: Mapping[tuple[str, str], str],
) -> TableScore:
    """Compare a table with the gold of its request; `planted`: the wrong values of the model, by
    the usual name of the row and the column."""
    gold = [entity for entity in request.entities if entity.counts]
    columns = [column.name for column in sheet.columns] if sheet else []
    found = dict[int, dict[str, SheetCell]]()
    extra = 0
    for row in sheet.rows if sheet else ():
        cells = dict(zip(columns, row, strict=True))
        name = tuple(cells[key].text for key in request.keys)
        number = _number_of(name, gold)
        if number is None or number in found:
            extra += 1
        else:
            found[number] = cells
    asked = [str(column["name"]) for column in request.columns if not column.get("is_key")]
    right = marked = marked_right = missing = marked_keys = 0
    mended = planted_marked = planted_count = 0
    wrong = list[str]()
    for number, entity in enumerate(gold):
        for key in request.keys if number in found else ():
            # Its value is that of the row, by which the row was found.
            marked_keys += found[number][key].is_marked
        for column in asked:
            own_fact = entity.facts[column]
            if number not in found:
                missing += 1
                continue
            cell = found[number][column]
            said = frozenset(filter(None, cell.text.split("; ")))
            is_planted = (" ".join(entity.names[0]), column) in planted
            is_right = said == own_fact.expected
            if is_planted:
                # A correction has the words of the source.
                is_right = is_right or said == frozenset(map(_whole, own_fact.stated))
            planted_count += is_planted
            if cell.is_marked:
                marked += 1
                marked_right += is_right
                planted_marked += is_planted
            elif is_right:
                right += 1
                mended += is_planted
            elif not said:
                missing += 1
            else:
                shown = f"{' '.join(entity.names[0])}, {column}: {cell.text!r}"
                wrong.append(f"{shown} instead of {sorted(own_fact.expected)}")
    return TableScore(
        rows=len(gold),
        found=len(found),
        extra=extra,
        cells=len(gold) * len(asked),
        right=right,
        marked=marked,
        marked_right=marked_right,
        missing=missing,
        marked_keys=marked_keys,
        wrong=tuple(wrong),
        planted=planted_count,
        mended=mended,
        planted_marked=planted_marked,
    )


def _whole(stated: Stated) -> str:
    return f"{stated.value} {stated.unit}".strip()


def _number_of(name: tuple[str, ...], gold: Sequence[Entity]) -> int | None:
    for number, entity in enumerate(gold):
        if name in entity.names:
            return number
    return None
