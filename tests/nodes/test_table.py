"""Whole runs of the table strategy: from the question to the checked table."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import Lab, ask, decided, edited, search, written
from kit.tables import (
    AGAIN,
    ANVIL,
    ASKING,
    BEACON,
    LIGHTS,
    LISTED,
    QUESTION,
    SCOUT,
    SKERRY,
    SUMMARY,
    USUAL,
    cell,
    cells,
    design,
    document_with,
    killing,
    researching,
    row,
    rows,
    scripts,
    shown,
    table_lab,
)
from langchain_core.messages import ToolMessage

from deep_research.app.embed import thread_config
from deep_research.core.records import tool_names
from deep_research.core.records.sources import Exclusion
from deep_research.core.store.location import thread_id
from deep_research.core.store.pages import Inbox, Pages
from deep_research.core.tables.design import TableDesign
from deep_research.core.tables.report_tables import sheets_of
from deep_research.state import ResearchState
from deep_research.tools.results import results_in

HEADER = "| Light | Height (m) | Lit | Keeper |\n| --- | --- | --- | --- |"
SKERRY_ROW = "| Skerry Light [1] | 38 metres [2] | 1844 [2] | Ada Moran [2] |"
ANVIL_ROW = "| Anvil Light [1] | 21.5 metres [3] | 1861 [3] | – |"
REPORT = f"{SUMMARY}\n\n{HEADER}\n{SKERRY_ROW}\n{ANVIL_ROW}"


def pages_of(run: Lab) -> Pages:
    return Pages(run.graph.page_store, thread_id(run.thread))


def text_of(state: ResearchState) -> str:
    assert state.report
    return state.report.text


def notes_of(state: ResearchState) -> str:
    return "\n".join(state.run.notices)


async def test_rows_are_found_merged_filled_written_and_checked(tmp_path: Path) -> None:
    run = table_lab(tmp_path)
    state = await run.ask_once(QUESTION)
    assert text_of(state) == REPORT
    assert state.report
    assert {verdict.shown for verdict in state.report.verdicts} == {"supported", "reasoning"}
    assert notes_of(state).splitlines() == [
        "Rows: 2. The search for rows ended: all parts were searched.",
        "Cells: 8 (found: 7, not found: 1).",
        "Rows that do not count: Port Anlow beacon (it has no lantern).",
        "Rows that are the same as another: Skerry Lt. (Skerry Light).",
    ]
    assert state.title == "Lighthouses of the Anlow coast"
    # Only the empty cell of the Anvil Light is looked for once more.
    [again] = [request for request in run.calls("researcher") if AGAIN in request.text][:1]
    assert "Row 1: Anvil Light. Cells: Keeper." in again.text
    [looked] = [finding for finding in state.own_findings if "everywhere" in finding.text]
    assert looked.text == "- Anvil Light, Keeper: not found; looked in: everywhere"
    assert run.types()[-1] == "stop"


async def test_an_empty_cell_says_where_it_was_looked_for(tmp_path: Path) -> None:
    state = await table_lab(tmp_path).ask_once(QUESTION)
    assert state.report
    [sheet] = sheets_of(state.report)
    keeper = sheet.data["rows"][1][3]
    assert keeper == {"value": None, "looked_in": ["list.md", "anvil.md", "skerry.md"]}
    assert "looked_in" not in sheet.data["rows"][0][3]


async def test_rows_lie_in_the_store_and_only_their_ids_in_the_state(tmp_path: Path) -> None:
    run = table_lab(tmp_path)
    state = await run.ask_once(QUESTION)
    entries = {entry.name: entry for entry in state.rows.values()}
    assert {name: entry.standing for name, entry in entries.items()} == {
        "Skerry Light": "filled",
        "Anvil Light": "filled",
        "Skerry Lt.": "duplicate",
        "Port Anlow beacon": "rejected",
    }
    stored = await pages_of(run).text(entries["Skerry Light"].content)
    assert stored and "It stands 38 metres tall." in stored
    assert "It stands 38 metres tall." not in str(state.rows)


async def test_the_plan_says_the_design_and_an_edit_of_it_counts(tmp_path: Path) -> None:
    run = table_lab(tmp_path, review_plan=True)
    await run.ask(QUESTION)
    asked = await run.waiting()
    assert "2. Height (number in m)" in asked["plan"]
    plan = "1. Light (text, key)\n2. Lit (date)\n\n## Rows\n\n- One row: one lighthouse"
    state = await run.ask(edited(plan))
    assert state.plan
    assert [column.name for column in TableDesign.read(state.plan).columns] == ["Light", "Lit"]
    assert text_of(state).endswith(
        "| Skerry Light [1] | 1844 [2] |\n| Anvil Light [1] | 1861 [3] |"
    )


async def test_a_line_of_the_plan_that_says_nothing_is_refused_and_the_plan_waits(
    tmp_path: Path,
) -> None:
    run = table_lab(tmp_path, review_plan=True)
    await run.ask(QUESTION)
    plan = "1. Light (text, key)\n2. Place (colour)\n\n## Rows\n\n- At most: lots of rows"
    await run.ask(edited(plan))
    asked = await run.waiting()
    assert "(colour) is no kind of column" in asked["refused"]
    assert "“At most: lots of rows”: name a number" in asked["refused"]
    state = await run.ask(edited(plan.replace("(colour)", "(text)").replace("lots of", "1")))
    assert state.plan and TableDesign.read(state.plan).max_rows == 1
    assert text_of(state).endswith("| Light | Place |\n| --- | --- |\n| Skerry Light [1] | – |")


async def test_without_a_model_a_comment_on_the_plan_is_refused_in_words(tmp_path: Path) -> None:
    run = table_lab(tmp_path, review_plan=True, models="extractive")
    await run.ask("A table: height (number), keeper")
    await run.ask(decided("reject", message="Without the keepers, please."))
    assert "needs a language model" in (await run.waiting())["refused"]
    state = await run.ask(decided("approve"))
    assert "| Document | height | keeper |" in text_of(state)


@pytest.mark.slow
async def test_a_rejected_plan_is_designed_again_with_the_comment(tmp_path: Path) -> None:
    run = table_lab(tmp_path, review_plan=True)
    await run.ask(QUESTION)
    await run.ask(decided("reject", message="Without the keepers, please."))
    assert "Without the keepers, please." in run.calls("planner")[-1].text
    state = await run.ask(decided("approve"))
    assert text_of(state) == REPORT


async def test_scouts_go_on_where_others_saw_more_until_two_rounds_bring_nothing_new(
    tmp_path: Path,
) -> None:
    named = iter([["the harbour office"], ["old charts"], ["postcards"]])
    found = {
        "the list of lighthouses": rows(row("Skerry Light"), further=["the list of 1861"]),
        "the list of 1861": rows(row("Anvil Light")),
    }

    def scouted(messages: Any, settings: Any) -> Any:
        ways = [way for way in found if f"table: {way}" in messages[1].text]
        return found[ways[0]](messages, settings) if ways else rows()(messages, settings)

    run = table_lab(
        tmp_path,
        researcher=scripts("researcher", **{SCOUT: researching("lighthouses", scouted)}),
        orchestrator=scripts(
            "orchestrator",
            name_ways=lambda *_: calls(call("name_ways", ways=next(named))),
        ),
    )
    state = await run.ask(QUESTION)
    assert state.table and state.table.tried == (
        "the list of lighthouses",
        "the list of 1861",
        "the harbour office",
        "old charts",
    )
    assert "The search for rows ended: two rounds brought nothing new." in notes_of(state)
    assert text_of(state) == REPORT
    known = [request.text for request in run.calls("researcher") if "old charts" in request.text]
    assert "Skerry Light\nAnvil Light" in known[0]


REGISTER = 520
"""Rows of a register that is longer than what a scout is shown at once."""


async def test_a_register_is_read_to_its_end(tmp_path: Path) -> None:
    lines = [f"- Light {n:03}, lit in {1200 + n}, with a keeper" for n in range(REGISTER)]
    opened = list[Any]()

    def scouted(messages: Any, settings: Any) -> Any:
        texts = shown(messages)
        is_open = any(len(text) > 5_000 for text in texts.values())
        if not texts:
            return search("register of lights")
        if not is_open and "read_on" not in messages[-1].text:
            [address] = {
                result["address"]
                for message in messages
                if isinstance(message, ToolMessage)
                for result in results_in([message])
            }
            return calls(call(tool_names.OPEN_URL, urls=[address]))
        opened.append(texts)
        names = sorted(set(re.findall(r"Light \d{3}(?=, lit)", " ".join(texts.values()))))
        return rows(*map(row, names))(messages, settings)

    run = table_lab(
        tmp_path,
        researcher={SCOUT: scouted, "Fill a row": researching("lights", cells())},
        limits={"max_rows": REGISTER, "max_cells": 4, "max_results": 2, "whole_characters": 0},
    )
    run.folder = written(tmp_path / "register", {"register_md": "# Lights\n\n" + "\n".join(lines)})
    state = await run.ask(QUESTION)
    assert len(state.rows) == REGISTER
    assert state.table and state.table.round == 2
    assert "from character 9700 of " in state.table.tried[1]
    assert len(opened) == 3


async def test_rows_beyond_the_limit_are_named_and_the_report_says_so(tmp_path: Path) -> None:
    run = table_lab(tmp_path, limits={"max_rows": 1})
    state = await run.ask(QUESTION)
    assert text_of(state) == f"{SUMMARY}\n\n{HEADER}\n{SKERRY_ROW}"
    assert state.run.stop_reason == "rows were left out (max_rows)"
    assert "The search for rows ended: the limit of 1 rows was reached" in notes_of(state)
    assert "Rows left out because of a limit: Anvil Light (max_rows)." in notes_of(state)
    assert state.run.status == "completed_with_gaps"
    few = table_lab(tmp_path, limits={"max_cells": 5})
    assert "(max_cells)" in notes_of(await few.ask(QUESTION))


async def test_a_number_of_rows_that_the_plan_names_is_no_gap(tmp_path: Path) -> None:
    run = table_lab(tmp_path, planner={"design_table": design(max_rows=1)})
    state = await run.ask(QUESTION)
    assert text_of(state) == f"{SUMMARY}\n\n{HEADER}\n{SKERRY_ROW}"
    assert (state.run.stop_reason, state.run.status) == ("", "completed")
    assert "The search for rows ended: the plan asks for no more rows." in notes_of(state)
    assert "Rows beyond those that the plan asks for: Anvil Light." in notes_of(state)


async def test_a_form_with_faults_is_refused_and_handed_in_again(tmp_path: Path) -> None:
    broken = calls(call(tool_names.GENERATE_REPORT, rows=[{"document": 1}]))
    tries = count()

    def hand_in(messages: Any, settings: Any) -> Any:
        return broken if next(tries) == 0 else LISTED(messages, settings)

    researcher = scripts("researcher", **{SCOUT: researching("lighthouses", hand_in)})
    run = table_lab(tmp_path, researcher=researcher)
    assert text_of(await run.ask(QUESTION)) == REPORT
    assert "rows.0.key: Field required" in run.calls("researcher")[2].text


async def test_a_researcher_whose_rounds_are_used_up_hands_in_what_it_has(tmp_path: Path) -> None:
    def never_ends(messages: Any, settings: Any) -> Any:
        if "Your work is over" in messages[-1].text:
            return LISTED(messages, settings)
        return search(f"lighthouses {len(messages)}")

    researcher = scripts("researcher", **{SCOUT: never_ends})
    run = table_lab(tmp_path, researcher=researcher, limits={"max_iterations": 3})
    state = await run.ask(QUESTION)
    assert text_of(state) == REPORT
    [scout] = [finding for finding in state.own_findings if finding.cycle == 0]
    assert scout.ended == "partial" and "max_iterations" in scout.reason


async def test_a_row_that_turns_out_not_to_count_is_left_out_with_the_reason(
    tmp_path: Path,
) -> None:
    ruin = {"row": 1, "reason": "it is a ruin", "words": "It stands 21.5 metres tall."}
    rejected = cells(cell("Light", "Anvil Light"), rejected=[ruin])
    researcher = scripts("researcher", **{"Row 1: Anvil Light": researching("Anvil", rejected)})
    run = table_lab(tmp_path, researcher=researcher)
    state = await run.ask(QUESTION)
    assert text_of(state) == f"{SUMMARY}\n\n{HEADER}\n{SKERRY_ROW}"
    assert "Anvil Light (it is a ruin); Port" in notes_of(state)
    # The writer can name and cite it, and so what scouts have rejected.
    [asked] = run.calls("writer")
    assert "Anvil Light (it is a ruin) [3]; Port Anlow beacon (it has no lantern) [1]" in asked.text


async def test_the_words_by_which_a_cell_was_handed_in_are_always_shown_to_the_check(
    tmp_path: Path,
) -> None:
    written_about = "\n\n".join(
        f"Ada Moran, keeper of the Skerry Light, wrote in letter {number} about the harbour, the "
        "fog, the nets on the quay and the smell of tar along the old wall of the town."
        for number in range(40)
    )
    tended = "From then on she tended the lamp."
    keeper = cells(
        cell("Light", "Skerry Light"),
        cell("Height", "38 metres", "It stands 38 metres tall."),
        cell("Keeper", "Ada Moran", tended),
    )
    researcher = scripts(
        "researcher", **{"Row 1: Skerry Light": researching("Skerry Light height lamp", keeper)}
    )
    run = table_lab(tmp_path, researcher=researcher)
    text = LIGHTS["skerry_md"] + f"\n{written_about}\n\n{tended}\n\n{written_about}"
    run.folder = written(tmp_path / "long", {**LIGHTS, "skerry_md": text})
    state = await run.ask(QUESTION)
    assert "| Ada Moran [2] |" in text_of(state)
    judged = [request.text for request in run.calls("verifier") if "Skerry Light" in request.text]
    assert tended in judged[0]


async def test_sources_that_disagree_are_both_in_the_cell_and_among_the_disputes(
    tmp_path: Path,
) -> None:
    both = cells(
        cell("Light", "Skerry Light"),
        cell("Height", "38 metres", "It stands 38 metres tall."),
        cell("Lit", "1844", "The Skerry Light was lit for the first time in 1844."),
        cell("Lit", "1861", "Anvil Light, lit in 1861"),
        contradictions=[
            {
                "claim": "The Skerry Light was lit in 1844.",
                "document": 2,
                "other": "The Skerry Light was lit in 1861.",
                "other_document": 1,
                "resolution": "the page of the light is closer to it than the list",
            }
        ],
    )
    researcher = scripts(
        "researcher", **{"Row 1: Skerry Light": researching("Skerry Light height", both)}
    )
    state = await table_lab(tmp_path, researcher=researcher).ask(QUESTION)
    assert "| 1844 [2]; 1861 [1] |" in text_of(state)
    assert state.report and state.report.audit
    [dispute] = state.report.audit.disagreements
    assert dispute.resolution == "the page of the light is closer to it than the list"


async def test_a_wrong_cell_is_corrected_or_marked_by_the_check(tmp_path: Path) -> None:
    wrong = cells(
        cell("Light", "Skerry Light"),
        cell("Height", "83 metres", "It stands 38 metres tall."),
        cell("Lit", "1844", "The Skerry Light was lit for the first time in 1844."),
    )
    researcher = scripts(
        "researcher", **{"Row 1: Skerry Light": researching("Skerry Light height", wrong)}
    )
    run = table_lab(
        tmp_path, researcher=researcher, writer={"rewrite_sentences": Exception(), "": SUMMARY}
    )
    assert "| 83 metres [2] *(not verified)* |" in text_of(await run.ask(QUESTION))


async def test_after_a_limit_the_rows_that_were_found_are_delivered(tmp_path: Path) -> None:
    run = table_lab(tmp_path, limits={"max_tool_calls": 1})
    state = await run.ask(QUESTION)
    assert text_of(state).startswith(f"{SUMMARY}\n\n{HEADER}\n| Skerry Light [1] | –")
    assert "max_tool_calls" in state.run.stop_reason
    assert state.run.status == "completed_with_gaps"


@pytest.mark.sweep
@pytest.mark.parametrize("calls_left", [2, 3, 4])
async def test_a_budget_that_ends_while_rows_are_filled_delivers_all_rows_and_is_named(
    tmp_path: Path, calls_left: int
) -> None:
    run = table_lab(tmp_path, limits={"max_tool_calls": calls_left, "max_parallel_researchers": 1})
    state = await run.ask(QUESTION)
    lines = text_of(state).splitlines()[4:]
    assert [line.partition(" [")[0] for line in lines] == ["| Skerry Light", "| Anvil Light"]
    assert "max_tool_calls" in state.run.stop_reason
    assert state.run.status == "completed_with_gaps"


async def test_a_user_who_wants_the_table_while_it_is_filled_gets_the_cells_so_far(
    tmp_path: Path,
) -> None:
    run = table_lab(tmp_path, limits={"max_parallel_researchers": 1})

    async def finishes(messages: Any, settings: Any) -> Any:
        await Inbox(pages_of(run), (await run.state()).run.id).finish()
        return ANVIL(messages, settings)

    run.models["researcher"].replies = scripts("researcher", **{"Row 1: Anvil Light": finishes})
    state = await run.ask(QUESTION)
    assert SKERRY_ROW in text_of(state) and "| Anvil Light [1] |" in text_of(state)
    assert not any(AGAIN in request.text for request in run.calls("researcher"))


async def test_without_any_row_the_report_says_so(tmp_path: Path) -> None:
    researcher = {SCOUT: researching("lighthouses", rows(rejected=[BEACON]))}
    state = await table_lab(tmp_path, researcher=researcher).ask(QUESTION)
    assert text_of(state) == "No row was found that counts."
    assert state.run.status == "completed_with_gaps"


async def test_a_user_who_wants_the_table_now_gets_the_rows_so_far(tmp_path: Path) -> None:
    run = table_lab(tmp_path)

    async def finishes(messages: Any, settings: Any) -> Any:
        question = (await run.state()).run.id
        await Inbox(pages_of(run), question).finish()
        return LISTED(messages, settings)

    run.models["researcher"].replies = scripts(
        "researcher", **{SCOUT: researching("lighthouses", finishes)}
    )
    state = await run.ask(QUESTION)
    assert "| Anvil Light [1] | – | – | – |" in text_of(state)
    assert "asked for before the research was complete" in state.run.stop_reason


CALLS = 13
"""Model calls of a run without trouble, those of the verifier aside."""


async def killed_run(tmp_path: Path, at: int) -> Lab:
    """A run that was killed at its model call with this number, and went on."""
    numbers = count(1)
    settings = {role: killing(replies, numbers, at) for role, replies in USUAL.items()}
    run = table_lab(tmp_path, **settings)
    # Nobody hears of the costs of a call that ends while the run is killed.
    run.books = None
    with suppress(asyncio.CancelledError):
        await asyncio.create_task(run.ask(QUESTION), name=ASKING)
    await run.ask(None)
    return run


@pytest.mark.parametrize(
    "at", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 14))]
)
async def test_a_run_that_is_killed_at_any_call_gives_the_same_table_and_pays_nothing_twice(
    tmp_path: Path, at: int
) -> None:
    run = await killed_run(tmp_path, at)
    assert text_of(await run.state()) == REPORT
    asked = 0
    for role, model in run.models.items():
        if role in USUAL:
            asked += len(model.calls)
    # Of two researchers side by side, both calls may be under way.
    assert CALLS <= asked <= CALLS + 2


@pytest.mark.sweep
@pytest.mark.parametrize("at", [4, 9])
async def test_a_stopped_run_goes_on_with_a_message_where_it_was(tmp_path: Path, at: int) -> None:
    numbers = count(1)
    settings = {role: killing(replies, numbers, at) for role, replies in USUAL.items()}
    run = table_lab(tmp_path, **settings)
    run.books = None
    with suppress(asyncio.CancelledError):
        await asyncio.create_task(run.ask(QUESTION), name=ASKING)
    state = await run.ask("Go on, and mind the keepers.")
    assert text_of(state) == REPORT
    assert len(run.calls("planner")) == 1


async def tokens_per_row(tmp_path: Path, rows: int) -> float:
    """Input tokens of researchers for each row of a table with so many documents as rows."""
    texts = {
        f"light{n}_md": f"# Light {n}\n\nIt stands {n} metres tall. " + "The sea is near. " * 40
        for n in range(10, 10 + rows)
    }

    def fill(messages: Any, settings: Any) -> Any:
        [name] = {text for text in texts if text.replace("_", ".") in messages[1].text}
        number = name.removeprefix("light").partition("_")[0]
        found = cell("Height", f"{number} m", f"It stands {number} metres tall.")
        return cells(found)(messages, settings)

    run = table_lab(
        tmp_path,
        planner={
            "design_table": design(
                is_row_per_document=True,
                columns=[{"name": "Light", "is_key": True}, {"name": "Height", "kind": "number"}],
            )
        },
        researcher={"Fill a row": fill},
    )
    run.folder = written(tmp_path / f"lights-{rows}", texts)
    state = await run.ask(QUESTION)
    assert text_of(state).count("\n| light") == rows
    spent = [cost.input_tokens for cost in state.spending.values() if cost.role == "researcher"]
    return sum(spent) / rows


async def test_the_tokens_of_a_row_do_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    few = await tokens_per_row(tmp_path, 3)
    many = await tokens_per_row(tmp_path, 9)
    assert many == pytest.approx(few, rel=0.02)


CONTRACTS = {
    "berth_md": "# Berth contract\n\nTenant: Orwell Ferries\n\nMonthly rent: 1,200 euros\n\n"
    "The contract begins on 1 March 2024.\n",
    "crane_md": "# Crane contract\n\nTenant: Anlow Cranes Ltd\n\nMonthly rent: 950 euros\n",
}


MORE = {
    "quay_md": "# Quay lease\n\nThe tenant pays a monthly rent of 2,350 euros, due on the first day. "
    "The deposit is 7,050 euros.\n\nThe lease begins on 15 June 2023 and ends on 14 June 2028.\n",
    "store_md": "# Storage\n\n| Item | Value |\n|---|---|\n| Tenant | Nord Timber GmbH |\n"
    "| Monthly rent | 640 euros |\n| Begin | 2022-11-01 |\n",
    "minutes_md": "# Minutes\n\nThe board met on 3 May 2024 and spent 90 euros.\n",
}


def test_without_a_model_cells_that_a_document_does_not_name_are_blank(tmp_path: Path) -> None:
    question = "A table: monthly rent (money), begins (date), deposit (money)"
    assert ask(tmp_path, question, "table", **CONTRACTS, **MORE).splitlines()[2:] == [
        "| berth.md [1] | 1200 euros [1] | 2024-03-01 [1] | – |",
        "| crane.md [2] | 950 euros [2] | – | – |",
        "| minutes.md | – | – | – |",
        "| quay.md [3] | 2350 euros [3] | 2023-06-15 [3] | 7050 euros [3] |",
        "| store.md [4] | 640 euros [4] | 2022-11-01 [4] | – |",
    ]
    tenants = ask(tmp_path / "tenants", "A table: tenant", "table", store_md=MORE["store_md"])
    assert tenants.splitlines()[2:] == ["| store.md [1] | Nord Timber GmbH [1] |"]


def test_without_a_model_each_document_is_a_row_and_cells_are_quotations(tmp_path: Path) -> None:
    question = "Make a table of my contracts: tenant, monthly rent (money), begins (date)"
    assert ask(tmp_path, question, "table", **CONTRACTS).splitlines() == [
        "| Document | tenant | monthly rent | begins |",
        "| --- | --- | --- | --- |",
        "| berth.md [1] | Orwell Ferries [1] | 1200 euros [1] | 2024-03-01 [1] |",
        "| crane.md [2] | Anlow Cranes Ltd [2] | 950 euros [2] | – |",
    ]


def test_without_a_model_cells_of_a_long_document_have_no_marks_of_cuts(tmp_path: Path) -> None:
    filler = "\n\n".join(
        f"The harbour chronicle of year {year} tells of fog, of nets on the quay and of the smell of "
        "tar along the old wall, of which the visitors of the market never tire."
        for year in range(40)
    )
    minutes = (
        f"# Minutes of Anlow\n\n{filler}\n\nThe Anlow meeting was chaired by Owen Tripp.\n\n"
        f"{filler}\n\nAt the meeting 15 members were present.\n\n{filler}\n\nBalance: -5 units\n"
    )
    question = "A table: chaired by, members present (number), balance (number in units)"
    assert ask(tmp_path, question, "table", minutes_md=minutes).splitlines()[2:] == [
        "| minutes.md [1] | The Anlow meeting was chaired by Owen Tripp. [1] | 15 [1] | -5 [1] |"
    ]


async def test_each_document_is_a_row_if_the_design_says_so(tmp_path: Path) -> None:
    listed = cells(rejected=[{"row": 1, "reason": "it is a list"}])
    run = table_lab(
        tmp_path,
        planner={"design_table": design(is_row_per_document=True)},
        researcher={
            "skerry.md": SKERRY,
            "anvil.md": ANVIL,
            "list.md": lambda *asked: listed(*asked),
        },
    )
    state = await run.ask(QUESTION)
    assert "The search for rows ended: each document is a row." in notes_of(state)
    lines = text_of(state).splitlines()[4:]
    assert [line.partition(" [")[0] for line in lines] == ["| Anvil Light", "| Skerry Light"]
    assert "list.md (it is a list)" in notes_of(state)
    filling = next(request for request in run.calls("researcher") if "Row 1:" in request.text)
    assert "- Light (text): title of the document" in filling.text
    # Nothing but the documents can be searched, so nothing is looked for again.
    assert not any(AGAIN in request.text for request in run.calls("researcher"))


async def test_clients_see_rows_as_they_are_found_and_filled(tmp_path: Path) -> None:
    run = table_lab(tmp_path)
    await run.ask_once(QUESTION)
    shown = run.of_type("table_row")
    standings = [(packet["name"], packet["standing"]) for packet in shown]
    assert standings[:4] == [
        ("Skerry Light", "found"),
        ("Anvil Light", "found"),
        ("Skerry Lt.", "found"),
        ("Port Anlow beacon", "rejected"),
    ]
    assert ("Skerry Lt.", "duplicate") in standings
    [skerry] = [packet for packet in shown if packet["cells"] and packet["name"] == "Skerry Light"]
    assert skerry["cells"][1]["text"] == "38 metres"
    assert skerry["cells"][1]["document_ids"][0].endswith("skerry.md")
    last = [packet for packet in shown if packet["name"] == "Anvil Light"][-1]
    assert [(cell["column"], cell["state"]) for cell in last["cells"]] == [("Keeper", "not found")]


async def test_a_follow_up_adds_a_column_whose_facts_are_researched(tmp_path: Path) -> None:
    task = "Who painted the Skerry Light and the Anvil Light, and in which colour?"
    cells_of_column = ["Colour", "white [4]", "red [4]"]
    tries = count()

    def edits(*_: Any) -> Any:
        if next(tries) == 0:
            return calls(call("edit_report", edits=[], tasks=[task]))
        insert = {"kind": "insert_column", "block": 2, "column": 4, "cells": cells_of_column}
        return calls(call("edit_report", edits=[insert], done="A column with the colours."))

    run = table_lab(
        tmp_path,
        writer={"edit_report": edits, "": SUMMARY},
        researcher=scripts(
            "researcher", **{"Who painted": researching("Skerry Light painted", coloured)}
        ),
    )
    run.folder = written(tmp_path / "coloured", {**LIGHTS, "paint_md": PAINT})
    await run.ask(QUESTION)
    state = await run.ask({"messages": [("user", "Add a column with the colours.")], "edit": True})
    table = text_of(state).splitlines()[-4:]
    assert table[0] == "| Light | Height (m) | Lit | Keeper | Colour |"
    assert "white [4]" in table[2] and "red [4]" in table[3]
    assert [version.kind for version in state.versions.values()] == ["research", "edit"]
    assert state.report and state.report.columns[1].kind == "number"


PAINT = "# Paint\n\nThe Skerry Light is painted white. The Anvil Light is painted red.\n"


def coloured(messages: Any, _: Any) -> Any:
    """The finding on the colours of the lights, beside the call that ends the research."""
    number = document_with("is painted red", messages)
    text = f"The Skerry Light is white [{number}]. The Anvil Light is red [{number}]."
    return calls(call(tool_names.GENERATE_REPORT), text=text)


async def test_cells_of_an_excluded_source_are_gone_and_the_others_stay(tmp_path: Path) -> None:
    run = table_lab(
        tmp_path, writer={"edit_report": calls(call("edit_report", edits=[])), "": SUMMARY}
    )
    state = await run.ask_once(QUESTION)
    [key] = [key for key in state.sources if key.endswith("anvil.md")]
    excluded = {key: Exclusion(date="2026-11-30", because="out of date")}
    await run.graph.aupdate_state(
        thread_config(run.thread), {"excluded": excluded}, as_node="verify_report"
    )
    state = await run.ask({"messages": [("user", "Do without the page.")], "edit": True})
    assert SKERRY_ROW in text_of(state)
    assert "21.5" not in text_of(state) and "[3]" not in text_of(state)
