"""Waits for the user's answer."""

from __future__ import annotations

from langchain_core.messages import HumanMessage

from ..core.dialogue.conversation import mark_of
from ..core.models.resolve import settings_of
from ..state import ResearchState, StateUpdate
from ._answers import end_run, pause_for_answer, request
from .turn import NodeRuntime

# Clients show these beside their buttons; the question itself is in the previous message.
_MEANING = {
    "answer": "Type your answer as a message.",
    "approve": "Research continues without an answer, and the report says what is still unclear.",
    "reject": "The run stops without a report.",
}


async def ask_user(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Pause until the user answers, continues without an answer, or stops the run."""
    # An app may have removed the message.
    question = ""
    for message in state.messages:
        if mark_of(message) == "clarification":
            question = message.text
    form = request("clarification", _MEANING, question, ("approve", "reject", "respond"))
    asked = {"type": "clarification", "question": question, **form}
    answer = pause_for_answer(asked, settings_of(runtime).limits.question_characters)
    if answer.decision in ("reject", "end"):
        return await end_run(state, runtime)
    run = state.run.model_copy(update={"status": "running"})
    if answer.decision == "approve":
        return {"run": run.model_copy(update={"assumptions": (question,)})}
    return {"messages": [HumanMessage(answer.text)], "run": run}
