"""Whole runs of the planned strategy: what the report rests on, how it is framed, and how the run ends."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lab import QUESTION, HandClock
from langchain_core.messages import AIMessage, ToolMessage
from planned_lab import REPORT, RULES, Asked, PlannedLab, Rule, finished, passing, plan, planned_lab, step, verdict

from deep_research.app.embed import build_graph
from deep_research.app.stream import apackets
from deep_research.core.run.errors import NoPlan
from deep_research.core.run.events import packets as p
from deep_research.core.run.events.packets import AnyPacket
from deep_research.nodes.write_report import write_report
from deep_research.state import ResearchState

LIGHT = "Skerry Light lit"
TIDE = "spring tide metres"
THREE = plan(step(LIGHT), step(TIDE), step("Compare them", search=False), step("Judge them", search=False))
MARKER = re.compile(r"\[(\d+)\]")


def basis(run: PlannedLab) -> dict[str, str]:
    """What the writer is shown, by the task that stands for it."""
    messages = run.asked("report")[0].messages
    tasks = {one["id"]: one["args"]["task"] for m in messages if isinstance(m, AIMessage) for one in m.tool_calls}
    return {tasks[m.tool_call_id]: m.text for m in messages if isinstance(m, ToolMessage)}


def place(run: PlannedLab, kind: str) -> int:
    """Where the first packet of a type stands."""
    return run.types().index(kind)


def titles(state: ResearchState) -> list[str]:
    assert state.report
    return [state.sources[key].title for key in state.report.sources]


@pytest.mark.behaviour("A-74")
async def test_the_report_rests_on_learnings_by_source_and_thoughts_stay_apart(tmp_path: Path) -> None:
    def learned(asked: Asked) -> Any:
        facts = RULES["record_learnings"](asked)["learnings"]
        return {"learnings": [*facts, {"text": "The lamp is white.", "document": facts[0]["document"]}, *facts]}

    run, state = await finished(tmp_path, {"make_plan": THREE, "record_learnings": learned})
    shown = basis(run)
    says = shown["What source 1 says"].splitlines()
    assert says == ["The Skerry Light was lit for the first time in 1844. [1]", "The lamp is white. [1, 4]"]
    sources = {learning.source for learning in state.learnings.values() if learning.source}
    assert len(shown) == len(sources) + 1
    head, *thoughts = shown["What follows from it"].splitlines()
    assert head == "Analysis, not a source and without a number:"
    assert thoughts == [one.text for one in state.learnings.values() if not one.source]
    assert len(thoughts) == 2
    assert not any(MARKER.search(thought) for thought in thoughts)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-75")
async def test_a_citation_leads_to_the_source_that_the_writer_was_shown_under_its_number(tmp_path: Path) -> None:
    run, state = await finished(
        tmp_path, {"make_plan": THREE, "report": lambda _: "High. [4] Old. [1] Lost. [9]"}, verify="off"
    )
    [high] = [text for text in basis(run).values() if "[4]" in text]
    assert "5.2 metres" in high
    assert titles(state) == ["Skerry Light", "Tides"]
    assert state.report and state.report.text == "High. [4] Old. [1] Lost."
    assert await run.replays_alike()


async def test_a_run_in_which_nothing_was_answered_says_so_once_for_each_step(tmp_path: Path) -> None:
    tasks = [LIGHT, TIDE]
    rules = {"make_plan": plan(*map(step, tasks)), "give_verdict": verdict(False)}
    run, state = await finished(tmp_path, rules, limits={"max_step_iterations": 1})
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.audit and sorted(state.report.audit.open_gaps) == sorted(tasks)
    assert [state.messages[-1].text.count(f"Not found: {task}") for task in tasks] == [1, 1]
    [reminder] = [asked.reminder for asked in run.asked("report")]
    assert "looked for and not found" in reminder
    assert await run.replays_alike()


@pytest.mark.behaviour("A-76", "A-77", "A-79")
async def test_main_message_and_all_sources_are_told_before_the_first_word_of_the_report(tmp_path: Path) -> None:
    rules: dict[str, Rule] = {
        "make_plan": plan(step(TIDE), step("Judge it", search=False)),
        "record_analysis": lambda _: {"statements": ["It is old.", "All say so."]},
    }
    run, state = await finished(tmp_path, rules)
    assert f"The request:\n{QUESTION}" in run.asked("report")[0].reminder
    [framing] = run.of_type("report_framing")
    assert (framing["main_message"], framing["reasoning"]) == ("It is old.", "All say so.")
    [sources] = run.of_type("sources")
    assert {one["document_id"] for one in sources["documents"]} == state.sources.keys()
    numbered = [source for source in state.sources.values() if source.number]
    assert sources["cited"] == [source.key for source in sorted(numbered, key=lambda source: source.number)]
    assert 0 < len(sources["cited"]) < len(sources["documents"])
    assert place(run, "report_framing") < place(run, "sources") < place(run, "message_start")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-78")
async def test_the_report_is_written_by_the_node_of_both_strategies(tmp_path: Path) -> None:
    for graph in (build_graph("orchestrated"), build_graph("planned")):
        node: Any = graph.builder.nodes["write_report"].runnable
        assert node.afunc is write_report
    long = AIMessage("It was lit ", response_metadata={"finish_reason": "length"})
    answers = {1: "", 2: long, 3: "in 1844. [1]"}
    run, state = await finished(tmp_path, {"report": lambda asked: answers[asked.number]})
    assert state.report and state.report.text == REPORT, "an empty one is asked for again, a cut one is continued"
    assert await run.replays_alike()


async def heard(run: PlannedLab, into: list[AnyPacket]) -> list[AnyPacket]:
    async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context):
        into.append(packet)
    return into


def stop_of(packets: list[AnyPacket]) -> tuple[str, float, str]:
    stops = [packet for packet in packets if isinstance(packet, p.OverallStop)]
    assert stops == packets[-1:]
    return stops[0].stop_reason, stops[0].elapsed_seconds, stops[0].message


@pytest.mark.behaviour("A-80")
@pytest.mark.parametrize(("seconds", "reason"), [(7, "completed"), (300, "completed_with_gaps")])
async def test_the_last_packet_says_that_the_run_has_completed_and_after_how_long(
    tmp_path: Path, seconds: float, reason: str
) -> None:
    clock = HandClock()
    run = planned_lab(tmp_path, {"make_plan": passing(clock, seconds, plan(step(LIGHT)))}, clock=clock)
    packets = await heard(run, [])
    assert stop_of(packets)[:2] == (reason, seconds)
    assert ("max_seconds_planned" in stop_of(packets)[2]) is (reason != "completed")


@pytest.mark.behaviour("A-80")
async def test_the_last_packet_says_that_the_run_has_failed(tmp_path: Path) -> None:
    clock = HandClock()
    run = planned_lab(tmp_path, {"make_plan": passing(clock, 2, lambda _: {"steps": []})}, clock=clock)
    packets: list[AnyPacket] = []
    with pytest.raises(NoPlan, match="steps"):
        await heard(run, packets)
    reason, seconds, words = stop_of(packets)
    assert (reason, seconds) == ("failed", 4)
    assert "did not fill in 'make_plan'" in words


@pytest.mark.behaviour("A-80")
async def test_the_last_packet_says_that_the_run_was_stopped(tmp_path: Path) -> None:
    clock, started = HandClock(), asyncio.Event()

    async def never(_: Asked) -> Any:
        clock.time += 5
        started.set()
        await asyncio.Event().wait()

    run, packets = planned_lab(tmp_path, {"choose_queries": never}, clock=clock), list[AnyPacket]()
    task = asyncio.create_task(heard(run, packets))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stop_of(packets)[:2] == ("user_cancelled", 5)
    assert json.loads(packets[-1].model_dump_json())["is_resumable"]
