"""Rows of a table: candidates, likeness, cells, and the table in Markdown."""

from __future__ import annotations

from typing import Any

from deep_research.core.evidence.citations.sanitizing import sanitized
from deep_research.core.records.report import Report
from deep_research.core.records.table import (
    CellValue,
    RowCandidate,
    RowRecord,
    RowResult,
    TableCell,
    TableColumn,
)
from deep_research.core.tables.report_tables import kept_rows, sheets_of
from deep_research.core.tables.rows import (
    TableWriter,
    merged_rows,
    open_columns,
    pairs_alike,
    rejection_of,
    row_id,
    with_candidates,
    with_cells,
)

COLUMNS = (
    TableColumn(name="Grant", is_key=True),
    TableColumn(name="Amount", kind="money", unit="EUR"),
)


def candidate(name: str, source: str = "list", **more: Any) -> RowCandidate:
    return RowCandidate(key=(name,), source=source, **more)


def record(name: str, source: str = "list") -> RowRecord:
    [found] = with_candidates({}, [candidate(name, source)]).values()
    return found


def found(column: str, text: str, *sources: str) -> TableCell:
    values = tuple(CellValue(text=text, original=text, source=source) for source in sources)
    return TableCell(column=column, state="found" if values else "not found", values=values)


def test_names_that_differ_in_case_and_punctuation_are_one_row_and_others_are_not() -> None:
    names = ["Harbour Fund", "harbour  fund.", "Harbour Fund 2", "Härbour Fund"]
    rows = with_candidates({}, map(candidate, names))
    assert [row.name for row in rows.values()] == ["Harbour Fund", "Harbour Fund 2", "Härbour Fund"]
    assert with_candidates(rows, [candidate("Harbour Fund")]) == {}
    again = with_candidates(rows, [candidate("HARBOUR FUND", "register")])
    assert [len(row.candidates) for row in again.values()] == [3]


def test_a_row_that_some_source_names_without_rejecting_it_counts() -> None:
    rejected = [candidate("Fund", reason="too small"), candidate("Fund", "other", reason="old")]
    [row] = with_candidates({}, rejected).values()
    rejection = rejection_of(row)
    assert rejection and rejection.reason == "too small"
    [row] = with_candidates({row.id: row}, [candidate("Fund", "register")]).values()
    assert rejection_of(row) is None


def test_alike_names_are_pairs_with_the_most_alike_first() -> None:
    names = ["Skerry Light", "Skerry Lt.", "Scerry Light", "Anvil Light", "Port Anlow"]
    pairs = pairs_alike([record(name) for name in names], 10)
    assert [{pair.first.name, pair.second.name} for pair in pairs[:1]] == [
        {"Skerry Light", "Scerry Light"}
    ]
    assert not any("Port Anlow" in (pair.first.name, pair.second.name) for pair in pairs)
    many = [record(f"Fund {number}") for number in range(200)]
    assert len(pairs_alike(many, 5)) <= 5


def test_cells_that_were_found_stay_when_they_are_looked_for_again() -> None:
    row = with_cells(
        record("Fund"),
        RowResult(row="", cells=(found("Grant", "Fund", "page"), found("Amount", ""))),
    )
    assert open_columns(row, COLUMNS) == ["Amount"]
    again = (found("Grant", "Another", "blog"), found("Amount", "5 EUR", "blog"))
    row = with_cells(row, RowResult(row="", cells=again))
    assert [cell.values[0].text for cell in row.cells] == ["Fund", "5 EUR"]


def test_merged_rows_have_the_name_of_the_first_and_the_candidates_of_all() -> None:
    merged = merged_rows([record("Harbour Fund"), record("Fund for harbours", "register")])
    assert merged.name == "Harbour Fund"
    assert [named.source for named in merged.candidates] == ["list", "register"]


def test_an_address_is_written_as_code_and_read_back() -> None:
    columns = (COLUMNS[0], TableColumn(name="Website", kind="link"))
    address = "https://anlow.example/a_b*c?d=(e)"
    values = [address, f"see {address}", "https://a.example/[3]", "$5 *now*"]
    records = list[RowRecord]()
    for number, value in enumerate(values):
        cells = (found("Website", value, "page"),)
        records.append(record(f"Fund {number}").model_copy(update={"cells": cells}))
    table = TableWriter(columns, {"list": 1, "page": 2}).markdown(records)
    assert f"| Fund 0 [1] | `{address}` [2] |" in table
    assert sanitized(table) == table
    [sheet] = sheets_of(Report(text=table, sources=("list", "page"), numbers=(1, 2)))
    read = [row[1].text for row in sheet.rows]
    assert read == values


def test_each_value_is_cited_and_what_may_not_be_cited_is_blank() -> None:
    writer = TableWriter(COLUMNS, {"list": 1, "page": 2, "blog": 3, "bad": 4}, {"bad"})
    first = record("Fund | A").model_copy(
        update={"cells": (found("Amount", "5 EUR", "page", "blog"),)}
    )
    disputed = TableCell(
        column="Amount",
        state="found",
        values=(
            CellValue(text="5 EUR", original="5", source="page"),
            CellValue(text="6 EUR", original="6", source="blog"),
        ),
    )
    second = record("Other").model_copy(update={"cells": (disputed,)})
    unknown = record("Third").model_copy(
        update={"cells": (found("Amount", "7 EUR", "bad", "never read"),)}
    )
    na = TableCell(
        column="Amount",
        state="does not apply",
        values=(CellValue(text="", original="", source="page"),),
    )
    fourth = record("Fourth").model_copy(update={"cells": (na,)})
    assert writer.markdown([first, second, unknown, fourth]).splitlines() == [
        "| Grant | Amount (EUR) |",
        "| --- | --- |",
        "| Fund \\| A [1] | 5 EUR [2] [3] |",
        "| Other [1] | 5 EUR [2]; 6 EUR [3] |",
        "| Third [1] | – |",
        "| Fourth [1] | n/a [2] |",
    ]
    assert not writer.is_citable(record("Bad", "bad"))


def kept(text: str) -> list[RowRecord]:
    columns = (TableColumn(name="Light", is_key=True), TableColumn(name="Height", kind="number"))
    report = Report(text=text, sources=("a", "b"), numbers=(1, 2), columns=columns)
    return kept_rows(report)


def test_rows_are_kept_with_their_words_and_with_the_sources_that_they_cite() -> None:
    [skerry, anvil] = kept(
        "Two.\n\n| Light | Height |\n| --- | --- |\n| Skerry [1] | 38 m [2] |\n| Anvil [1] | – |"
    )
    assert [candidate.source for candidate in skerry.candidates] == ["a", "b"]
    assert skerry.id == row_id(RowCandidate(key=("skerry",), source="c"))
    assert [cell.written for cell in skerry.cells] == ["Skerry [1]", "38 m [2]"]
    # A cell that was looked for in vain is not looked for with each new column.
    assert open_columns(anvil, [TableColumn(name="Height"), TableColumn(name="Lit")]) == ["Lit"]


def test_a_row_is_kept_if_the_heading_of_its_key_was_edited() -> None:
    [skerry] = kept("| Lighthouse | Height |\n| --- | --- |\n| Skerry [1] | 38 m [2] |")
    assert skerry.name == "Skerry"
