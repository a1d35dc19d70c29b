"""A request for a list: the user is asked whether a table is wanted, which a run of its own makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.planned import planned_lab
from kit.runs import Lab, decided, lab
from kit.tables import QUESTION, table_lab

from deep_research.core.dialogue.conversation import is_for_table
from deep_research.core.records import tool_names

OFFER = "Do you want a table with a row for each lighthouse?"
OFFERED = calls(call(tool_names.GENERATE_PLAN, as_table=OFFER))


async def offering(tmp_path: Path, **settings: Any) -> Lab:
    """A run that offers a table."""
    run = lab(tmp_path, clarifier=[OFFERED], **settings)
    await run.ask()
    return run


@pytest.mark.parametrize("reply", ["Yes, please!", decided("respond", message="yes")])
async def test_a_user_who_wants_the_table_ends_the_run_and_clients_know_why(
    tmp_path: Path, reply: Any
) -> None:
    run = await offering(tmp_path)
    asked = await run.waiting()
    assert (asked["question"], asked["strategy"]) == (OFFER, "table")
    assert run.words("message_delta") == OFFER
    state = await run.ask(reply)
    assert state.run.status == "ended" and not run.calls("planner")
    assert is_for_table(state.messages[-1], "ended")
    assert "table_research" in state.messages[-1].text


@pytest.mark.sweep
@pytest.mark.parametrize("reply", [decided("approve"), "No, a report."])
async def test_any_other_answer_leads_to_the_report(tmp_path: Path, reply: Any) -> None:
    run = await offering(tmp_path)
    state = await run.ask(reply)
    assert state.report and not state.run.assumptions
    assert len(run.calls("clarifier")) == 1


async def test_nothing_is_offered_if_nobody_can_be_asked(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=[OFFERED], clarify="assume")
    assert (await run.ask()).report
    assert "as_table" not in run.calls("clarifier")[0].text


async def test_a_run_that_makes_a_table_offers_none(tmp_path: Path) -> None:
    run = table_lab(tmp_path, clarifier=[OFFERED])
    assert (await run.ask(QUESTION)).report


async def test_the_planned_strategy_offers_it_too(tmp_path: Path) -> None:
    run = planned_lab(tmp_path, {"generate_plan": lambda _: OFFERED})
    await run.ask()
    assert (await run.waiting())["strategy"] == "table"
    assert (await run.ask("yes")).run.status == "ended"
