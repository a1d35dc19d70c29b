"""Plans as users edit them, as models hand them in, and as limits cut them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import QUESTION
from planned_lab import Asked, finished, first_sentences, plan, planned_lab, step, verdict

from deep_research.core.records.plan import PlanStep
from deep_research.core.run.plan_text import plan_text, read_steps
from deep_research.core.run.schedule import restore_skipped, revise_steps, skip_pending

STEPS = [
    PlanStep(id="1", title="The light", task="When was it lit?", requires_search=True),
    PlanStep(id="2", title="The keeper", task="Who kept it then?", requires_search=True, depends_on=("1",)),
    PlanStep(id="3", title="The end", task="Compare them.", requires_search=False, depends_on=("1", "2")),
]


def shape(steps: list[PlanStep]) -> list[tuple[str, str, str, bool, tuple[str, ...]]]:
    return [(step.id, step.title, step.task, step.requires_search, step.depends_on) for step in steps]


def test_a_plan_is_read_as_it_is_shown() -> None:
    assert shape(read_steps(plan_text(STEPS), 6)) == shape(STEPS)


def test_an_edited_plan_keeps_kinds_and_what_builds_on_what_by_the_numbers_in_it() -> None:
    edited = plan_text(STEPS).replace("The end", "The verdict").split("\n", 2)
    text = "\n".join(["1. The harbour", "   Which ferries sail?", *edited])
    text = text.replace("1. The light", "4. The light").replace("builds on 1", "builds on 4")
    assert shape(read_steps(text, 6)) == [
        ("1", "The harbour", "Which ferries sail?", True, ()),
        ("2", "The light", "When was it lit?", True, ()),
        ("3", "The keeper", "Who kept it then?", True, ("2",)),
        ("4", "The verdict", "Compare them.", False, ("2", "3")),
    ]


def test_a_bare_line_is_a_search_and_too_many_are_cut() -> None:
    assert shape(read_steps("1. Tides\n\n2. Winds (thought alone)\n3. More", 2)) == [
        ("1", "Tides", "Tides", True, ()),
        ("2", "Winds", "Winds", False, ()),
    ]


def test_what_is_over_takes_no_room_from_what_the_user_asks_for() -> None:
    over = [step.model_copy(update={"status": "completed"}) for step in STEPS]
    asked = [("The ferry", "When does it sail?", True)]
    assert shape(revise_steps(over, {}, {}, asked, 3))[-1] == ("4", "The ferry", "When does it sail?", True, ())
    assert revise_steps(STEPS, {}, {}, asked, 3) == STEPS


def test_what_a_limit_left_undone_is_pending_again_when_it_holds_no_more() -> None:
    undone = skip_pending(STEPS, "the limit", searches_only=True)
    assert [step.status for step in undone] == ["skipped", "skipped", "pending"]
    assert restore_skipped(undone, "the limit") == STEPS
    assert restore_skipped(undone, "") == restore_skipped(undone, "another") == undone


@pytest.mark.parametrize("limit", ["max_searches", "max_tool_calls"])
async def test_a_limit_of_searches_leaves_thought_alone(tmp_path: Path, limit: str) -> None:
    steps = plan(step("Skerry Light"), step("Port Anlow"), step("Judge", search=False))
    run, state = await finished(tmp_path, {"make_plan": steps}, limits={limit: 2, "max_parallel_researchers": 1})
    assert [one.status for one in state.steps] == ["completed", "skipped", "completed"], "the first look took one"
    assert run.asked("record_analysis")
    assert state.run and limit in state.run.stop_reason
    assert limit in state.messages[-1].text


async def test_a_step_that_has_used_up_its_searches_says_so(tmp_path: Path) -> None:
    queries = {"choose_queries": lambda asked: {"queries": [f"light {asked.number}{letter}" for letter in "abc"]}}
    goes_on = {"give_verdict": verdict(False), "record_learnings": first_sentences}
    run, state = await finished(tmp_path, {**queries, **goes_on}, limits={"max_searches": 5})
    [outcome] = state.outcomes.values()
    asked = [query for iteration in outcome.iterations for query in iteration.queries]
    assert len(asked) == 4, "those that were sent, beside the first look"
    assert "no searches are left (max_searches)" in state.messages[-1].text
    assert state.run and state.run.status == "completed_with_gaps"
    assert await run.replays_alike()


async def test_numbers_in_brackets_of_a_source_are_no_citations_of_ours(tmp_path: Path) -> None:
    def learned(asked: Asked) -> dict[str, object]:
        return {"learnings": [{"text": "It was lit in 1844.[2] [7]", "document": asked.results[0]["document"]}]}

    _, state = await finished(tmp_path, {"record_learnings": learned})
    assert [one.text for one in state.learnings.values()] == ["It was lit in 1844."]
    [finding] = state.findings.values()
    assert finding.numbered == "It was lit in 1844. [1]"


async def test_a_fact_of_a_document_that_was_not_shown_is_left_out(tmp_path: Path) -> None:
    _, state = await finished(
        tmp_path, {"record_learnings": lambda _: {"learnings": [{"text": "It is old.", "document": 99}]}}
    )
    assert state.learnings == {}


@pytest.mark.parametrize("steps", [[], [step("") | {"title": " "}]])
async def test_a_plan_without_words_is_asked_for_once_more(tmp_path: Path, steps: list[dict[str, object]]) -> None:
    run, state = await finished(
        tmp_path,
        {"make_plan": lambda asked: {"steps": steps or []} if asked.number == 1 else {"steps": [step("Tides")]}},
    )
    assert len(run.asked("make_plan")) == 2
    assert [one.task for one in state.steps] == ["Tides"]


async def test_a_thought_in_a_follow_up_is_about_what_the_thread_has_learned(tmp_path: Path) -> None:
    plans = iter([plan(step("Skerry Light")), plan(step("Compare the two", search=False))])
    run = planned_lab(tmp_path, {"make_plan": lambda asked: next(plans)(asked)})
    await run.ask(QUESTION)
    run.packets.clear()
    state = await run.ask("Now compare the two.")
    assert [one.status for one in state.steps] == ["completed"]
    assert run.asked("record_analysis")[0].known
    # The planner knows what was learned, and nobody has searched.
    assert run.asked("make_plan")[1].known == run.asked("record_analysis")[0].known
    assert not run.of_type("search_tool_start")
    assert state.brief.actions == ()
    assert state.report and [state.sources[key].title for key in state.report.sources] == ["Skerry Light"]
    assert await run.replays_alike()


async def test_a_gap_that_another_step_has_answered_is_closed_by_the_final_check(tmp_path: Path) -> None:
    insights = {"insights": [], "gaps": [{"question": "Who kept the Skerry Light?", "relevance": 0.9}]}
    rules = {
        "make_plan": plan(step("Skerry Light"), step("Ada Moran")),
        "record_insights": lambda asked: insights if asked.task == "Skerry Light" else {"insights": []},
        "record_inconsistencies": lambda asked: {
            "inconsistencies": [],
            "answered_gaps": [1 + asked.knowledge["gaps"].index("Who kept the Skerry Light?")],
        },
    }
    run, state = await finished(tmp_path, rules)
    assert run.asked("record_inconsistencies")
    assert "Not found" not in state.messages[-1].text
    assert state.run and state.run.status == "completed"
    assert await run.replays_alike()


@pytest.mark.parametrize("limit", ["max_searches", "max_tool_calls"])
async def test_the_only_search_that_is_allowed_is_kept_for_the_plan(tmp_path: Path, limit: str) -> None:
    _, state = await finished(tmp_path, limits={limit: 1})
    assert state.brief.actions == ()
    assert state.report and state.report.sources
