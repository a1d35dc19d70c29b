"""The orchestrator's mistakes and limits: malformed calls, endless thought, windows that are too small."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import (
    REPORT,
    broken_call,
    every_call_has_one_result,
    in_order,
    lab,
    many,
    research,
    results,
    search,
    simple_research,
    think,
)
from langchain_core.messages import AIMessage, ToolMessage
from scripted import call, calls


@pytest.mark.behaviour("O-37")
@pytest.mark.parametrize("arguments", [{}, {"task": ""}, {"task": "  "}, {"task": 7}, {"topic": "light"}])
async def test_a_task_that_is_missing_is_answered_with_what_is_wanted(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    bad = calls(call("research_agent", id="bad", **arguments))
    run = lab(tmp_path, orchestrator=[bad, research("When was it lit?"), REPORT])
    state = await run.ask()
    assert "`task` has to be a text" in results(state.transcript)["bad"]
    assert len(state.findings) == 1
    assert state.report


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (calls(call("research_agent", task="cut o", id="x"), finish_reason="length"), "cut off"),
        (calls(broken_call("research_agent", '{"task": "half', id="x")), "not valid JSON"),
        (calls(broken_call("research_agent", '["a"]', id="x")), "not valid JSON"),
    ],
)
async def test_a_call_that_is_cut_off_or_malformed_is_never_run(tmp_path: Path, message: AIMessage, words: str) -> None:
    run = lab(tmp_path, orchestrator=[message, research("When was it lit?"), REPORT])
    state = await run.ask()
    assert words in results(state.transcript)["x"]
    assert "x" not in state.findings
    assert every_call_has_one_result(run.calls("orchestrator")[1].messages)


@pytest.mark.behaviour("O-39")
async def test_a_thought_is_kept_with_the_research_that_follows_it_and_with_no_other(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[think("Look at the tower."), research("task 0."), research("task 1."), REPORT],
        researcher=many(2),
    )
    state = await run.ask()
    assert [finding.thought for finding in in_order(state)] == ["Look at the tower.", ""]
    reasoning = [packet["reasoning"] for packet in run.packets if packet["type"] == "reasoning_delta"]
    assert "".join(reasoning) == "Look at the tower."


@pytest.mark.behaviour("O-40")
async def test_reasoning_models_get_no_think_tool_and_their_own_prompt(tmp_path: Path) -> None:
    plain = lab(tmp_path)
    await plain.ask()
    reasoning = lab(tmp_path, profile={"reasoning_output": True})
    await reasoning.ask()
    for role in ("orchestrator", "researcher"):
        assert "think_tool" in plain.calls(role)[0].tools
        assert "think_tool" not in reasoning.calls(role)[0].tools
        assert "think_tool" in plain.calls(role)[0].messages[0].text
        assert "think_tool" not in reasoning.calls(role)[0].messages[0].text
        assert "reason" in reasoning.calls("orchestrator")[0].messages[0].text


@pytest.mark.behaviour("O-41")
@pytest.mark.parametrize(
    ("effort", "researcher", "others"),
    [("auto", "low", None), ("high", "high", "high"), ("medium", "medium", "medium")],
)
async def test_researchers_think_little_unless_told_otherwise(
    tmp_path: Path, effort: str, researcher: str, others: str | None
) -> None:
    run = lab(tmp_path, profile={"reasoning_output": True}, effort=effort)
    await run.ask()
    assert all(asked.settings["reasoning_effort"] == researcher for asked in run.calls("researcher"))
    for role in ("clarifier", "planner", "orchestrator", "writer"):
        assert run.calls(role)[0].settings.get("reasoning_effort") == others


@pytest.mark.behaviour("O-42")
async def test_findings_that_do_not_fit_the_window_shrink_to_what_they_prove(tmp_path: Path) -> None:
    long = "".join(f"On day {day} much was said about the weather. " for day in range(800))
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), research("task 1."), REPORT],
        researcher={
            "task 0.": [search("light"), REPORT, f"{long}It was lit in 1844. [1] {long}It is tall. [1]"],
            "task 1.": [search("Ada Moran"), REPORT, "Newest finding. [1] No marker here."],
        },
        window=8000,
        small="off",
        limits={"min_window": 1000, "report_tokens": 500},
    )
    state = await run.ask()
    assert state.report
    shown = [m.text for m in run.calls("orchestrator")[2].messages if isinstance(m, ToolMessage)]
    assert shown == ["It was lit in 1844. [1] It is tall. [1]", "Newest finding. [2] No marker here."]
    assert run.calls("orchestrator")[2].messages[0].text.count("1. History of the Skerry Light") == 1
    assert "weather" in in_order(state)[0].text


@pytest.mark.behaviour("O-43", "O-84", "O-85")
async def test_a_researchers_steps_are_kept_with_its_own_call(tmp_path: Path) -> None:
    mixed = calls(
        call("browse", id="odd"),
        call("research_agent", task="keeper task", id="k"),
        call("research_agent", task="tide task", id="t"),
    )
    run = lab(
        tmp_path,
        orchestrator=[mixed, REPORT],
        researcher={
            "keeper task": [search("Ada Moran"), REPORT, "Tralee. [1]"],
            "tide task": [search("spring tide"), ValueError("broken"), ValueError("still broken")],
        },
        writer=["Tralee. [1]"],
    )
    state = await run.ask()
    keeper, tide = state.findings["k"], state.findings["t"]
    assert [action.inputs for action in keeper.actions] == [("Ada Moran",)]
    assert [action.inputs for action in tide.actions] == [("spring tide",)]
    assert tide.ended == "partial"
    assert state.report and len(state.report.sources) == 1
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.behaviour("O-92")
async def test_a_report_before_any_research_is_refused_once_and_then_says_that_it_has_no_source(
    tmp_path: Path,
) -> None:
    eager = lab(tmp_path, orchestrator=[REPORT, research("When was it lit?"), REPORT])
    assert (await eager.ask()).report
    assert "hand out the first tasks" in eager.calls("orchestrator")[1].messages[-1].text
    stubborn = lab(tmp_path, orchestrator=[REPORT, REPORT], researcher=[], writer=["A light is a light. [1]"])
    state = await stubborn.ask()
    assert state.messages[-1].text.startswith("*No source was consulted for this text.*")
    assert "no source was consulted" in stubborn.calls("writer")[0].messages[-1].text
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.behaviour("O-47")
async def test_thinking_without_end_is_stopped(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        planner=["1. When was it lit?"],
        orchestrator=[think() for _ in range(5)] + [REPORT],
        researcher={"When was it lit?": simple_research()},
    )
    state = await run.ask()
    replies = [m.text for m in state.transcript if isinstance(m, ToolMessage)][:5]
    assert replies[:2] == ["Noted.", "Noted."]
    assert all("Act now" in text for text in replies[2:5])
    assert state.report
    assert run.all_used()
