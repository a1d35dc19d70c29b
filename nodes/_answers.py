"""Questions of a paused run and the user's answers.

They have the format of LangChain's human-in-the-loop middleware.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph.types import interrupt

from ..core.accounts.ledger import FinishedRuns
from ..core.dialogue.conversation import (
    check_question,
    marked,
    marked_for_table,
    safe_text,
)
from ..core.dialogue.plan_text import MOST_REQUIREMENTS, PlanText
from ..core.errors import ModelFailed, NoPlan, QuestionRefused
from ..core.events.blocks import PlanPackets
from ..core.events.packets import OverallStop
from ..core.evidence.citations.labels import is_approval, labels
from ..core.models.resolve import RoleModels
from ..core.records.research import Plan, Run
from ..core.settings.limits import Limits
from ..core.tables.design import MOST_COLUMNS
from ..state import ResearchState, StateUpdate
from .turn import NodeRuntime, Turn, begin_turn

AnswerKind = Literal["approve", "edit", "reject", "respond", "end"]
NO_COMMENT = "Please make another plan."
"""User message for a rejected plan without a comment."""
_ELSEWHERE = "The table is made in a new thread, by the graph table_research."
"""For users of clients that do not start it by themselves."""
_NUMBER = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)、．]", re.MULTILINE)


class UserDecision(NamedTuple):
    """What the user decided."""

    decision: AnswerKind
    text: str = ""
    """The user's text; for `edit`, the whole plan."""


def request(
    name: str, args: Mapping[str, str], description: str, allowed: Sequence[AnswerKind]
) -> dict[str, Any]:
    """Return the interrupt payload (an action and its allowed decisions) from which chat clients
    build a form.
    """
    return {
        "action_requests": [{"name": name, "args": dict(args), "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)}],
    }


def pause_for_answer(
    asked: Mapping[str, Any],
    max_characters: int,
    fault_of: Callable[[UserDecision], str] = lambda _: "",
) -> UserDecision:
    """Pause with the payload `asked` until the user answers.

    If the answer is invalid, ask again and say why; `fault_of` returns what else is wrong with a
    decision, empty if nothing is.
    """
    allowed = asked["review_configs"][0]["allowed_decisions"]
    refused: dict[str, str] = {}
    while True:
        # Do not raise an error: server clients would lose the form.
        try:
            answer = read_answer(interrupt({**asked, **refused}), allowed, max_characters)
            fault = fault_of(answer)
            if not fault:
                return answer
        except QuestionRefused as error:
            fault = str(error)
        refused = {"refused": fault}


def read_answer(reply: Any, allowed: Sequence[AnswerKind], max_characters: int) -> UserDecision:
    """Parse an answer of the user; raise `QuestionRefused` if it is invalid.

    It is plain text, `{"decisions": [{"type": …}]}`, or `{"action": …}` with a `plan`, `comment` or
    `answer`.
    """
    given = reply if isinstance(reply, dict) else {"answer": reply}
    if "decisions" in given:
        given = _read_decisions(given["decisions"])
    elif given.get("action") == "end":
        return UserDecision("end")
    decision = given.get("action", "respond")
    if decision not in allowed:
        raise QuestionRefused(
            f"The decision {decision!r} is not allowed here; choose from {', '.join(allowed)}."
        )
    if decision == "approve":
        return UserDecision("approve", "approve")
    text = given.get("comment", given.get("answer"))
    if decision == "edit":
        text = given.get("plan")
    if text is None and decision == "reject":
        return UserDecision("reject")
    if not isinstance(text, str):
        raise QuestionRefused(f"The decision {decision!r} needs a text, not {type(text).__name__}.")
    text = safe_text(text).strip()
    if decision == "reject" and not text:
        return UserDecision("reject")
    check_question(text, max_characters)
    return UserDecision(decision, text)


def _read_decisions(decisions: Any) -> dict[str, Any]:
    """Convert LangChain's format, a list with one decision, to ours."""
    is_list = isinstance(decisions, list) and len(decisions) == 1
    if not is_list or not isinstance(decisions[0], dict):
        raise QuestionRefused(
            f'"decisions" takes one decision, [{{"type": "approve"}}], not {decisions!r:.80}.'
        )
    decision = decisions[0]
    plan = None
    action = decision.get("edited_action")
    if isinstance(action, dict) and isinstance(action.get("args"), dict):
        plan = action["args"].get("plan")
    return {
        "action": decision.get("type"),
        "plan": plan,
        "comment": decision.get("message"),
    }


def reviewed(plan: Plan, answer: UserDecision, max_steps: int) -> Plan:
    """Return the plan after the user's answer: approved, edited, or rejected with a comment.

    Plain text is an approval, an edited plan (a numbered list), or otherwise a comment. An edited
    plan that lacks a title or a checklist keeps the old one.
    """
    is_words = answer.decision == "respond"
    given = PlanText.read(answer.text)
    if answer.decision == "edit" or (is_words and _is_numbered_list(given.steps)):
        completed = given.completed_from(PlanText.read(plan.text))
        # A checklist with the sections of an outline may be longer than that of a request.
        max_requirements = max(MOST_REQUIREMENTS, len(plan.requirements))
        edited = completed.plan(max_steps, max_requirements)
        return edited.model_copy(update={"review": "approved"})
    if answer.decision == "approve" or (is_words and is_approval(answer.text)):
        return plan.model_copy(update={"review": "approved"})
    return plan.model_copy(update={"review": "rejected", "comment": answer.text})


def most_steps(run: Run, limits: Limits) -> int:
    """Return the maximum number of steps of a run's plan; those of a table are its columns."""
    return MOST_COLUMNS if run.strategy == "table" else limits.max_plan_steps


def _is_numbered_list(text: str) -> bool:
    """Whether a text begins with a step, and has at least two steps, numbered from 1.

    A single number may be a comment on that step.
    """
    numbers = list(map(int, _NUMBER.findall(text)))
    is_counted = numbers == [*range(1, len(numbers) + 1)]
    return len(numbers) > 1 and is_counted and bool(_NUMBER.match(text))


async def offer_plan(turn: Turn, plan: Plan) -> StateUpdate:
    """Emit what runs like this one cost, and offer the plan to the user for review if that is set.

    Returns the update.
    """
    placement = turn.events.placement
    finished = FinishedRuns.like(turn.pages, turn.state.run, RoleModels(turn.context).names())
    cost = await finished.usual_cost()
    if cost:
        turn.emit(PlanPackets(placement).estimate(cost))
    is_reviewed = turn.context.review_plan and turn.state.run.is_resumable
    status = "waiting" if is_reviewed else turn.state.run.status
    update = turn.update(usual_cost=cost, status=status)
    if is_reviewed:
        update["messages"] = [marked(plan.text, "plan")]
        turn.emit(OverallStop.of(update["run"], placement.turn_index))
    return {**update, "plan": plan}


def without_plan(error: ModelFailed) -> NoPlan:
    """Return the error of a run whose planner's model did not fill in its form; raises the error
    itself if the call has failed for another reason."""
    if type(error) is not ModelFailed:
        raise error
    reason = str(error).rstrip(".")
    return NoPlan(f"{reason}. Resume the run, or choose another model (setting models).")


async def end_run(
    state: ResearchState, runtime: NodeRuntime, *, for_table: bool = False
) -> StateUpdate:
    """End the run without a report, as the user asked; return the update.

    The next message starts a new question. `for_table`: the user wants a table, which needs a run
    of another graph, and so a thread of its own; the client starts it.
    """
    turn = await begin_turn(state, runtime)
    update = turn.costs(status="ended")
    turn.emit(OverallStop.of(update["run"], turn.placement.turn_index))
    words = labels(state.run.language_code).ended
    message = marked(words, "ended")
    if for_table:
        message = marked_for_table(f"{words} {_ELSEWHERE}", "ended")
    return {**update, "messages": [message]}
