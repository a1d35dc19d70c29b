"""Follow-ups on a table: columns and rows are added to it, and it is brought up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import CLEAR, Lab, written
from kit.tables import (
    ASKING,
    COLUMNS,
    LIGHTS,
    QUESTION,
    SCOUT,
    SUMMARY,
    cell,
    cells,
    design,
    killing,
    researching,
    row,
    rows,
    scripts,
    table_lab,
)

from deep_research.core.errors import QuestionRefused
from deep_research.core.settings.context import Role
from deep_research.state import ResearchState

PAINT = "# Paint\n\nThe Skerry Light is painted white. The Anvil Light is painted red.\n"
COLOUR = {"name": "Colour"}
SKERRY_ROW = "| Skerry Light [1] | 38 metres [2] | 1844 [2] | Ada Moran [2] |"
ANVIL_ROW = "| Anvil Light [1] | 21.5 metres [3] | 1861 [3] | – |"


ADDS = calls(call("edit_report", edits=[], adds_to_table=True))
"""An edit for which cells have to be found out."""


def changed_design(**changes: Any) -> Any:
    """The design with which a follow-up changes the table of lighthouses."""
    [made] = design(**changes).tool_calls
    return calls(call("change_table", **made["args"]))


def lights(tmp_path: Path) -> Path:
    """The folder with the documents of the first table alone, the same for all tests."""
    folder = written(tmp_path.parent / "lights", LIGHTS)
    known = {name.replace("_", ".") for name in LIGHTS}
    for path in folder.iterdir():
        if path.name not in known:
            path.unlink()
    return folder


async def asked_on(
    tmp_path: Path,
    question: Any,
    change: Mapping[str, Any],
    researcher: Mapping[str, Any],
    new: dict[str, str],
) -> tuple[Lab, ResearchState]:
    """A follow-up on the finished table, to be designed with this `change`, for which documents are
    `new`; returns the run, whose calls are those of the follow-up, and its state."""
    run = table_lab(
        tmp_path,
        clarifier=[CLEAR, CLEAR],
        planner={"design_table": design(), "change_table": changed_design(**change)},
        writer={"edit_report": ADDS, "": SUMMARY},
    )
    run.folder = lights(tmp_path)
    await run.ask_once(QUESTION)
    run.models["researcher"].replies = scripts("researcher", **researcher)
    for model in run.models.values():
        model.calls.clear()
    written(run.folder, new)
    return run, await run.ask(question)


def table_of(state: ResearchState) -> list[str]:
    assert state.report
    return state.report.text.splitlines()[-len(state.report.text.split("\n|")) + 1 :]


@pytest.mark.sweep
@pytest.mark.parametrize("is_edit", [False, True])
async def test_a_new_column_is_filled_and_all_other_cells_stay(
    tmp_path: Path, is_edit: bool
) -> None:
    painted = {
        "Row 1: Skerry Light": researching(
            "Skerry Light painted", cells(cell("Colour", "white", "painted white"))
        ),
        "Row 1: Anvil Light": researching(
            "Anvil Light painted", cells(cell("Colour", "red", "painted red"))
        ),
    }
    change = {"keeps": "rows and cells", "ways": [], "columns": [*COLUMNS, COLOUR]}
    question = {"messages": [("user", "Add the colours.")], "edit": is_edit}
    run, state = await asked_on(tmp_path, question, change, painted, {"paint_md": PAINT})
    assert table_of(state) == [
        "| Light | Height (m) | Lit | Keeper | Colour |",
        "| --- | --- | --- | --- | --- |",
        f"{SKERRY_ROW} white [4] |",
        f"{ANVIL_ROW} red [4] |",
    ]
    asked = [request.text for request in run.calls("researcher")]
    assert not any(SCOUT in text for text in asked)
    # Neither what was found nor what was not is looked for once more.
    assert all("Cells: Colour." in text for text in asked)
    assert "no further rows were asked for" in "\n".join(state.run.notices)
    assert run.calls("planner")[0].tools == ("change_table",)


async def test_without_a_model_a_follow_up_adds_columns_and_loses_nothing(tmp_path: Path) -> None:
    run = table_lab(tmp_path, models="extractive")
    run.folder = written(
        tmp_path / "contracts",
        {
            "berth_md": "# Berth\n\nTenant: Orwell Ferries\n\nMonthly rent: 1,200 euros\n",
            "crane_md": "# Crane\n\nTenant: Anlow Cranes Ltd\n",
        },
    )
    await run.ask("A table: tenant")
    state = await run.ask("Add a column: monthly rent (money)")
    table = [
        "| Document | tenant | monthly rent |",
        "| --- | --- | --- |",
        "| berth.md [1] | Orwell Ferries [1] | 1200 euros [1] |",
        "| crane.md [2] | Anlow Cranes Ltd [2] | – |",
    ]
    assert state.report and state.report.text.splitlines() == table
    for question in ("Leave out the cranes.", "Add a column: tenant"):
        with pytest.raises(
            QuestionRefused, match="Without a language model, a follow-up on a table adds"
        ):
            await run.ask(question)
        state = await run.state()
        assert state.report and state.report.text.splitlines() == table


async def test_new_rows_are_added_to_those_that_are_known(tmp_path: Path) -> None:
    gull = "# Gull Light\n\nThe Gull Light stands 12 metres tall.\n"
    filled = researching(
        "Gull Light", cells(cell("Light", "Gull Light"), cell("Height", "12 metres"))
    )
    scouted = researching("Gull Light", rows(row("Gull Light"), row("Anvil Light")))
    run, state = await asked_on(
        tmp_path,
        "Add the lights of the southern coast.",
        {"keeps": "rows and cells", "ways": ["the southern coast"]},
        {SCOUT: scouted, "Row 1: Gull Light": filled, "These cells": researching("x", cells())},
        {"gull_md": gull},
    )
    assert table_of(state)[2:] == [
        SKERRY_ROW,
        ANVIL_ROW,
        "| Gull Light [4] | 12 metres [4] | – | – |",
    ]
    assert "New rows: Gull Light." in state.run.notices
    tasks = [request.text for request in run.calls("researcher")]
    assert not any("Row 1: Skerry Light" in text or "Row 1: Anvil Light" in text for text in tasks)
    [scout, *_] = [text for text in tasks if SCOUT in text]
    assert "Skerry Light\nAnvil Light" in scout


TALLER = LIGHTS["skerry_md"].replace("38 metres", "41 metres").replace("Ada Moran", "Nobody")
TALLER_SKERRY = researching(
    "Skerry Light height",
    cells(
        cell("Light", "Skerry Light"),
        cell("Height", "41 metres", "It stands 41 metres tall."),
        cell("Lit", "1844", "The Skerry Light was lit for the first time in 1844."),
    ),
)


async def test_a_refresh_reads_the_sources_anew_and_says_what_has_changed(tmp_path: Path) -> None:
    _, state = await asked_on(
        tmp_path,
        "Bring the table up to date.",
        {"keeps": "rows"},
        {"Row 1: Skerry Light": TALLER_SKERRY},
        {"skerry_md": TALLER},
    )
    notes = "\n".join(state.run.notices)
    assert "Cells that have changed: Skerry Light, Height: 38 metres → 41 metres." in notes
    assert "Cells that were not found again and stay as they were: Skerry Light, Keeper." in notes
    lines = table_of(state)
    assert lines[2:] == [SKERRY_ROW.replace("38", "41"), ANVIL_ROW]


async def test_a_refresh_without_news_says_so(tmp_path: Path) -> None:
    _, state = await asked_on(tmp_path, "Bring the table up to date.", {"keeps": "rows"}, {}, {})
    assert "Nothing has changed since the table before." in state.run.notices
    assert table_of(state)[2:] == [SKERRY_ROW, ANVIL_ROW]


async def test_another_table_keeps_nothing(tmp_path: Path) -> None:
    run, state = await asked_on(tmp_path, "All beacons instead.", {"max_rows": 1}, {}, {})
    assert table_of(state)[2:] == [SKERRY_ROW]
    assert any(SCOUT in request.text for request in run.calls("researcher"))


async def test_an_edit_of_the_table_is_not_undone_by_a_later_column(tmp_path: Path) -> None:
    change = {"keeps": "rows and cells", "ways": [], "columns": [*COLUMNS, COLOUR]}
    drop = {"kind": "delete_row", "block": 2, "row": 2}
    painted = researching("Skerry Light painted", cells(cell("Colour", "white", "painted white")))
    run = table_lab(
        tmp_path,
        clarifier=[CLEAR, CLEAR],
        planner={"design_table": design(), "change_table": changed_design(**change)},
        writer={"edit_report": calls(call("edit_report", edits=[drop])), "": SUMMARY},
    )
    run.folder = written(tmp_path / "lights", {**LIGHTS, "paint_md": PAINT})
    await run.ask(QUESTION)
    await run.ask({"messages": [("user", "Leave out the Anvil Light.")], "edit": True})
    run.models["researcher"].replies = scripts("researcher", **{"Row 1: Skerry Light": painted})
    state = await run.ask("Add the colours.")
    assert table_of(state)[2:] == [f"{SKERRY_ROW} white [4] |"]


CALLS = 12
"""Model calls of a refresh, those of the verifier aside."""


@pytest.mark.parametrize(
    "at",
    [7, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 13) if n != 7)],
)
async def test_a_refresh_that_is_killed_at_any_call_says_the_same_and_pays_nothing_twice(
    tmp_path: Path, at: int
) -> None:
    run = table_lab(
        tmp_path,
        clarifier=[CLEAR, CLEAR],
        planner={"design_table": design(), "change_table": changed_design(keeps="rows")},
    )
    run.folder = lights(tmp_path)
    await run.ask_once(QUESTION)
    # Nobody hears of the costs of a call that ends while the run is killed.
    run.books = None
    written(run.folder, {"skerry_md": TALLER})
    numbers = count(1)
    replies: dict[Role, Any] = {
        "planner": {"change_table": changed_design(keeps="rows")},
        "orchestrator": scripts("orchestrator"),
        "researcher": scripts("researcher", **{"Row 1: Skerry Light": TALLER_SKERRY}),
        "writer": SUMMARY,
    }
    for role, script in replies.items():
        run.models[role].replies = killing(script, numbers, at)
        run.models[role].calls.clear()
    with suppress(asyncio.CancelledError):
        await asyncio.create_task(run.ask("Bring the table up to date."), name=ASKING)
    state = await run.ask(None)
    assert table_of(state)[2:] == [SKERRY_ROW.replace("38", "41"), ANVIL_ROW]
    changed = "Cells that have changed: Skerry Light, Height: 38 metres → 41 metres."
    assert state.run.notices.count(changed) == 1
    asked = sum(len(run.models[role].calls) for role in replies)
    # Of two researchers side by side, both calls may be under way.
    assert CALLS <= asked <= CALLS + 2
