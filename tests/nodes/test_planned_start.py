"""Whole runs of the planned strategy: how they begin, up to their plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab import QUESTION, HandClock
from langgraph.types import Command
from opened import article
from planned_lab import RULES, Asked, PlannedLab, Rule, finished, passing, plan, planned_lab, raising, step
from search_api import SearchApi, refused
from web import Web

from deep_research.app.stream import apackets
from deep_research.core.run.events.activities import activity, wordings_of
from deep_research.core.run.events.packets import AnyPacket, Placement
from deep_research.state import ResearchState

LAMP = "The lamp of the Skerry Light burns whale oil, and a keeper trims it every four hours of the night. "
PASSING = ("chat_heartbeat", "documents_indexed", "call_finished")
"""Packets of no interest here."""
ASK = "Which light do you mean?"
ANSWER = "The one at Skerry."


def noted(events: list[str], *forms: str, **rules: Rule) -> dict[str, Rule]:
    """The rules of these forms, the usual ones for those that are not given, which note when they are asked for."""

    def noting(form: str) -> Rule:
        def answer(asked: Asked) -> Any:
            events.append(form)
            return rules.get(form, RULES[form])(asked)

        return answer

    return {form: noting(form) for form in forms}


async def naming(tmp_path: Path, web: Web, address: str, rules: Any = None) -> tuple[PlannedLab, ResearchState]:
    """A run whose question names an address."""
    run = planned_lab(tmp_path, rules, allow_private=(web.place,), robots=False)
    return run, await run.ask(f"{QUESTION} See {address}.")


async def heard(run: PlannedLab, message: Any) -> list[AnyPacket]:
    return [packet async for packet in apackets(run.graph, message, run.thread, context=run.context)]


@pytest.mark.behaviour("A-01")
async def test_the_memory_is_there_and_empty_before_any_model_is_called(tmp_path: Path) -> None:
    seen: list[ResearchState] = []

    async def look(asked: Asked) -> Any:
        seen.append(await run.state())
        return RULES["generate_plan"](asked)

    run = planned_lab(tmp_path, {"generate_plan": look})
    await run.ask()
    assert run.model.asked[0].form == "generate_plan"
    assert seen[0].run
    assert (seen[0].memory, seen[0].learnings, seen[0].outcomes, seen[0].steps) == ({}, {}, {}, [])
    assert await run.replays_alike()


@pytest.mark.behaviour("A-02")
async def test_it_opens_with_one_of_five_wordings_and_with_the_same_for_the_same_question(tmp_path: Path) -> None:
    run, _ = await finished(tmp_path)
    opening = next(packet for packet in run.packets if packet["type"] not in PASSING)
    assert (opening["type"], opening["icon"]) == ("activity", "lightbulb")
    assert opening["text"] == activity("understand", QUESTION, Placement(turn_index=0)).text
    texts = {activity("understand", f"Question {number}?", Placement(turn_index=0)).text for number in range(60)}
    assert texts == set(wordings_of("understand"))
    assert len(texts) == 5


@pytest.mark.behaviour("A-03")
async def test_orientation_comes_first_then_the_question_back_then_summary_and_links_then_the_plan(
    tmp_path: Path, web: Web
) -> None:
    events: list[str] = []
    forms = ("record_summary", "record_learnings", "make_plan")
    rules = noted(events, "generate_plan", *forms, generate_plan=lambda _: ASK)
    run, _ = await naming(tmp_path, web, article(web, "/order", LAMP * 3), rules)
    searches = [packet for packet in run.packets if packet["type"] == "search_tool_queries_delta"]
    assert [packet["queries"] for packet in searches] == [[run.model.asked[0].task]]
    called = next(packet for packet in run.of_type("call_finished"))
    assert run.packets.index(searches[0]) < run.packets.index(called)
    assert called["role"] == "clarifier"
    assert events == ["generate_plan"]
    await run.ask(ANSWER)
    assert events[0] == "generate_plan"
    assert set(events[1:3]) == {"record_summary", "record_learnings"}
    assert events[3] == "make_plan"
    assert await run.replays_alike()


@pytest.mark.behaviour("A-04")
@pytest.mark.parametrize("answer", [ANSWER, Command(resume=ANSWER)])
async def test_a_question_back_knows_the_orientation_and_no_plan_is_made_before_the_answer(
    tmp_path: Path, answer: Any
) -> None:
    run = planned_lab(tmp_path, {"generate_plan": lambda _: ASK})
    state = await run.ask()
    assert "1901 to 1932" in run.asked("generate_plan")[0].messages[0].text
    assert await run.next() == ("ask_user",)
    assert (state.messages[-1].text, state.plan, state.steps) == (ASK, None, [])
    assert run.words("message_delta") == ASK
    assert {asked.form for asked in run.model.asked} == {"generate_plan"}
    assert [packet["icon"] for packet in run.of_type("activity")] == ["lightbulb", "shapes"]
    state = await run.ask(answer)
    assert state.report
    assert [message.text for message in run.asked("make_plan")[0].messages[1:4]] == [QUESTION, ASK, ANSWER]
    assert len(run.asked("generate_plan")) == 1
    assert await run.replays_alike()


@pytest.mark.behaviour("A-05", "A-80")
async def test_while_it_waits_nothing_of_plan_clock_or_end_is_told(tmp_path: Path) -> None:
    clock = HandClock()
    run = planned_lab(tmp_path, {"generate_plan": lambda _: ASK}, clock=clock)
    packets = await heard(run, QUESTION)
    searched = ["search_tool_start", "search_tool_queries_delta", "search_tool_documents_delta", "section_end"]
    types = [packet.type for packet in packets if packet.type not in PASSING]
    assert types == ["activity", *searched, "activity", "message_start", "message_delta", "stop"]
    assert getattr(packets[-1], "stop_reason", "") == "waiting_for_user"
    state = await run.state()
    assert (state.brief.began, state.brief.summary, state.progress.turn) == (0, "", 1)
    # The user takes an hour.
    clock.time += 3600
    again = await heard(run, ANSWER)
    assert "elapsed_time" not in {packet.type for packet in again}
    assert (getattr(again[-1], "stop_reason", ""), (await run.state()).brief.began) == ("completed", 0)


@pytest.mark.behaviour("A-06")
async def test_an_orientation_that_fails_is_told_and_the_research_goes_on(tmp_path: Path, api: SearchApi) -> None:
    api.on("Aurora sightings", refused(500))
    rules = {"make_plan": plan(step("Skerry Light lit"))}
    run = planned_lab(tmp_path, rules, engines=("tavily",))
    state = await run.ask("Aurora sightings")
    assert [action.found for action in state.brief.actions] == [(), ()]
    assert any("status 500" in problem for action in state.brief.actions for problem in action.problems)
    first = [packet for packet in run.packets if packet["placement"]["turn_index"] < 2]
    types = Counter(packet["type"] for packet in first)
    assert types["search_tool_start"] == types["section_end"] == 2
    assert state.report
    assert await run.replays_alike()
    assert types["error"] == 1, "that the web could not be searched is told"


@pytest.mark.behaviour("A-06")
async def test_an_orientation_that_finds_nothing_is_no_failure(tmp_path: Path) -> None:
    run = planned_lab(tmp_path, {"make_plan": plan(step("Skerry Light lit"))})
    state = await run.ask("Aurora sightings")
    assert state.report
    assert state.brief.orientation == ""
    assert run.of_type("error") == []
    assert await run.replays_alike()


@pytest.mark.behaviour("A-07")
async def test_the_time_of_the_plan_counts_from_its_planning_on(tmp_path: Path) -> None:
    clock = HandClock()
    slow = passing(clock, 1000, RULES["generate_plan"])
    run, state = await finished(tmp_path, {"generate_plan": slow}, clock=clock)
    assert run.asked("record_summary") == [], "one message is its own summary"
    assert state.brief.began == 1000
    assert [step.status for step in state.steps] == ["completed"]
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed", "")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-10", "A-76")
async def test_what_the_conversation_comes_to_is_told_and_the_writer_knows_it(tmp_path: Path) -> None:
    rules: dict[str, Rule] = {
        "generate_plan": lambda _: ASK,
        "record_summary": lambda _: {"summary": "Of the lights at Skerry, the old one."},
    }
    run = planned_lab(tmp_path, rules)
    await run.ask()
    state = await run.ask(ANSWER)
    assert [message.text for message in run.asked("record_summary")[0].messages[1:-1]] == [QUESTION, ASK, ANSWER]
    assert [packet["summary"] for packet in run.of_type("summary")] == ["Of the lights at Skerry, the old one."]
    assert state.brief.summary == "Of the lights at Skerry, the old one."
    wanted = "What the conversation comes to: Of the lights at Skerry, the old one."
    assert wanted in run.asked("report")[0].reminder
    assert await run.replays_alike()


@pytest.mark.behaviour("A-10")
@pytest.mark.parametrize("rule", [raising(), lambda _: "I would rather not.", lambda _: {"summary": " "}])
async def test_where_nobody_sums_up_the_words_of_the_user_are_the_summary(tmp_path: Path, rule: Rule) -> None:
    run = planned_lab(tmp_path, {"generate_plan": lambda _: ASK, "record_summary": rule})
    await run.ask()
    state = await run.ask("The old one.")
    assert state.report
    assert [packet["summary"] for packet in run.of_type("summary")] == [f"{QUESTION}\nThe old one."]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-11", "A-12")
async def test_pages_that_the_user_names_are_learned_and_numbered_first_and_the_plan_knows_them(
    tmp_path: Path, web: Web
) -> None:
    address = article(web, "/lamp", LAMP * 3, title="The lamp")
    run, state = await naming(tmp_path, web, address)
    first, *others = state.learnings.values()
    assert (first.step, first.source, others[0].step) == ("0", address, "1")
    assert first.text.startswith("The lamp of the Skerry Light burns whale oil")
    assert state.sources[address].number == 1
    assert {learning.source for learning in others}.isdisjoint({address})
    planned = run.asked("make_plan")[0]
    assert planned.known == [first.text]
    assert planned.knowledge["learnings"][0]["document"] == 1
    assert [packet["documents"][0]["link"] for packet in run.of_type("open_url_documents")] == [address]
    assert run.packets.index(run.of_type("open_url_start")[0]) < run.packets.index(run.of_type("step_started")[0])
    assert "whale oil" in "".join(message.text for message in run.asked("report")[0].messages)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-11")
@pytest.mark.parametrize("rule", [None, raising()])
async def test_a_named_page_that_cannot_be_read_or_understood_costs_itself_alone(
    tmp_path: Path, web: Web, rule: Rule | None
) -> None:
    address = article(web, "/readable", LAMP * 3) if rule else web.publish("/closed", "No.", status=403)
    usual = RULES["record_learnings"]

    def read(asked: Asked) -> Any:
        return rule(asked) if rule and address in asked.results[0]["address"] else usual(asked)

    run, state = await naming(tmp_path, web, address, {"record_learnings": read})
    assert state.report
    assert [step.status for step in state.steps] == ["completed"]
    assert {learning.step for learning in state.learnings.values()} == {"1"}
    assert await run.replays_alike()


@pytest.mark.behaviour("A-12")
async def test_the_plan_is_made_from_conversation_summary_pages_and_orientation_and_is_kept(
    tmp_path: Path, web: Web
) -> None:
    rules: dict[str, Rule] = {
        "generate_plan": lambda _: ASK,
        "record_summary": lambda _: {"summary": "Only the old light counts."},
    }
    run = planned_lab(tmp_path, rules, allow_private=(web.place,), robots=False)
    await run.ask(f"{QUESTION} See {article(web, '/inputs', LAMP * 3)}.")
    await run.ask("The old one.")
    kept, asked = await run.state(), run.asked("make_plan")[0]
    assert [message.text for message in asked.messages[2:4]] == [ASK, "The old one."]
    assert "Only the old light counts." in asked.reminder
    assert "38 metres" in asked.reminder, "what the orientation found"
    assert "whale oil" in asked.known[0]
    assert kept.plan and kept.plan.text == run.words("deep_research_plan_delta")
    assert [step.title for step in kept.steps] == ["About Skerry Light"]


@pytest.mark.behaviour("A-14")
async def test_how_many_steps_of_each_kind_there_are_can_be_told_from_the_plan(tmp_path: Path) -> None:
    steps = [step("Skerry Light lit"), step("Port Anlow ferry"), step("Ada Moran", after=(1,))]
    steps += [step("Compare", search=False), step("Judge", search=False, previous=True)]
    run, state = await finished(tmp_path, {"make_plan": plan(*steps)})
    assert state.plan
    lines = state.plan.text.splitlines()[1::2]
    shown = Counter(
        "dependent" if "thought alone" in line else "hybrid" if "builds on" in line else "independent" for line in lines
    )
    assert shown == Counter(step.kind for step in state.steps) == {"independent": 2, "hybrid": 1, "dependent": 2}
    assert lines[-1].endswith("(thought alone; builds on 1, 2, 3, 4)")
    assert await run.replays_alike()
