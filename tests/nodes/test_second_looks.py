"""What goes wrong in the second question, the second turn, the second reading."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
from lab import CLEAR, PLAN, QUESTION, REPORT, in_order, lab, research, results, search, simple_research, think
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from scripted import call, calls

from deep_research.app.embed import ResearchGraph, build_graph, thread_config
from deep_research.core.records.research import Finding
from deep_research.core.run.errors import QuestionRefused
from deep_research.core.run.transcripts import earlier_findings, fit_window, tokens_of

SAVING = ("stream", "invoke", "get_state", "get_state_history", "update_state", "bulk_update_state")


@pytest.mark.parametrize("name", [*SAVING, *(f"a{name}" for name in SAVING)])
def test_every_method_that_touches_the_saver_runs_on_the_savers_loop(name: str) -> None:
    assert name in vars(ResearchGraph)
    own, theirs = getattr(ResearchGraph, name), getattr(CompiledStateGraph, name)
    assert inspect.iscoroutinefunction(own) == inspect.iscoroutinefunction(theirs)


async def test_the_history_of_a_run_at_work_can_be_read_from_another_loop(tmp_path: Path) -> None:
    run = lab(tmp_path, graph=build_graph(checkpointer=tmp_path / "runs.sqlite"))
    task = asyncio.create_task(run.ask())
    while not task.done():
        _ = [state async for state in run.graph.aget_state_history(thread_config(run.thread))]
    assert task.result().report
    assert len([state async for state in run.graph.aget_state_history(thread_config(run.thread))]) > 5


async def test_an_earlier_report_is_shown_to_models_with_the_numbers_of_the_findings_beside_it(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[CLEAR, CLEAR],
        planner=["1. a", "1. b"],
        orchestrator=[research("light task", "keeper task"), REPORT, REPORT],
        researcher={
            "light task": [search("Skerry Light 1844 tall"), REPORT, "Lit in 1844. [1]"],
            "keeper task": [search("Ada Moran Tralee"), REPORT, "Tralee. [1]"],
        },
        writer=["Born in Tralee. [2]", "Again in Tralee. [2]"],
    )
    await run.ask()
    state = await run.ask("And where again?")
    for asked in (run.calls("planner")[1], run.calls("orchestrator")[2], run.calls("writer")[1]):
        shown = next(m.text for m in asked.messages if m.additional_kwargs.get("deep_research") == "report")
        assert shown == "Born in Tralee. [2]"
    assert state.report and [Path(key).name for key in state.report.sources] == ["keeper.md"]
    assert "Born in Tralee. [2]" in state.messages[1].text
    assert "\n[2]: <file" in state.messages[1].text


@pytest.mark.parametrize("paused", ["", "clarification", "plan"])
async def test_a_word_to_a_stopped_run_goes_on_although_it_was_paused_before(tmp_path: Path, paused: str) -> None:
    run = lab(
        tmp_path,
        clarifier=["Which light?"] if paused == "clarification" else None,
        orchestrator=[research("light task"), ValueError("lost"), REPORT],
        review_plan=paused == "plan",
    )
    if paused:
        await run.ask()
    with pytest.raises(ValueError, match="lost"):
        await run.ask(Command(resume="approve" if paused == "plan" else "The Skerry Light") if paused else QUESTION)
    state = await run.ask("Please hurry.")
    assert state.report
    assert len(run.calls("planner")) == 1
    assert state.plan and state.plan.text == PLAN
    assert "Please hurry." in run.calls("orchestrator")[2].messages[-2].text
    assert "1844" in run.calls("orchestrator")[2].text


async def test_a_word_on_the_way_is_shown_once_at_its_place_in_every_later_turn(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("first task"), ValueError("lost"), think(), research("second task"), REPORT],
        researcher={"first task": simple_research("One. [1]"), "second task": simple_research("Two. [1]")},
    )
    with pytest.raises(ValueError, match="lost"):
        await run.ask()
    await run.ask(Command(update={"messages": [HumanMessage("Mind the keeper.")]}))
    for asked in (*run.calls("orchestrator")[2:], *run.calls("writer")):
        texts = [str(message.text) for message in asked.messages]
        assert texts.count("Mind the keeper.") == 1
        assert texts.index("Mind the keeper.") > texts.index("One. [1]")


@pytest.mark.fault(47)
async def test_the_question_that_was_asked_stays_the_question_when_something_else_is_said(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light?"])
    await run.ask()
    await run.ask(Command(update={"messages": [HumanMessage("by the way")]}))
    waiting = await run.graph.aget_state(thread_config(run.thread))
    assert waiting.interrupts[0].value["question"] == "Which light?"


@pytest.mark.fault(48, 49)
async def test_a_refused_question_leaves_nothing_in_the_thread(tmp_path: Path) -> None:
    run = lab(tmp_path, limits={"question_characters": 60})
    for refused in ("x" * 61, "  "):
        with pytest.raises(QuestionRefused):
            await run.ask(refused)
    state = await run.ask("When was it lit?")
    assert state.run and state.run.question == "When was it lit?"
    assert [m.text for m in state.messages if isinstance(m, HumanMessage)] == ["When was it lit?"]
    assert [m.text for m in run.calls("planner")[0].messages[1:-1]] == ["When was it lit?"]


@pytest.mark.fault(46, 49)
@pytest.mark.parametrize("paused", ["clarification", "plan"])
async def test_an_answer_that_is_too_long_is_refused_and_can_be_given_again(tmp_path: Path, paused: str) -> None:
    clarifier = ["Which light?"] if paused == "clarification" else None
    run = lab(tmp_path, clarifier=clarifier, review_plan=paused == "plan", limits={"question_characters": 60})
    await run.ask()
    await run.ask(Command(resume="x" * 61))
    waiting = await run.graph.aget_state(thread_config(run.thread))
    assert "61 characters; at most 60" in waiting.interrupts[0].value["refused"]
    assert (await run.ask(Command(resume="approve"))).report


async def test_a_finding_that_is_cut_off_is_partial(tmp_path: Path) -> None:
    cut = calls(text="It was lit in 18", finish_reason="length")
    run = lab(tmp_path, researcher=[search("Skerry Light"), REPORT, cut])
    finding = in_order(await run.ask())[0]
    assert (finding.ended, "finding_tokens" in finding.reason) == ("partial", True)


def finding(name: str, text: str, **fields: Any) -> Finding:
    given = {"question_id": "old", "task": name, "cycle": 0, "position": 0, "ended": "done", **fields}
    return Finding(id=name, text=text, **given)


def short(text: str, share: float) -> str:
    return text[: int(share * len(text))]


def test_earlier_findings_shrink_in_the_first_turn_of_a_follow_up() -> None:
    known = {"a": finding("a", "long " * 900)}
    messages = [HumanMessage("q"), *earlier_findings(known, "new"), HumanMessage("reminder")]
    fitted = fit_window(messages, 200, short)
    assert tokens_of(fitted) <= 200


def exchange(tool: str, name: str, result: str) -> list[AnyMessage]:
    return [calls(call(tool, task="t", id=name)), ToolMessage(result, tool_call_id=name)]


def test_the_newest_findings_stay_whole_after_a_thought() -> None:
    asked, newest = exchange("research_agent", "1", "old " * 500), exchange("research_agent", "2", "new " * 500)
    fitted = fit_window([*asked, *newest, *exchange("think_tool", "3", "Noted.")], 800, short)
    assert [len(text) == whole for text, whole in zip(results(fitted).values(), (2000, 2000, 6), strict=True)] == [
        False,
        True,
        True,
    ]


def test_how_research_ended_is_never_cut_away() -> None:
    partial = finding("a", "cited [1]. " * 300, ended="partial", reason="its time was over")
    failed = finding("b", "", ended="failed", reason="an error stopped it (ValueError)")
    fitted = fit_window(earlier_findings({"a": partial, "b": failed}, "new"), 10, lambda text, share: "")
    assert results(fitted) == {
        "a": "(Incomplete: its time was over.)\n",
        "b": "The research failed: an error stopped it (ValueError). Try another approach, or go on.",
    }


def test_older_reports_are_cut_when_nothing_else_helps_and_the_users_words_never() -> None:
    messages: list[AnyMessage] = [HumanMessage("question " * 300), AIMessage("report " * 900), HumanMessage("next")]
    fitted = fit_window(messages, 100, short)
    assert fitted[0] == messages[0]
    assert fitted[1].text.endswith("[…]")
    assert len(fitted[1].text) < 1100


def test_characters_beyond_ascii_count_as_a_token_each() -> None:
    assert tokens_of([HumanMessage("光" * 1000)]) >= 1000
    assert tokens_of([HumanMessage("a" * 1000)]) < 300


async def test_a_run_that_is_resumed_without_documents_searches_those_it_was_given(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light?"])
    await run.ask()
    bare = run.context.model_copy(update={"docs": (), "data_dir": tmp_path / "another"})
    await run.graph.ainvoke(Command(resume="The Skerry Light"), thread_config(run.thread), context=bare)
    state = await run.state()
    assert state.report and [Path(key).name for key in state.report.sources] == ["lighthouse.md"]
