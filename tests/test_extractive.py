"""The extractive model plays every role from its messages alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.models.extractive import ExtractiveChatModel
from deep_research.models.extractive.sentences import sentences
from deep_research.run.context import Role

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = "The Silver Heron was a cargo ship of 1902. Her only captain was Mara Ellingsen. She sank in 1911."
CAPTAIN = "Mara Ellingsen (3 May 1870 – 1 June 1940) was a sailor. Ellingsen was born in Tromsø, Norway."
OTHER = "Herons are long-legged birds. They live near water."


def model(role: Role, *tools: str) -> Any:
    schemas = [{"type": "function", "function": {"name": name, "description": "", "parameters": {}}} for name in tools]
    chosen = ExtractiveChatModel(role=role)
    return chosen.bind_tools(schemas) if tools else chosen


def marked(text: str, mark: str) -> AIMessage:
    return AIMessage(text, additional_kwargs={"deep_research": mark})


def reminder(text: str = "Do it now.") -> HumanMessage:
    return HumanMessage(f"<reminder>\n{text}\n</reminder>")


def fenced(*documents: tuple[str, str]) -> str:
    results = [
        {"document": number, "title": title, "address": f"docs:{number}.md", "date": "", "text": text}
        for number, (title, text) in enumerate(documents, start=1)
    ]
    return f"<data-1f2e3d>\n{json.dumps({'results': results, 'problems': []})}\n</data-1f2e3d>"


def exchange(name: str, reply: str, call_id: str = "s1", **arguments: Any) -> list[BaseMessage]:
    call = {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}
    return [AIMessage("", tool_calls=[call]), ToolMessage(reply, tool_call_id=call_id)]


def plan_for(question: str) -> list[str]:
    text = model("planner").invoke([SystemMessage("Plan."), HumanMessage(question), reminder()]).text
    assert all(re.match(rf"{number}\. \S", line) for number, line in enumerate(text.splitlines(), start=1))
    return [line.split(". ", 1)[1] for line in text.splitlines()]


def report_on(question: str, *findings: str, plan: str = "") -> str:
    research = [
        message
        for number, finding in enumerate(findings)
        for message in exchange("research_agent", finding, f"c{number}", task="t")
    ]
    last = reminder(f"<plan>\n{plan or f'1. {question}'}\n</plan>")
    return str(model("writer").invoke([SystemMessage("Write."), HumanMessage(question), *research, last]).text)


def turn(*exchanges: list[BaseMessage], task: str = QUESTION, tools: tuple[str, ...] = ("internal_search",)) -> Any:
    prompt = [SystemMessage("Research."), HumanMessage(task), *(part for pair in exchanges for part in pair)]
    return model("researcher", *tools, "think_tool", "generate_report").invoke(prompt).tool_calls


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


def orchestrate(*exchanges: list[BaseMessage], plan: str) -> Any:
    prompt = [SystemMessage(f"<plan>\n{plan}\n</plan>"), HumanMessage(QUESTION)]
    prompt += [part for pair in exchanges for part in pair]
    return model("orchestrator", "research_agent", "generate_report", "think_tool").invoke(prompt).tool_calls


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


def finding_for(task: str, *documents: tuple[str, str]) -> str:
    searched = exchange("internal_search", fenced(*documents), queries=["x"])
    return str(model("researcher").invoke([SystemMessage("Write."), HumanMessage(task), *searched, reminder()]).text)


def test_a_finding_quotes_word_for_word_with_a_marker_after_each_sentence() -> None:
    finding = finding_for(QUESTION, ("Heron", OTHER), ("Silver Heron", SHIP), ("Mara Ellingsen", CAPTAIN))
    assert "Ellingsen was born in Tromsø, Norway. [3]" in finding.split("\n\n")[0]
    quoted = re.findall(r"(\S.*?) \[(\d)\]", finding)
    assert len(quoted) == finding.count("[") > 3
    for text, number in quoted:
        assert text in (OTHER, SHIP, CAPTAIN)[int(number) - 1]


def test_a_finding_quotes_three_sentences_a_document_at_most_and_a_paragraph_a_document() -> None:
    long = " ".join(f"The Silver Heron sailed to port number {number}." for number in range(9))
    answer, *evidence = finding_for(QUESTION, ("Silver Heron", long), ("Mara Ellingsen", CAPTAIN)).split("\n\n")
    assert len(re.findall(r"\[1\]", "".join([answer, *evidence]))) == 3
    assert all(len(set(re.findall(r"\[(\d)\]", paragraph))) == 1 for paragraph in evidence)


def test_a_finding_says_which_names_no_document_holds() -> None:
    text = finding_for("Did Mara Ellingsen know Captain Orlo Brandt?", ("Mara Ellingsen", CAPTAIN))
    assert text.endswith("Nothing was found on “Captain Orlo Brandt”.")
    assert "“Mara Ellingsen”" not in text


@pytest.mark.parametrize("question", ["Wann wurde der Turm das letzte Mal gebaut?", "北京的人口是多少？"])
def test_words_that_only_look_like_names_are_not_missed(question: str) -> None:
    assert "“" not in finding_for(question, ("Turm", "Der Turm wurde 1901 gebaut. 北京的人口是两千一百万。"))


def test_bracketed_numbers_of_a_document_are_never_quoted_in_brackets() -> None:
    assert sentences("It rose by half then.[12] It fell again later. [3][4] It held [5] in the end.") == [
        "It rose by half then.",
        "It fell again later.",
        "It held (5) in the end.",
    ]


def test_a_finding_without_anything_that_fits_says_so_without_markers() -> None:
    text = finding_for("What is the boiling point of tungsten?", ("Heron", OTHER))
    assert text.startswith("Nothing was found")
    assert "[" not in text


def test_sentences_do_not_end_at_abbreviations_initials_or_decimals() -> None:
    text = "The U.S. Navy met Dr. J. R. Smith of St. Paul. It paid 3.5 million. He left at 5 p.m. The end came soon."
    assert sentences(text) == [
        "The U.S. Navy met Dr. J. R. Smith of St. Paul.",
        "It paid 3.5 million.",
        "He left at 5 p.m.",
        "The end came soon.",
    ]


def test_headings_tables_and_cut_off_ends_are_not_sentences() -> None:
    text = "# A heading of words.\n\nOne sentence that\nruns on. … Half of one is here.\n\n| a | b |\n\nAnd this one is"
    assert sentences(text) == ["One sentence that runs on."]


def test_chinese_sentences_are_told_apart() -> None:
    assert sentences("北京是中国的首都。上海很大！") == ["北京是中国的首都。", "上海很大！"]


def test_a_report_begins_with_the_answer_and_says_that_it_is_an_extract() -> None:
    report = report_on(QUESTION, "Her captain on the Silver Heron was Mara Ellingsen. [2] " + cited(CAPTAIN, 5, " "))
    first = report.split("\n\n")[0]
    assert "Ellingsen was born in Tromsø, Norway. [5]" in first
    assert not report.startswith("#")
    assert "extract" in report.split("\n\n")[1]
    assert set(re.findall(r"\[(\d+)\]", report)) == {"2", "5"}


def cited(text: str, number: int, joint: str = "\n\n") -> str:
    return joint.join(f"{sentence} [{number}]" for sentence in sentences(text))


def test_a_report_says_no_sentence_twice() -> None:
    report = report_on("Where was Mara Ellingsen born?", cited(CAPTAIN, 1), cited(CAPTAIN, 1))
    assert report.count("Ellingsen was born in Tromsø, Norway.") == 1


def test_a_report_without_anything_that_fits_says_that_the_documents_do_not_answer() -> None:
    question = "Who founded the Quillon Foundry?"
    for findings in ((), ("Nothing was found.",), (cited(OTHER, 1),)):
        report = report_on(question, *findings)
        assert report.startswith("The documents do not answer this question.")
        assert "Quillon Foundry" in report


def test_a_comparison_has_a_section_for_each_side() -> None:
    plan = "1. Compare solar panels and wind turbines\n2. solar panels\n3. wind turbines"
    findings = (
        "Solar panels make power from light. [1]\n\nCheap solar panels last for years. [1]\n\n"
        "Modern solar panels are light. [3]",
        "Wind turbines make power from wind. [2]\n\nLarge wind turbines are loud. [2]\n\nOld wind turbines fail. [4]",
    )
    report = report_on("Compare solar panels and wind turbines", *findings, plan=plan)
    assert "## solar panels" in report
    assert "## wind turbines" in report


def test_a_chinese_question_is_answered_from_chinese_sentences() -> None:
    finding = finding_for("北京的人口是多少？", ("上海", "上海很大。"), ("北京", "北京的人口是两千一百万。"))
    assert finding == "北京的人口是两千一百万。 [2]"
    assert report_on("北京的人口是多少？", finding).startswith("北京的人口是两千一百万。 [2]")


def test_what_else_the_sources_say_stands_apart_from_the_answer() -> None:
    finding = f"Ellingsen was born in Tromsø, Norway. [5]\n\nMara Ellingsen was a sailor. [5]\n\n{cited(OTHER, 6, ' ')}"
    parts = report_on("Where was Mara Ellingsen born?", finding).split("\n\n")
    assert parts[2:] == [
        "## Evidence",
        "Mara Ellingsen was a sailor. [5]",
        "## Related passages",
        "Herons are long-legged birds. [6] They live near water. [6]",
    ]


def test_a_single_question_cites_five_documents_at_most() -> None:
    finding = "\n\n".join(f"Mara Ellingsen was born in town {number}. [{number}]" for number in range(1, 9))
    report = report_on("Where was Mara Ellingsen born?", finding)
    assert set(re.findall(r"\[(\d)\]", report)) == {"1", "2", "3", "4", "5"}


def test_the_words_of_the_report_are_in_its_language() -> None:
    last = reminder("<plan>\n1. Wer?\n</plan>")
    research = exchange("research_agent", "Nothing was found on “Quillon”.", "c1", task="t")
    prompt = [SystemMessage("Write.\n- Write in German."), HumanMessage("Wer gründete Quillon?"), *research, last]
    assert str(model("writer").invoke(prompt).text).startswith(
        "Die Dokumente beantworten diese Frage nicht. Zu “Quillon”"
    )


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


def test_the_profile_says_what_the_model_can_do() -> None:
    profile = ExtractiveChatModel(role="writer").profile
    assert profile is not None
    assert profile["tool_calling"]
    assert not profile["reasoning_output"]
    assert profile["max_input_tokens"] > 1_000_000
