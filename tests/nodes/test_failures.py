"""Researchers that fail, hang or come back with nothing never end the run, nor cost what others found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from failing_store import FailingStore
from lab import REPORT, every_call_has_one_result, in_order, lab, research, results, search, simple_research
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import build_graph
from deep_research.core.run.errors import NoReport

THREE = research("light task", "keeper task", "tide task", ids=("l", "k", "t"))


async def hang(*_: Any) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.behaviour("O-35", "O-57", "O-58")
@pytest.mark.parametrize("failure", [ValueError("secret sk-123"), ""])
async def test_one_of_three_fails_and_its_siblings_keep_what_they_found(tmp_path: Path, failure: object) -> None:
    run = lab(
        tmp_path,
        orchestrator=[THREE, REPORT],
        researcher={
            "light task": [search("Skerry Light 1844"), REPORT, "Lit in 1844. [1]"],
            "keeper task": [REPORT, failure],
            "tide task": [search("spring tide"), REPORT, "5.2 metres. [1]"],
        },
        writer=["Lit [1]; tide [2]."],
        verify="check",
    )
    state = await run.ask()
    assert [finding.ended for finding in in_order(state)] == ["done", "failed", "done"]
    shown = results(run.calls("orchestrator")[1].messages)
    assert (shown["l"], shown["t"]) == ("Lit in 1844. [1]", "5.2 metres. [2]")
    assert shown["k"].startswith("The research failed")
    assert "sk-123" not in repr(state) + repr(run.packets)
    errors = [packet for packet in run.packets if packet["type"] == "error"]
    assert [(p["placement"]["turn_index"], p["placement"]["tab_index"]) for p in errors] == [(1, 1)]
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and len(state.report.sources) == 2


@pytest.mark.behaviour("O-36")
async def test_a_researcher_that_hangs_is_cut_at_its_deadline_and_writes_from_its_notes(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[THREE, REPORT],
        researcher={
            "light task": [search("Skerry Light 1844"), hang, "Cut, but lit in 1844. [1]"],
            "keeper task": [search("Ada Moran"), REPORT, "Tralee. [1]"],
            "tide task": [search("spring tide"), REPORT, "5.2 metres. [1]"],
        },
        limits={"researcher_seconds_hard": 40, "writing_share": 0.95},
        writer=["All of it [1][2][3]."],
    )
    state = await run.ask()
    light, keeper, tide = in_order(state)
    assert (light.ended, keeper.ended, tide.ended) == ("partial", "done", "done")
    assert "researcher_seconds_hard" in light.reason
    assert light.numbered == "Cut, but lit in 1844. [1]"
    shown = [asked.text for asked in run.calls("researcher") if "ended early" in asked.messages[-1].text]
    assert len(shown) == 1
    assert "researcher_seconds_hard" in shown[0]


@pytest.mark.behaviour("O-35")
async def test_all_three_fail_and_the_orchestrator_can_try_another_way(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[THREE, research("second try"), REPORT],
        researcher={
            **{name: [ValueError("x"), ValueError("y")] for name in ("light task", "keeper task", "tide task")},
            "second try": simple_research(),
        },
    )
    state = await run.ask()
    assert [finding.ended for finding in in_order(state)] == ["failed"] * 3 + ["done"]
    assert state.report and state.report.text == "The Skerry Light was lit in 1844. [1]"


async def test_a_tool_call_that_breaks_is_answered_before_the_finding_is_written(tmp_path: Path) -> None:
    store = FailingStore()
    run = lab(
        tmp_path,
        graph=build_graph(checkpointer=InMemorySaver(), store=store),
        orchestrator=[research("light task"), REPORT],
        researcher=[store.losing(search("light"), 1), "What I knew."],
    )
    state = await run.ask()
    assert (in_order(state)[0].ended, in_order(state)[0].numbered) == ("partial", "What I knew.")
    assert every_call_has_one_result(run.calls("researcher")[1].messages)


@pytest.mark.behaviour("O-35")
async def test_a_branch_that_breaks_as_a_whole_leaves_a_failed_finding_and_its_siblings_alone(tmp_path: Path) -> None:
    store, is_written = FailingStore(), asyncio.Event()

    async def write(*_: Any) -> str:
        is_written.set()
        return "Ada Moran. [1]"

    async def lose(*_: Any) -> Any:
        await is_written.wait()
        return store.losing(REPORT, 3)()

    run = lab(
        tmp_path,
        graph=build_graph(checkpointer=InMemorySaver(), store=store),
        orchestrator=[research("light task", "keeper task"), REPORT],
        researcher={
            "light task": [search("light"), lose, "never written"],
            "keeper task": [search("Ada Moran"), REPORT, write],
        },
    )
    state = await run.ask()
    light, keeper = in_order(state)
    assert (light.ended, light.reason) == ("failed", "an error stopped it (OSError)")
    assert (keeper.ended, keeper.numbered) == ("done", "Ada Moran. [1]")
    assert state.report


async def test_a_finding_that_cannot_be_written_is_replaced_by_what_was_read(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("light task"), REPORT],
        researcher=[search("Skerry Light 1844"), REPORT, ValueError("x")],
    )
    state = await run.ask()
    finding = in_order(state)[0]
    assert finding.ended == "partial"
    assert finding.numbered and "lit for the first time in 1844" in finding.numbered
    assert "[1]" in finding.numbered
    assert state.report and len(state.report.sources) == 1


@pytest.mark.behaviour("O-65", "O-86")
@pytest.mark.parametrize("failure", ["", "   ", ValueError("down")])
async def test_a_report_that_fails_leaves_the_findings_and_can_be_resumed(tmp_path: Path, failure: object) -> None:
    # An empty answer is asked for once more.
    failures = [failure] * (2 if isinstance(failure, str) else 1)
    run = lab(tmp_path, writer=[*failures, "The Skerry Light was lit in 1844. [1]"])
    with pytest.raises(NoReport if isinstance(failure, str) else ValueError):
        await run.ask()
    stopped = await run.state()
    assert in_order(stopped)[0].numbered == "It was lit in 1844. [1]"
    assert stopped.report is None
    assert stopped.run and stopped.run.status == "running"
    state = await run.ask(None)
    assert state.report
    assert len(run.calls("researcher")) == 3


@pytest.mark.fault("R13")
@pytest.mark.parametrize(
    ("limits", "name"), [({"max_searches": 1}, "max_searches"), ({"max_tokens": 2000}, "max_tokens")]
)
async def test_a_budget_that_is_used_up_ends_in_a_report_that_names_it(
    tmp_path: Path, limits: dict[str, int], name: str
) -> None:
    run = lab(tmp_path, orchestrator=[research("light task")], limits=limits)
    state = await run.ask()
    assert state.run and name in state.run.stop_reason
    assert name in state.messages[-1].text
