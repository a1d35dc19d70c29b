"""Threads that go on: follow-ups, steering, messages to a stopped run, and windows that fill up."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import (
    CLEAR,
    PLAN,
    QUESTION,
    REPORT,
    Hanging,
    answered,
    in_order,
    lab,
    research,
    results,
    search,
    simple_research,
    stopped_at,
)
from kit.server import FILES, asked
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from deep_research.app._edits import EditRefused
from deep_research.app.embed import ResearchGraph, thread_config
from deep_research.core.dialogue.conversation import Conversation, marked
from deep_research.core.dialogue.transcripts import Transcript, fit_window
from deep_research.core.errors import QuestionRefused
from deep_research.core.models._faults import AnswerRefused
from deep_research.core.records.report import Report
from deep_research.core.records.research import Finding

FROM_READ = calls(call("answer_from_read"))
FOLLOW_UP = "How tall is the Skerry Light?"
TALL = "It stands 38 metres tall. [1]"
SAVING = ("stream", "invoke", "get_state", "get_state_history", "update_state", "bulk_update_state")


def test_models_see_the_first_request_all_changes_of_the_report_and_the_latest_messages() -> None:
    messages: list[AnyMessage] = [HumanMessage("First."), marked("# One", "report")]
    for wish in ("At most 450 words.", "Add a table."):
        messages += [HumanMessage(wish), marked("# Other", "report", replaces=True)]
    # A version that was put back has no message of the user.
    messages.append(marked("# One", "report", replaces=True))
    for number in range(7):
        messages += [HumanMessage(f"Question {number}?"), marked("So.", "report")]
    shown = [message.text for message in Conversation(messages).latest_for_models()]
    assert shown[:4] == ["First.", "At most 450 words.", "Add a table.", "Question 2?"]
    assert len(shown) == 3 + 2 * 5 and shown[-2:] == ["Question 6?", "So."]


@pytest.mark.behaviour("O-89")
async def test_a_follow_up_researches_what_is_missing_and_keeps_the_old_numbers(
    tmp_path: Path,
) -> None:
    run = lab(
        tmp_path,
        clarifier=[CLEAR] * 3,
        planner=["# The light\n\n1. When", "# Its keeper\n\n1. Who", "1. Where"],
        orchestrator=[research("light task"), REPORT, research("keeper task"), REPORT, REPORT],
        researcher={
            "light task": [search("Skerry Light 1844"), REPORT, "Lit in 1844. [1]"],
            "keeper task": [search("Ada Moran Tralee"), REPORT, "Tralee. [1]"],
        },
        writer=["Lit. [1]", "Born in Tralee [2]. Lit in 1844 [1].", "Born in Tralee. [2]"],
    )
    first = await run.ask_once()
    spent = dict(first.spending)
    state = await run.ask("Who kept it?")
    assert "Lit in 1844. [1]" in run.calls("orchestrator")[2].text
    assert [finding.numbered for finding in in_order(state)] == ["Lit in 1844. [1]", "Tralee. [2]"]
    assert state.report and numbers_of(state.report) == {1: "lighthouse.md", 2: "keeper.md"}
    assert not set(spent) & set(state.spending)
    # The first source keeps its number though this report does not cite it.
    state = await run.ask("Where was the keeper born?")
    assert state.report and (state.report.text, numbers_of(state.report)) == (
        "Born in Tralee. [2]",
        {2: "keeper.md"},
    )
    assert "- [2] " in state.messages[-1].text and "- [1] " not in state.messages[-1].text
    # Title of the thread in the list of runs.
    assert (first.run.first_title, state.run.first_title) == ("", "The light")
    announced = run.of_type("citation_info")[-1]
    assert (announced["citation_number"], Path(announced["document_id"]).name) == (2, "keeper.md")


def numbers_of(report: Report) -> dict[int, str]:
    return {number: Path(key).name for number, key in report.keys.items()}


@pytest.mark.fault(45)
@pytest.mark.behaviour("O-87")
async def test_a_cancelled_run_calls_nothing_and_goes_on_with_a_message_in_view(
    tmp_path: Path,
) -> None:
    call = Hanging()
    run = lab(
        tmp_path,
        orchestrator=[research("fast task", "slow task"), REPORT],
        researcher={
            "fast task": [search("Skerry Light 1844"), REPORT, "Fast. [1]"],
            "slow task": [search("Ada Moran"), call, REPORT, "Slow. [1]"],
        },
        writer=["Both [1][2]."],
    )
    await stopped_at(run, call.is_begun, siblings=1)
    made = sum(len(model.calls) for model in run.models.values())
    for _ in range(100):
        await asyncio.sleep(0)
    assert sum(len(model.calls) for model in run.models.values()) == made
    assert (await run.state()).report is None and "message_delta" not in run.types()
    with pytest.raises(EditRefused, match=r"1 of 2 branches have finished.*Command\(update"):
        await run.graph.aupdate_state(
            thread_config(run.thread), {"messages": ["Mind the keeper."]}, as_node="plan"
        )
    state = await run.ask(
        Command(update={"messages": [HumanMessage("Mind the keeper above all.")]})
    )
    assert [finding.text for finding in in_order(state)] == ["Fast. [1]", "Slow. [1]"]
    assert len(run.calls("researcher")) == 3 + 4
    assert "Mind the keeper above all." in run.calls("orchestrator")[1].messages[-2].text
    assert "Mind the keeper above all." in run.calls("writer")[0].text
    assert len(run.calls("planner")) == 1


async def test_a_follow_up_is_answered_from_what_was_read(tmp_path: Path) -> None:
    scripts: dict[str, Any] = {
        "clarifier": [CLEAR, FROM_READ, FROM_READ],
        "planner": ["1. History of the light", "1. Its height"],
        "orchestrator": [
            research("When was the Skerry Light lit?"),
            REPORT,
            research("How tall is it?"),
            REPORT,
        ],
        "researcher": {"When was": simple_research(), "How tall": simple_research(TALL)},
        "writer": ["The Skerry Light was lit in 1844. [1]", TALL, TALL],
    }
    run = lab(tmp_path, **scripts)
    first = await run.ask_once()
    assert first.report
    run.packets.clear()
    state = await run.ask(FOLLOW_UP)
    assert state.report and state.report.text.startswith("It stands 38 metres tall. [1]")
    # No researcher was started and nothing was searched.
    assert len(run.calls("orchestrator")) == 2 and not {"search_tool_start", "open_url_start"} & {
        *run.types()
    }
    assert "38 metres tall" in run.calls("clarifier")[-1].text
    assert "38 metres tall" in run.calls("writer")[-1].text
    assert "Answered from what was read for earlier questions" in state.messages[-1].text
    # The source keeps its number, and the answer is checked like a report.
    cited = {state.sources[key].number for key in state.report.sources}
    assert cited == {first.sources[key].number for key in first.report.sources}
    assert state.report.audit and state.report.audit.supported == 1
    assert [claim.verdict for claim in state.report.claims] == ["supported"]
    # No source has a word of the next question: what the report rests on is shown.
    await run.ask("And before?")
    for role in ("clarifier", "writer"):
        assert "lit for the first time in 1844" in run.calls(role)[-1].text
    assert len(run.calls("orchestrator")) == 2


async def test_a_follow_up_whose_earlier_passages_are_refused_is_researched(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[CLEAR, AnswerRefused(), CLEAR],
        planner=["1. History of the light", "1. Its height"],
        orchestrator=[research("When was the Skerry Light lit?"), REPORT] * 2,
        researcher={"When was": [*simple_research(), *simple_research(TALL)]},
        writer=["The Skerry Light was lit in 1844. [1]", TALL],
    )
    assert (await run.ask_once()).report
    state = await run.ask(FOLLOW_UP)
    refused, repeated = run.calls("clarifier")[1:]
    assert "38 metres tall" in refused.text and "38 metres tall" not in repeated.text
    assert "was left out of the first call: the provider" in state.messages[-1].text


async def test_without_a_clarifier_a_follow_up_is_researched(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        clarifier=[],
        clarify="off",
        planner=["1. History of the light", "1. Its height"],
        orchestrator=[research("When was the Skerry Light lit?"), REPORT] * 2,
        researcher={"When was": [*simple_research(), *simple_research(TALL)]},
        writer=["The Skerry Light was lit in 1844. [1]", TALL],
    )
    assert (await run.ask_once()).report
    assert (await run.ask(FOLLOW_UP)).report
    assert run.calls("clarifier") == []
    assert len(run.calls("orchestrator")) == 4


@pytest.mark.parametrize("name", [*SAVING, *(f"a{name}" for name in SAVING)])
def test_every_method_that_touches_the_saver_runs_on_the_savers_loop(name: str) -> None:
    assert name in vars(ResearchGraph)
    own, theirs = getattr(ResearchGraph, name), getattr(CompiledStateGraph, name)
    assert inspect.iscoroutinefunction(own) == inspect.iscoroutinefunction(theirs)


@pytest.mark.sweep
@pytest.mark.parametrize("paused", ["", "clarification", "plan"])
async def test_a_message_resumes_a_stopped_run_that_was_paused_before(
    tmp_path: Path, paused: str
) -> None:
    clarifier = ["Which light?"] if paused == "clarification" else None
    script = [research("light task"), ValueError("lost"), REPORT]
    run = lab(tmp_path, clarifier=clarifier, orchestrator=script, review_plan=paused == "plan")
    if paused:
        await run.ask()
    with pytest.raises(ValueError, match="lost"):
        await run.ask(
            Command(resume="approve" if paused == "plan" else "The Skerry Light")
            if paused
            else QUESTION
        )
    state = await run.ask("Please hurry.")
    assert state.report
    assert len(run.calls("planner")) == 1
    assert state.plan and state.plan.text == PLAN
    assert "Please hurry." in run.calls("orchestrator")[2].messages[-2].text
    assert "1844" in run.calls("orchestrator")[2].text


@pytest.mark.fault(48, 49, "R27")
async def test_a_refused_question_leaves_nothing_in_the_thread(tmp_path: Path) -> None:
    run = lab(tmp_path, limits={"question_characters": 60}, data_dir=tmp_path / "data")
    for refused, reason in (
        ("x" * 61, "61 characters; at most 60.*question_characters"),
        ("  ", "empty"),
        (asked("", FILES[1]), r"The message has no .*berths\.csv: "),
    ):
        with pytest.raises(QuestionRefused, match=reason):
            await run.ask(refused)
    state = await run.ask("When was it lit?")
    assert state.run and state.run.question == "When was it lit?"
    assert [type(message) for message in state.messages] == [HumanMessage, AIMessage]
    assert [m.text for m in run.calls("planner")[0].messages[1:-1]] == ["When was it lit?"]


async def test_a_finding_that_is_cut_off_is_partial(tmp_path: Path) -> None:
    cut = calls(text="It was lit in 18", finish_reason="length")
    run = lab(tmp_path, researcher=[search("Skerry Light"), REPORT, cut])
    finding = in_order(await run.ask())[0]
    assert (finding.ended, "finding_tokens" in finding.reason) == ("partial", True)


def test_the_reason_why_research_ended_is_never_truncated() -> None:
    fields: dict[str, Any] = {"question_id": "old", "task": "t", "cycle": 0, "position": 0}
    partial = Finding(
        id="a", text="cited [1]. " * 300, ended="partial", reason="its time was over", **fields
    )
    failed = Finding(
        id="b", text="", ended="failed", reason="an error stopped it (ValueError)", **fields
    )
    fitted = fit_window(
        Transcript([], {"a": partial, "b": failed}).earlier(), 10, lambda text, share: ""
    )
    assert results(fitted) == {
        "a": "(Incomplete: its time was over.)\n",
        "b": "The research failed: an error stopped it (ValueError). Try another approach, or go on.",
    }


async def test_a_run_that_is_resumed_without_documents_searches_those_it_was_given(
    tmp_path: Path,
) -> None:
    run, _ = await answered(tmp_path, clarifier=["Which light?"])
    run.settings |= {"docs": (), "data_dir": tmp_path / "another"}
    state = await run.ask(Command(resume="The Skerry Light"))
    assert state.report and [Path(key).name for key in state.report.sources] == ["lighthouse.md"]
