"""The extractive model plays each role from facts alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kit import models as handed_in
from langchain_core.messages import AIMessage, HumanMessage

from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from deep_research.core.run import tool_names
from deep_research.core.run.context import Role

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = ShownDocument(1, "Silver Heron", "docs:ship.md", texts=("The Silver Heron had one captain, Mara Ellingsen.",))
CAPTAIN = ShownDocument(2, "Mara Ellingsen", "docs:captain.md", texts=("Mara Ellingsen was born in Tromsø.",))
CUT_OFF = ShownDocument(
    1, "Silver Heron", "https://x.org/heron", texts=("The captain of the Silver Heron was born in …",)
)
SEARCHES = ("internal_search", "web_search", "open_url")

TEXT = st.text("aB ü?.:\n1)[]", max_size=30) | st.just(QUESTION)
DOCUMENTS = st.lists(st.builds(ShownDocument, st.integers(1, 5), TEXT, texts=st.tuples(TEXT)), max_size=3).map(tuple)
FACTS = st.builds(
    Facts,
    request=TEXT,
    earlier=TEXT,
    language=st.sampled_from(["", "English", "German", "Klingon"]),
    task=TEXT,
    documents=DOCUMENTS,
    findings=st.lists(st.builds(TaskFinding, TEXT, TEXT), max_size=3).map(tuple),
    learnings=st.lists(st.builds(ShownLearning, TEXT, st.none() | st.integers(1, 5)), max_size=3).map(tuple),
    most_steps=st.integers(1, 4),
)


def turn(role: Role, facts: Facts, *tools: Any, said: str = "") -> AIMessage:
    """The model's answer to the facts, with tools by their names or whole schemas."""
    named = [
        {"type": "function", "function": {"name": tool, "description": "", "parameters": {}}}
        if isinstance(tool, str)
        else tool
        for tool in tools
    ]
    model: Any = ExtractiveChatModel(role=role)
    asked = model.bind_tools(named) if named else model
    reply: AIMessage = asked.invoke([HumanMessage(said)], facts=facts)
    return reply


def tasks(facts: Facts) -> list[str]:
    calls = turn("orchestrator", facts, "research_agent", "generate_report").tool_calls
    return [call["args"]["task"] for call in calls if call["name"] == "research_agent"]


@pytest.mark.parametrize(
    ("request_text", "is_specific"),
    [
        *((text, True) for text in (QUESTION, "法国的首都是哪里？", "Tell me about photosynthesis", "C++")),
        *((text, False) for text in ("What about it?", "help", "tell me more", "?", "")),
    ],
)
def test_a_request_that_names_nothing_is_asked_back(request_text: str, is_specific: bool) -> None:
    reply = turn("clarifier", Facts(request=request_text), "generate_plan")
    assert [call["name"] for call in reply.tool_calls] == ["generate_plan"] * is_specific
    assert ("?" in reply.text) is not is_specific


def test_a_plan_has_no_more_steps_than_it_may_and_leaves_no_part_out() -> None:
    animals = ("lion", "zebra", "giraffe", "hippo", "rhino")
    points = "\n".join(f"{number}. the {animal} population" for number, animal in enumerate(animals, 1))
    text = turn("planner", Facts(request=f"Report on Kenya:\n{points}", most_steps=2)).text
    assert len(text.splitlines()) <= 2
    assert all(animal in text for animal in animals)


def test_tasks_are_handed_out_three_at_a_time_until_all_are_found() -> None:
    facts = Facts(request="On Osk:\n1. its kiln\n2. its wharf\n3. its river\n4. its school", most_steps=6)
    first = tasks(facts)
    assert len(first) == 3
    found = tuple(TaskFinding(task, "It is red. [1]") for task in first)
    assert len(last := tasks(facts._replace(findings=found))) == 1
    assert tasks(facts._replace(findings=(*found, TaskFinding(last[0], "")))) == []


def test_a_task_that_is_never_carried_out_is_given_up() -> None:
    facts, tried = Facts(request=QUESTION), list[str]()
    while open_tasks := tasks(facts._replace(tried=tuple(tried))):
        tried += open_tasks
        assert len(tried) < 9
    assert tried.count(QUESTION) > 1


def test_the_steps_of_a_plan_that_the_user_has_edited_are_the_tasks() -> None:
    handed_out = tasks(Facts(request=QUESTION, steps=("the school of Osk", "the wharf of Osk")))
    assert ["school" in handed_out[0], "wharf" in handed_out[1], len(handed_out)] == [True, True, 2]


def test_a_researcher_uses_each_search_once_opens_what_was_cut_off_and_then_writes() -> None:
    facts, names = Facts(task=QUESTION), list[str]()
    used: list[tuple[str, tuple[str, ...]]] = []
    while (call := turn("researcher", facts, *SEARCHES, "generate_report").tool_calls[0])["name"] != "generate_report":
        names.append(call["name"])
        used.append((call["name"], tuple(next(iter(call["args"].values())))))
        facts = facts._replace(used=tuple(used), documents=(CUT_OFF,))
        assert len(names) < 9
    assert names[:3] == ["internal_search", "open_url", "web_search"]
    assert (names.count("internal_search"), names.count("open_url")) == (1, 1)
    assert used[1] == ("open_url", (CUT_OFF.address,))


def test_what_a_finding_quotes_stands_in_the_report_once_with_its_number() -> None:
    finding = turn("researcher", Facts(task=QUESTION, documents=(SHIP, CAPTAIN))).text
    assert "Mara Ellingsen was born in Tromsø. [2]" in finding
    found = TaskFinding(QUESTION, finding)
    report = turn("writer", Facts(request=QUESTION, language="English", findings=(found, found))).text
    assert report.count("Mara Ellingsen was born in Tromsø. [2]") == 1


def test_a_report_on_nothing_refuses_in_its_language() -> None:
    report = turn("writer", Facts(request="Wer gründete Quillon?", language="German")).text
    assert report.startswith("Die Dokumente beantworten diese Frage nicht.")
    assert "Quillon" in report


@given(FACTS, st.sampled_from([*handed_in.FORM_CLASSES]))
def test_whatever_is_known_each_form_can_be_read(facts: Facts, name: str) -> None:
    assume(facts.request.strip(" \n") or name != tool_names.MAKE_PLAN)
    form = handed_in.FORM_CLASSES[name]
    schema = handed_in.SCHEMAS[form]
    (call,) = turn("planner", facts, schema).tool_calls
    assert call["name"] == name
    form.model_validate(call["args"])


@given(FACTS, st.sampled_from(["clarifier", "planner", "orchestrator", "researcher", "writer"]), TEXT, TEXT)
def test_the_same_facts_get_the_same_answer_whatever_is_said(facts: Facts, role: Role, said: str, other: str) -> None:
    first, second = turn(role, facts, said=said), turn(role, facts, said=other)
    assert first.text == second.text
    assert [call["args"] for call in first.tool_calls] == [call["args"] for call in second.tool_calls]


async def test_an_answer_is_the_same_whole_or_streamed() -> None:
    facts = Facts(request="On Osk:\n1. its kiln\n2. its wharf\n3. its river", most_steps=6)
    whole = turn("orchestrator", facts)
    model = ExtractiveChatModel(role="orchestrator")
    chunks = [chunk async for chunk in model.astream([HumanMessage("")], facts=facts)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert total.tool_calls == whole.tool_calls
    ids = [call["id"] for call in [*whole.tool_calls, *turn("orchestrator", facts, said="again").tool_calls]]
    assert len({*ids}) == len(ids)
