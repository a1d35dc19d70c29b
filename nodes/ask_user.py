"""Waits for the user's answer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from ..core.models.resolve import settings_of
from ..core.run.context import Context
from ..core.run.conversation import clean, fault_in, latest_of
from ..state import ResearchState, StateUpdate


async def ask_user(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Pause until there is an answer: words, or `{"answer": words}`; anything else is asked for again."""
    asked = {"type": "clarification", "question": latest_of("clarification", state.messages)}
    answer = _words(interrupt(asked))
    # An error would not do: LangGraph keeps the refused answer and would give it again.
    while fault := fault_in(answer, settings_of(runtime).limits.question_characters):
        answer = _words(interrupt({**asked, "refused": fault}))
    return {"messages": [HumanMessage(answer)], "run": state.run.model_copy(update={"status": "running"})}


def _words(reply: Any) -> str:
    if isinstance(reply, dict):
        reply = reply.get("answer")
    return clean(reply).strip() if isinstance(reply, str) else ""
