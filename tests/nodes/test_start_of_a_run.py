"""From the question to the plan: input, refusals, routing, questions back, and what a plan may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import calls
from kit.planned import planned_lab
from kit.runs import PLAN, PLANNED, QUESTION, answered, decided, lab
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.core.dialogue.conversation import marked
from deep_research.core.errors import NoPlan, NoSearchTool, WindowTooSmall
from deep_research.core.records.research import Plan, Run
from deep_research.graph._routing import route_after_begin
from deep_research.state import ResearchState

ASK = "1. Which lighthouse do you mean?\nThe answer makes the report more precise."


@pytest.mark.behaviour("O-01")
async def test_a_window_that_is_too_small_is_refused(tmp_path: Path) -> None:
    assert (await lab(tmp_path, profile={"max_input_tokens": 50_000}).ask()).report
    run = lab(tmp_path, profile={"max_input_tokens": 49_999})
    with pytest.raises(WindowTooSmall, match=r"49999 tokens.*50000.*window"):
        await run.ask()
    assert not any(model.calls for model in run.models.values())


@pytest.mark.behaviour("O-04")
async def test_a_run_with_nothing_to_search_is_refused_with_the_settings_that_help(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, docs=(), engines=())
    with pytest.raises(
        NoSearchTool, match=r"--docs.*DEEP_RESEARCH_DOCS.*--engine.*DEEP_RESEARCH_ENGINES"
    ):
        await run.ask()
    assert not run.calls("clarifier")


@pytest.mark.behaviour("O-05", "O-06")
async def test_only_the_setting_or_an_answered_clarification_skips_the_next_one(
    tmp_path: Path,
) -> None:
    assert (await lab(tmp_path, clarifier=[], clarify="off").ask()).report
    answered = lab(tmp_path, clarifier=[])
    history = [
        HumanMessage("The light?"),
        marked(ASK, "clarification"),
        HumanMessage("Skerry Light"),
    ]
    assert (await answered.ask({"messages": history})).report
    older = lab(tmp_path)
    history = [*history, AIMessage("A plain answer."), HumanMessage("And its keeper?")]
    assert (await older.ask({"messages": history})).report
    assert len(older.calls("clarifier")) == 1


@pytest.mark.sweep
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
async def test_a_question_back_pauses_the_run_once_until_any_answer(
    tmp_path: Path, reply: Any
) -> None:
    run, state = await answered(tmp_path, clarifier=[ASK])
    assert await run.next() == ("ask_user",)
    assert state.run and state.run.status == "waiting"
    assert state.messages[-1].additional_kwargs == {"deep_research": "clarification"}
    assert run.words("message_delta") == ASK
    assert "deep_research_plan_start" not in run.types()
    assert (await run.ask(reply)).report
    assert len(run.calls("clarifier")) == 1
    assert [m.text for m in run.calls("planner")[0].messages[1:4]] == [
        QUESTION,
        ASK,
        "The Skerry Light",
    ]


@pytest.mark.behaviour("O-08", "O-10", "O-13", "O-14", "O-15")
async def test_the_plan_of_a_clear_question_is_requested_without_tools_and_streamed(
    tmp_path: Path,
) -> None:
    run, state = await answered(
        tmp_path, clarifier=[calls(PLANNED, text="Sure, let me plan this.")]
    )
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
    assert set(run.types()[:end]) - beside == {
        "deep_research_plan_start",
        "deep_research_plan_delta",
    }


async def test_without_a_checkpointer_nothing_is_asked_and_the_assumption_is_stated(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, clarifier=["Which light do you mean?"], graph=build_graph())
    result = await run.graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, context=run.context)
    assert "open: Which light do you mean?" in result["messages"][-1].text
    assert "Which light do you mean?" in run.calls("writer")[0].messages[-1].text
    assert "Which light do you mean?" in run.calls("planner")[0].messages[-1].text


@pytest.mark.sweep
@pytest.mark.parametrize("clarify", ["ask", "assume"])
async def test_a_clarifier_that_answers_instead_of_asking_is_not_heard(
    tmp_path: Path, clarify: str
) -> None:
    statement = "The Skerry Light was lit in 1790 by order of the king."
    run, state = await answered(tmp_path, clarifier=[statement], clarify=clarify)
    assert state.report and not state.run.assumptions
    assert "1790" not in "".join(call.text for call in run.calls("writer"))


@pytest.mark.behaviour("O-11", "O-91")
async def test_clarifier_and_orchestrator_see_the_first_and_last_five_messages_and_every_role_the_language(
    tmp_path: Path,
) -> None:
    questions = [f"斯凯里灯塔是什么时候点亮的？ {number}" for number in range(8)]
    history = [
        message for text in questions for message in (HumanMessage(text), AIMessage("An answer."))
    ]
    run = lab(tmp_path)
    await run.ask({"messages": history[:-1]})
    expected = {"researcher": [], "writer": questions}
    latest = [questions[0], *questions[3:]]
    for role in ("clarifier", "planner", "orchestrator", "researcher", "writer"):
        shown = [
            message.text for message in run.calls(role)[0].messages if message.text in questions
        ]
        assert shown == expected.get(role, latest), role
        assert all("Chinese" in request.messages[0].text for request in run.calls(role)), role


@pytest.mark.behaviour("O-12")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engines": ()}, "The user's own documents are searched;"),
        ({"engines": ("wikipedia",)}, "Both the user's own documents and the web can be searched."),
        ({"engines": ("wikipedia",), "docs": ()}, ""),
    ],
)
async def test_documents_are_mentioned(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    run, _ = await answered(tmp_path, clarifier=[ASK], **settings)
    [asked] = run.calls("clarifier")
    assert words in asked.messages[0].text
    assert ("documents" in asked.messages[0].text) is bool(words)


@pytest.mark.behaviour("O-16")
async def test_an_empty_plan_is_asked_for_once_more_and_one_of_more_than_six_steps_is_cut(
    tmp_path: Path,
) -> None:
    never = lab(tmp_path, planner=["", "  "])
    with pytest.raises(NoPlan, match="another model"):
        await never.ask()
    assert await never.next() == ("plan",)
    run, state = await answered(
        tmp_path, planner=["", "\n".join(f"{n}. Step {n}" for n in range(1, 10))]
    )
    assert "last answer was empty" in run.calls("planner")[1].messages[-1].text
    assert state.plan and state.plan.steps == tuple(f"Step {n}" for n in range(1, 7))
    assert "Step 7" not in state.plan.text
    assert "Step 7" not in run.calls("orchestrator")[0].messages[0].text
    said = "more steps than allowed (3 left out: max_plan_steps)"
    assert said in run.words("deep_research_plan_delta")
    assert said in state.messages[-1].text


@pytest.mark.sweep
@pytest.mark.parametrize("make", [lab, planned_lab])
async def test_a_system_message_becomes_house_rules_behind_those_of_the_settings(
    tmp_path: Path, make: Any
) -> None:
    run = make(tmp_path, instructions="Be brief.")
    state = await run.ask(
        {"messages": [SystemMessage("Write for sailors."), HumanMessage(QUESTION)]}
    )
    made = [
        call
        for model in {id(model): model for model in run.models.values()}.values()
        for call in model.calls
    ]
    systems = [
        [message.text for message in call.messages if isinstance(message, SystemMessage)]
        for call in made
    ]
    assert all(len(texts) == 1 for texts in systems)
    assert sum("Be brief.\nWrite for sailors." in text for [text] in systems) >= 2, (
        "the planner and the writer"
    )
    assert state.run.question == QUESTION


@pytest.mark.parametrize(
    ("entry", "review", "next_node"),
    [
        ("question", None, "clarify"),
        ("follow_up", "none", "clarify"),
        ("answer", "none", "plan"),
        ("continuation", None, "plan"),
        ("continuation", "none", "orchestrate"),
        ("continuation", "rejected", "orchestrate"),
        ("plan_reply", None, "plan"),
        ("plan_reply", "none", "plan"),
        ("plan_reply", "rejected", "plan"),
        ("plan_reply", "approved", "orchestrate"),
    ],
)
async def test_each_kind_of_message_enters_the_graph_at_its_node(
    entry: Any, review: Any, next_node: str
) -> None:
    plan = Plan(text="1. a", steps=("a",), review=review) if review else None
    run = Run(
        id="q",
        question="Q?",
        date="",
        language="English",
        is_resumable=True,
        version="0",
        entry=entry,
    )
    assert await route_after_begin(ResearchState(run=run, plan=plan)) == next_node
