"""The extractive model asks, plans, orchestrates and searches from its messages alone."""

from __future__ import annotations

import re

import pytest
from extracting import CAPTAIN, QUESTION, SHIP, exchange, fenced, marked, model, orchestrate, plan_for, reminder, turn
from langchain_core.messages import HumanMessage, SystemMessage


@pytest.mark.parametrize("question", [QUESTION, "法国的首都是哪里？", "Tell me about photosynthesis", "C++"])
def test_a_question_that_names_something_is_not_asked_back(question: str) -> None:
    calls = model("clarifier", "generate_plan").invoke([SystemMessage("Clarify."), HumanMessage(question)]).tool_calls
    assert [(call["name"], call["args"]) for call in calls] == [("generate_plan", {})]


@pytest.mark.parametrize("question", ["Compare them?", "What about it?", "help", "tell me more", "?"])
def test_a_question_that_names_nothing_is_asked_back(question: str) -> None:
    answer = model("clarifier", "generate_plan").invoke([SystemMessage("Clarify."), HumanMessage(question)])
    assert answer.tool_calls == []
    assert 1 <= len(re.findall(r"^\d\.", answer.text, re.MULTILINE)) <= 5


def test_the_answer_to_a_clarification_belongs_to_the_question_and_earlier_questions_do_not() -> None:
    earlier = [HumanMessage("Who built Petra?"), marked("The Nabataeans.", "report")]
    present = [HumanMessage("Compare them"), marked("Which?", "clarification"), HumanMessage("Oslo and Bergen")]
    steps = model("planner").invoke([SystemMessage("Plan."), *earlier, *present, reminder()]).text
    assert "Compare them Oslo and Bergen" in steps
    assert "Petra" not in steps


def test_a_simple_question_has_a_short_plan_that_begins_with_it() -> None:
    assert plan_for("What is the boiling point of water?") == ["What is the boiling point of water?"]
    assert plan_for("Tell me about photosynthesis") == ["Tell me about photosynthesis"]
    assert plan_for(QUESTION)[0] == QUESTION
    assert len(plan_for(QUESTION)) <= 3


def test_the_plan_of_a_comparison_has_both_sides() -> None:
    steps = plan_for("Compare solar panels and wind turbines for small farms")
    assert any("solar" in step and "wind" not in step for step in steps)
    assert any("wind" in step and "solar" not in step for step in steps)


def test_a_plan_has_six_steps_at_most() -> None:
    items = "\n".join(
        f"- the {animal} population of Kenya" for animal in ("lion", "zebra", "giraffe", "hippo", "rhino", "leopard")
    )
    assert len(plan_for(f"Report on these:\n{items}\n- the weather there")) == 6


def test_the_plan_is_researched_three_steps_at_a_time_with_tasks_that_stand_alone() -> None:
    plan = f"1. {QUESTION}\n2. the ship\n3. the captain\n4. the town"
    tasks = [call["args"]["task"] for call in orchestrate(plan=plan)]
    assert tasks == [
        QUESTION,
        f"the ship (for the question: {QUESTION})",
        f"the captain (for the question: {QUESTION})",
    ]
    done = [exchange("research_agent", f"{CAPTAIN} [1]", f"c{task}", task=task) for task in tasks]
    assert [call["args"]["task"] for call in orchestrate(*done, plan=plan)] == [
        f"the town (for the question: {QUESTION})"
    ]


def test_a_task_that_was_not_run_is_asked_for_again() -> None:
    refused = exchange("research_agent", "Not run: three at a time.", task=QUESTION)
    assert [call["args"]["task"] for call in orchestrate(refused, plan=f"1. {QUESTION}")] == [QUESTION]


def test_a_name_that_a_finding_brings_up_is_researched_once_and_then_the_report_is_written() -> None:
    plan = f"1. {QUESTION}"
    first = exchange("research_agent", "The Silver Heron had one captain, Mara Ellingsen. [1]", "c1", task=QUESTION)
    follow_ups = [call["args"]["task"] for call in orchestrate(first, plan=plan)]
    assert any("Mara Ellingsen" in task and QUESTION in task for task in follow_ups)
    second = [exchange("research_agent", "Nothing was found.", f"d{task}", task=task) for task in follow_ups]
    assert [call["name"] for call in orchestrate(first, *second, plan=plan)] == ["generate_report"]


def test_call_ids_do_not_repeat_within_a_conversation() -> None:
    plan = "\n".join(f"{number}. topic {number}" for number in range(1, 6))
    first = orchestrate(plan=plan)
    done = [exchange("research_agent", "Nothing.", call["id"], **call["args"]) for call in first]
    ids = [call["id"] for call in (*first, *orchestrate(*done, plan=plan))]
    assert len(set(ids)) == len(ids) == 5


def test_a_researcher_searches_the_web_for_the_task_then_for_names_that_it_met_then_reports() -> None:
    tools = ("web_search",)
    (first,) = turn(tools=tools)
    assert first["args"]["queries"][0] == QUESTION
    assert "Silver Heron" in first["args"]["queries"]
    searched = exchange("web_search", fenced(("Silver Heron", SHIP)), "s1", **first["args"])
    (second,) = turn(searched, tools=tools)
    assert any(query.startswith("Mara Ellingsen") and "born" in query for query in second["args"]["queries"])
    empty = [exchange("web_search", fenced(), f"s{number}", queries=["x"]) for number in (2, 3, 4)]
    (last,) = turn(searched, *empty, tools=tools)
    assert last["name"] == "generate_report"


def test_the_documents_are_searched_once_since_that_search_follows_names_itself() -> None:
    (first,) = turn()
    assert first["args"]["queries"] == [QUESTION]
    (second,) = turn(exchange("internal_search", fenced(("Silver Heron", SHIP)), "s1", **first["args"]))
    assert second["name"] == "generate_report"


def test_every_search_tool_is_used() -> None:
    tools = ("internal_search", "web_search")
    (first,) = turn(tools=tools)
    (second,) = turn(exchange("internal_search", fenced(), queries=["x"]), tools=tools)
    assert [first["name"], second["name"]] == ["internal_search", "web_search"]


def test_only_an_excerpt_that_is_cut_off_is_opened() -> None:
    tools = ("internal_search", "open_url")
    cut = exchange(
        "internal_search", fenced(("Silver Heron", "The Silver Heron had one captain. Her name …")), queries=[]
    )
    assert [(call["name"], call["args"]) for call in turn(cut, tools=tools)] == [("open_url", {"urls": ["docs:1.md"]})]
    whole = exchange("internal_search", fenced(("Silver Heron", "The Silver Heron had one captain.")), queries=[])
    assert [call["name"] for call in turn(whole, tools=tools)] != ["open_url"]


async def test_the_same_messages_get_the_same_answer_whole_or_streamed() -> None:
    prompt = [SystemMessage("<plan>\n1. a\n2. b\n</plan>"), HumanMessage(QUESTION)]
    asked = model("orchestrator", "research_agent", "generate_report")
    chunks = [chunk async for chunk in asked.astream(prompt)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    whole = asked.invoke(prompt)
    assert len(chunks) > 3
    assert total.tool_calls == whole.tool_calls == asked.invoke(prompt).tool_calls
    assert total.usage_metadata == whole.usage_metadata
