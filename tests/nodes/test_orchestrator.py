"""The orchestrator: cycles, precedence, mistakes, limits, an answer to every call; its research
memory and analyses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import (
    CLEAR,
    PLAN,
    REPORT,
    HandClock,
    Lab,
    answered,
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
from langchain_core.messages import ToolMessage

from deep_research.core.evidence.memory.observations import ResearchMemory
from deep_research.core.settings.context import Role
from deep_research.core.writing.notes import ReportNotes

LIT, OTHER = "The Skerry Light was lit in 1844.", "The Skerry Light was lit in 1846."
OPEN = "Nobody says who built it."
TASK = "Challenge that the light is from 1844."
ANALYZE = calls(call("analyze_findings", task=TASK))
CONCLUSION = "Nothing speaks against 1844, though only one source says so [1]."


@pytest.mark.fault("R13")
@pytest.mark.behaviour("O-19")
@pytest.mark.parametrize(("reasons", "decisions"), [(False, 7), (True, 3)])
async def test_the_last_cycle_writes_the_report_without_asking(
    tmp_path: Path, reasons: bool, decisions: int
) -> None:
    script = [research(f"task {number}.") for number in range(decisions)]
    profile: Any = {"reasoning_output": reasons}
    run, state = await answered(
        tmp_path, orchestrator=script, researcher=many(decisions), profile=profile
    )
    assert state.report
    assert (len(run.calls("orchestrator")), len(state.findings), len(run.calls("writer"))) == (
        decisions,
        decisions,
        1,
    )


@pytest.mark.behaviour("O-20", "O-23", "O-24", "O-25", "O-38", "O-39")
async def test_thoughts_cost_no_cycle_belong_to_the_next_research_and_are_limited(
    tmp_path: Path,
) -> None:
    thoughts = [think("Look at the tower."), think("Hm.")]
    first = [
        thoughts[0],
        research("task 0."),
        thoughts[1],
        research("task 1."),
        research("task 2."),
    ]
    run, state = await answered(
        tmp_path, orchestrator=[*first, *[think("Hm.")] * 4, REPORT], researcher=many(3)
    )
    assert state.report and run.all_used()
    assert [finding.thought for finding in in_order(state)] == ["Look at the tower.", "Hm.", ""]
    shown = [packet["reasoning"] for packet in run.of_type("reasoning_delta")]
    assert "".join(shown).startswith("Look at the tower.")
    replies = [message.text for message in state.transcript if isinstance(message, ToolMessage)]
    assert [replies[index] for index in (0, 2, 5, 6)] == ["Noted."] * 4
    assert all("Act now" in reply for reply in replies[7:9])
    for asked in run.calls("orchestrator"):
        assert (asked.settings["tool_choice"], asked.settings["max_tokens"]) == ("any", 1024)
    reminders = [asked.messages[-1].text for asked in run.calls("orchestrator")]
    cycles = [int(text.split("Cycle ")[1].split()[0]) for text in reminders]
    assert cycles == [1, 1, 2, 2, 3, *[4] * 5]
    # The reminder warns once; a thought after the first results does not count as the warning.
    warned = ["every part of the request" in text for text in reminders]
    assert warned == [False, False, True, True, *[False] * 6]
    assert every_call_has_one_result(state.transcript)


@pytest.mark.sweep
@pytest.mark.behaviour("O-21", "O-22")
@pytest.mark.parametrize(
    ("decision", "finding", "goes_on"), [(1800, 0, True), (1801, 0, False), (0, 1801, False)]
)
async def test_when_the_clock_is_over_the_round_is_completed_and_the_report_forced(
    tmp_path: Path, decision: int, finding: int, goes_on: bool
) -> None:
    clock = HandClock()
    script = [clock.after(decision, research("first task")), *([REPORT] if goes_on else [])]
    steps = [search("light"), REPORT, clock.after(finding, "One. [1]")]
    run, state = await answered(tmp_path, orchestrator=script, researcher=steps, clock=clock)
    assert run.all_used()
    assert [finding.ended for finding in in_order(state)] == ["done"]
    assert state.run and ("max_seconds" in state.run.stop_reason) is not goes_on
    assert state.run.status == ("completed" if goes_on else "completed_with_gaps")
    assert ("Research ended early" in state.messages[-1].text) is not goes_on


@pytest.mark.behaviour("O-26", "O-27")
async def test_a_silent_orchestrator_researches_the_plan_first_and_then_writes_the_report(
    tmp_path: Path,
) -> None:
    script = ["I would rather talk.", "Still talking.", "Enough, I think."]
    steps = ("History of the Skerry Light", "Its keeper Ada Moran", "The harbour beside it")
    run, state = await answered(
        tmp_path, orchestrator=script, researcher={step: simple_research() for step in steps}
    )
    assert ["no effect" in asked.messages[-1].text for asked in run.calls("orchestrator")[:2]] == [
        False,
        True,
    ]
    assert (
        state.plan
        and tuple(finding.task for finding in in_order(state)) == state.plan.steps == steps
    )
    assert every_call_has_one_result(state.transcript)
    assert state.report and run.all_used()
    assert [note for note in ReportNotes(state).lines() if "(models)" in note] == [
        "The model 'scripted' requested no research that could be run, even when asked again, so "
        "the steps of the plan were researched; another model may do better (models)."
    ]


@pytest.mark.behaviour("O-28", "O-30")
async def test_a_thought_stands_beside_any_call_a_report_wins_over_research_and_unknown_tools_are_answered(
    tmp_path: Path,
) -> None:
    both = calls(
        call("think_tool", reasoning="The tower first.", id="t"),
        call("research_agent", task="When was it lit?", id="first"),
        call("browse", url="x", id="b"),
    )
    all_three = calls(
        call("research_agent", task="never", id="r2"),
        call("think_tool", reasoning="hm", id="t2"),
        call("generate_report", id="g2"),
    )
    run, state = await answered(tmp_path, orchestrator=[both, all_three])
    answers = results(state.transcript)
    assert answers["t"] == answers["t2"] == answers["g2"] == "Noted."
    assert answers["r2"].startswith("Not run")
    assert "no tool 'browse'" in answers["b"] and "research_agent" in answers["b"]
    assert "1844" in results(run.calls("orchestrator")[1].messages)["first"]
    assert {name: finding.thought for name, finding in state.findings.items()} == {
        "first": "The tower first."
    }
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-29")
async def test_calls_of_unknown_tools_end_in_the_report(tmp_path: Path) -> None:
    unknown = [calls(call("browse", url="x"))] * 3
    run, state = await answered(tmp_path, orchestrator=[research("When was it lit?"), *unknown])
    assert state.report and run.all_used()
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-31", "O-33", "O-34", "O-43", "O-84", "O-90")
async def test_branches_are_announced_and_results_and_steps_keep_their_order_and_unique_ids(
    tmp_path: Path,
) -> None:
    tasks = (call("research_agent", task=task, id="same") for task in ("slow task", "fast task"))
    script = [calls(call("browse", id="odd"), *tasks), research("task 2.", ids=("same",)), REPORT]
    researchers = {
        "slow task": [search("light"), search("keeper"), search("harbour"), REPORT, "Slow. [1]"],
        "fast task": [search("tides"), REPORT, "Fast. [1]"],
        "task 2.": simple_research(),
    }
    run, state = await answered(
        tmp_path, orchestrator=script, researcher=researchers, writer=["Slow [1], fast [2]."]
    )
    assert set(state.findings) == {"same", "same-2", "same-3"}
    assert [packet["num_parallel_branches"] for packet in run.of_type("top_level_branching")] == [2]
    assert run.types().index("top_level_branching") < run.types().index("research_agent_start")
    odd, *shown = [
        m.text for m in run.calls("orchestrator")[1].messages if isinstance(m, ToolMessage)
    ]
    assert "no tool 'browse'" in odd and shown == ["Slow. [1]", "Fast. [2]"]
    kept = [
        [action.inputs for action in state.findings[name].actions] for name in ("same", "same-2")
    ]
    assert kept == [[("light",), ("keeper",), ("harbour",)], [("tides",)]]
    assert state.report and len(state.report.sources) == 2
    deltas = [
        packet
        for packet in run.of_type("intermediate_report_delta")
        if packet["placement"]["turn_index"] == 1
    ]
    for tab, text in enumerate(("Slow. [1]", "Fast. [1]")):
        assert (
            "".join(delta["content"] for delta in deltas if delta["placement"]["tab_index"] == tab)
            == text
        )
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-37")
async def test_malformed_calls_are_answered_and_never_run(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{}, {"task": "  "}, {"task": 7}, {"topic": "light"}]
    without_text = (
        call("research_agent", id=f"no text {number}", **given)
        for number, given in enumerate(wrong)
    )
    broken = (
        broken_call("research_agent", '{"task": "half', id="not valid JSON 1"),
        broken_call("research_agent", '["a"]', id="not valid JSON 2"),
    )
    cut_off = calls(call("research_agent", task="cut o", id="cut off"), finish_reason="length")
    script = [
        calls(*without_text, *broken),
        cut_off,
        research("When was it lit?", ids=("right",)),
        REPORT,
    ]
    run, state = await answered(tmp_path, orchestrator=script)
    answers = results(state.transcript)
    assert all(
        "`task` has to be a text" in answers[f"no text {number}"] for number in range(len(wrong))
    )
    assert all(
        name.rstrip(" 12") in answers[name]
        for name in ("cut off", "not valid JSON 1", "not valid JSON 2")
    )
    assert [*state.findings] == ["right"] and run.all_used()
    assert every_call_has_one_result(state.transcript)


@pytest.mark.sweep
@pytest.mark.behaviour("O-40", "O-41")
@pytest.mark.parametrize(
    ("effort", "researcher", "others"), [("auto", "low", None), ("high", "high", "high")]
)
async def test_models_that_reason_get_their_own_prompts_no_think_tool_and_low_effort_for_research(
    tmp_path: Path, effort: str, researcher: str, others: str | None
) -> None:
    plain = lab(tmp_path)
    await plain.ask()
    run, _ = await answered(tmp_path, profile={"reasoning_output": True}, effort=effort)
    roles: tuple[Role, ...] = ("orchestrator", "researcher", "clarifier", "planner", "writer")
    for role in roles[:2]:
        for asked, has_tool in ((plain.calls(role)[0], True), (run.calls(role)[0], False)):
            assert (
                ("think_tool" in asked.tools)
                is ("think_tool" in asked.messages[0].text)
                is has_tool
            )
    assert "reason" in run.calls("orchestrator")[0].messages[0].text
    for role in roles:
        expected = researcher if role == "researcher" else others
        assert all(asked.settings.get("reasoning_effort") == expected for asked in run.calls(role))


@pytest.mark.behaviour("O-42")
async def test_findings_that_do_not_fit_the_window_shrink_to_what_they_prove(
    tmp_path: Path,
) -> None:
    long = "".join(f"On day {day} much was said about the weather. " for day in range(400))
    run, state = await answered(
        tmp_path,
        orchestrator=[research("task 0."), research("task 1."), REPORT],
        researcher={
            "task 0.": [
                search("light"),
                REPORT,
                f"{long}It was lit in 1844. [1] {long}It is tall. [1]",
            ],
            "task 1.": [search("Ada Moran"), REPORT, "Newest finding. [1] No marker here."],
        },
        window=8000,
        small="off",
        limits={"min_window": 1000, "report_tokens": 500},
    )
    assert state.report
    shown = [m.text for m in run.calls("orchestrator")[2].messages if isinstance(m, ToolMessage)]
    assert shown == [
        "It was lit in 1844. [1] It is tall. [1]",
        "Newest finding. [2] No marker here.",
    ]
    assert (
        run.calls("orchestrator")[2].messages[0].text.count("1. History of the Skerry Light") == 1
    )
    assert "weather" in in_order(state)[0].text


@pytest.mark.behaviour("O-92")
async def test_a_report_before_any_research_is_refused_once(tmp_path: Path) -> None:
    eager = lab(tmp_path, orchestrator=[REPORT, research("When was it lit?"), REPORT])
    assert (await eager.ask()).report
    assert "hand out the first tasks" in eager.calls("orchestrator")[1].messages[-1].text
    stubborn = lab(
        tmp_path, orchestrator=[REPORT, REPORT], researcher=[], writer=["A light is a light. [1]"]
    )
    state = await stubborn.ask()
    assert state.messages[-1].text.startswith("*No source was consulted for this text.*")
    assert "no source was consulted" in stubborn.calls("writer")[0].messages[-1].text
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.parametrize(
    ("answer", "decisions"),
    [(f"{LIT} [1]", 1), (RuntimeError("no answer"), 2)],
    ids=["done", "failed"],
)
async def test_a_report_called_for_beside_the_only_round_is_written_when_its_results_are_there(
    tmp_path: Path, answer: Any, decisions: int
) -> None:
    task = call("research_agent", task="When was it lit?", id="r")
    both = calls(task, call("generate_report", id="g"))
    read = answer
    if isinstance(answer, str):
        read = calls(call("generate_report", missing=[OPEN]), text=answer)
    run, state = await answered(
        tmp_path,
        orchestrator=[both, REPORT],
        researcher=[read],
        limits={"whole_characters": 30_000},
    )
    assert len(run.calls("orchestrator")) == decisions
    assert results(state.transcript)["g"].startswith("The report is written when")
    assert every_call_has_one_result(state.transcript)
    left_open = [OPEN] if decisions == 1 else []
    assert ReportNotes(state).unanswered() == left_open


async def test_a_task_that_failed_is_researched_before_a_report_called_for_beside_it(
    tmp_path: Path,
) -> None:
    def both(task: str) -> Any:
        return calls(call("research_agent", task=task), call("generate_report"))

    read = calls(call("generate_report"), text=f"{LIT} [1]")
    run, state = await answered(
        tmp_path,
        orchestrator=[both("task 0."), both("task 1."), REPORT],
        researcher=[*[RuntimeError("no answer")] * 2, read],
        limits={"whole_characters": 30_000},
    )
    assert [finding.ended for finding in state.own_findings] == ["partial", "done"]
    assert LIT in run.calls("writer")[0].text


async def test_so_is_the_report_on_a_follow_up(tmp_path: Path) -> None:
    def both(task: str) -> Any:
        return calls(call("research_agent", task=task), call("generate_report"))

    tasks = ("light task", "keeper task")
    script = [both(task) for task in tasks]
    read = calls(call("generate_report"), text=f"{LIT} [1]")
    run = lab(
        tmp_path,
        clarifier=[CLEAR, CLEAR],
        planner=[PLAN, PLAN],
        orchestrator=script,
        researcher=[read, read],
        writer=["It is old. [1]"] * 2,
        limits={"whole_characters": 30_000},
    )
    await run.ask()
    state = await run.ask("Who kept the light?")
    assert [finding.task for finding in state.own_findings] == ["keeper task"]


async def test_where_more_can_be_searched_a_report_beside_the_first_research_has_to_wait(
    tmp_path: Path,
) -> None:
    both = calls(call("research_agent", task="never"), call("generate_report"))
    run, state = await answered(tmp_path, orchestrator=[both, research("When was it lit?"), REPORT])
    assert len(run.calls("orchestrator")) == 3 and len(state.findings) == 1


def shown(prompt: str) -> dict[str, Any]:
    """Knowledge shown in a reminder."""
    found = re.search(r"<(data-\w+)>\s*(\{.*?\})\s*</\1>", prompt, re.DOTALL)
    return dict(json.loads(found.group(2))["knowledge"]) if found else {}


def finds(finding: str, *missing: str) -> list[Any]:
    """Script of a researcher that finds both documents and writes this finding."""
    return [
        search("Skerry Light", "Ada Moran"),
        calls(call("generate_report", missing=[*missing])),
        finding,
    ]


async def test_a_gap_stays_until_somebody_says_that_it_is_closed(tmp_path: Path) -> None:
    script = [research("task 0."), research("task 1."), calls(call("generate_report", missing=[]))]
    researchers = {
        "task 0.": finds(f"{LIT} [1]", OPEN),
        "task 1.": finds("Alan built it, he says. [1]"),
    }
    run, state = await answered(tmp_path, orchestrator=script, researcher=researchers)
    prompts = [shown(call.messages[-1].text) for call in run.calls("orchestrator")]
    assert prompts == [{}, {"gaps": [OPEN]}, {"gaps": [OPEN]}]
    assert ResearchMemory(state.memory.values()).open_gaps() == []
    assert state.run and state.run.status == "completed"


async def test_what_the_orchestrator_misses_is_reported_once(tmp_path: Path) -> None:
    left = "what it cost"
    script = [research("task 0."), calls(call("generate_report", missing=[left]))]
    run, state = await answered(tmp_path, orchestrator=script, researcher=finds(f"{LIT} [1]", OPEN))
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.audit and state.report.audit.open_gaps == (left,)
    assert [note for note in ReportNotes(state).lines() if "Not found" in note] == [
        f"Not found: {left}"
    ]
    assert run.calls("writer")[0].text.count(left) == 1
    assert OPEN not in run.calls("writer")[0].messages[-1].text


def concluded(*conclusions: str) -> Any:
    """A call of `record_analysis`."""
    return calls(call("record_analysis", statements=list(conclusions)))


def analyzing(tmp_path: Path, decisions: list[Any], answers: list[Any], **settings: Any) -> Lab:
    """A run with these orchestrator decisions after the first round."""
    first = research("When was the Skerry Light lit?")
    scripts = {"": [first, *decisions], "record_analysis": answers}
    return lab(tmp_path, orchestrator=scripts, planner=[PLAN], **settings)


async def test_an_analysis_names_the_number_that_decides_and_what_is_missing_to_know_it(
    tmp_path: Path,
) -> None:
    turning = "The answer turns on the fuel saved: 4 to 9% [1], and it flips at 6%."
    own, missing = "Your own fuel bill moves it by up to 2%.", "Find the fuel bill of 1844."
    answer = call(
        "record_analysis",
        statements=[CONCLUSION],
        turning_point=turning,
        open_points=[own, ""],
        missing=[missing, " "],
    )
    run = analyzing(tmp_path, [ANALYZE, REPORT], [calls(answer)])
    state = await run.ask()
    analysis = next(finding for finding in state.findings.values() if finding.is_analysis)
    _, _, lines = analysis.text.partition("\n")
    shown = [f"- {line}" for line in (CONCLUSION, turning, f"Open: {own}")]
    assert lines == "\n".join([*shown, "Not known yet, and worth a task:", f"- {missing}"])
    decision = [asked for asked in run.calls("orchestrator") if "research_agent" in asked.tools][-1]
    assert missing in decision.text
    assert turning in run.calls("writer")[0].text


async def test_research_comes_before_analyses_which_are_limited_and_whose_conclusions_reach_the_writer(
    tmp_path: Path,
) -> None:
    both = calls(call("research_agent", task="Who kept it?"), call("analyze_findings", task=TASK))
    researchers = {
        "When was": simple_research(),
        "Who kept": simple_research("Ada Moran kept it. [1]"),
    }
    decisions = [both, ANALYZE, ANALYZE, ANALYZE, REPORT]
    answers = [concluded(CONCLUSION, "It is old [7]."), concluded("It was kept.")]
    run = analyzing(tmp_path, decisions, answers, researcher=researchers)
    state = await run.ask()
    assert [finding.is_analysis for finding in state.findings.values()] == [
        False,
        False,
        True,
        True,
    ]
    asked, _ = [asked for asked in run.calls("orchestrator") if "record_analysis" in asked.tools]
    assert "It was lit in 1844. [1]" in asked.text and TASK in asked.text
    prompts = [asked.text for asked in run.calls("orchestrator") if "research_agent" in asked.tools]
    assert ["research comes first" in prompt for prompt in prompts] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]
    assert "all 2 analyses were made" in prompts[-1]
    # Numbers that no finding has are removed.
    prompt = run.calls("writer")[0].text
    assert CONCLUSION in prompt and "It is old." in prompt and "[7]" not in prompt
    assert state.progress.cycle == 2, "an analysis takes no cycle"
    assert len([kind for kind in run.types() if kind == "research_agent_start"]) == 4
    assert state.run.status == "completed"


@pytest.mark.sweep
@pytest.mark.parametrize("answers", [["I would rather not.", "No."], [concluded(), concluded()]])
async def test_without_conclusions_the_run_goes_on_and_says_so(
    tmp_path: Path, answers: list[Any]
) -> None:
    run = analyzing(tmp_path, [ANALYZE, REPORT], answers)
    state = await run.ask()
    assert state.report and state.report.text
    assert "its model drew no conclusions" in state.messages[-1].text
