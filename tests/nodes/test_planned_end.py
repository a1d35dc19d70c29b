"""A planned run: what its report rests on, how it ends, its memory, and plans as they are read and edited."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    RULES,
    Asked,
    PlannedLab,
    Rule,
    contrary,
    facts,
    finished,
    insights,
    of_task,
    plan,
    planned_lab,
    step,
    verdict,
)
from kit.runs import QUESTION, HandClock
from langchain_core.messages import AIMessage, ToolMessage

from deep_research.app.embed import build_graph, thread_config, thread_id
from deep_research.app.stream import apackets
from deep_research.core.evidence.memory.observations import contradictions, open_gaps
from deep_research.core.evidence.memory.observations import insights as insights_of
from deep_research.core.records.plan import PlanStep
from deep_research.core.run.events.packets import OverallStop, Sources
from deep_research.core.run.plan_text import plan_text, read_steps
from deep_research.core.run.schedule import restore_skipped, skip_pending
from deep_research.core.run.store.database import open_database
from deep_research.core.run.store.pages import page_namespace
from deep_research.nodes.write_report import write_report

LIGHT = "Skerry Light lit"
TIDE = "spring tide metres"
THREE = plan(step(LIGHT), step(TIDE), step("Compare them", search=False), step("Judge them", search=False))
MARKER = re.compile(r"\[(\d+)\]")
FIRST, SECOND = "Skerry Light", "Skerry Light keeper"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
OLD, BUILDER, OIL = "The Skerry Light is old.", "Who built the Skerry Light?", "Which oil did the Skerry Light burn?"
STEPS = [
    PlanStep(id="1", title="The light", task="When was it lit?", requires_search=True),
    PlanStep(id="2", title="The keeper", task="Who kept it then?", requires_search=True, depends_on=("1",)),
    PlanStep(id="3", title="The end", task="Compare them.", requires_search=False, depends_on=("1", "2")),
]


def basis(run: PlannedLab) -> dict[str, str]:
    """Findings in the writer's prompt, by task."""
    messages = run.asked("report")[0].messages
    made = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    tasks = {call["id"]: call["args"]["task"] for call in made}
    return {tasks[m.tool_call_id]: m.text for m in messages if isinstance(m, ToolMessage)}


@pytest.mark.behaviour("A-74", "A-75", "A-76", "A-77", "A-79")
async def test_the_report_rests_on_learnings_by_source_and_comes_after_main_message_and_sources(tmp_path: Path) -> None:
    def learned(asked: Asked) -> Any:
        facts = RULES["record_learnings"](asked)["learnings"]
        return {"learnings": [*facts, {"text": "The lamp is white.", "document": facts[0]["document"]}, *facts]}

    report: Rule = lambda _: "High. [4] Old. [1] Lost. [9]"  # noqa: E731 - a rule
    last: Rule = lambda _: {"statements": ["It is old.", "All say so."]}  # noqa: E731 - a rule
    thought = of_task("Compare them", lambda _: {"statements": ["It is high."]}, last)
    rules = {"make_plan": THREE, "record_learnings": learned, "record_analysis": thought, "report": report}
    run, state = await finished(tmp_path, rules, verify="off")
    shown = basis(run)
    says = shown["What source 1 says"].splitlines()
    assert says == ["The Skerry Light was lit for the first time in 1844. [1]", "The lamp is white. [1, 4]"]
    sources = {learning.source for learning in state.learnings.values() if learning.source}
    assert len(shown) == len(sources) + 1
    head, *thoughts = shown["What follows from it"].splitlines()
    assert head == "Analysis, not a source and without a number:"
    assert thoughts == [learning.text for learning in state.learnings.values() if not learning.source]
    assert len(thoughts) == 3 and not any(MARKER.search(thought) for thought in thoughts)
    assert any("[4]" in text and "5.2 metres" in text for text in shown.values())
    assert state.report and state.report.text == "High. [4] Old. [1] Lost."
    assert [state.sources[key].title for key in state.report.sources] == ["Skerry Light", "Tides"]
    assert f"The request:\n{QUESTION}" in run.asked("report")[0].reminder
    [framing] = run.of_type("report_framing")
    assert (framing["main_message"], framing["reasoning"]) == ("It is old.", "All say so.")
    [listed] = run.of_type("sources")
    assert {document["document_id"] for document in listed["documents"]} == state.sources.keys()
    numbered = [source for source in state.sources.values() if source.number]
    assert listed["cited"] == [source.key for source in sorted(numbered, key=lambda source: source.number)]
    kinds = run.types()
    assert kinds.index("report_framing") < kinds.index("sources") < kinds.index("message_start")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-78")
def test_the_report_is_written_by_the_node_of_both_strategies() -> None:
    for graph in (build_graph("orchestrated"), build_graph("planned")):
        node: Any = graph.builder.nodes["write_report"].runnable
        assert node.afunc is write_report


@pytest.mark.behaviour("A-08", "A-80")
@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (290, "completed"),
        pytest.param(300, "completed_with_gaps", marks=pytest.mark.fault("R13", logs="WARNING core.writing.turn")),
    ],
)
async def test_at_the_limit_no_step_is_begun_and_the_last_packet_says_how_and_when_the_run_ended(
    tmp_path: Path, seconds: float, reason: str
) -> None:
    clock = HandClock()
    run = planned_lab(tmp_path, {"make_plan": clock.after(seconds, plan(step(LIGHT)))}, clock=clock)
    packets = [packet async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context)]
    [stop] = [packet for packet in packets if isinstance(packet, OverallStop)]
    assert packets[-1] is stop
    assert (stop.stop_reason, stop.elapsed_seconds) == (reason, seconds)
    assert ("max_seconds_planned" in stop.message) is (reason != "completed")
    assert ("step_started" in {packet.type for packet in packets}) is (reason == "completed")
    [listed] = [packet for packet in packets if isinstance(packet, Sources)]
    assert len(listed.cited) < len(listed.documents), "what was only found is not marked as citable"
    assert bool(listed.cited) is (reason == "completed")


@pytest.mark.fault("R23")
@pytest.mark.behaviour("A-68")
async def test_the_memory_holds_insights_gaps_and_contradictions_and_goes_with_its_thread(tmp_path: Path) -> None:
    noting = insights(OLD, gaps={BUILDER: 0.9, OIL: 0.5})
    answering: Rule = lambda asked: {**facts("Ada Moran built it.")(asked), "answered_gaps": [1]}  # noqa: E731
    rules = {
        "make_plan": plan(step(FIRST), step(SECOND, after=(1,))),
        "record_learnings": of_task(FIRST, contrary(TALL, TALLER), answering),
        "record_insights": of_task(FIRST, noting, insights()),
        "give_verdict": verdict(True, "All is there."),
    }
    async with open_database(tmp_path / "runs.sqlite") as (saver, store):
        graph = build_graph("planned", checkpointer=saver, store=store)
        first, other = (planned_lab(tmp_path, rules, graph=graph) for _ in range(2))
        first.thread, other.thread = "first", "other"
        state = await first.ask()
        memory = state.memory.values()
        [insight] = insights_of(memory)
        assert (insight.text, insight.step, insight.score) == (OLD, "1", 0.8)
        assert {state.learnings[key].text for key in insight.learnings} == {TALL, TALLER}
        assert [(gap.text, gap.score) for gap in open_gaps(memory)] == [(OIL, 0.5)]
        [pair] = contradictions(memory)
        assert {state.learnings[key].text for key in pair.learnings} == {TALL, TALLER}
        assert [state.outcomes[step].confidence for step in ("1", "2")] == [0.88, 0.75]
        assert f"Not found: {OIL}" in state.messages[-1].text and BUILDER not in state.messages[-1].text
        assert await first.replays_alike()
        await other.ask()
        await saver.adelete_thread(thread_id("first"))
        assert (await first.graph.aget_state(thread_config("first"))).values == {}
        assert await store.asearch(page_namespace(thread_id("first")), limit=10) == []
        assert await saver.thread_ids() == [thread_id("other")]
        assert (await other.state()).memory
        assert await store.asearch(page_namespace(thread_id("other")), limit=10)


def read(text: str, most: int = 6) -> list[tuple[str, str, str, bool, tuple[str, ...]]]:
    steps = read_steps(text, most)
    return [(step.id, step.title, step.task, step.requires_search, step.depends_on) for step in steps]


def test_an_edited_plan_keeps_kinds_and_what_builds_on_what_by_the_numbers_in_it() -> None:
    edited = plan_text(STEPS).replace("The end", "The verdict").split("\n", 2)
    text = "\n".join(["1. The harbour", "   Which ferries sail?", *edited])
    text = text.replace("1. The light", "4. The light").replace("builds on 1", "builds on 4")
    assert read(text) == [
        ("1", "The harbour", "Which ferries sail?", True, ()),
        ("2", "The light", "When was it lit?", True, ()),
        ("3", "The keeper", "Who kept it then?", True, ("2",)),
        ("4", "The verdict", "Compare them.", False, ("2", "3")),
    ]
    bare = "1. Tides\n\n2. Winds (thought alone)\n3. More"
    assert read(bare, 2) == [("1", "Tides", "Tides", True, ()), ("2", "Winds", "Winds", False, ())]


def test_what_a_limit_left_undone_is_pending_again_when_it_holds_no_more() -> None:
    undone = skip_pending(STEPS, "the limit", searches_only=True)
    assert [step.status for step in undone] == ["skipped", "skipped", "pending"]
    assert restore_skipped(undone, "the limit") == STEPS
    assert restore_skipped(undone, "") == restore_skipped(undone, "another") == undone


@pytest.mark.parametrize("limit", ["max_searches", "max_tool_calls"])
async def test_a_limit_of_searches_leaves_thought_alone(tmp_path: Path, limit: str) -> None:
    steps = plan(step("Skerry Light"), step("Port Anlow"), step("Judge", search=False))
    run, state = await finished(tmp_path, {"make_plan": steps}, limits={limit: 2, "max_parallel_researchers": 1})
    assert [step.status for step in state.steps] == ["completed", "skipped", "completed"], "the first look took one"
    assert run.asked("record_analysis")
    assert state.run and limit in state.run.stop_reason
    assert limit in state.messages[-1].text
