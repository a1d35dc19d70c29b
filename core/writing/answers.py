"""What a waiting run asks, in the form of LangChain's human-in-the-loop middleware, and the answers that it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from ...state import ResearchState, StateUpdate
from ..evidence.citations.labels import all_labels, labels
from ..records.research import Plan
from ..run.context import Context
from ..run.conversation import clean, fault_in, marked
from ..run.errors import QuestionRefused
from ..run.events.call import stop_packet
from ..run.plan_text import join_plan, read_plan, split_plan
from .turn import begin_turn

Decision = Literal["approve", "edit", "reject", "respond", "end"]
END_RUN = {"action": "end"}
"""The answer that ends a run, whatever it asks."""
NO_COMMENT = "Please make another plan."
_NUMBER = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)、．]", re.MULTILINE)
_PUNCTUATION = re.compile("[.,!¡。！،、]")


class UserDecision(NamedTuple):
    """What the user decided."""

    decision: Decision
    text: str = ""
    """The user's words; for `edit` the whole plan."""


def request(name: str, args: Mapping[str, str], description: str, allowed: Sequence[Decision]) -> dict[str, Any]:
    """Return the fields by which chat clients show a form: one action, and the decisions that it allows."""
    return {
        "action_requests": [{"name": name, "args": dict(args), "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)}],
    }


def ask(asked: Mapping[str, Any], max_characters: int) -> UserDecision:
    """Pause until the user has answered; an answer that cannot be read is asked for again, with the reason."""
    allowed = asked["review_configs"][0]["allowed_decisions"]
    refused: dict[str, str] = {}
    while True:
        # An error would not do: clients of a server lose the form with it.
        try:
            return read_answer(interrupt({**asked, **refused}), allowed, max_characters)
        except QuestionRefused as fault:
            refused = {"refused": str(fault)}


def read_answer(reply: Any, allowed: Sequence[Decision], max_characters: int) -> UserDecision:
    """Take words, `{"decisions": [{"type": …}]}`, or `{"action": …, "plan" | "comment" | "answer": …}`.

    Raises `QuestionRefused`.
    """
    given = reply if isinstance(reply, dict) else {"answer": reply}
    if "decisions" in given:
        given = _decided(given["decisions"])
    elif given.get("action") == "end":
        return UserDecision("end")
    decision = given.get("action", "respond")
    if decision not in allowed:
        raise QuestionRefused(f"The decision {decision!r} is not one of those allowed here: {', '.join(allowed)}.")
    if decision == "approve":
        return UserDecision("approve", "approve")
    text = given.get("plan") if decision == "edit" else given.get("comment", given.get("answer"))
    if text is None and decision == "reject":
        return UserDecision("reject")
    if not isinstance(text, str):
        raise QuestionRefused(f"The decision {decision!r} needs its words as text, not {type(text).__name__}.")
    text = clean(text).strip()
    if fault := "" if decision == "reject" and not text else fault_in(text, max_characters):
        raise QuestionRefused(fault)
    return UserDecision(decision, text)


def _decided(decisions: Any) -> dict[str, Any]:
    """Return a decision of LangChain's form in our own."""
    if not isinstance(decisions, list) or len(decisions) != 1 or not isinstance(decisions[0], dict):
        raise QuestionRefused(f'"decisions" takes one decision, [{{"type": "approve"}}], not {decisions!r:.80}.')
    action = decisions[0].get("edited_action")
    args = action.get("args") if isinstance(action, dict) else None
    plan = args.get("plan") if isinstance(args, dict) else None
    return {"action": decisions[0].get("type"), "plan": plan, "comment": decisions[0].get("message")}


def reviewed(plan: Plan, answer: UserDecision, max_steps: int) -> Plan:
    """Return the plan as the answer leaves it: approved, edited, or rejected with a comment.

    Of words, an approval approves, a numbered list is an edited plan, and anything else is a comment. An edited plan
    without a title or a checklist keeps the one that it had.
    """
    is_words, parts = answer.decision == "respond", split_plan(answer.text)
    if answer.decision == "edit" or (is_words and _is_list(parts.steps)):
        known = split_plan(plan.text)
        edited = parts._replace(title=parts.title or known.title, checklist=parts.checklist or known.checklist)
        return read_plan(join_plan(edited), max_steps).model_copy(update={"review": "approved"})
    if answer.decision == "approve" or (is_words and is_approval(answer.text)):
        return plan.model_copy(update={"review": "approved"})
    return plan.model_copy(update={"review": "rejected", "comment": answer.text})


def is_approval(words: str) -> bool:
    """Whether words say yes to a plan, in any language that has labels."""
    return " ".join(_PUNCTUATION.sub(" ", words).lower().replace("’", "'").split()) in _approvals()


@cache
def _approvals() -> frozenset[str]:
    return frozenset(word for own in all_labels().values() for word in own.approvals.split(", "))


def _is_list(text: str) -> bool:
    """Whether a text is a list of two steps or more, numbered from 1; a single one may comment on that step."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    return len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)] and bool(_NUMBER.match(text))


async def end_run(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """End a question that the user wants no answer to; the next message begins another."""
    turn = await begin_turn(state, runtime)
    update = turn.costs(status="ended")
    turn.emit(stop_packet(update["run"], turn.place.turn_index))
    return {**update, "messages": [marked(labels(state.run.language_code).ended, "ended")]}
