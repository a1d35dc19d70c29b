"""A thread goes on: follow-up questions, steering, messages to a run that was stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lab import PLANNED, REPORT, Lab, every_call_has_one_result, in_order, lab, research, search, simple_research
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command
from scripted import calls

from deep_research.app.edits import EditRefused
from deep_research.app.embed import thread_config
from deep_research.core.records.report import Report
from deep_research.core.records.sources import Source


@pytest.mark.behaviour("O-89")
async def test_a_follow_up_starts_from_the_sources_and_findings_and_may_need_no_research(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[calls(PLANNED)] * 2,
        planner=["1. When", "1. How old"],
        orchestrator=[research("When was it lit?", ids=("first",)), REPORT, REPORT],
        writer=["It was lit in 1844. [1]", "So it is old. [1]"],
        verify="off",
    )
    first = await run.ask()
    state = await run.ask("How old is it then?")
    assert len(run.calls("clarifier")) == 2
    assert len(run.calls("researcher")) == 3
    assert state.run and first.run and state.run.id != first.run.id
    assert state.plan and state.plan.text == "1. How old"
    follow_up = run.calls("orchestrator")[2]
    assert "It was lit in 1844. [1]" in follow_up.text
    assert "Cycle 1 of 8" in follow_up.messages[-1].text
    assert every_call_has_one_result(follow_up.messages)
    assert state.report and state.report.text == "So it is old. [1]"
    assert len([m for m in state.messages if isinstance(m, AIMessage)]) == 2


async def test_a_follow_up_that_is_unclear_is_asked_about(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[calls(PLANNED), "Which other one do you mean?"],
        planner=["1. When", "1. The other light"],
        orchestrator=[research("When was it lit?"), REPORT, REPORT],
        writer=["It was lit in 1844. [1]", "The other is as old. [1]"],
        verify="off",
    )
    await run.ask()
    asked = await run.ask("And the other one?")
    assert asked.run and asked.run.status == "waiting"
    assert asked.messages[-1].text == "Which other one do you mean?"
    assert len(run.calls("planner")) == 1
    state = await run.ask("The one of Port Anlow.")
    assert state.report and state.report.text == "The other is as old. [1]"
    assert "The one of Port Anlow." in run.calls("planner")[1].text


async def test_a_follow_up_researches_what_is_missing_and_keeps_the_old_numbers(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[calls(PLANNED)] * 3,
        planner=["# The light\n\n1. When", "# Its keeper\n\n1. Who", "1. Where"],
        orchestrator=[research("light task"), REPORT, research("keeper task"), REPORT, REPORT],
        researcher={
            "light task": [search("Skerry Light 1844"), REPORT, "Lit in 1844. [1]"],
            "keeper task": [search("Ada Moran Tralee"), REPORT, "Tralee. [1]"],
        },
        writer=["Lit. [1]", "Born in Tralee [2]. Lit in 1844 [1].", "Born in Tralee. [2]"],
    )
    first = await run.ask()
    spent = dict(first.spending)
    state = await run.ask("Who kept it?")
    assert [finding.numbered for finding in in_order(state)] == ["Lit in 1844. [1]", "Tralee. [2]"]
    assert state.report and numbers_of(state.report) == {1: "lighthouse.md", 2: "keeper.md"}
    assert not set(spent) & set(state.spending)
    # A report that does not cite the first source leaves its number to it.
    state = await run.ask("Where was the keeper born?")
    assert state.report and (state.report.text, numbers_of(state.report)) == ("Born in Tralee. [2]", {2: "keeper.md"})
    assert "- [2] " in state.messages[-1].text and "- [1] " not in state.messages[-1].text
    # The list of runs names a thread by this.
    assert (first.run.first_title, state.run.first_title) == ("", "The light")
    announced = [
        (p["citation_number"], Path(p["document_id"]).name) for p in run.packets if p["type"] == "citation_info"
    ]
    assert announced[-1] == (2, "keeper.md")


def numbers_of(report: Report) -> dict[int, str]:
    return {number: Path(key).name for number, key in report.keys.items()}


def test_a_report_that_was_stored_without_numbers_keeps_those_that_it_was_written_with() -> None:
    sources = {
        key: Source(key=key, title=key, location=key, address=key, kind="document", number=number)
        for number, key in enumerate(("a", "b", "c"), 1)
    }
    report = Report(text="Tall [1], old [2].", sources=("c", "a"))
    assert report.keys == {1: "c", 2: "a"}
    assert [(source.key, source.number) for source in report.cited(sources)] == [("c", 1), ("a", 2)]


async def test_a_message_during_research_is_seen_in_the_next_turn_and_nothing_runs_twice(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def wait_for_ever(*_: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    run = lab(
        tmp_path,
        orchestrator=[research("fast task", "slow task"), REPORT],
        researcher={
            "fast task": [search("Skerry Light 1844"), REPORT, "Fast. [1]"],
            "slow task": [search("Ada Moran"), wait_for_ever, REPORT, "Slow. [1]"],
        },
        writer=["Both [1][2]."],
    )
    task = asyncio.create_task(run.ask())
    await started.wait()
    await run.until_finished()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(EditRefused, match=r"1 of 2 branches have finished.*Command\(update"):
        await run.graph.aupdate_state(thread_config(run.thread), {"messages": ["Mind the keeper."]}, as_node="plan")
    state = await run.ask(Command(update={"messages": [HumanMessage("Mind the keeper above all.")]}))
    assert [finding.text for finding in in_order(state)] == ["Fast. [1]", "Slow. [1]"]
    assert len(run.calls("researcher")) == 3 + 4
    assert "Mind the keeper above all." in run.calls("orchestrator")[1].messages[-2].text
    assert "Mind the keeper above all." in run.calls("writer")[0].text
    assert len(run.calls("planner")) == 1


@pytest.mark.fault(45)
@pytest.mark.behaviour("O-87")
async def test_after_a_cancel_no_model_is_called_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def wait_for_ever(*_: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    run = lab(tmp_path, researcher=[wait_for_ever, *simple_research()])
    task = asyncio.create_task(run.ask())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    made = sum(len(model.calls) for model in run.models.values())
    for _ in range(100):
        await asyncio.sleep(0)
    assert sum(len(model.calls) for model in run.models.values()) == made
    stopped = await run.state()
    assert stopped.report is None
    assert "message_delta" not in run.types()
    state = await run.ask(None)
    assert state.report
    assert len(run.calls("planner")) == 1


@pytest.mark.behaviour("O-90")
async def test_three_researchers_at_once_lose_no_packet_and_keep_their_order(tmp_path: Path) -> None:
    texts = {f"task {number}.": " ".join(f"{number}-{word}" for word in range(300)) + " [1]" for number in range(3)}
    run = lab(
        tmp_path,
        orchestrator=[research(*texts), REPORT],
        researcher={task: [search("Skerry Light"), REPORT, text] for task, text in texts.items()},
    )
    await run.ask()
    for tab, text in enumerate(texts.values()):
        mine = [p for p in run.packets if p["placement"]["tab_index"] == tab and p["placement"]["turn_index"] == 1]
        deltas = [p["content"] for p in mine if p["type"] == "intermediate_report_delta"]
        assert len(deltas) > 200
        assert "".join(deltas) == text


async def test_two_threads_of_one_graph_do_not_mix(tmp_path: Path) -> None:
    one = lab(tmp_path)
    other = Lab(one.folder, lab(tmp_path).models, one.settings, one.graph, thread="other")
    first, second = await asyncio.gather(one.ask("About the light?"), other.ask("About the keeper?"))
    assert first.run and second.run
    assert (first.run.question, second.run.question) == ("About the light?", "About the keeper?")
