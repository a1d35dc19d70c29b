"""From the question to the plan: input, refusals, routing, questions back, and what a plan may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import Call, calls
from kit.planned import planned_lab
from kit.runs import PLAN, PLANNED, QUESTION, HandClock, Lab, decided, lab
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.core.records.research import Plan, Run
from deep_research.core.run.conversation import marked
from deep_research.core.run.errors import NoPlan, NoSearchTool, QuestionRefused, WindowTooSmall
from deep_research.graph.routing import route_after_begin
from deep_research.state import ResearchState

ASK = "1. Which lighthouse do you mean?\nThe answer makes the report more precise."
DATA = "iVBORw0KGgoAAAANSUhEUg"
BLOCKS: dict[str, dict[str, Any]] = {
    "dot.png": {"type": "image", "mimeType": "image/png", "data": DATA, "metadata": {"name": "dot.png"}},
    "plan.pdf": {"type": "file", "mimeType": "application/pdf", "data": DATA, "metadata": {"filename": "plan.pdf"}},
    "minutes.pdf": {"type": "file", "file": {"filename": "minutes.pdf", "file_data": DATA}},
    "picture.png": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "recording.wav": {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
    "file.png": {"type": "file", "base64": DATA, "mime_type": "image/png"},
}


@pytest.mark.behaviour("O-01")
async def test_a_window_that_is_too_small_is_refused(tmp_path: Path) -> None:
    assert (await lab(tmp_path, profile={"max_input_tokens": 50_000}).ask()).report
    run = lab(tmp_path, profile={"max_input_tokens": 49_999})
    with pytest.raises(WindowTooSmall, match=r"49999 tokens.*50000.*window"):
        await run.ask()
    assert not any(model.calls for model in run.models.values())


@pytest.mark.behaviour("O-04")
async def test_a_run_with_nothing_to_search_is_refused_with_the_settings_that_help(tmp_path: Path) -> None:
    run = lab(tmp_path, docs=(), engines=())
    with pytest.raises(NoSearchTool, match=r"--docs.*DEEP_RESEARCH_DOCS.*--engine.*DEEP_RESEARCH_ENGINES"):
        await run.ask()
    assert not run.calls("clarifier")


@pytest.mark.behaviour("O-05", "O-06")
async def test_only_the_setting_and_a_clarification_that_was_the_last_word_spare_the_next(tmp_path: Path) -> None:
    assert (await lab(tmp_path, clarifier=[], clarify="off").ask()).report
    answered = lab(tmp_path, clarifier=[])
    history = [HumanMessage("The light?"), marked(ASK, "clarification"), HumanMessage("Skerry Light")]
    assert (await answered.ask({"messages": history})).report
    older = lab(tmp_path)
    history = [*history, AIMessage("A plain answer."), HumanMessage("And its keeper?")]
    assert (await older.ask({"messages": history})).report
    assert len(older.calls("clarifier")) == 1


@pytest.mark.fault(47)
@pytest.mark.behaviour("O-07", "O-09")
@pytest.mark.parametrize(
    "reply",
    [
        "The Skerry Light",
        Command(resume="The Skerry Light"),
        Command(resume={"answer": "The Skerry Light"}),
        decided("respond", message="The Skerry Light"),
    ],
)
async def test_a_question_back_pauses_the_run_once_until_any_answer(tmp_path: Path, reply: Any) -> None:
    run = lab(tmp_path, clarifier=[ASK])
    state = await run.ask()
    assert await run.next() == ("ask_user",)
    assert state.run and state.run.status == "waiting"
    assert state.messages[-1].additional_kwargs == {"deep_research": "clarification"}
    assert run.words("message_delta") == ASK
    assert "deep_research_plan_start" not in run.types()
    assert (await run.ask(reply)).report
    assert len(run.calls("clarifier")) == 1
    assert [m.text for m in run.calls("planner")[0].messages[1:4]] == [QUESTION, ASK, "The Skerry Light"]


@pytest.mark.behaviour("O-08", "O-10", "O-13", "O-14", "O-15")
async def test_the_plan_of_a_clear_question_is_requested_without_tools_and_streamed(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=[calls(PLANNED, text="Sure, let me plan this.")])
    state = await run.ask()
    assert not any("let me plan" in message.text for message in state.messages)
    asked = run.calls("planner")[0]
    assert asked.tools == ()
    assert "tool_choice" not in asked.settings
    assert isinstance(asked.messages[-1], HumanMessage)
    assert asked.messages[-1].text.startswith("<reminder>")
    assert run.words("deep_research_plan_delta") == PLAN
    assert run.types().count("message_start") == 1, "nothing was said before the report"
    end = run.types().index("section_end")
    beside = {"chat_heartbeat", "documents_indexed", "call_finished"}
    assert set(run.types()[:end]) - beside == {"deep_research_plan_start", "deep_research_plan_delta"}


async def test_without_a_checkpointer_nothing_is_asked_and_the_assumption_is_stated(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light do you mean?"], graph=build_graph())
    result = await run.graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, context=run.context)
    assert "open: Which light do you mean?" in result["messages"][-1].text
    assert "Which light do you mean?" in run.calls("writer")[0].messages[-1].text
    assert "Which light do you mean?" in run.calls("planner")[0].messages[-1].text


@pytest.mark.parametrize("clarify", ["ask", "assume"])
async def test_a_clarifier_that_answers_instead_of_asking_is_not_heard(tmp_path: Path, clarify: str) -> None:
    run = lab(tmp_path, clarifier=["The Skerry Light was lit in 1790 by order of the king."], clarify=clarify)
    state = await run.ask()
    assert state.report and not state.run.assumptions
    assert "1790" not in "".join(call.text for call in run.calls("writer"))


@pytest.mark.behaviour("O-11")
async def test_clarifier_and_orchestrator_see_the_last_five_messages_of_the_user(tmp_path: Path) -> None:
    questions = [f"question {number}" for number in range(8)]
    history = [message for text in questions for message in (HumanMessage(text), AIMessage("An answer."))]
    run = lab(tmp_path)
    await run.ask({"messages": history[:-1]})
    for role in ("clarifier", "planner", "orchestrator", "writer"):
        shown = [m.text for m in run.calls(role)[0].messages if m.text.startswith("question ")]
        assert shown == (questions if role == "writer" else questions[3:]), role


@pytest.mark.behaviour("O-12")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engines": ()}, "The user's own documents are searched;"),
        ({"engines": ("wikipedia",)}, "Both the user's own documents and the web can be searched."),
        ({"engines": ("wikipedia",), "docs": ()}, ""),
    ],
)
async def test_documents_are_mentioned(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    run = lab(tmp_path, clarifier=[ASK], **settings)
    await run.ask()
    [asked] = run.calls("clarifier")
    assert words in asked.messages[0].text
    assert ("documents" in asked.messages[0].text) is bool(words)


@pytest.mark.behaviour("O-16")
async def test_an_empty_plan_is_asked_for_once_more_and_then_an_error(tmp_path: Path) -> None:
    again = lab(tmp_path, planner=["", PLAN])
    assert (await again.ask()).report
    assert "last answer was empty" in again.calls("planner")[1].messages[-1].text
    never = lab(tmp_path, planner=["", "  "])
    with pytest.raises(NoPlan, match="another model"):
        await never.ask()
    assert await never.next() == ("plan",)


async def test_a_plan_of_more_than_six_steps_is_cut_to_six_and_says_so(tmp_path: Path) -> None:
    run = lab(tmp_path, planner=["\n".join(f"{n}. Step {n}" for n in range(1, 10))])
    state = await run.ask()
    assert state.plan and state.plan.steps == tuple(f"Step {n}" for n in range(1, 7))
    assert "Step 7" not in state.plan.text
    assert "Step 7" not in run.calls("orchestrator")[0].messages[0].text
    said = "more steps than allowed (3 left out: max_plan_steps)"
    assert said in run.words("deep_research_plan_delta")
    assert said in state.messages[-1].text


async def test_the_users_thinking_is_not_counted_as_time_at_work(tmp_path: Path) -> None:
    clock = HandClock()
    run = lab(tmp_path, clarifier=[clock.after(3, ASK)], planner=[clock.after(4, PLAN)], clock=clock)
    await run.ask()
    clock.time += 5000
    state = await run.ask(Command(resume="The Skerry Light"))
    assert state.run and state.run.active_seconds == 7
    assert not state.run.stop_reason


def sent(words: str, *names: str) -> HumanMessage:
    text = [{"type": "text", "text": words}] if words else []
    return HumanMessage([*text, *(BLOCKS[name] for name in names)])


def prompts(run: Lab) -> list[Call]:
    """All calls; checks that each has one system message, first, and only text."""
    made = [call for model in {id(model): model for model in run.models.values()}.values() for call in model.calls]
    for call in made:
        assert [isinstance(message, SystemMessage) for message in call.messages].count(True) == 1
        assert isinstance(call.messages[0], SystemMessage)
        assert all(isinstance(message.content, str) and DATA not in message.content for message in call.messages)
    return made


@pytest.mark.parametrize("make", [lab, planned_lab])
async def test_what_is_attached_reaches_no_model_and_is_named_in_prompt_and_report(tmp_path: Path, make: Any) -> None:
    run = make(tmp_path, data_dir=tmp_path / "data")
    state = await run.ask({"messages": [sent(QUESTION, *BLOCKS)]})
    named = ", ".join(f"{name} (not read)" for name in BLOCKS)
    assert any(f"(Attached: {named}.)" in call.text for call in prompts(run))
    for name in BLOCKS:
        assert f"- Not read: {name} (" in state.messages[-1].text.replace("\\", "")
    # Otherwise every checkpoint would store the bytes again.
    assert DATA not in str(state.messages) and state.messages[0].text == QUESTION
    assert state.run.question == QUESTION


async def test_a_file_without_words_is_refused_by_name_and_the_thread_goes_on(tmp_path: Path) -> None:
    run = lab(tmp_path)
    with pytest.raises(QuestionRefused, match=r"The message has no .*dot\.png, plan\.pdf: "):
        await run.ask({"messages": [sent("", "dot.png", "plan.pdf")]})
    assert prompts(run) == []
    state = await run.ask()
    assert state.report and "dot.png" not in state.messages[-1].text
    assert [type(message) for message in state.messages] == [HumanMessage, AIMessage]
    assert prompts(run)


@pytest.mark.parametrize("make", [lab, planned_lab])
async def test_a_system_message_becomes_house_rules_behind_those_of_the_settings(tmp_path: Path, make: Any) -> None:
    run = make(tmp_path, instructions="Be brief.")
    state = await run.ask({"messages": [SystemMessage("Write for sailors."), HumanMessage(QUESTION)]})
    instructed = [call for call in prompts(run) if "Be brief.\nWrite for sailors." in call.messages[0].text]
    assert len(instructed) >= 2, "the planner and the writer"
    assert state.run.question == QUESTION


PLANS = {
    review: Plan.model_validate({"text": "1. a", "steps": ["a"], "review": review})
    for review in ("none", "rejected", "approved")
}


@pytest.mark.parametrize(
    ("entry", "plan", "next_node"),
    [
        ("question", None, "clarify"),
        ("follow_up", PLANS["none"], "clarify"),
        ("answer", PLANS["none"], "plan"),
        ("continuation", None, "plan"),
        ("continuation", PLANS["none"], "orchestrate"),
        ("continuation", PLANS["rejected"], "orchestrate"),
        ("plan_reply", None, "plan"),
        ("plan_reply", PLANS["none"], "plan"),
        ("plan_reply", PLANS["rejected"], "plan"),
        ("plan_reply", PLANS["approved"], "orchestrate"),
    ],
)
def test_where_a_message_enters(entry: Any, plan: Plan | None, next_node: str) -> None:
    run = Run(id="q", question="Q?", date="", language="English", is_resumable=True, version="0", entry=entry)
    assert route_after_begin(ResearchState(run=run, plan=plan)) == next_node
