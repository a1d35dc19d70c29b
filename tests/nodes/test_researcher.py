"""One researcher: what it sees, what it may call, what every call gets for an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import (
    REPORT,
    HandClock,
    every_call_has_one_result,
    in_order,
    lab,
    research,
    results,
    search,
    simple_research,
    think,
)
from langchain_core.messages import HumanMessage, SystemMessage
from scripted import call, calls

TASK = research("Find out when the light was lit.")


@pytest.mark.fault("R11")
@pytest.mark.behaviour("O-44")
async def test_a_researcher_sees_its_task_alone_and_text_from_documents_fenced_as_data(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[TASK, REPORT])
    await run.ask()
    first = run.calls("researcher")[0].messages
    assert [type(message) for message in first] == [SystemMessage, HumanMessage, HumanMessage]
    assert first[1].text == "Find out when the light was lit."
    assert "kept the light" not in run.calls("researcher")[0].text
    result = next(iter(results(run.calls("researcher")[1].messages).values()))
    tag = result.splitlines()[0].strip("<>")
    assert tag.startswith("data-")
    assert result.endswith(f"</{tag}>")


@pytest.mark.behaviour("O-45", "O-55")
async def test_after_eight_rounds_of_tools_the_finding_is_written_and_marked_partial(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[*(search(f"query {number}") for number in range(8)), "What there is. [1]"],
    )
    state = await run.ask()
    finding = in_order(state)[0]
    assert len(finding.actions) == 8
    assert finding.ended == "partial"
    assert "max_iterations" in finding.reason
    assert "(Incomplete: its 8 rounds" in run.calls("orchestrator")[1].text
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.behaviour("O-46")
async def test_thoughts_cost_no_round_but_time(tmp_path: Path) -> None:
    rounds = [message for n in range(8) for message in (think(f"a {n}"), think(f"b {n}"), search(f"query {n}"))]
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[*rounds, "All of it. [1]"])
    assert len(in_order(await run.ask())[0].actions) == 8

    clock = HandClock()
    slow = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[search("Skerry Light"), clock.after(721, think()), "It was lit in 1844. [1]"],
        clock=clock,
    )
    finding = in_order(await slow.ask())[0]
    assert finding.ended == "partial"
    assert "researcher_seconds" in finding.reason
    assert finding.numbered == "It was lit in 1844. [1]"


@pytest.mark.behaviour("O-47")
async def test_a_third_thought_in_a_row_is_told_to_act_and_costs_a_round(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[search("Skerry"), *(think() for _ in range(2 + 7)), "Nothing was found."],
    )
    state = await run.ask()
    _, *answers = results(run.calls("researcher")[-1].messages).values()
    assert answers[:2] == ["Noted.", "Noted."]
    assert len(answers) == 9
    assert all("no more thinking" in answer for answer in answers[2:])
    assert in_order(state)[0].ended == "partial"


@pytest.mark.behaviour("O-48")
async def test_only_calls_of_the_first_kind_of_tool_are_run(tmp_path: Path) -> None:
    both = calls(call("internal_search", queries=["Skerry Light"], id="s"), call("open_url", urls=["docs:x"], id="o"))
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[both, REPORT, "Lit. [1]"])
    state = await run.ask()
    assert [action.tool for action in in_order(state)[0].actions] == ["internal_search"]
    answers = results(run.calls("researcher")[1].messages)
    assert "one kind of tool" in answers["o"]
    assert "Skerry" in answers["s"]


async def test_a_thought_stands_beside_the_call_that_it_leads_to_and_takes_no_round(tmp_path: Path) -> None:
    thought = call("think_tool", reasoning="What is its name?", id="t")
    both = calls(thought, call("internal_search", queries=["Skerry Light"], id="s"))
    last = calls(call("generate_report", id="g"), call("think_tool", reasoning="Enough.", id="t2"))
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[both, last, "Lit in 1844. [1]"])
    finding = in_order(await run.ask())[0]
    assert [action.tool for action in finding.actions] == ["internal_search"]
    answers = results(run.calls("researcher")[-1].messages)
    assert (answers["t"], answers["t2"], answers["g"]) == ("Noted.", "Noted.", "Noted.")
    assert "Skerry" in answers["s"]
    assert len(run.calls("researcher")) == 3


@pytest.mark.behaviour("O-49")
async def test_calls_of_one_tool_are_run_as_one(tmp_path: Path) -> None:
    two = calls(
        call("internal_search", queries=["Skerry Light"], id="one"),
        call("internal_search", queries="Ada Moran", id="two"),
    )
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[two, REPORT, "Both. [1, 2]"])
    state = await run.ask()
    assert [(a.id, a.inputs) for a in in_order(state)[0].actions] == [("one", ("Skerry Light", "Ada Moran"))]
    assert "Run together" in results(run.calls("researcher")[1].messages)["two"]
    assert every_call_has_one_result(run.calls("researcher")[1].messages)


async def test_pages_are_read_on_from_one_place_a_message(tmp_path: Path) -> None:
    keeper, tides = (f"docs:lab-documents/{name}" for name in ("keeper.md", "tides.html"))
    places = calls(
        call("open_url", urls=[keeper], start=0, id="one"),
        call("open_url", urls=[tides], id="two"),
        call("open_url", urls=[tides], start=30_000, id="three"),
    )
    beyond = calls(call("open_url", urls=[tides], start=30_000, id="beyond"))
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[places, beyond, REPORT, "Both. [1, 2]"])
    actions = in_order(await run.ask())[0].actions
    assert [(action.id, action.inputs) for action in actions[:1]] == [("one", (keeper, tides))]
    answers = results(run.calls("researcher")[2].messages)
    assert "Run together" in answers["two"]
    assert "one place to read on from" in answers["three"]
    assert "nothing from 30000 on" in answers["beyond"]


@pytest.mark.fault("R10")
@pytest.mark.behaviour("O-50")
async def test_an_unknown_tool_is_answered_with_the_names_of_the_known_ones_and_costs_a_round(tmp_path: Path) -> None:
    unknown = calls(call("browse", id="b"), call("shell", id="s"))
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[unknown, *simple_research()])
    await run.ask()
    answers = results(run.calls("researcher")[1].messages)
    assert "no tool 'browse'" in answers["b"]
    assert "internal_search" in answers["s"]
    assert "Round 2 of 8" in run.calls("researcher")[1].messages[-1].text


@pytest.mark.behaviour("O-51")
async def test_a_tool_that_fails_tells_why_and_the_researcher_goes_on(tmp_path: Path) -> None:
    wrong = calls(call("open_url", urls=["docs:nowhere/x.md"], id="w"))
    bad_arguments = calls(call("internal_search", text=["x"], id="a"))
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[wrong, bad_arguments, *simple_research()])
    state = await run.ask()
    answers = results(run.calls("researcher")[2].messages)
    assert "docs:nowhere/x.md" in answers["w"]
    assert "arguments are wrong" in answers["a"]
    finding = in_order(state)[0]
    assert finding.ended == "done"
    assert len(finding.actions) == 3


@pytest.mark.behaviour("O-53")
async def test_a_message_without_a_call_is_nudged_once_and_then_costs_a_round(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=["Hm.", "Well.", *simple_research("Lit in 1844. [1]")])
    state = await run.ask()
    reminders = [asked.messages[-1].text for asked in run.calls("researcher")[:3]]
    assert [("Round 1" in text, "no effect" in text) for text in reminders] == [
        (True, False),
        (True, True),
        (False, True),
    ]
    assert "Hm." not in run.calls("researcher")[2].text
    assert in_order(state)[0].numbered == "Lit in 1844. [1]"


@pytest.mark.behaviour("O-54", "O-56")
async def test_decisions_and_findings_have_their_caps_and_choices(tmp_path: Path) -> None:
    run = lab(tmp_path)
    await run.ask()
    assert all("have not read" not in asked.messages[-1].text for asked in run.calls("researcher"))
    decision, finding = run.calls("researcher")[0], run.calls("researcher")[-1]
    assert decision.settings["max_tokens"] == 1024
    assert decision.settings["tool_choice"] == "any"
    assert finding.settings["max_tokens"] == 10_000
    assert finding.settings["tool_choice"] == "none"
    # What was read stands before it in the same bytes, so that a provider's cache can serve it.
    assert finding.tools == decision.tools
    assert finding.messages[0] == decision.messages[0]


@pytest.mark.behaviour("O-75")
async def test_a_document_that_was_searched_keeps_its_number_when_it_is_opened_and_is_not_shown_again(
    tmp_path: Path,
) -> None:
    address = "docs:lab-documents/lighthouse.md"
    opened = calls(call("open_url", urls=[address], id="o"))
    run = lab(
        tmp_path, orchestrator=[TASK, REPORT], researcher=[search("1844 tall"), opened, REPORT, "It is tall. [1]"]
    )
    state = await run.ask()
    found, prompt = results(run.calls("researcher")[2].messages).values()
    assert ("stands 38 metres tall" in found, "stands 38 metres tall" in prompt) == (True, False)
    assert '"shown_before": [1]' in prompt
    assert [action.tool for action in in_order(state)[0].actions] == ["internal_search", "open_url"]
    assert in_order(state)[0].sources.count(in_order(state)[0].sources[0]) == 1


@pytest.mark.fault("R14")
async def test_an_address_that_stays_unknown_is_never_cited(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[TASK, REPORT],
        researcher=[search("Skerry Light 1844"), REPORT, "True. [1] Invented. [9]"],
        writer=["It was lit for the first time in 1844. [1] Invented. [9]"],
    )
    state = await run.ask()
    finding = in_order(state)[0]
    assert finding.numbered == "True. [1] Invented."
    assert finding.dropped_markers == 1
    wanted = "It was lit for the first time in 1844. [1] Invented. *(not verified)*"
    assert state.report and state.report.text == wanted
    assert state.report.audit and state.report.audit.removed_markers == 1


@pytest.mark.behaviour("O-91")
async def test_the_language_rule_reaches_every_role(tmp_path: Path) -> None:
    asked = lab(tmp_path)
    await asked.ask("斯凯里灯塔是什么时候点亮的？")
    named = lab(tmp_path, language="Norwegian")
    await named.ask()
    for role in ("clarifier", "planner", "orchestrator", "researcher", "writer"):
        assert all("Chinese" in one.messages[0].text for one in asked.calls(role))
        assert all("Norwegian" in one.messages[0].text for one in named.calls(role))


async def test_instructions_of_the_user_reach_plan_and_report(tmp_path: Path) -> None:
    run = lab(tmp_path, instructions="For engineers, at most one page.")
    await run.ask()
    for role in ("planner", "writer"):
        assert "For engineers, at most one page." in run.calls(role)[0].messages[0].text
