"""Planned runs from the question to the plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit.engines import SearchApi, refused
from kit.planned import RULES, Asked, Rule, failing, finished, plan, planned_lab, step
from kit.runs import QUESTION, HandClock, article
from kit.web import Web

from deep_research.app.stream import apackets
from deep_research.core.events.blocks import activity, wordings_of
from deep_research.core.events.packets import AnyPacket, Placement
from deep_research.state import ResearchState

LAMP = "The lamp of the Skerry Light burns whale oil, and a keeper trims it every four hours of the night. "
PASSING = ("chat_heartbeat", "documents_indexed", "call_finished")
"""Packet types to ignore."""
ASK = "Which light do you mean?"
ANSWER = "The one at Skerry."


@pytest.mark.behaviour("A-01", "A-02", "A-07")
async def test_a_run_begins_with_an_empty_memory_and_its_clock_starts_with_the_plan(
    tmp_path: Path,
) -> None:
    seen: list[ResearchState] = []
    clock = HandClock()

    async def look(asked: Asked) -> Any:
        seen.append(await run.state())
        clock.time += 1000
        return RULES["generate_plan"](asked)

    run = planned_lab(tmp_path, {"generate_plan": look}, clock=clock)
    state = await run.ask()
    assert run.model.asked[0].form == "generate_plan"
    assert seen[0].run
    assert (seen[0].memory, seen[0].learnings, seen[0].outcomes, seen[0].steps) == ({}, {}, {}, [])
    opening = next(packet for packet in run.packets if packet["type"] not in PASSING)
    assert (opening["type"], opening["icon"]) == ("activity", "lightbulb")
    assert opening["text"] == activity("understand", QUESTION, Placement(turn_index=0)).text
    texts = {
        activity("understand", f"Question {number}?", Placement(turn_index=0)).text
        for number in range(60)
    }
    assert texts == set(wordings_of("understand")) and len(texts) == 5
    assert run.asked("record_summary") == [], "one message is its own summary"
    assert state.brief.began == 1000
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed", "")


@pytest.mark.behaviour("A-03", "A-10", "A-11", "A-12", "A-76")
async def test_the_plan_is_made_from_conversation_summary_orientation_and_pages_that_are_learned_first(
    tmp_path: Path, web: Web
) -> None:
    summary = "Only the old light counts."
    answers: dict[str, Rule] = {
        "generate_plan": lambda _: ASK,
        "record_summary": lambda _: {"summary": summary},
    }
    run = planned_lab(tmp_path, answers, allow_private=(web.netloc,), robots=False)
    address = article(web, "/lamp", LAMP * 3)
    await run.ask(f"{QUESTION} See {address}.")
    searches = run.of_type("search_tool_queries_delta")
    assert [packet["queries"] for packet in searches] == [[run.model.asked[0].task]]
    called = run.of_type("call_finished")[0]
    assert run.packets.index(searches[0]) < run.packets.index(called)
    assert (called["role"], [asked.form for asked in run.model.asked]) == (
        "clarifier",
        ["generate_plan"],
    )
    state = await run.ask(ANSWER)
    forms = [asked.form for asked in run.model.asked]
    assert {"record_summary", "record_learnings"} <= {*forms[1 : forms.index("make_plan")]}
    assert forms.index("make_plan") < forms.index("choose_queries")
    assert [message.text for message in run.asked("record_summary")[0].messages[2:-1]] == [
        ASK,
        ANSWER,
    ]
    assert (
        [packet["summary"] for packet in run.of_type("summary")]
        == [state.brief.summary]
        == [summary]
    )
    assert f"conversation comes to: {summary}" in run.asked("report")[0].reminder
    asked = run.asked("make_plan")[0]
    assert [message.text for message in asked.messages[2:4]] == [ASK, ANSWER]
    assert summary in asked.reminder
    assert "38 metres" in asked.reminder, "what the orientation found"
    first, *others = state.learnings.values()
    assert (first.step, first.source, others[0].step) == ("0", address, "1")
    assert first.text.startswith("The lamp of the Skerry Light burns whale oil")
    assert state.sources[address].number == 1
    assert {learning.source for learning in others}.isdisjoint({address})
    assert asked.known == [first.text]
    assert asked.knowledge["learnings"][0]["document"] == 1
    assert [packet["documents"][0]["link"] for packet in run.of_type("open_url_documents")] == [
        address
    ]
    assert run.packets.index(run.of_type("open_url_start")[0]) < run.packets.index(
        run.of_type("step_started")[0]
    )
    assert "whale oil" in "".join(message.text for message in run.asked("report")[0].messages)
    assert state.plan and state.plan.text == run.words("deep_research_plan_delta")
    assert [step.title for step in state.steps] == ["About Skerry Light"]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-04", "A-05", "A-80")
async def test_a_question_back_knows_the_orientation_and_waits_without_plan_clock_or_end(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    run = planned_lab(tmp_path, {"generate_plan": lambda _: ASK}, clock=clock)

    async def heard(message: Any) -> list[AnyPacket]:
        return [
            packet async for packet in apackets(run.graph, message, run.thread, context=run.context)
        ]

    packets = await heard(QUESTION)
    searched = [
        "search_tool_start",
        "search_tool_queries_delta",
        "search_tool_documents_delta",
        "section_end",
    ]
    types = [packet.type for packet in packets if packet.type not in PASSING]
    assert types == ["activity", *searched, "activity", "message_start", "message_delta", "stop"]
    assert [packet.icon for packet in packets if packet.type == "activity"] == [
        "lightbulb",
        "shapes",
    ]
    assert getattr(packets[-1], "stop_reason", "") == "waiting_for_user"
    state = await run.state()
    assert (state.messages[-1].text, state.plan, state.steps) == (ASK, None, [])
    assert (state.brief.began, state.brief.summary, state.progress.turn) == (0, "", 1)
    assert "1901 to 1932" in run.asked("generate_plan")[0].messages[0].text
    assert [asked.form for asked in run.model.asked] == ["generate_plan"]
    assert await run.next() == ("ask_user",)
    # The user takes an hour.
    clock.time += 3600
    again = await heard(ANSWER)
    assert "elapsed_time" not in {packet.type for packet in again}
    state = await run.state()
    assert state.report and (getattr(again[-1], "stop_reason", ""), state.brief.began) == (
        "completed",
        0,
    )
    assert [message.text for message in run.asked("make_plan")[0].messages[1:4]] == [
        QUESTION,
        ASK,
        ANSWER,
    ]
    assert len(run.asked("generate_plan")) == 1


@pytest.mark.behaviour("A-06")
async def test_a_failed_orientation_is_reported_and_research_goes_on(
    tmp_path: Path, api: SearchApi
) -> None:
    api.on("Aurora sightings", refused(500))
    rules = {"make_plan": plan(step("Skerry Light lit"))}
    run = planned_lab(tmp_path, rules, engines=("tavily",))
    state = await run.ask("Aurora sightings")
    assert [action.found for action in state.brief.actions] == [(), ()]
    assert any(
        "status 500" in problem for action in state.brief.actions for problem in action.problems
    )
    first = [packet for packet in run.packets if packet["placement"]["turn_index"] < 2]
    types = Counter(packet["type"] for packet in first)
    assert types["search_tool_start"] == types["section_end"] == 2
    assert state.report
    assert types["error"] == 1, "the failed web search is reported"


@pytest.mark.sweep
@pytest.mark.behaviour("A-10")
@pytest.mark.parametrize(
    "rule",
    [
        failing(ValueError("the line is dead")),
        lambda _: "I would rather not.",
        lambda _: {"summary": " "},
    ],
)
async def test_without_a_summary_the_users_own_words_are_used(tmp_path: Path, rule: Rule) -> None:
    run, _ = await finished(tmp_path, {"generate_plan": lambda _: ASK, "record_summary": rule})
    state = await run.ask("The old one.")
    assert state.report
    assert [packet["summary"] for packet in run.of_type("summary")] == [f"{QUESTION}\nThe old one."]
