"""Waits for the user's answer."""

from __future__ import annotations

from langchain_core.messages import HumanMessage

from ..core.dialogue.conversation import Conversation, safe_text
from ..core.evidence.citations.labels import is_approval
from ..core.models.resolve import settings_of
from ..state import ResearchState, StateUpdate
from ._answers import UserDecision, end_run, pause_for_answer, request
from .turn import NodeRuntime

# Clients show these beside their buttons; the question itself is in the previous message.
_MEANING = {
    "answer": "Type your answer as a message.",
    "approve": "Research continues without an answer, and the report says what is still unclear.",
    "reject": "The run stops without a report.",
}
_MEANING_OF_OFFER = {
    "answer": "Type yes for a table, or what you want instead as a message.",
    "approve": "Research continues with a report.",
    "reject": "The run stops without a report.",
}
"""The same for the offer of a table."""


async def ask_user(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Pause until the user answers, continues without an answer, or stops the run.

    A user who takes the offer of a table gets it from a run with the strategy `table`.
    """
    # An app may have removed the message.
    conversation = Conversation(state.messages)
    question = conversation.clarification.text if conversation.clarification else ""
    is_offer = conversation.offers_table
    meaning = _MEANING_OF_OFFER if is_offer else _MEANING
    form = request("clarification", meaning, question, ("approve", "reject", "respond"))
    asked = {"type": "clarification", "question": question, **form}
    if is_offer:
        asked["strategy"] = "table"
    last = state.messages[-1]
    # The answer may have come as a message to the thread, not as the answer to the pause.
    is_answered = is_offer and isinstance(last, HumanMessage)
    if is_answered:
        answer = UserDecision("respond", safe_text(last.text).strip())
    else:
        answer = pause_for_answer(asked, settings_of(runtime).limits.question_characters)
    if answer.decision in ("reject", "end"):
        return await end_run(state, runtime)
    if is_offer and answer.decision == "respond" and is_approval(answer.text):
        return await end_run(state, runtime, for_table=True)
    run = state.run.model_copy(update={"status": "running"})
    if answer.decision == "approve" and is_offer:
        return {"run": run}
    if answer.decision == "approve":
        return {"run": run.model_copy(update={"assumptions": (question,)})}
    if is_answered:
        return {"run": run}
    return {"messages": [HumanMessage(answer.text)], "run": run}
