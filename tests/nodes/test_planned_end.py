"""A planned run: its memory and final check, what its report rests on, how it ends, and plans as
they are edited."""

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
    failing,
    finished,
    in_turn,
    insights,
    numbered,
    of_task,
    plan,
    planned_lab,
    step,
    verdict,
)
from kit.runs import QUESTION, HandClock
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.dialogue.plan_text import PlanText, plan_of_steps
from deep_research.core.evidence.memory.observations import (
    ResearchMemory,
    ThreadDisputes,
)
from deep_research.core.records.plan import FINAL_CHECK, PlanStep
from deep_research.core.store._packing import page_namespace
from deep_research.core.store.database import open_database
from deep_research.core.store.location import RunsLocation, thread_id
from deep_research.nodes._steps import restore_skipped, skip_pending
from deep_research.nodes.write_report import write_report
from deep_research.state import ResearchState

LIGHT = "Skerry Light lit"
TIDE = "spring tide metres"
THREE = plan(
    step(LIGHT), step(TIDE), step("Compare them", search=False), step("Judge them", search=False)
)
MARKER = re.compile(r"\[(\d+)\]")
FIRST, SECOND = "Skerry Light", "Skerry Light keeper"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
AGED, BUILDER, OIL = (
    "The Skerry Light is old.",
    "Who built the Skerry Light?",
    "Which oil did the Skerry Light burn?",
)
STEPS = [
    PlanStep(id="1", title="The light", task="When was it lit?", requires_search=True),
    PlanStep(
        id="2",
        title="The keeper",
        task="Who kept it then?",
        requires_search=True,
        depends_on=("1",),
    ),
    PlanStep(
        id="3", title="The end", task="Compare them.", requires_search=False, depends_on=("1", "2")
    ),
]
OLD = "The Skerry Light stands 38 metres tall."
NEW = "The Skerry Light stands 41 metres tall."
DOCUMENTS = {
    "survey.md": f"---\ntitle: Old survey\ndate: 2001-05-01\n---\n# Old survey\n\n{OLD}\n",
    "guide.html": "<html><head><title>New guide</title><meta name='date' content='2019-03-04'></head>"
    f"<body><h1>New guide</h1><p>{NEW}</p></body></html>",
}
TASK = "height of the Skerry Light"
ASKED = "How tall is the Skerry Light?"


def basis(run: PlannedLab) -> dict[str, str]:
    """Findings in the writer's latest prompt, by task."""
    messages = run.asked("report")[-1].messages
    made = [
        call
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    tasks = {call["id"]: call["args"]["task"] for call in made}
    return {tasks[m.tool_call_id]: m.text for m in messages if isinstance(m, ToolMessage)}


@pytest.mark.behaviour("A-74", "A-75", "A-76", "A-77", "A-79")
async def test_the_report_rests_on_findings_and_comes_after_main_message_and_sources(
    tmp_path: Path,
) -> None:
    def learned(asked: Asked) -> Any:
        facts = RULES["record_learnings"](asked)["learnings"]
        return {
            "learnings": [
                *facts,
                {"text": "The lamp is white.", "document": facts[0]["document"]},
                *facts,
            ]
        }

    report: Rule = lambda _: "High. [4] Old. [1] Lost. [9]"  # noqa: E731 - a rule
    last: Rule = lambda _: {"statements": ["It is old.", "All say so."]}  # noqa: E731 - a rule
    thought = of_task("Compare them", lambda _: {"statements": ["It is high."]}, last)
    rules = {
        "make_plan": THREE,
        "record_learnings": learned,
        "record_analysis": thought,
        "report": report,
    }
    run, state = await finished(tmp_path, rules, verify="off")
    shown = basis(run)
    assert [*shown] == [LIGHT, TIDE, "Compare them", "Judge them"]
    says = shown[LIGHT].splitlines()
    assert says[0] == "The Skerry Light was lit for the first time in 1844. [1]"
    # Both searches have learned this, of different sources.
    assert "The lamp is white. [1, 4]" in says
    assert "white" not in shown[TIDE]
    thoughts = [line for task in [*shown][2:] for line in shown[task].splitlines()]
    head = "Analysis, not a source:"
    assert thoughts == [head, "It is high.", head, "It is old.", "All say so."]
    assert any("[4]" in text and "5.2 metres" in text for text in shown.values())
    assert state.report and state.report.text == "High. [4] Old. [1] Lost."
    assert [state.sources[key].title for key in state.report.sources] == ["Skerry Light", "Tides"]
    assert f"The request:\n{QUESTION}" in run.asked("report")[0].reminder
    [framing] = run.of_type("report_framing")
    assert (framing["main_message"], framing["reasoning"]) == ("It is old.", "All say so.")
    [listed] = run.of_type("sources")
    assert {document["document_id"] for document in listed["documents"]} == state.sources.keys()
    numbered = [source for source in state.sources.values() if source.number]
    assert listed["cited"] == [
        source.key for source in sorted(numbered, key=lambda source: source.number)
    ]
    kinds = run.types()
    assert kinds.index("report_framing") < kinds.index("sources") < kinds.index("message_start")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-74")
async def test_the_writer_is_shown_insights_with_their_step_and_each_fact_and_conclusion_once(
    tmp_path: Path,
) -> None:
    rules = {
        "make_plan": plan(
            step(FIRST), step(SECOND, previous=True), step("Compare them", search=False)
        ),
        "record_learnings": of_task(FIRST, facts(TALL), facts(TALL, AGED)),
        "record_insights": of_task(SECOND, insights("It is old."), insights("It is high.")),
        "record_analysis": lambda _: {"statements": ["It is high.", "It will last."]},
    }
    run, _ = await finished(tmp_path, rules)
    head = "Analysis, not a source:"
    assert {task: text.splitlines() for task, text in basis(run).items()} == {
        FIRST: [f"{TALL} [1]", head, "It is high."],
        SECOND: [f"{AGED} [1]", head, "It is old."],
        "Compare them": [head, "It will last."],
    }
    assert "Statements marked as analysis" in run.asked("report")[0].reminder


async def test_a_step_that_learned_only_what_another_has_is_left_out(tmp_path: Path) -> None:
    rules = {"make_plan": plan(step(FIRST), step(SECOND)), "record_learnings": facts(TALL)}
    run, _ = await finished(tmp_path, rules)
    assert basis(run) == {FIRST: f"{TALL} [1]"}
    assert "Statements marked as analysis" not in run.asked("report")[0].reminder


async def test_a_follow_up_shows_earlier_conclusions_as_such_and_known_facts_with_its_own_steps(
    tmp_path: Path,
) -> None:
    rules: dict[str, Rule] = {
        "make_plan": in_turn(
            plan(step(FIRST), step("Compare them", search=False)), plan(step(SECOND))
        ),
        "record_learnings": of_task(FIRST, facts(TALL, AGED), facts(TALL, TALLER)),
        "record_analysis": lambda _: {"statements": ["It is high."]},
    }
    run, _ = await finished(tmp_path, rules)
    await run.ask("And its keeper?")
    assert basis(run) == {
        FIRST: f"{AGED} [1]",
        "Compare them": "Earlier analysis, not a source; later findings may overrule it:\nIt is high.",
        # The document does not state the second one.
        SECOND: f"{TALL} [1]\n{TALLER} [1] (worked out or misread: its source lacks 45 metres)",
    }


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
        pytest.param(
            300,
            "completed_with_gaps",
            marks=pytest.mark.fault("R13", logs="WARNING nodes.turn"),
        ),
    ],
)
async def test_at_the_limit_no_step_starts_and_the_last_packet_says_how_and_when_the_run_ended(
    tmp_path: Path, seconds: float, reason: str
) -> None:
    clock = HandClock()
    run, _ = await finished(
        tmp_path, {"make_plan": clock.after(seconds, plan(step(LIGHT)))}, clock=clock
    )
    [stop] = run.of_type("stop")
    assert run.packets[-1] is stop
    assert (stop["stop_reason"], stop["elapsed_seconds"]) == (reason, seconds)
    assert ("max_seconds_planned" in stop["message"]) is (reason != "completed")
    assert ("step_started" in run.types()) is (reason == "completed")
    [listed] = run.of_type("sources")
    assert len(listed["cited"]) < len(listed["documents"]), (
        "what was only found is not marked as citable"
    )
    assert bool(listed["cited"]) is (reason == "completed")


@pytest.mark.fault("R23")
@pytest.mark.behaviour("A-68")
async def test_the_memory_holds_insights_gaps_and_contradictions_and_goes_with_its_thread(
    tmp_path: Path,
) -> None:
    noting = insights(AGED, gaps={BUILDER: 0.9, OIL: 0.5})
    answering: Rule = lambda asked: {**facts("Ada Moran built it.")(asked), "answered_gaps": [1]}  # noqa: E731
    rules = {
        "make_plan": plan(step(FIRST), step(SECOND, after=(1,))),
        "record_learnings": of_task(FIRST, contrary(TALL, TALLER), answering),
        "record_insights": of_task(FIRST, noting, insights()),
        "give_verdict": verdict(True, "All is there."),
    }
    async with open_database(RunsLocation(tmp_path / "runs.sqlite")) as (saver, store):
        graph = build_graph("planned", checkpointer=saver, store=store)
        first, other = (planned_lab(tmp_path, rules, graph=graph) for _ in range(2))
        first.thread, other.thread = "first", "other"
        state = await first.ask()
        memory = state.memory.values()
        [insight] = ResearchMemory(memory).insights()
        assert (insight.text, insight.step, insight.score) == (AGED, "1", 0.8)
        assert {state.learnings[key].text for key in insight.learnings} == {TALL, TALLER}
        assert [(gap.text, gap.score) for gap in ResearchMemory(memory).open_gaps()] == [(OIL, 0.5)]
        [pair] = ResearchMemory(memory).contradictions()
        assert {state.learnings[key].text for key in pair.learnings} == {TALL, TALLER}
        assert [state.outcomes[step].confidence for step in ("1", "2")] == [0.88, 0.75]
        assert (
            f"Not found: {OIL}" in state.messages[-1].text
            and BUILDER not in state.messages[-1].text
        )
        assert await first.replays_alike()
        await other.ask()
        await saver.adelete_thread(thread_id("first"))
        assert (await first.graph.aget_state(thread_config("first"))).values == {}
        assert await store.asearch(page_namespace(thread_id("first")), limit=10) == []
        assert await saver.thread_ids() == [thread_id("other")]
        assert (await other.state()).memory
        assert await store.asearch(page_namespace(thread_id("other")), limit=10)


def read(text: str, most: int = 6) -> list[tuple[str, str, str, bool, tuple[str, ...]]]:
    steps = PlanText.read(text).typed_steps(most)
    return [
        (step.id, step.title, step.task, step.requires_search, step.depends_on) for step in steps
    ]


def test_an_edited_plan_keeps_kinds_and_what_builds_on_what_by_the_numbers_in_it() -> None:
    edited = plan_of_steps(STEPS).text.replace("The end", "The verdict").split("\n", 2)
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


def test_steps_left_undone_by_a_limit_are_pending_again_once_it_is_raised() -> None:
    undone = skip_pending(STEPS, "the limit", searches_only=True)
    assert [step.status for step in undone] == ["skipped", "skipped", "pending"]
    assert restore_skipped(undone, "the limit") == STEPS
    assert restore_skipped(undone, "") == restore_skipped(undone, "another") == undone


@pytest.mark.sweep
@pytest.mark.parametrize("limit", ["max_searches", "max_tool_calls"])
async def test_a_limit_of_searches_does_not_limit_analyses(tmp_path: Path, limit: str) -> None:
    steps = plan(step("Skerry Light"), step("Port Anlow"), step("Judge", search=False))
    run, state = await finished(
        tmp_path, {"make_plan": steps}, limits={limit: 2, "max_parallel_researchers": 1}
    )
    assert [step.status for step in state.steps] == ["completed", "skipped", "completed"], (
        "the first look took one"
    )
    assert run.asked("record_analysis")
    assert state.run and limit in state.run.stop_reason
    assert limit in state.messages[-1].text


def last_lines(asked: Asked) -> Any:
    """Learn the last line of each result; the first two contradict each other."""
    learned = [
        {"text": result["text"].split("\n")[-1], "document": result["document"]}
        for result in asked.results
    ]
    if len(learned) < 2:
        return {"learnings": learned}
    first, second, *_ = learned
    pair = {"claim": first["text"], "document": first["document"]}
    pair |= {"other": second["text"], "other_document": second["document"]}
    return {"learnings": learned, "contradictions": [pair]}


async def compared(
    tmp_path: Path, rules: dict[str, Rule] | None = None
) -> tuple[PlannedLab, ResearchState]:
    """A run over `DOCUMENTS` that learns the last line of each."""
    usual = {
        "make_plan": plan(step(TASK)),
        "record_learnings": last_lines,
        "report": lambda _: f"{OLD} [1]",
    }
    run = planned_lab(tmp_path, {**usual, **(rules or {})}, data_dir=tmp_path / "data")
    run.folder = tmp_path / "documents"
    run.folder.mkdir()
    for name, text in DOCUMENTS.items():
        (run.folder / name).write_text(text, encoding="utf-8")
    return run, await run.ask(ASKED)


def table_of(state: ResearchState) -> list[list[str]]:
    """Rows of the report's table, without its header."""
    lines = [line for line in state.messages[-1].text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def confirmed(state: ResearchState) -> list[tuple[str, str]]:
    of_check = [noticed for noticed in state.memory.values() if noticed.step == FINAL_CHECK]
    return [noticed.claims for noticed in of_check if noticed.is_open]


@pytest.mark.behaviour("A-72", "A-73")
async def test_a_contradiction_of_two_documents_stands_in_the_report_as_a_row(
    tmp_path: Path,
) -> None:
    run, state = await compared(tmp_path)
    [pair] = confirmed(state)
    assert set(pair) == {OLD, NEW}
    assert (
        "\n## Contradictions\n\n| Claim | Other claim | Resolution |\n" in state.messages[-1].text
    )
    assert table_of(state) == [[f"{NEW} [1] (2019-03-04)", f"{OLD} [2] (2001-05-01)", "open"]]
    written = run.asked("report")[0].reminder
    assert all(
        words in written for words in (OLD, NEW, "2001-05-01", "2019-03-04", "open, [1] is newer")
    )
    prose = re.sub(r"<(data-\w+)>.*?</\1>", "", written, flags=re.DOTALL)
    assert "New guide" not in prose, (
        "a title may hold anything: it stands in the list of sources, as data"
    )
    [packet] = run.of_type("contradictions_found")
    [found] = packet["contradictions"]
    claims = {
        found["claim"]: found["document_id"],
        found["other_claim"]: found["other_document_id"],
    }
    assert claims == {
        OLD: (run.folder / "survey.md").as_uri(),
        NEW: (run.folder / "guide.html").as_uri(),
    }
    assert found["newer_document_id"] == claims[NEW]
    assert {found["claim"]: found["date"], found["other_claim"]: found["other_date"]} == {
        OLD: "2001-05-01",
        NEW: "2019-03-04",
    }
    assert (found["origin"], found["other_origin"]) == ("own", "own")
    assert (found["about"], found["resolution"]) == ("fact", "open")
    assert run.packets.index(packet) < run.packets.index(run.of_type("message_start")[0])
    assert await run.replays_alike()


@pytest.mark.behaviour("A-72")
async def test_with_an_insight_learnings_are_checked_and_only_pairs_of_them_are_kept(
    tmp_path: Path,
) -> None:
    useless: list[Any] = [numbered(1, 1), numbered(1, 99), numbered(0, 2), {"document": 2}, "none"]
    twice = [numbered(3, 1), {**numbered(1, 3), "about": "advice"}]
    rules: dict[str, Rule] = {
        "record_insights": lambda _: {"insights": ["It is the oldest light."]},
        "record_contradictions": lambda _: {"contradictions": [*useless, *twice]},
        "report": lambda _: "The Skerry Light was lit for the first time in 1844. [1]",
    }
    run, state = await finished(tmp_path, rules)
    asked = run.asked("record_contradictions")[0]
    assert "candidates" not in asked.knowledge
    assert confirmed(state) == [(asked.known[0], asked.known[2])]
    assert len(table_of(state)) == 1
    assert [dispute.about for dispute in ThreadDisputes(state).confirmed()] == ["advice"]


@pytest.mark.sweep
@pytest.mark.behaviour("A-70", "A-72")
@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        (lambda _: {"contradictions": []}, 0),
        (failing(ValueError("the line is dead")), 1),
        (lambda _: "They agree.", 1),
    ],
)
async def test_what_the_final_check_does_not_confirm_is_left_out_and_stays_open_if_it_fails(
    tmp_path: Path, rule: Rule, errors: int
) -> None:
    run, state = await compared(tmp_path, {"record_contradictions": rule})
    assert run.asked("record_contradictions")[0].knowledge["candidates"]
    assert confirmed(state) == []
    assert [row[-1] for row in table_of(state)] == ["open"] * errors
    assert len(run.of_type("contradictions_found")) == errors
    assert ("sources contradict each other" in run.asked("report")[0].reminder) == bool(errors)
    assert state.report and state.report.sources
    assert state.run and state.run.status == "completed"
    said = [packet["message"].partition(": ")[0] for packet in run.of_type("error")]
    assert said == ["Part of a step failed"] * errors


@pytest.mark.behaviour("A-72")
async def test_the_most_relevant_learnings_are_checked_within_the_window(tmp_path: Path) -> None:
    def many(asked: Asked) -> Any:
        [first, *_] = asked.results
        facts = [f"Buoy {number} is red." for number in range(40)]
        facts += [f"The keeper of the Skerry Light wrote letter {number}." for number in range(20)]
        return {"learnings": [{"text": fact, "document": first["document"]} for fact in facts]}

    rules: dict[str, Rule] = {
        "record_learnings": many,
        "record_insights": lambda _: {"insights": ["She wrote much."]},
    }
    run, state = await finished(tmp_path, rules, limits={"memory_tokens": 900})
    assert len(state.learnings) == 60
    known = run.asked("record_contradictions")[0].known
    assert 20 < len(known) < 60
    assert sum(text.startswith("The keeper") for text in known) == 20


@pytest.mark.behaviour("A-72")
async def test_a_gap_that_another_step_has_answered_is_closed_by_the_final_check(
    tmp_path: Path,
) -> None:
    insights = {
        "insights": [],
        "gaps": [{"question": "Who kept the Skerry Light?", "relevance": 0.9}],
    }
    rules = {
        "make_plan": plan(step("Skerry Light"), step("Ada Moran")),
        "record_insights": lambda asked: (
            insights if asked.task == "Skerry Light" else {"insights": []}
        ),
        "record_contradictions": lambda asked: {
            "contradictions": [],
            "answered_gaps": [1 + asked.knowledge["gaps"].index("Who kept the Skerry Light?")],
        },
        "report": lambda _: (
            "It was lit in 1844. [1] Ada Moran kept it. [2] Tides are high. [3] [4]"
        ),
    }
    run, state = await finished(tmp_path, rules)
    assert run.asked("record_contradictions")
    assert "Not found" not in state.messages[-1].text
    assert state.run and state.run.status == "completed"
    assert await run.replays_alike()


async def test_an_edited_report_keeps_its_table_of_contradictions(tmp_path: Path) -> None:
    rules: dict[str, Rule] = {
        "record_insights": lambda _: {"insights": ["It is the oldest light."]},
        "record_contradictions": lambda _: {"contradictions": [numbered(3, 1)]},
        "report": lambda _: "The Skerry Light was lit for the first time in 1844. [1]\n\nA remark.",
        "edit_report": lambda _: {"edits": [{"kind": "delete", "block": 2}], "done": "Shorter."},
    }
    run, state = await finished(tmp_path, rules)
    assert len(table_of(state)) == 1
    state = await run.ask({"messages": [HumanMessage("Drop the remark.")], "edit": True})
    assert state.report and "A remark." not in state.report.text
    assert len(table_of(state)) == 1
