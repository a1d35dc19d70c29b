"""Questions of a paused run and the user's answers, in the format of LangChain's human-in-the-loop middleware."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph.types import interrupt

from ...state import ResearchState, StateUpdate
from ..evidence.citations.labels import is_approval, labels
from ..records.research import Plan
from ..run.conversation import marked, question_fault, safe_text
from ..run.errors import QuestionRefused
from ..run.events.call import stop_packet
from ..run.events.packets import EstimateMade
from ..run.plan_text import join_plan, read_plan, split_plan
from .turn import NodeRuntime, Turn, begin_turn
from .usual_cost import usual_cost_of

AnswerKind = Literal["approve", "edit", "reject", "respond", "end"]
END_RUN = {"action": "end"}
"""Answer that ends a run, whatever the question was."""
NO_COMMENT = "Please make another plan."
"""User message for a rejected plan without a comment."""
_NUMBER = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)、．]", re.MULTILINE)


class UserDecision(NamedTuple):
    """What the user decided."""

    decision: AnswerKind
    text: str = ""
    """The user's text; for `edit`, the whole plan."""


def request(name: str, args: Mapping[str, str], description: str, allowed: Sequence[AnswerKind]) -> dict[str, Any]:
    """Return the interrupt payload (an action and its allowed decisions) from which chat clients build a form."""
    return {
        "action_requests": [{"name": name, "args": dict(args), "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)}],
    }


def pause_for_answer(asked: Mapping[str, Any], max_characters: int) -> UserDecision:
    """Pause with the payload `asked` until the user answers; if the answer is invalid, ask again and say why."""
    allowed = asked["review_configs"][0]["allowed_decisions"]
    refused: dict[str, str] = {}
    while True:
        # Do not raise an error: server clients would lose the form.
        try:
            return read_answer(interrupt({**asked, **refused}), allowed, max_characters)
        except QuestionRefused as fault:
            refused = {"refused": str(fault)}


def read_answer(reply: Any, allowed: Sequence[AnswerKind], max_characters: int) -> UserDecision:
    """Parse plain text, `{"decisions": [{"type": …}]}`, or `{"action": …, "plan" | "comment" | "answer": …}`.

    Raises `QuestionRefused` if the answer is invalid.
    """
    given = reply if isinstance(reply, dict) else {"answer": reply}
    if "decisions" in given:
        # LangChain's format: a list with one decision.
        decisions = given["decisions"]
        if not isinstance(decisions, list) or len(decisions) != 1 or not isinstance(decisions[0], dict):
            raise QuestionRefused(f'"decisions" takes one decision, [{{"type": "approve"}}], not {decisions!r:.80}.')
        action = decisions[0].get("edited_action")
        args = action.get("args") if isinstance(action, dict) else None
        plan = args.get("plan") if isinstance(args, dict) else None
        given = {"action": decisions[0].get("type"), "plan": plan, "comment": decisions[0].get("message")}
    elif given.get("action") == "end":
        return UserDecision("end")
    decision = given.get("action", "respond")
    if decision not in allowed:
        raise QuestionRefused(f"The decision {decision!r} is not allowed here; choose from {', '.join(allowed)}.")
    if decision == "approve":
        return UserDecision("approve", "approve")
    text = given.get("plan") if decision == "edit" else given.get("comment", given.get("answer"))
    if text is None and decision == "reject":
        return UserDecision("reject")
    if not isinstance(text, str):
        raise QuestionRefused(f"The decision {decision!r} needs a text, not {type(text).__name__}.")
    text = safe_text(text).strip()
    if fault := "" if decision == "reject" and not text else question_fault(text, max_characters):
        raise QuestionRefused(fault)
    return UserDecision(decision, text)


def reviewed(plan: Plan, answer: UserDecision, max_steps: int) -> Plan:
    """Return the plan after the user's answer: approved, edited, or rejected with a comment.

    Plain text is an approval, an edited plan (a numbered list), or otherwise a comment. An edited plan that lacks a
    title or a checklist keeps the old one.
    """
    is_words, parts = answer.decision == "respond", split_plan(answer.text)
    # At least two steps numbered from 1; a single number may be a comment on that step.
    numbers = [int(number) for number in _NUMBER.findall(parts.steps)]
    is_list = len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)] and _NUMBER.match(parts.steps)
    if answer.decision == "edit" or (is_words and is_list):
        known = split_plan(plan.text)
        edited = parts._replace(title=parts.title or known.title, checklist=parts.checklist or known.checklist)
        return read_plan(join_plan(edited), max_steps).model_copy(update={"review": "approved"})
    if answer.decision == "approve" or (is_words and is_approval(answer.text)):
        return plan.model_copy(update={"review": "approved"})
    return plan.model_copy(update={"review": "rejected", "comment": answer.text})


async def offer_plan(turn: Turn, state: ResearchState) -> StateUpdate:
    """Emit what runs like this one cost; return the update, which waits for the user's review if that is set."""
    plan, run, placement = state.plan, state.run, turn.events.placement
    assert plan is not None
    cost = await usual_cost_of(turn.pages, state, turn.context)
    if cost:
        turn.emit(EstimateMade(placement=placement, estimate=cost))
    is_reviewed = turn.context.review_plan and run.is_resumable
    update = turn.update(usual_cost=cost, status="waiting" if is_reviewed else run.status)
    if is_reviewed:
        update["messages"] = [marked(plan.text, "plan")]
        turn.emit(stop_packet(update["run"], placement.turn_index))
    return {**update, "plan": plan}


async def end_run(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """End the run without a report, as the user asked; return the update. The next message starts a new question."""
    turn = await begin_turn(state, runtime)
    update = turn.costs(status="ended")
    turn.emit(stop_packet(update["run"], turn.placement.turn_index))
    return {**update, "messages": [marked(labels(state.run.language_code).ended, "ended")]}
