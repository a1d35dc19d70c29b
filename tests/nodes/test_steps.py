"""Steps that search: queries, learnings round by round, verdicts, and when a step is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    COVERED,
    INCOMPLETE,
    WORDS,
    Asked,
    fact,
    facts,
    failing,
    finished,
    holding,
    in_turn,
    insights,
    judged,
    new_each_time,
    of_task,
    plan,
    queries,
    step,
    verdict,
)
from kit.runs import HandClock
from langgraph.graph import START, StateGraph

from deep_research.core.events.blocks import wordings_of
from deep_research.core.evidence.memory.learned import confidence
from deep_research.core.records.plan import Iteration, Learning, PlanStep, StepTask, Verdict
from deep_research.core.records.research import Scope
from deep_research.core.settings.context import Context
from deep_research.graph._handlers import end_step
from deep_research.state import StepOutput, StepState

THREE = ("Skerry Light", "Ada Moran", "Port Anlow")
ANY_QUERY = queries("Skerry Light")
FACT = Learning(text="It was lit in 1844.", source="file:///light.md", step="1", question_id="q")
SURE = Iteration(
    number=1,
    learnings=(FACT.id,),
    verdicts=(Verdict(query="light", is_complete=True, reasoning="All."),),
)


@pytest.mark.behaviour("A-30", "A-39", "A-40", "A-42")
async def test_a_step_that_is_never_complete_ends_after_five_iterations(tmp_path: Path) -> None:
    task, other = "Which lamp had the Skerry Light?", "Ada Moran"
    rules = {
        "give_verdict": INCOMPLETE,
        "record_learnings": new_each_time,
        "evaluate_outcome": judged(0.5, 0.5),
    }
    rules["make_plan"] = plan(step(task), step(other))
    run, state = await finished(tmp_path, rules, clock=HandClock())
    assert [step.status for step in state.steps] == ["completed", "completed"]
    for step_id, outcome in state.outcomes.items():
        assert [iteration.number for iteration in outcome.iterations] == [1, 2, 3, 4, 5]
        own = [learning.id for learning in state.learnings.values() if learning.step == step_id]
        assert (
            own == [key for iteration in outcome.iterations for key in iteration.learnings]
            and len(own) == 5
        )
        assert not outcome.is_complete
    assert [len(asked.known) for asked in run.asked("record_learnings", other)] == [0, 1, 2, 3, 4]
    known = [learning for learning in state.learnings.values() if learning.step == "1"]
    expected = [
        confidence(task, known[:number], state.sources, number, 0.5) for number in range(1, 6)
    ]
    iterations = state.outcomes["1"].iterations
    assert [iteration.confidence for iteration in iterations] == expected
    assert expected == sorted(expected, reverse=True) and len(set(expected)) == 5
    assert {iteration.at for iteration in iterations} == {"2026-03-04T05:06:00"}
    learned = [packet for packet in run.of_type("step_learnings") if packet["step_id"] == "1"]
    assert [packet["confidence"] for packet in learned] == expected


@pytest.mark.sweep
@pytest.mark.behaviour("A-31")
@pytest.mark.parametrize("broken", ["", "choose_queries", "record_learnings", "give_verdict"])
async def test_each_iteration_is_announced_by_one_of_five_wordings(
    tmp_path: Path, broken: str
) -> None:
    rules: dict[str, Any] = {"give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    # Every run checks that no block is left open.
    run, state = await finished(
        tmp_path, {**rules, **({broken: failing(OSError("gone"))} if broken else {})}
    )
    activities = [packet for packet in run.of_type("activity") if packet["icon"] == "globe"]
    assert len(activities) == len(state.outcomes["1"].iterations) >= 2
    assert {packet["text"] for packet in activities} <= set(wordings_of("search"))
    assert run.types().count("step_started") == run.types().count("step_done") == 1


@pytest.mark.behaviour("A-35", "A-37", "A-45")
async def test_failed_queries_and_verdicts_are_reported_and_the_step_goes_on_until_no_query_is_new(
    tmp_path: Path,
) -> None:
    broken = failing(OSError("gone")), lambda _: "I would rather talk.", lambda _: "Still."
    choices = in_turn(
        *broken,
        queries("Ada Moran", "ADA MORAN"),
        queries("ada MORAN", "Tralee"),
        queries("TRALEE"),
    )
    rules = {
        "choose_queries": choices,
        "give_verdict": INCOMPLETE,
        "record_learnings": new_each_time,
    }
    run, state = await finished(tmp_path, rules)
    # Queries of the step, without those of the orientation.
    shown = [packet["queries"] for packet in run.of_type("search_tool_queries_delta")][1:]
    assert shown == [["About Skerry Light"], ["Ada Moran", "ADA MORAN"], ["Tralee"]]
    assert [iteration.number for iteration in state.outcomes["1"].iterations] == [1, 2, 3]
    assert len(state.learnings) == 2
    assert [packet["is_complete"] for packet in run.of_type("step_assessed")] == [False] * 3
    assert run.of_type("step_assessed")[0]["reasoning"].startswith("No verdict was given: ")
    [finding] = state.findings.values()
    assert (len(run.of_type("error")), len(finding.failures)) == (2, 2)
    assert "OSError" in run.of_type("error")[0]["message"] and "OSError" in finding.failures[0]


async def test_a_learning_gets_its_right_source_and_the_model_and_the_writer_see_what_none_has(
    tmp_path: Path,
) -> None:
    tide = "The spring tide at Port Anlow reaches 5.2 metres above the chart datum."
    steps = "The Skerry Light has 77 steps."

    def learned(asked: Asked) -> Any:
        by_title = {result["title"]: result["document"] for result in asked.results}
        wrong = by_title["Skerry Light"]
        right = by_title["Tides"]
        assert wrong != right
        lines = [f"Twice: 2 * 5.2 m [{right}] = m", "Lamps: all of them"]
        return {"learnings": [fact(tide, wrong), fact(steps, wrong)], "calculations": lines}

    rules = {
        "choose_queries": in_turn(queries("Skerry Light", "spring tide"), queries("Ada Moran")),
        "record_learnings": in_turn(learned, lambda _: {"learnings": []}),
        "give_verdict": in_turn(INCOMPLETE, verdict(True)),
    }
    run, state = await finished(tmp_path, rules)
    found = [
        (learning.text, state.sources[learning.source].title, learning.unproved)
        for learning in state.learnings.values()
    ]
    assert found == [(tide, "Tides", ()), (steps, "Skerry Light", ("77",))]
    first, second = (asked.messages[-1].text for asked in run.asked("record_learnings"))
    assert "not_in_document" not in first
    assert steps in second and '"not_in_document": ["77"]' in second and tide not in second
    # Nor was it told before what came of its calculations.
    assert "calc 1" not in first
    assert "[calc 1] Twice: " in second and "10.4 m" in second and "not calculated, since" in second
    [writing] = run.asked("report")
    remark = "(worked out or misread: its source lacks 77)"
    assert any(f"{steps} [2] {remark}" in message.text for message in writing.messages)
    assert "marked as worked out or misread" in writing.reminder
    [finding] = state.findings.values()
    assert finding.corrected_markers == 1
    assert state.report and state.report.audit and state.report.audit.corrected_markers == 1


@pytest.mark.behaviour("A-50")
async def test_a_step_stops_when_its_time_is_over_and_keeps_its_learnings(tmp_path: Path) -> None:
    clock = HandClock()
    slow = clock.after(200, {"is_complete": False})
    rules = {"give_verdict": in_turn(INCOMPLETE, slow), "record_learnings": new_each_time}
    limits = {"max_seconds_planned": 100, "max_seconds": 1000}
    run, state = await finished(tmp_path, rules, clock=clock, limits=limits)
    assert len(state.outcomes["1"].iterations) == 2
    assert len(state.learnings) == 2
    [done] = run.of_type("step_done")
    assert done["status"] == "completed" and "max_seconds_planned" in done["reason"]
    assert not run.of_type("error")
    assert state.report and "max_seconds_planned" in state.messages[-1].text


@pytest.mark.behaviour("A-51", "A-52")
async def test_a_step_that_finds_nothing_ends_without_verdicts_and_is_named_as_not_found(
    tmp_path: Path,
) -> None:
    steps = plan(step("Skerry Light"), step(COVERED))
    unheard_of = of_task(
        COVERED, lambda asked: {"queries": [WORDS[asked.number]]}, queries("Skerry Light")
    )
    run, state = await finished(tmp_path, {"make_plan": steps, "choose_queries": unheard_of})
    assert {asked.form for asked in run.model.asked if asked.task == COVERED} == {"choose_queries"}
    assert {learning.step for learning in state.learnings.values()} == {"1"}
    assert state.outcomes["2"].iterations[-1].verdicts == ()
    assert state.outcomes["2"].completeness is None, "what has learned nothing is not judged"
    assert f"Not found: {COVERED}" in state.messages[-1].text


def of_words(covered: int, of: int, **more: Any) -> dict[str, Any]:
    """Rules of a step with `of` words whose only fact covers `covered` of them."""
    steps = plan(step(" ".join(WORDS[:of])))
    rules = {"make_plan": steps, "choose_queries": ANY_QUERY, "record_learnings": holding(covered)}
    return {
        **rules,
        "evaluate_outcome": judged(covered / of, 1.0),
        "record_insights": insights("It is old."),
        **more,
    }


@pytest.mark.behaviour("A-41", "A-48")
@pytest.mark.parametrize(
    ("covered", "of", "confidence", "times"), [(5, 8, 0.6, 0), (13, 20, 0.61, 1)]
)
async def test_only_confident_results_are_recorded_and_change_the_plan(
    tmp_path: Path, covered: int, of: int, confidence: float, times: int
) -> None:
    rules = of_words(
        covered, of, make_plan=plan(step(" ".join(WORDS[:of])), step("Ada Moran", after=(1,)))
    )
    rules["record_insights"] = in_turn(insights("It is old."), insights())
    run, state = await finished(tmp_path, rules)
    assert [iteration.confidence for iteration in state.outcomes["1"].iterations] == [confidence]
    noted = [
        noticed
        for noticed in state.memory.values()
        if noticed.kind == "insight" and noticed.step == "1"
    ]
    assert (len(noted), len(run.asked("update_plan"))) == (times, times)


@pytest.mark.behaviour("A-41", "A-42")
async def test_insights_are_noted_only_where_something_new_was_learned(tmp_path: Path) -> None:
    choices = lambda asked: {"queries": [f"Skerry {WORDS[asked.number]}"]}  # noqa: E731 - a rule
    shown = in_turn(insights("It is old."), insights("It is tall."))
    rules = of_words(20, 20, choose_queries=choices, give_verdict=INCOMPLETE, record_insights=shown)
    _, state = await finished(tmp_path, rules)
    iterations = state.outcomes["1"].iterations
    # A verdict or a lack of news ends a step; confidence does not.
    assert [len(iteration.learnings) for iteration in iterations] == [1, 0, 0]
    assert [iteration.confidence for iteration in iterations] == [0.75, 0.73, 0.71]
    assert [noticed.text for noticed in state.memory.values() if noticed.kind == "insight"] == [
        "It is old."
    ]


@pytest.mark.behaviour("A-43", "A-44", "A-46", "A-47")
async def test_each_round_reports_all_it_has_learned_and_its_verdict_and_the_step_hands_on_the_last(
    tmp_path: Path,
) -> None:
    long = f"The Skerry Light was lit in 1844, {'and it shone ' * 60}until today."
    verdicts = in_turn(
        verdict(False, "Verdict 1.", "lamp"), verdict(True, "Verdict 2.", "height", "metres")
    )
    # What was searched for is not searched for again.
    choices = in_turn(queries(*THREE), queries("port ANLOW", "Tralee"))
    rules = {"choose_queries": choices, "record_learnings": in_turn(facts(long), new_each_time)}
    run, state = await finished(tmp_path, {**rules, "give_verdict": verdicts})
    learned = [(packet["step_id"], packet["iteration"]) for packet in run.of_type("step_learnings")]
    assert learned == [("1", 1), ("1", 2)]
    shown = [
        learning for packet in run.of_type("step_learnings") for learning in packet["learnings"]
    ]
    kept = [(known.id, known.text, known.source) for known in state.learnings.values()]
    assert [
        (learning["id"], learning["text"], learning["document_id"]) for learning in shown
    ] == kept
    assert (
        shown[0]["text"] == long
        and {learning["document_id"] for learning in shown} <= state.sources.keys()
    )
    fields = ("query", "is_complete", "reasoning", "key_elements")
    assert [
        tuple(packet[field] for field in fields) for packet in run.of_type("step_assessed")
    ] == [
        (", ".join(THREE), False, "Verdict 1.", ["lamp"]),
        ("Tralee", True, "Verdict 2.", ["height", "metres"]),
    ]
    last = state.outcomes["1"].verdict
    assert state.outcomes["1"].is_complete and last
    assert (last.reasoning, last.key_elements) == ("Verdict 2.", ("height", "metres"))


@pytest.mark.behaviour("A-48")
async def test_a_second_look_leaves_out_rewords_and_adds_steps(tmp_path: Path) -> None:
    building = (step(task, after=(1,)) for task in ("Ada Moran", "Port Anlow"))
    steps = plan(step("Skerry Light"), *building, step("Tralee"))
    added = {"title": "Tides", "task": "spring tide", "requires_search": True}
    changes = {
        "needless": [{"step": "2", "reason": "It is known"}],
        "reworded": [{"step": "3", "task": "Port Anlow ferry"}],
        "added": [added],
    }
    looking = in_turn(lambda _: changes, lambda _: {})
    rules = {"make_plan": steps, "update_plan": looking, "record_learnings": new_each_time}
    run, state = await finished(tmp_path, rules)
    assert [(step.task, step.status) for step in state.steps] == [
        ("Skerry Light", "completed"),
        ("Ada Moran", "skipped"),
        ("Port Anlow ferry", "completed"),
        ("Tralee", "completed"),
        ("spring tide", "completed"),
    ]
    assert "Not done: About Ada Moran: It is known." in state.messages[-1].text
    # Once a round, however many steps it has; after the third none is left to change.
    assert len(run.asked("update_plan")) == 2
    assert len({packet["placement"]["turn_index"] for packet in run.of_type("step_started")}) == 3


@pytest.mark.behaviour("A-59", "A-84")
async def test_a_step_that_cannot_be_judged_keeps_its_learnings_and_its_verdict() -> None:
    step = PlanStep(id="1", title="Light", task="Skerry Light", requires_search=True)
    task = StepTask(
        id="q-1", question_id="q", question="What?", text=step.task, cycle=0, position=0, turn=2, date="today",
        language="English", scope=Scope(), seconds=60, tokens=None, searches=None, fetches=None, usd=None, step=step,
    )  # fmt: skip

    async def evaluate(state: StepState) -> dict[str, Any]:
        raise OSError(f"nobody knows why {state.task.id} breaks")

    graph = StateGraph(StepState, context_schema=Context, output_schema=StepOutput)
    graph.add_node("evaluate", evaluate, error_handler=end_step)
    graph.add_edge(START, "evaluate")
    known = {
        "learnings": {FACT.id: FACT},
        "iterations": [SURE],
        "numbered": [FACT.source],
        "failures": ["before"],
    }
    given: Any = {"given": [task], "turn": 3, **known}
    heard: dict[str, list[Any]] = {"custom": [], "values": []}
    async for mode, part in graph.compile().astream(given, stream_mode=["custom", "values"]):
        heard[str(mode)].append(part)
    packets, brought = heard["custom"], heard["values"][-1]
    assert [packet["type"] for packet in packets] == ["error", "step_done", "section_end"]
    assert packets[1]["status"] == "completed"
    assert brought["learnings"] == {FACT.id: FACT}
    outcome = brought["outcomes"]["1"]
    assert (outcome.iterations, outcome.is_complete, outcome.verdict.reasoning) == (
        (SURE,),
        True,
        "All.",
    )
    [finding] = brought["findings"].values()
    assert finding.text == "It was lit in 1844. [1]"
    assert finding.failures == ("before", "an error stopped it (OSError)")
