"""Pauses in the form of LangChain's human-in-the-loop middleware, and every kind of answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk
from kit.runs import PLAN, QUESTION, Lab, answered, decided, edited, lab, requested
from langgraph.types import Command

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.dialogue.plan_text import PlanText
from deep_research.core.errors import QuestionRefused
from deep_research.core.evidence.citations.labels import labels
from deep_research.nodes._answers import AnswerKind, read_answer, reviewed

ASK = "Which lighthouse do you mean?"
STEPS = ("History of the Skerry Light", "Its keeper Ada Moran", "The harbour beside it")
WISH = "Leave out the harbour"
TYPED, TWO = "1. The tides\n2. The ferry", ("The tides", "The ferry")


async def reviewing(tmp_path: Path, *plans: str) -> Lab:
    """A run that waits for a decision on its plan."""
    run, _ = await answered(tmp_path, planner=[PLAN, *plans], review_plan=True)
    return run


async def asking(tmp_path: Path) -> Lab:
    """A run that waits for an answer to its question back."""
    run, _ = await answered(tmp_path, clarifier=[ASK])
    return run


async def test_clients_are_shown_a_form_of_langchains_type(tmp_path: Path) -> None:
    plan, question = [
        requested(await (await kind(tmp_path)).waiting()) for kind in (reviewing, asking)
    ]
    assert (
        plan["action_requests"][0]["name"]
        == plan["review_configs"][0]["action_name"]
        == "research_plan"
    )
    assert plan["action_requests"][0]["args"] == {"plan": PLAN}
    assert plan["review_configs"][0]["allowed_decisions"] == [
        "approve",
        "edit",
        "reject",
        "respond",
    ]
    assert question["action_requests"][0]["description"] == ASK
    assert question["review_configs"][0]["allowed_decisions"] == ["approve", "reject", "respond"]


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        (decided("approve"), STEPS),
        ("ok", STEPS),
        (edited("Only the tides"), ("Only the tides",)),
        (TYPED, TWO),
    ],
)
async def test_an_approved_or_edited_plan_is_carried_out(
    tmp_path: Path, reply: Any, steps: tuple[str, ...]
) -> None:
    run = await reviewing(tmp_path)
    state = await run.ask(reply)
    assert state.report and state.plan
    assert (state.plan.steps, len(run.calls("planner"))) == (steps, 1)


@pytest.mark.parametrize(
    ("reply", "comment"),
    [
        (decided("reject", message="1. No tides\n2. No ferry"), "1. No tides\n2. No ferry"),
        (decided("reject"), "Please make another plan."),
        (WISH, WISH),
    ],
)
async def test_a_rejected_plan_is_written_again_after_any_comment(
    tmp_path: Path, reply: Any, comment: str
) -> None:
    run = await reviewing(tmp_path, "1. The light")
    state = await run.ask(reply)
    assert await run.next() == ("review_plan",)
    assert state.plan and state.plan.text == "1. The light"
    assert run.calls("planner")[1].messages[3].text == comment


KINDS: tuple[AnswerKind, ...] = ("approve", "edit", "reject", "respond")
TOLD = "1. No tides\n2. No ferry"


@pytest.mark.parametrize(
    ("reply", "review", "steps", "comment"),
    [
        (decided("approve"), "approved", STEPS, ""),
        (Command(resume={"action": "approve"}), "approved", STEPS, ""),
        (Command(resume="ok"), "approved", STEPS, ""),
        (decided("respond", message="Looks good!"), "approved", STEPS, ""),
        (decided("respond", message="Ja!"), "approved", STEPS, ""),
        (
            Command(resume={"action": "edit", "plan": "1. Only the tides"}),
            "approved",
            ("Only the tides",),
            "",
        ),
        (edited("Only the tides"), "approved", ("Only the tides",), ""),
        (decided("respond", message=TYPED), "approved", TWO, ""),
        (Command(resume=TYPED), "approved", TWO, ""),
        (decided("reject", message=TOLD), "rejected", STEPS, TOLD),
        (decided("reject", message="ok"), "rejected", STEPS, "ok"),
        (Command(resume={"comment": WISH}), "rejected", STEPS, WISH),
        (decided("respond", message=WISH), "rejected", STEPS, WISH),
    ],
)
def test_each_form_of_a_decision_on_the_plan_is_read(
    reply: Command[Any], review: str, steps: tuple[str, ...], comment: str
) -> None:
    plan = reviewed(PlanText.read(PLAN).plan(6), read_answer(reply.resume, KINDS, 1000), 6)
    assert (plan.review, plan.steps, plan.comment) == (review, steps, comment)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "reply",
    [
        decided("reject"),
        decided("reject", message="No."),
        Command(goto="__end__"),
        Command(goto=["__end__"]),
    ],
)
async def test_an_ended_question_is_over_and_the_next_message_begins_another(
    tmp_path: Path, reply: Any
) -> None:
    run = await asking(tmp_path)
    state = await run.ask(reply)
    assert (state.run.status, await run.next(), state.messages[-1].text) == (
        "ended",
        (),
        labels("en").ended,
    )
    stop = (await run.replayed())[-1]
    assert stop.type == "stop"
    assert (stop.stop_reason, stop.is_resumable) == ("user_cancelled", False)
    assert run.calls("planner") == []
    with pytest.raises(QuestionRefused, match="is not waiting"):
        await run.ask(Command(goto="__end__"))
    again = lab(tmp_path, graph=run.graph)
    state = await again.ask("When was it lit?")
    assert state.report
    assert state.run.question == "When was it lit?"


def test_a_plan_under_review_is_ended_in_a_plain_script_and_listed_as_ended(
    tmp_path: Path, desk: Desk
) -> None:
    desk.data.mkdir()
    run = lab(tmp_path, graph=build_graph(checkpointer=desk.data / "runs.sqlite"), review_plan=True)
    thread = thread_config("tides")
    run.graph.invoke({"messages": [("user", QUESTION)]}, thread, context=run.context)
    run.graph.invoke(Command(goto="__end__"), thread, context=run.context)
    assert run.graph.get_state(thread).next == ()
    [line] = desk.call("runs").out.splitlines()
    assert "  ended  " in line
    assert "Status    ended" in desk.call("show", line.split()[0]).out
    to_file = ("resume", "--format", "md", "--out", str(tmp_path / "report.of_any_suffix"))
    for command, *options in (("resume",), to_file, ("export",)):
        refused = desk.call(command, line.split()[0], *options)
        assert refused.code
        assert "was closed without a report; ask it another question" in refused.err


UNREADABLE: list[tuple[Any, str]] = [
    ({"decisions": [{"type": "approve"}, {"type": "approve"}]}, "takes one decision"),
    ({"decisions": []}, "takes one decision"),
    ({"decisions": "approve"}, "takes one decision"),
    ({"decisions": ["approve"]}, "takes one decision"),
    ({"decisions": [{}]}, "The decision None is not allowed here; choose from approve, "),
    ({"decisions": [{"type": "ignore"}]}, "The decision 'ignore' is not allowed here"),
    ({"decisions": [{"type": "respond"}]}, "'respond' needs a text"),
    ({"decisions": [{"type": "respond", "message": " \u200b"}]}, "empty"),
    ({"decisions": [{"type": "reject", "message": 5}]}, "'reject' needs a text, not int"),
    ({"decisions": [{"type": "end"}]}, "'end' is not allowed here"),
    ({"action": "explode"}, "'explode' is not allowed here"),
    ({"words": 3}, "needs a text"),
    (3, "needs a text, not int"),
    ("", "empty"),
    ("x" * 32_001, "32001 characters; at most 32000"),
]


@pytest.mark.sweep
@pytest.mark.fault(46, 49)
@pytest.mark.parametrize("kind", [reviewing, asking])
async def test_an_unreadable_answer_keeps_the_question_until_there_is_a_readable_one(
    tmp_path: Path, kind: Any
) -> None:
    run = await kind(tmp_path)
    asked = await run.waiting()
    for answer, reason in UNREADABLE:
        await run.ask(Command(resume=answer))
        again = await run.waiting()
        assert reason in again.pop("refused"), answer
        assert again == asked
    assert (await run.ask(Command(resume="approve"))).report
